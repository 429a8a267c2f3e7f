package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// groupVersionFeature is the feature that has to be at 1 for the consumer protocol.
const groupVersionFeature = "group.version"

// ConsumerGroupHeartbeat (key 68), versions 0 and 1.
//
//	v0 KIP-848  v1 regular expressions; the member id is the client's
//
// Seen on Apache 4.4: what is wrong with the request itself is said before the coordinator is looked for. The message is that of the
// exception behind the code. Deviations: none.
func (h *Handler) consumerGroupHeartbeat(c Call) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	if !decodeUnsafe(c, req) {
		return
	}
	version := req.Version
	fail := func(err *kerr.Error) kmsg.Response {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.Version, resp.ErrorCode = version, err.Code
		if err == kerr.NotCoordinator || err == kerr.CoordinatorLoadInProgress {
			resp.ErrorMessage = &err.Description
		}
		return resp
	}
	cfg := h.Config()
	if !h.consumerProtocolEnabled() {
		c.Reply(fail(kerr.UnsupportedVersion))
		return
	}
	if resp := group.CheckConsumerGroupHeartbeat(req, cfg.Str("group.consumer.assignors")); resp != nil {
		c.Reply(resp)
		return
	}
	cl := group.Client{Host: "/" + c.Conn().RemoteHost()}
	if id := c.Header().ClientID; id != nil {
		cl.ID = *id
	}
	if req.MemberID == "" {
		cl.FreshID = randomUUID()
	}
	h.coordinated(c, req.Group, fail, func(s *group.Shard, now coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.ConsumerGroupHeartbeat(now, cl, hd, req)
	})
}

// consumerProtocolEnabled tells whether groups of the consumer protocol are served.
func (h *Handler) consumerProtocolEnabled() bool {
	level, _ := h.Images().Feature(groupVersionFeature)
	return level >= 1 && h.Config().Lists("group.coordinator.rebalance.protocols", "consumer")
}

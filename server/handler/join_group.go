package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// JoinGroup (key 11), versions 0 to 9.
//
//	v1 rebalance timeout  v2 throttle  v4 MEMBER_ID_REQUIRED (KIP-394)  v5 static members (KIP-345)  v6 flexible  v7 protocol type in the answer,
//	null instead of an empty protocol  v8 reason  v9 skip assignment (KIP-814)
//
// Seen on Apache 4.4: an instance id is not checked, even an empty one is one; metadata are opaque, whatever the protocol type.
// Deviations: a second JoinGroup of a member answers its first one, which Kafka leaves open, with REBALANCE_IN_PROGRESS.
func (h *Handler) joinGroup(c Call) {
	req := kmsg.NewPtrJoinGroupRequest()
	if !decode(c, req) {
		return
	}
	fail := func(err *kerr.Error) kmsg.Response {
		resp := kmsg.NewPtrJoinGroupResponse()
		resp.Version, resp.ErrorCode, resp.Generation, resp.MemberID = req.Version, err.Code, -1, req.MemberID
		return resp
	}
	if req.Group == "" {
		c.Reply(fail(kerr.InvalidGroupID))
		return
	}
	cl := h.client(c)
	h.coordinated(c, req.Group, fail, func(s *group.Shard, now coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.JoinGroup(now, cl, hd, req)
	})
}

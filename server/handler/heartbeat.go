package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// Heartbeat (key 12), versions 0 to 4.
//
//	v1 throttle  v3 static members (KIP-345)  v4 flexible
//
// While the group is loading the answer is a success: the member learns the truth with the next one. Deviations: none.
func (h *Handler) heartbeat(c Call) {
	req := kmsg.NewPtrHeartbeatRequest()
	if !decodeUnsafe(c, req) {
		return
	}
	version := req.Version
	fail := func(err *kerr.Error) kmsg.Response {
		resp := kmsg.NewPtrHeartbeatResponse()
		resp.Version = version
		if err != kerr.CoordinatorLoadInProgress {
			resp.ErrorCode = err.Code
		}
		return resp
	}
	if req.Group == "" {
		c.Reply(fail(kerr.InvalidGroupID))
		return
	}
	h.coordinated(c, req.Group, fail, func(s *group.Shard, now coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.Heartbeat(now, hd, req)
	})
}

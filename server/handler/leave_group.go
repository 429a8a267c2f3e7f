package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// LeaveGroup (key 13), versions 0 to 5.
//
//	v1 throttle  v3 several members, by member or instance id (KIP-345)  v4 flexible  v5 reason
//
// Seen on Apache 4.4: in a group that does not exist each member is UNKNOWN_MEMBER_ID, the request itself succeeds. Deviations: none.
func (h *Handler) leaveGroup(c Call) {
	req := kmsg.NewPtrLeaveGroupRequest()
	if !decode(c, req) {
		return
	}
	fail := func(err *kerr.Error) kmsg.Response {
		resp := kmsg.NewPtrLeaveGroupResponse()
		resp.Version, resp.ErrorCode = req.Version, err.Code
		return resp
	}
	if req.Group == "" {
		c.Reply(fail(kerr.InvalidGroupID))
		return
	}
	h.coordinated(c, req.Group, fail, func(s *group.Shard, now coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.LeaveGroup(now, hd, req)
	})
}

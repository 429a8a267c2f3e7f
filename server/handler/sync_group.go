package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// SyncGroup (key 14), versions 0 to 5.
//
//	v1 throttle  v3 static members (KIP-345)  v4 flexible  v5 protocol type and name (KIP-559)
//
// Seen on Apache 4.4: from v5 on a request without protocol type or name is INCONSISTENT_GROUP_PROTOCOL. Deviations: none.
func (h *Handler) syncGroup(c Call) {
	req := kmsg.NewPtrSyncGroupRequest()
	if !decode(c, req) {
		return
	}
	fail := func(err *kerr.Error) kmsg.Response {
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.Version, resp.ErrorCode, resp.MemberAssignment = req.Version, err.Code, []byte{}
		return resp
	}
	switch {
	case req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil):
		c.Reply(fail(kerr.InconsistentGroupProtocol))
		return
	case req.Group == "":
		c.Reply(fail(kerr.InvalidGroupID))
		return
	}
	h.coordinated(c, req.Group, fail, func(s *group.Shard, now coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.SyncGroup(now, hd, req)
	})
}

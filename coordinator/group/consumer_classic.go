package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// This file is how members that speak the classic protocol live in a consumer group with members, while it moves from one protocol to
// the other.

// consumerJoin answers JoinGroup of a group that is a consumer group with members.
func (s *Shard) consumerJoin(_ coordinator.Now, _ *group, _ Client, h coordinator.Handle, req *kmsg.JoinGroupRequest) coordinator.Effects {
	return reply(h, joinError(req.Version, "", kerr.InconsistentGroupProtocol))
}

// consumerSync answers SyncGroup.
func (s *Shard) consumerSync(_ coordinator.Now, _ *group, h coordinator.Handle, req *kmsg.SyncGroupRequest) coordinator.Effects {
	return reply(h, syncError(req.Version, kerr.UnknownMemberID))
}

// consumerHeartbeat answers Heartbeat.
func (s *Shard) consumerHeartbeat(_ coordinator.Now, _ *group, h coordinator.Handle, req *kmsg.HeartbeatRequest) coordinator.Effects {
	return reply(h, heartbeatResponse(req.Version, kerr.UnknownMemberID))
}

// consumerLeave answers LeaveGroup; members are the request's, in all versions.
func (s *Shard) consumerLeave(_ coordinator.Now, _ *group, h coordinator.Handle, req *kmsg.LeaveGroupRequest, members []kmsg.LeaveGroupRequestMember) coordinator.Effects {
	return reply(h, leaveUnknown(req.Version, members))
}

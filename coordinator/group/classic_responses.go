package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// reply answers one call and does nothing else.
func reply(h coordinator.Handle, resp kmsg.Response) coordinator.Effects {
	return coordinator.Effects{Replies: []coordinator.Reply{{To: h, Response: resp}}}
}

func answer(e *coordinator.Effects, h coordinator.Handle, resp kmsg.Response) {
	e.Replies = append(e.Replies, coordinator.Reply{To: h, Response: resp})
}

// joinError refuses a JoinGroup; most refusals tell the member id.
func joinError(version int16, member string, err *kerr.Error) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.Version, r.ErrorCode, r.Generation, r.MemberID = version, err.Code, -1, member
	return r
}

// joined is the answer to a member that is in the group's generation; members only go to the leader.
func (g *classicGroup) joined(version int16, m *classicMember, leader string, withMembers bool) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.Version, r.Generation, r.LeaderID, r.MemberID = version, g.generation, leader, m.id
	r.Protocol = g.protocolName
	if g.protocolType != "" {
		r.ProtocolType = &g.protocolType
	}
	if !withMembers {
		return r
	}
	for _, o := range g.sorted() {
		rm := kmsg.NewJoinGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ProtocolMetadata = o.id, o.instance, o.metadataOf(g.protocolText())
		r.Members = append(r.Members, rm)
	}
	return r
}

func (g *classicGroup) protocolText() string {
	if g.protocolName == nil {
		return ""
	}
	return *g.protocolName
}

func syncError(version int16, err *kerr.Error) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.Version, r.ErrorCode, r.MemberAssignment = version, err.Code, []byte{}
	return r
}

func (g *classicGroup) synced(version int16, assignment []byte) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.Version, r.Protocol, r.MemberAssignment = version, g.protocolName, assignment
	if g.protocolType != "" {
		r.ProtocolType = &g.protocolType
	}
	return r
}

// heartbeatResponse answers a Heartbeat; err may be nil.
func heartbeatResponse(version int16, err *kerr.Error) *kmsg.HeartbeatResponse {
	r := kmsg.NewPtrHeartbeatResponse()
	r.Version = version
	if err != nil {
		r.ErrorCode = err.Code
	}
	return r
}

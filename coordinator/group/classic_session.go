package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// Heartbeat keeps a member's session alive and tells it of a rebalance. It only moves a deadline: no record, no timer.
func (s *Shard) Heartbeat(now coordinator.Now, h coordinator.Handle, req *kmsg.HeartbeatRequest) coordinator.Effects {
	g := s.groups[req.Group]
	if g == nil {
		return reply(h, heartbeatResponse(req.Version, kerr.UnknownMemberID))
	}
	if g.consumer != nil {
		return s.consumerHeartbeat(now, g, h, req)
	}
	return reply(h, heartbeatResponse(req.Version, g.classic.heartbeat(now, req)))
}

func (g *classicGroup) heartbeat(now coordinator.Now, req *kmsg.HeartbeatRequest) *kerr.Error {
	if err := g.validateMember(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	m := g.members[req.MemberID]
	m.deadline = now.Mono.Add(m.sessionTimeout)
	if g.state == statePreparing {
		return kerr.RebalanceInProgress
	}
	return nil
}

// LeaveGroup takes members out. members are the request's in all versions: before v3 it names one.
func (s *Shard) LeaveGroup(now coordinator.Now, h coordinator.Handle, req *kmsg.LeaveGroupRequest) coordinator.Effects {
	members := req.Members
	if req.Version < 3 {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = req.MemberID
		members = []kmsg.LeaveGroupRequestMember{m}
	}
	g := s.groups[req.Group]
	switch {
	case g == nil:
		return reply(h, leaveUnknown(req.Version, members))
	case g.consumer != nil:
		return s.consumerLeave(now, g, h, req, members)
	}
	var e coordinator.Effects
	resp, left := leaveResponse(req.Version), false
	for _, m := range members {
		err := s.leave(&e, g.classic, m)
		addLeft(resp, m, err)
		left = left || err == nil
	}
	if left {
		if g.classic.state == statePreparing {
			s.completeIfJoined(&e, now, g.classic)
		} else if g.classic.state != stateEmpty {
			s.rebalanceOrComplete(&e, now, g.classic)
		}
	}
	answer(&e, h, resp)
	return e
}

// leave takes one member out; an administrator may name it by its instance id alone.
func (s *Shard) leave(e *coordinator.Effects, g *classicGroup, m kmsg.LeaveGroupRequestMember) *kerr.Error {
	id := m.MemberID
	switch {
	case id == "":
		if m.InstanceID == nil || g.static[*m.InstanceID] == "" {
			return kerr.UnknownMemberID
		}
		id = g.static[*m.InstanceID]
	case g.pendingJoin[id]:
	default:
		if err := g.validateMember(id, m.InstanceID); err != nil {
			return err
		}
	}
	s.removeMember(e, g, id)
	return nil
}

func leaveResponse(version int16) *kmsg.LeaveGroupResponse {
	r := kmsg.NewPtrLeaveGroupResponse()
	r.Version = version
	return r
}

// addLeft notes how one member's leaving went. Before v3 there is only one, whose code is the response's.
func addLeft(r *kmsg.LeaveGroupResponse, m kmsg.LeaveGroupRequestMember, err *kerr.Error) {
	rm := kmsg.NewLeaveGroupResponseMember()
	rm.MemberID, rm.InstanceID = m.MemberID, m.InstanceID
	if err != nil {
		rm.ErrorCode = err.Code
	}
	if r.Version < 3 {
		r.ErrorCode = rm.ErrorCode
	}
	r.Members = append(r.Members, rm)
}

// leaveUnknown is what Kafka says of a group that does not exist: nobody in it is known.
func leaveUnknown(version int16, members []kmsg.LeaveGroupRequestMember) *kmsg.LeaveGroupResponse {
	r := leaveResponse(version)
	for _, m := range members {
		addLeft(r, m, kerr.UnknownMemberID)
	}
	return r
}

func (m *classicMember) disarm(e *coordinator.Effects) {
	if !m.armed.IsZero() {
		m.armed = time.Time{}
		cancelTimer(e, m.timerKey)
	}
}

// fire is called for the group's timers.
func (g *classicGroup) fire(s *Shard, now coordinator.Now, t timer) (e coordinator.Effects) {
	switch t.what {
	case timerSession:
		s.sessionOver(&e, now, g, t.member)
	case timerPending:
		if g.pendingJoin[t.member] {
			delete(g.pendingJoin, t.member)
			if g.state == statePreparing && g.allJoined() {
				s.completeJoin(&e, now, g)
			}
		}
	case timerInitial:
		s.initialDelayOver(&e, now, g)
	case timerJoin:
		if g.state == statePreparing {
			s.completeJoin(&e, now, g)
		}
	case timerSync:
		s.syncPhaseOver(&e, now, g)
	}
	return e
}

// sessionOver throws a member out, unless it was heard of since the timer was set or waits for others.
func (s *Shard) sessionOver(e *coordinator.Effects, now coordinator.Now, g *classicGroup, id string) {
	m := g.members[id]
	if m == nil {
		return
	}
	m.armed = time.Time{}
	if now.Mono.Before(m.deadline) {
		m.armed = m.deadline
		setTimer(e, m.timerKey, m.deadline)
		return
	}
	if !m.isNew && (m.join != nil || m.sync != nil) {
		return // the end of the phase starts its session anew
	}
	s.removeMember(e, g, id)
	s.memberGone(e, now, g)
}

// loaded gives the members of a group that was read from the log the time to be heard of.
func (g *classicGroup) loaded(s *Shard, now coordinator.Now) (e coordinator.Effects) {
	for _, m := range g.sorted() {
		g.keepAlive(&e, now, m, m.sessionTimeout)
	}
	if len(g.members) > int(s.d.Settings.Int("group.max.size")) {
		s.prepareRebalance(&e, now, g)
	}
	return e
}

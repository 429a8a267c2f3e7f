package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// SyncGroup gives a member its assignment as soon as the leader has brought it.
func (s *Shard) SyncGroup(now coordinator.Now, h coordinator.Handle, req *kmsg.SyncGroupRequest) coordinator.Effects {
	g := s.groups[req.Group]
	if g == nil || g.kind().empty() {
		return reply(h, syncError(req.Version, kerr.UnknownMemberID))
	}
	if g.consumer != nil {
		return s.consumerSync(now, g, h, req)
	}
	c := g.classic
	if err := c.validateSync(req); err != nil {
		return reply(h, syncError(req.Version, err))
	}
	m := c.members[req.MemberID]
	var e coordinator.Effects
	switch c.state {
	case statePreparing:
		return reply(h, syncError(req.Version, kerr.RebalanceInProgress))
	case stateStable:
		s.syncCame(&e, c, m)
		answer(&e, h, c.synced(req.Version, m.assignment))
		return e
	}
	s.syncCame(&e, c, m)
	answerSync(&e, m, syncError(m.syncV, kerr.RebalanceInProgress)) // an older one has lost its client
	m.sync, m.syncV = h, req.Version
	if c.leader == m.id {
		s.assign(&e, now, c, req.GroupAssignment)
	}
	return e
}

func (g *classicGroup) validateSync(req *kmsg.SyncGroupRequest) *kerr.Error {
	if err := g.validateMember(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	if req.ProtocolType != nil && *req.ProtocolType != g.protocolType || req.Protocol != nil && g.protocolName != nil && *req.Protocol != *g.protocolName {
		return kerr.InconsistentGroupProtocol
	}
	return nil
}

// syncCame takes a member off the list of those whose SyncGroup is awaited.
func (s *Shard) syncCame(e *coordinator.Effects, g *classicGroup, m *classicMember) {
	if g.pendingSync[m.id] {
		delete(g.pendingSync, m.id)
		if len(g.pendingSync) == 0 {
			cancelTimer(e, timerKey(timerSync, g.id, ""))
		}
	}
}

// assign writes the leader's assignment; with its record the group is stable. Those who wait for it are answered.
func (s *Shard) assign(e *coordinator.Effects, now coordinator.Now, g *classicGroup, assignment []kmsg.SyncGroupRequestGroupAssignment) {
	by := make(map[string][]byte, len(assignment))
	for _, a := range assignment {
		by[a.MemberID] = append([]byte{}, a.MemberAssignment...)
	}
	e.Records = append(e.Records, g.record(by))
	for _, m := range g.sorted() {
		a := by[m.id]
		if a == nil {
			a = []byte{}
		}
		if answerSync(e, m, g.synced(m.syncV, a)) {
			g.keepAlive(e, now, m, m.sessionTimeout)
		}
	}
}

// answerSync answers a parked SyncGroup, if there is one.
func answerSync(e *coordinator.Effects, m *classicMember, resp *kmsg.SyncGroupResponse) bool {
	if m.sync == nil {
		return false
	}
	answer(e, m.sync, resp)
	m.sync = nil
	return true
}

// assignments are those of the group's last record.
func (g *classicGroup) assignments() map[string][]byte {
	out := make(map[string][]byte, len(g.members))
	for _, id := range slices.Sorted(maps.Keys(g.members)) {
		out[id] = g.members[id].assignment
	}
	return out
}

package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// rejoinStatic is a static member that has been restarted (KIP-345): it gets a new member id, and its old self is fenced. In a stable group
// whose protocol stays it takes over the assignment without a rebalance.
func (s *Shard) rejoinStatic(e *coordinator.Effects, now coordinator.Now, g *classicGroup, m *classicMember, id string, h coordinator.Handle, req *kmsg.JoinGroupRequest) {
	leader := g.leader
	m = g.replaceStatic(e, m, id)
	g.keepAlive(e, now, m, m.sessionTimeout)
	g.update(e, m, h, req)
	switch g.state {
	case stateStable:
		if g.selectProtocol() != g.protocolText() {
			s.rebalanceOrComplete(e, now, g)
			return
		}
		e.Records = append(e.Records, g.record(g.assignments()))
		var resp *kmsg.JoinGroupResponse
		if req.Version >= 9 { // KIP-814: the leader learns the members, and that it need not assign
			resp = g.joined(req.Version, m, g.leader, g.leader == m.id)
			resp.SkipAssignment = g.leader == m.id
		} else {
			// An older leader would assign if it knew that it leads: it is told the old leader's id.
			resp = g.joined(req.Version, m, leader, false)
		}
		g.answerJoin(e, m, resp)
	case stateCompleting:
		// The leader may have been told the old id: its assignment would not fit.
		s.prepareRebalance(e, now, g)
	default:
		s.completeIfJoined(e, now, g)
	}
}

// replaceStatic gives a static member a new id. Calls that are parked under the old one are fenced.
func (g *classicGroup) replaceStatic(e *coordinator.Effects, old *classicMember, id string) *classicMember {
	g.answerJoin(e, old, joinError(old.joinV, old.id, kerr.FencedInstanceID))
	answerSync(e, old, syncError(old.syncV, kerr.FencedInstanceID))
	old.disarm(e)
	m := &classicMember{id: id, instance: old.instance, clientID: old.clientID, clientHost: old.clientHost, rebalanceTimeout: old.rebalanceTimeout,
		sessionTimeout: old.sessionTimeout, protocols: old.protocols, assignment: old.assignment}
	delete(g.members, old.id)
	if g.leader == old.id {
		g.leader = id
	}
	if g.pendingSync[old.id] {
		delete(g.pendingSync, old.id)
		g.pendingSync[id] = true
	}
	g.insert(m)
	return m
}

package group

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
)

// rebalanceOrComplete starts a rebalance, or, during one, ends the join phase if everybody is there.
func (s *Shard) rebalanceOrComplete(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	if g.state != statePreparing {
		s.prepareRebalance(e, now, g)
		return
	}
	s.completeIfJoined(e, now, g)
}

// prepareRebalance opens the join phase: all members have to join again.
func (s *Shard) prepareRebalance(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	if g.state == stateCompleting {
		for _, m := range g.sorted() {
			m.assignment = nil
			if answerSync(e, m, syncError(m.syncV, kerr.RebalanceInProgress)) {
				g.keepAlive(e, now, m, m.sessionTimeout)
			}
		}
	}
	if len(g.pendingSync) > 0 {
		clear(g.pendingSync)
	}
	cancelTimer(e, timerKey(timerSync, g.id, ""))
	initial := g.state == stateEmpty
	g.become(now, statePreparing)
	if !initial {
		s.completeElseWait(e, now, g)
		return
	}
	// A new group: more members are likely to come at once.
	g.delay = s.initialDelay()
	g.remaining = max(g.rebalanceTimeout()-g.delay, 0)
	g.newMember = false
	if g.delay <= 0 {
		s.completeJoin(e, now, g)
		return
	}
	setTimer(e, timerKey(timerInitial, g.id, ""), now.Mono.Add(g.delay))
}

// initialDelay is group.initial.rebalance.delay.ms, not less than the least.
func (s *Shard) initialDelay() time.Duration {
	return max(time.Duration(s.d.Settings.Int("group.initial.rebalance.delay.ms"))*time.Millisecond, s.d.LeastInitialDelay)
}

// initialDelayOver ends the join phase of a new group, or gives it more time if somebody came meanwhile.
func (s *Shard) initialDelayOver(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	if g.state != statePreparing {
		return
	}
	if !g.newMember || g.remaining == 0 {
		s.completeJoin(e, now, g)
		return
	}
	g.newMember = false
	last := g.delay
	g.delay = min(s.initialDelay(), g.remaining)
	g.remaining = max(g.remaining-last, 0)
	setTimer(e, timerKey(timerInitial, g.id, ""), now.Mono.Add(g.delay))
}

// completeIfJoined ends the join phase when all members have joined, except during the initial delay.
func (s *Shard) completeIfJoined(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	if g.state == statePreparing && g.previous != stateEmpty && g.allJoined() {
		s.completeJoin(e, now, g)
	}
}

func (s *Shard) completeElseWait(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	if g.allJoined() {
		s.completeJoin(e, now, g)
		return
	}
	setTimer(e, timerKey(timerJoin, g.id, ""), now.Mono.Add(g.rebalanceTimeout()))
}

func (g *classicGroup) allJoined() bool {
	return len(g.members) == g.awaitingJoin && len(g.pendingJoin) == 0
}

// completeJoin ends the join phase: dynamic members that did not come are out, the others are told of the new generation.
func (s *Shard) completeJoin(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	cancelTimer(e, timerKey(timerJoin, g.id, ""))
	for _, m := range g.sorted() {
		if m.join == nil && m.instance == nil {
			s.removeMember(e, g, m.id)
		}
	}
	if !g.electJoinedLeader() && len(g.members) > 0 {
		// Only static members are left and none of them has come back: their sessions decide.
		setTimer(e, timerKey(timerJoin, g.id, ""), now.Mono.Add(g.rebalanceTimeout()))
		return
	}
	g.generation++
	clear(g.pendingSync)
	if len(g.members) == 0 {
		g.protocolName = nil
		g.subscribed = g.subscriptions()
		g.become(now, stateEmpty)
		e.Records = append(e.Records, g.record(nil))
		return
	}
	protocol := g.selectProtocol()
	g.protocolName = &protocol
	g.subscribed = g.subscriptions()
	g.become(now, stateCompleting)
	for _, m := range g.sorted() {
		g.answerJoin(e, m, g.joined(m.joinV, m, g.leader, m.id == g.leader))
		g.keepAlive(e, now, m, m.sessionTimeout)
		m.isNew = false
		g.pendingSync[m.id] = true
	}
	setTimer(e, timerKey(timerSync, g.id, ""), now.Mono.Add(g.rebalanceTimeout()))
}

// electJoinedLeader keeps the leader if it has joined, else takes another member that has. It is false when nobody has.
func (g *classicGroup) electJoinedLeader() bool {
	if g.leader == "" {
		return false
	}
	if g.members[g.leader].join != nil {
		return true
	}
	for _, m := range g.sorted() {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// syncPhaseOver throws out who has not synced in time, and rebalances.
func (s *Shard) syncPhaseOver(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	if g.state != stateCompleting && g.state != stateStable || len(g.pendingSync) == 0 {
		return
	}
	for _, m := range g.sorted() {
		if g.pendingSync[m.id] {
			s.removeMember(e, g, m.id)
		}
	}
	s.prepareRebalance(e, now, g)
}

// removeMember takes a member, or an id that was only given out, out of the group. A JoinGroup of it that is parked is told to start over.
func (s *Shard) removeMember(e *coordinator.Effects, g *classicGroup, id string) {
	if g.pendingJoin[id] {
		delete(g.pendingJoin, id)
		cancelTimer(e, timerKey(timerPending, g.id, id))
	}
	m := g.members[id]
	if m == nil {
		return
	}
	g.answerJoin(e, m, joinError(m.joinV, "", kerr.UnknownMemberID))
	answerSync(e, m, syncError(m.syncV, kerr.UnknownMemberID))
	m.disarm(e)
	g.setProtocols(m, nil)
	delete(g.members, id)
	delete(g.pendingSync, id)
	if m.instance != nil {
		delete(g.static, *m.instance)
	}
	if g.leader == id {
		g.leader = ""
		if rest := g.sorted(); len(rest) > 0 {
			g.leader = rest[0].id
		}
	}
}

// memberGone goes on after a member has left or lost its session.
func (s *Shard) memberGone(e *coordinator.Effects, now coordinator.Now, g *classicGroup) {
	switch {
	case g.state == stateStable || g.state == stateCompleting:
		s.rebalanceOrComplete(e, now, g)
	case g.state == statePreparing && g.allJoined():
		s.completeJoin(e, now, g)
	}
}

func (g *classicGroup) rebalanceTimeout() (longest time.Duration) {
	for _, m := range g.members {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

func (g *classicGroup) become(now coordinator.Now, to classicState) {
	g.previous, g.state, g.since = g.state, to, now.WallMs()
}

// selectProtocol lets each member vote for the first protocol on its list that all support. A tie goes to the protocol that Java's
// HashMap has first: clients with different preferences get the same from Kafka.
func (g *classicGroup) selectProtocol() string {
	count := map[string]int{}
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.votes[p.name] == len(g.members) {
				count[p.name]++
				break
			}
		}
	}
	best := ""
	for _, n := range hashMapOrder(count) {
		if count[n] > count[best] {
			best = n
		}
	}
	return best
}

// subscriptions are the topics in the members' subscriptions for the selected protocol; nil when they can't be told.
func (g *classicGroup) subscriptions() map[string]bool {
	if g.protocolType != consumerProtocolType {
		return nil
	}
	topics := map[string]bool{}
	if len(g.members) == 0 {
		return topics
	}
	if g.protocolName == nil {
		return nil
	}
	for _, m := range g.members {
		r := kbin.Reader{Src: m.metadataOf(*g.protocolName)}
		r.Int16() // the fields of version 0 come first in all versions
		n := r.ArrayLen()
		for ; n > 0 && r.Ok(); n-- {
			topics[r.String()] = true
		}
		if !r.Ok() {
			return nil
		}
	}
	return topics
}

// hashMapOrder lists the keys in the order in which Java's HashMap has them, but for those that share a bucket: these by name.
func hashMapOrder(m map[string]int) []string {
	names := slices.Collect(maps.Keys(m))
	buckets := int32(16)
	for len(names)*4 > int(buckets)*3 {
		buckets *= 2
	}
	bucket := func(name string) int32 {
		h := coordinator.HashCode(name)
		return (h ^ int32(uint32(h)>>16)) & (buckets - 1)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(bucket(a), bucket(b)), cmp.Compare(a, b)) })
	return names
}

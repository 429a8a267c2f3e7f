package group

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator/record"
)

// A group moves between the protocols while it runs. The first member of the consumer protocol makes a consumer group of a classic group
// of consumers, whose members stay and go on by the classic protocol (consumer_classic.go); when the last one that speaks the consumer
// protocol goes, what remains becomes a classic group again. group.consumer.migration.policy says which of these ways are open.

// migrates tells whether a group may move in the direction, upgrade or downgrade.
func (s *Shard) migrates(direction string) bool {
	policy := strings.ToLower(s.d.Settings.Str("group.consumer.migration.policy"))
	return policy == "bidirectional" || policy == direction
}

// upgrade makes a consumer group of a classic group with members.
func (t *turn) upgrade(c *classicGroup) *refusal {
	no := func(why string) *refusal {
		return refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because %s", c.id, why)
	}
	switch {
	case !t.s.migrates("upgrade"):
		return no("online upgrade is disabled.")
	case c.protocolType != consumerProtocolType:
		return no("the group does not use the consumer embedded protocol.")
	case len(c.members) > int(t.s.d.Settings.Int("group.consumer.max.size")):
		return no("the group size exceeds the consumer group maximum size.")
	}
	g := newConsumerGroup(c.id)
	g.epoch, g.assignmentEpoch = c.generation, c.generation
	protocol := c.protocolText()
	if c.protocolName == nil { // the first generation is still gathering
		protocol = c.selectProtocol()
	}
	for _, cm := range c.sorted() {
		sub, ok := readSubscription(cm.metadataOf(protocol))
		assigned, custom, readable := t.readAssignment(cm.assignment)
		switch {
		case !ok || !readable:
			return no("the embedded consumer protocol is malformed.")
		case custom:
			return no("an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.")
		}
		m := newConsumerMember(cm.id)
		m.epoch, m.previousEpoch = c.generation, c.generation
		m.instance, m.rack = cm.instance, notEmpty(sub.Rack)
		m.rebalanceTimeoutMs = int32(cm.rebalanceTimeout.Milliseconds())
		m.clientID, m.clientHost, m.topics = cm.clientID, cm.clientHost, sortedNames(sub.Topics)
		m.assigned = assigned.withEpoch(c.generation)
		m.classic = record.NewClassicMemberMetadata()
		m.classic.SessionTimeoutMs = int32(cm.sessionTimeout.Milliseconds())
		for _, p := range cm.protocols {
			m.classic.SupportedProtocols = append(m.classic.SupportedProtocols, record.ClassicProtocol{Name: p.name, Metadata: p.metadata})
		}
		g.targets[m.id] = assigned
		g.put(m)
	}
	g.metadataHash = groupHash(t.s.d.Topics, g.names)
	t.g, t.made, t.from = g, true, c
	t.write(c.tombstones()...)
	t.write(g.records()...)
	for _, m := range g.sorted() {
		t.keepAlive(m.id, millis(m.classic.SessionTimeoutMs))
	}
	return nil
}

// endClassic answers the calls that wait in a classic group which is none any more, and ends its timers. Those of the members' sessions are
// the consumer group's already.
func (t *turn) endClassic(c *classicGroup) {
	for _, m := range c.sorted() {
		c.answerJoin(&t.e, m, joinError(m.joinV, m.id, kerr.RebalanceInProgress))
		answerSync(&t.e, m, syncError(m.syncV, kerr.RebalanceInProgress))
	}
	for _, what := range []string{timerInitial, timerJoin, timerSync} {
		cancelTimer(&t.e, timerKey(what, c.id, ""))
	}
	pending := make([]string, 0, len(c.pendingJoin))
	for id := range c.pendingJoin {
		pending = append(pending, id)
	}
	slices.Sort(pending)
	for _, id := range pending {
		cancelTimer(&t.e, timerKey(timerPending, c.id, id))
	}
}

// downgradesWithout tells whether the group has to become a classic group when these members go.
func (t *turn) downgradesWithout(gone []*consumerMember) bool {
	classic := t.g.classicMembers
	for _, m := range gone {
		if m.classic != nil {
			classic--
		}
	}
	left := len(t.g.members) - len(gone)
	return classic == left && t.mayDowngrade(left)
}

// downgradesFor tells the same for a static member of the consumer protocol that comes back by the classic one.
func (t *turn) downgradesFor(replaced *consumerMember) bool {
	return replaced != nil && replaced.classic == nil && t.g.classicMembers == len(t.g.members)-1 && t.mayDowngrade(len(t.g.members))
}

func (t *turn) mayDowngrade(members int) bool {
	return members > 0 && t.s.migrates("downgrade") && members <= int(t.s.d.Settings.Int("group.max.size"))
}

// downgrade makes a classic group of what is left without the members that go, or with a static member of the classic protocol in the place
// of the one it replaces. Without a rebalance the members keep their assignments.
func (t *turn) downgrade(gone []*consumerMember, comes *consumerMember, rebalance bool) {
	g := t.g
	var replaced *consumerMember
	if comes != nil {
		replaced = g.staticMember(comes.instance)
	}
	t.soft = true
	for _, id := range slices.Sorted(maps.Keys(g.held)) {
		t.release(id)
	}
	t.e.Records = g.tombstones() // what this turn wrote about the one that comes is void
	c := newClassicGroup(g.id, t.now.WallMs())
	c.state, c.generation, c.protocolType = stateStable, g.epoch, consumerProtocolType
	for _, m := range g.sorted() {
		t.cancelTimers(m.id)
		if m != replaced && !slices.Contains(gone, m) {
			c.takeOver(m)
		}
	}
	if comes != nil {
		t.cancelTimers(comes.id)
		c.takeOver(comes)
	}
	protocol := c.selectProtocol()
	c.protocolName = &protocol
	c.subscribed = c.subscriptions()
	for _, m := range c.sorted() {
		holder := m.id
		if comes != nil && m.id == comes.id {
			holder = replaced.id
		}
		m.assignment = t.appendAssignment(nil, subscriptionVersion(m.metadataOf(protocol)), g.targets[holder])
	}
	t.write(c.record(c.assignments()))
	t.s.groups[g.id] = &group{id: g.id, classic: c}
	for _, m := range c.sorted() {
		c.keepAlive(&t.e, t.now, m, m.sessionTimeout)
	}
	if rebalance {
		t.s.prepareRebalance(&t.e, t.now, c)
	}
}

// takeOver makes a classic member of one that speaks the classic protocol.
func (g *classicGroup) takeOver(m *consumerMember) {
	cm := &classicMember{id: m.id, instance: m.instance, clientID: m.clientID, clientHost: m.clientHost,
		rebalanceTimeout: millis(m.rebalanceTimeoutMs), sessionTimeout: millis(m.classic.SessionTimeoutMs)}
	g.insert(cm)
	protocols := make([]classicProtocol, len(m.classic.SupportedProtocols))
	for i, p := range m.classic.SupportedProtocols {
		protocols[i] = classicProtocol{p.Name, p.Metadata}
	}
	g.setProtocols(cm, protocols)
}

// What consumers of the classic protocol say and are told (ConsumerProtocolSubscription, ConsumerProtocolAssignment), versions 0 to 3.
const maxConsumerProtocol = 3

// subscriptionVersion is the version of a subscription, as far as it is known here.
func subscriptionVersion(b []byte) int16 {
	if len(b) < 2 {
		return 0
	}
	return min(max(int16(binary.BigEndian.Uint16(b)), 0), maxConsumerProtocol)
}

// readSubscription reads what a consumer subscribes to. A later version begins like the last one known here.
func readSubscription(b []byte) (kmsg.ConsumerMemberMetadata, bool) {
	m := kmsg.NewConsumerMemberMetadata()
	if len(b) < 2 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return m, false
	}
	return m, m.ReadFrom(b) == nil
}

// readAssignment reads what a leader has assigned; topics that are gone are left out. custom says that it holds something of the
// leader's assignor that the coordinator could not hand on.
func (t *turn) readAssignment(b []byte) (p partitionsOf, custom, ok bool) {
	p = partitionsOf{}
	if len(b) == 0 {
		return p, false, true
	}
	a := kmsg.NewConsumerMemberAssignment()
	if len(b) < 2 || int16(binary.BigEndian.Uint16(b)) < 0 || a.ReadFrom(b) != nil {
		return p, false, false
	}
	for i := range a.Topics {
		if id, known := t.s.d.Topics.TopicID(a.Topics[i].Topic); known {
			p.add(id, a.Topics[i].Partitions...)
		}
	}
	return p, len(a.UserData) > 0, true
}

// appendAssignment writes an assignment in the version that the member understands.
func (t *turn) appendAssignment(dst []byte, version int16, p partitionsOf) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.Version = version
	for _, topic := range sortedTopics(p) {
		if name, ok := t.s.d.Topics.TopicName(topic); ok {
			at := kmsg.NewConsumerMemberAssignmentTopic()
			at.Topic, at.Partitions = name, p[topic]
			a.Topics = append(a.Topics, at)
		}
	}
	return a.AppendTo(dst)
}

func notEmpty(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return cloneStringPtr(s)
}

package group

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/kaja-mq/kaja/coordinator/record"
)

// memberState is how far a member of a consumer group is with its target (org.apache.kafka.coordinator.group.modern.MemberState).
type memberState int8

const (
	// memberStable owns what it should have at its epoch.
	memberStable memberState = 0
	// memberUnrevoked has to give partitions up before it may go on to the next epoch.
	memberUnrevoked memberState = 1
	// memberUnreleased is at the newest epoch and waits for partitions that others still have.
	memberUnreleased memberState = 2
	// memberUnknown was written by a later Kafka: the member has to start over.
	memberUnknown memberState = 127
)

// Epochs of a heartbeat and of members that mean something else.
const (
	epochJoin        int32 = 0
	epochLeave       int32 = -1
	epochLeaveStatic int32 = -2 // a static member that will come back
)

// consumerMember is a member of a consumer group. It is never changed: an update makes another, see next.
type consumerMember struct {
	id            string
	epoch         int32
	previousEpoch int32
	state         memberState

	instance           *string
	rack               *string
	clientID           string
	clientHost         string
	rebalanceTimeoutMs int32
	topics             []string // subscribed by name: ascending, distinct
	regex              string   // subscribed by regular expression, empty when none
	assignor           *string

	// assigned is what the member owns or may take now, revoking what it has been told to give up and has not confirmed. Others get
	// neither.
	assigned epochsOf
	revoking epochsOf

	// classic is set for a member that speaks the classic protocol.
	classic *record.ClassicMemberMetadata
}

// newConsumerMember is a member that has just come.
func newConsumerMember(id string) *consumerMember {
	return &consumerMember{id: id, previousEpoch: -1, rebalanceTimeoutMs: -1}
}

// next copies m for an update.
func (m *consumerMember) next() *consumerMember {
	n := *m
	return &n
}

// atEpoch copies m with the epoch it moves to.
func (m *consumerMember) atEpoch(epoch int32) *consumerMember {
	n := m.next()
	n.previousEpoch, n.epoch = m.epoch, epoch
	return n
}

// reconciledTo tells whether m has everything, and nothing else, of the target of that epoch.
func (m *consumerMember) reconciledTo(epoch int32) bool {
	return m.state == memberStable && m.epoch == epoch
}

func (m *consumerMember) equal(o *consumerMember) bool {
	return m == o || m.id == o.id && m.epoch == o.epoch && m.previousEpoch == o.previousEpoch && m.state == o.state && m.saysSame(o) &&
		m.assigned.equal(o.assigned) && m.revoking.equal(o.revoking)
}

// saysSame compares what members say of themselves.
func (m *consumerMember) saysSame(o *consumerMember) bool {
	return m.rebalanceTimeoutMs == o.rebalanceTimeoutMs && m.clientID == o.clientID && m.clientHost == o.clientHost && m.regex == o.regex &&
		equalStrings(m.instance, o.instance) && equalStrings(m.rack, o.rack) && equalStrings(m.assignor, o.assignor) &&
		slices.Equal(m.topics, o.topics) && equalClassic(m.classic, o.classic)
}

func equalStrings(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalClassic(a, b *record.ClassicMemberMetadata) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SessionTimeoutMs == b.SessionTimeoutMs && slices.EqualFunc(a.SupportedProtocols, b.SupportedProtocols,
		func(x, y record.ClassicProtocol) bool { return x.Name == y.Name && bytes.Equal(x.Metadata, y.Metadata) })
}

// sortedNames is a subscription as it is kept: cloned, ascending, distinct.
func sortedNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.Clone(n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func cloneStringPtr(s *string) *string {
	if s == nil {
		return nil
	}
	c := strings.Clone(*s)
	return &c
}

// resetEpochs gives every assigned partition the epoch 0: a static member that comes back under another id may commit for all it has.
func (e epochsOf) resetEpochs() epochsOf {
	out := make(epochsOf, len(e))
	for topic, partitions := range e {
		m := maps.Clone(partitions)
		for p := range m {
			m[p] = 0
		}
		out[topic] = m
	}
	return out
}

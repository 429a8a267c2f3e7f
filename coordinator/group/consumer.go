package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// Both epochs of a consumer group start at 1, so that a first member that brings nothing to assign joins at 1 (Apache Kafka 4.4 observed).
const (
	initialGroupEpoch      int32 = 1
	initialAssignmentEpoch int32 = 1
)

// consumerGroup is a group of the consumer protocol (KIP-848): members say what they subscribe to and own, the coordinator assigns.
//
// Hard state is what its records say: members, the group epoch (bumped when the target has to be computed anew), the target assignment
// with its epoch, what each member has, resolved regular expressions. The rest is derived from these, or soft.
type consumerGroup struct {
	id              string
	epoch           int32
	metadataHash    int64 // of the subscribed topics when the epoch was bumped
	assignmentEpoch int32
	assignmentMs    int64 // wall clock of the last target assignment, 0 unknown
	members         map[string]*consumerMember
	targets         map[string]partitionsOf
	regexes         map[string]*resolvedRegex
	// oldMetadata says that a record of Kafka before 4.1 is left that has to be deleted.
	oldMetadata bool

	// Derived, kept in step by put and drop.
	static           map[string]string            // instance id → member id
	assignors        map[string]int               // preferred assignor → members
	classicMembers   int                          // members that speak the classic protocol
	classicProtocols map[string]int               // protocol → members that support it
	owners           map[topicID]map[int32]string // who has a partition, or has not confirmed to have given it up
	names            map[string]subscribers       // subscribed topics
	patterns         map[string]int               // regular expression → members

	// Soft.
	metadataVersion int64 // Topics.Version when metadataHash was last compared; -1 never
	timers          map[string]*consumerTimers
	held            map[string]*heldHeartbeat // by member
	resolving       *regexResolution
}

// subscribers counts why a topic is subscribed to.
type subscribers struct {
	byName  int // members
	byRegex int // regular expressions
}

func newConsumerGroup(id string) *consumerGroup {
	return &consumerGroup{
		id: id, epoch: initialGroupEpoch, assignmentEpoch: initialAssignmentEpoch, metadataVersion: -1,
		members: map[string]*consumerMember{}, targets: map[string]partitionsOf{}, regexes: map[string]*resolvedRegex{},
		static: map[string]string{}, assignors: map[string]int{}, classicProtocols: map[string]int{},
		owners: map[topicID]map[int32]string{}, names: map[string]subscribers{}, patterns: map[string]int{},
		timers: map[string]*consumerTimers{}, held: map[string]*heldHeartbeat{},
	}
}

// put adds a member or replaces it by its update.
func (g *consumerGroup) put(m *consumerMember) {
	if old := g.members[m.id]; old != nil {
		g.count(old, -1)
	}
	g.members[m.id] = m
	g.count(m, +1)
}

// drop removes a member.
func (g *consumerGroup) drop(id string) {
	if m := g.members[id]; m != nil {
		g.count(m, -1)
		delete(g.members, id)
		delete(g.timers, id)
	}
}

// count keeps what is derived from members.
func (g *consumerGroup) count(m *consumerMember, by int) {
	if m.instance != nil {
		if by > 0 {
			g.static[*m.instance] = m.id
		} else if g.static[*m.instance] == m.id {
			delete(g.static, *m.instance)
		}
	}
	if m.assignor != nil {
		bump(g.assignors, *m.assignor, by)
	}
	if m.classic != nil {
		g.classicMembers += by
		for i := range m.classic.SupportedProtocols {
			bump(g.classicProtocols, m.classic.SupportedProtocols[i].Name, by)
		}
	}
	countNames(g.names, m.topics, by)
	if m.regex != "" {
		bump(g.patterns, m.regex, by)
	}
	g.own(m.assigned, m.id, by > 0)
	g.own(m.revoking, m.id, by > 0)
}

// own notes who has partitions. Records may be read in an order in which a partition has a new owner before the old one's record says
// that it gave it up: the newest record counts.
func (g *consumerGroup) own(partitions epochsOf, member string, has bool) {
	for topic, list := range partitions {
		owners := g.owners[topic]
		if owners == nil {
			owners = make(map[int32]string, len(list))
			g.owners[topic] = owners
		}
		for p := range list {
			if has {
				owners[p] = member
			} else if owners[p] == member {
				delete(owners, p)
			}
		}
		if len(owners) == 0 {
			delete(g.owners, topic)
		}
	}
}

// free tells whether no member has the partition.
func (g *consumerGroup) free(topic topicID, partition int32) bool {
	_, owned := g.owners[topic][partition]
	return !owned
}

func bump(m map[string]int, key string, by int) {
	if m[key] += by; m[key] <= 0 {
		delete(m, key)
	}
}

func countNames(names map[string]subscribers, topics []string, by int) {
	for _, t := range topics {
		s := names[t]
		s.byName += by
		setSubscribers(names, t, s)
	}
}

func countPatterns(names map[string]subscribers, topics []string, by int) {
	for _, t := range topics {
		s := names[t]
		s.byRegex += by
		setSubscribers(names, t, s)
	}
}

func setSubscribers(names map[string]subscribers, topic string, s subscribers) {
	if s.byName <= 0 && s.byRegex <= 0 {
		delete(names, topic)
	} else {
		names[topic] = s
	}
}

// staticMember finds the member with the instance id.
func (g *consumerGroup) staticMember(instance *string) *consumerMember {
	if instance == nil {
		return nil
	}
	return g.members[g.static[*instance]]
}

// sorted lists the members by id.
func (g *consumerGroup) sorted() []*consumerMember {
	out := make([]*consumerMember, 0, len(g.members))
	for _, id := range slices.Sorted(maps.Keys(g.members)) {
		out = append(out, g.members[id])
	}
	return out
}

// preferred is the assignor that most members want; with as many for two of them, the one that Java's HashMap has first, as in Kafka. Counts are those of the group with
// old replaced by new, either of which may be nil.
func (g *consumerGroup) preferred(fallback string, old, new *consumerMember) string {
	counts := g.assignors
	if wanted := func(m *consumerMember) *string {
		if m == nil {
			return nil
		}
		return m.assignor
	}; !equalStrings(wanted(old), wanted(new)) {
		counts = maps.Clone(counts)
		if a := wanted(old); a != nil {
			bump(counts, *a, -1)
		}
		if a := wanted(new); a != nil {
			bump(counts, *a, +1)
		}
	}
	best, most := fallback, 0
	for _, name := range hashMapOrder(counts) {
		if counts[name] > most {
			best, most = name, counts[name]
		}
	}
	return best
}

// homogeneous tells whether all members subscribe to the same topics, by name or all by one regular expression.
func homogeneous(patterns map[string]int, names map[string]subscribers, members int) bool {
	for _, n := range patterns {
		if n != members {
			return false
		}
	}
	for _, s := range names {
		if len(patterns) == 0 && s.byName != members || len(patterns) > 0 && (s.byRegex != 1 || s.byName > 0) {
			return false
		}
	}
	return true
}

func (g *consumerGroup) typeName() string { return "consumer" }
func (g *consumerGroup) protocol() string { return consumerProtocolType }
func (g *consumerGroup) empty() bool      { return len(g.members) == 0 }

// stateName: a group with members assigns until the target is as new as the group, then reconciles until all members have theirs.
func (g *consumerGroup) stateName() string {
	switch {
	case g.empty():
		return "Empty"
	case g.epoch > g.assignmentEpoch:
		return "Assigning"
	}
	for _, m := range g.members {
		if !m.reconciledTo(g.assignmentEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

func (g *consumerGroup) subscribedTo(topic string) bool {
	_, ok := g.names[topic]
	return ok
}

func (g *consumerGroup) expiryBase(commitMs int64) (int64, bool) { return commitMs, true }

func (g *consumerGroup) validateDelete() *kerr.Error {
	if !g.empty() {
		return kerr.NonEmptyGroup
	}
	return nil
}

// parked: heartbeats that are held back.
func (g *consumerGroup) parked() (out []coordinator.Handle) {
	for _, id := range slices.Sorted(maps.Keys(g.held)) {
		out = append(out, g.held[id].to)
	}
	return out
}

// tombstones: what members have first, the group itself last.
func (g *consumerGroup) tombstones() (out []coordinator.Record) {
	ids := slices.Sorted(maps.Keys(g.members))
	for _, id := range ids {
		out = append(out, tombstone(&record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.id, MemberID: id}))
	}
	for _, id := range ids {
		out = append(out, tombstone(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.id, MemberID: id}))
	}
	out = append(out, tombstone(&record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.id}))
	for _, id := range ids {
		out = append(out, tombstone(&record.ConsumerGroupMemberMetadataKey{GroupID: g.id, MemberID: id}))
	}
	for _, r := range slices.Sorted(maps.Keys(g.regexes)) {
		out = append(out, tombstone(&record.ConsumerGroupRegularExpressionKey{GroupID: g.id, RegularExpression: r}))
	}
	out = append(out, tombstone(&record.ConsumerGroupPartitionMetadataKey{GroupID: g.id}))
	return append(out, tombstone(&record.ConsumerGroupMetadataKey{GroupID: g.id}))
}

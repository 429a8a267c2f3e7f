package group

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// turn is one decision about a consumer group: it collects effects. The group itself changes by the records only; a group that is made in
// this turn gets into the table by finish, when nothing was refused.
type turn struct {
	s   *Shard
	now coordinator.Now
	g   *consumerGroup
	e   coordinator.Effects
	// made says that g is new, or was of another kind until now; from is the classic group that it was.
	made bool
	from *classicGroup
	// waits says that the member of this heartbeat got nothing new, and waits for partitions that others have.
	waits bool
	// soft says that more than records changes what the group is: a group was made or ended, a member's deadlines ended with it.
	soft bool
}

func (t *turn) write(recs ...coordinator.Record) { t.e.Records = append(t.e.Records, recs...) }

// find looks the group up for a heartbeat; a member that joins makes it, or makes a consumer group of it.
func (t *turn) find(id string, joins bool) *refusal {
	g := t.s.groups[id]
	switch {
	case g == nil && !joins:
		return refuse(kerr.GroupIDNotFound, "Consumer group %s not found.", id)
	case g == nil:
		t.g, t.made = newConsumerGroup(strings.Clone(id)), true
	case g.consumer != nil:
		t.g = g.consumer
	case g.classic != nil && joins && g.classic.empty():
		t.write(g.classic.tombstones()...)
		t.g, t.made, t.from = newConsumerGroup(g.id), true, g.classic
	case g.classic != nil && joins:
		return t.upgrade(g.classic)
	default:
		return refuse(kerr.GroupIDNotFound, "Group %s is not a consumer group.", id)
	}
	return nil
}

// existing looks up a group with what Kafka says when it can't be.
func (t *turn) existing(id string) *refusal {
	switch g := t.s.groups[id]; {
	case g == nil:
		return refuse(kerr.GroupIDNotFound, "Group %s not found.", id)
	case g.consumer == nil:
		return refuse(kerr.GroupIDNotFound, "Group %s is not a consumer group.", id)
	default:
		t.g = g.consumer
		return nil
	}
}

// finish puts a group that was made into the table: its timers are set already, the rest follows by its records. A turn that only set
// deadlines beside its records can be undone by not writing them.
func (t *turn) finish() coordinator.Effects {
	if t.made {
		if t.from != nil {
			t.endClassic(t.from)
		}
		t.s.groups[t.g.id] = &group{id: t.g.id, consumer: t.g}
	}
	t.e.Clean = !t.made && !t.soft
	return t.e
}

func (t *turn) checkSize(member string, instance *string) *refusal {
	limit := int(t.s.d.Settings.Int("group.consumer.max.size"))
	if len(t.g.members) < limit || t.g.staticMember(instance) != nil || t.g.members[member] != nil {
		return nil
	}
	return refuse(kerr.GroupMaxSizeReached, "The consumer group has reached its maximum capacity of %d members.", limit)
}

// joining is who comes.
type joining struct {
	id       string
	instance *string
	create   bool
	classic  bool // by the classic protocol
}

// member finds the member that a request speaks of, or makes it. check is asked about one that exists, unless it is of the classic
// protocol. A static member that comes back under another id takes over what the one before has.
func (t *turn) member(j joining, check func(*consumerMember) *refusal) (*consumerMember, *refusal) {
	g := t.g
	old := g.staticMember(j.instance)
	switch {
	case j.instance == nil:
		m := g.members[j.id]
		if m == nil {
			if !j.create {
				return nil, unknownMember(g.id, j.id)
			}
			return newConsumerMember(strings.Clone(j.id)), nil
		}
		if j.classic {
			return m, nil
		}
		return m, check(m)
	case j.create && old == nil:
		if m := g.members[j.id]; m != nil {
			return m, nil
		}
		return newConsumerMember(strings.Clone(j.id)), nil
	case j.create:
		if !j.classic && old.classic == nil && old.epoch != epochLeaveStatic {
			return nil, refuse(kerr.UnreleasedInstanceID, "Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.", j.id, *j.instance, old.id)
		}
		m := old.next()
		m.id, m.epoch, m.previousEpoch = strings.Clone(j.id), 0, 0
		t.cancelTimers(old.id)
		t.write(removalRecords(g.id, old.id)...)
		t.write(m.record(g.id), targetRecord(g.id, m.id, g.targets[old.id]), m.currentRecord(g.id))
		return m, nil
	}
	if r := checkStatic(old, j.id, *j.instance); r != nil {
		return nil, r
	}
	if j.classic {
		return old, nil
	}
	return old, check(old)
}

func unknownMember(group, member string) *refusal {
	return refuse(kerr.UnknownMemberID, "Member %s is not a member of group %s.", member, group)
}

// checkStatic tells whether the instance is known and is the member with that id.
func checkStatic(m *consumerMember, id, instance string) *refusal {
	if m == nil {
		return refuse(kerr.UnknownMemberID, "Instance id %s is unknown.", instance)
	}
	if m.id != id {
		return refuse(kerr.FencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", id, instance, m.id)
	}
	return nil
}

// recordIfChanged writes a member that was updated and tells whether its subscription by name changed.
func (t *turn) recordIfChanged(old, m *consumerMember) bool {
	if m.equal(old) {
		return false
	}
	t.write(m.record(t.g.id))
	return !slices.Equal(m.topics, old.topics)
}

// advance is how far a turn takes the group.
type advance struct {
	bump                bool // the group epoch, whether or not the topics changed
	subscriptionChanged bool
	owned               []kmsg.ConsumerGroupHeartbeatRequestTopic
	// known is the epoch that the member knows, if that is not its last: it may ask again with it.
	known int32
}

// advance brings the group to a new epoch if need be, its target to the group's epoch, and the member to the target. It returns the
// member as it is afterwards.
func (t *turn) advance(old, m *consumerMember, a advance) (*consumerMember, *refusal) {
	epoch := t.refresh(old, m, a.bump)
	target, targetEpoch := t.retarget(old, m, epoch)
	return t.reconcile(m, target, targetEpoch, a)
}

// refresh compares the group's topics with what they were, if the cluster's changed since or the group is to be bumped anyhow. It returns
// the group's epoch.
func (t *turn) refresh(old, m *consumerMember, bump bool) (epoch int32) {
	g, version := t.g, t.s.d.Topics.Version()
	if !bump && g.metadataVersion == version {
		return g.epoch
	}
	_, names, _ := t.subscriptionsWith(old, m)
	hash := groupHash(t.s.d.Topics, names)
	epoch = g.epoch
	if bump || hash != g.metadataHash {
		epoch++
		t.write(epochRecord(g.id, epoch, hash))
	} else {
		g.metadataVersion = version // not before the hash is in the log: the next heartbeat sees to that
	}
	if g.oldMetadata {
		t.write(tombstone(&record.ConsumerGroupPartitionMetadataKey{GroupID: g.id}))
	}
	return epoch
}

// subscriptionsWith is what the group subscribes to once old is replaced by m.
func (t *turn) subscriptionsWith(old, m *consumerMember) (patterns map[string]int, names map[string]subscribers, members int) {
	g := t.g
	patterns, names, members = g.patterns, g.names, len(g.members)
	if g.members[m.id] == nil && g.staticMember(m.instance) == nil {
		members++
	}
	if !slices.Equal(old.topics, m.topics) || old.regex != m.regex {
		names = maps.Clone(names)
		countNames(names, old.topics, -1)
		countNames(names, m.topics, +1)
	}
	if old.regex == m.regex {
		return patterns, names, members
	}
	patterns = maps.Clone(patterns)
	if old.regex != "" {
		bump(patterns, old.regex, -1)
		if r := g.regexes[old.regex]; r != nil && patterns[old.regex] == 0 {
			countPatterns(names, r.topics, -1)
		}
	}
	if m.regex != "" {
		bump(patterns, m.regex, +1)
	}
	return patterns, names, members
}

// retarget computes the target assignment for the epoch, unless it is there already or the last one is too young
// (consumer.assignment.interval.ms: members that come at once share one). It returns the target of m.
func (t *turn) retarget(old, m *consumerMember, epoch int32) (partitionsOf, int32) {
	g := t.g
	holder := m.id // whose target is m's so far
	if s := g.staticMember(m.instance); m.instance != nil {
		holder = ""
		if s != nil {
			holder = s.id
		}
	}
	interval := t.s.d.Settings.GroupInt(g.id, "consumer.assignment.interval.ms")
	since := t.now.WallMs() - g.assignmentMs
	young := g.assignmentMs != 0 && interval != 0 && since >= 0 && since < interval
	if g.assignmentEpoch >= epoch || young {
		return g.targets[holder], g.assignmentEpoch
	}
	members := maps.Clone(g.members)
	if holder != "" && holder != m.id {
		delete(members, holder)
	}
	members[m.id] = m
	assignor := g.preferred(assignorNames(t.s.d.Settings.Str("group.consumer.assignors"))[0], old, m)
	in := assignInput{partitions: map[topicID]int32{}, homogeneous: homogeneous(t.subscriptionsWith(old, m))}
	had := func(id string) (partitionsOf, bool) {
		if id == m.id && holder != "" {
			id = holder
		}
		p, ok := g.targets[id]
		return p, ok
	}
	for id, member := range members {
		target, _ := had(id)
		in.members = append(in.members, assignMember{id: id, instance: member.instance, topics: t.topicsOf(member, in.partitions), has: target})
	}
	targets := assign(assignor, in)
	for _, id := range slices.Sorted(maps.Keys(members)) {
		if before, known := had(id); !known || !before.equal(targets[id]) {
			t.write(targetRecord(g.id, id, targets[id]))
		}
	}
	t.write(targetEpochRecord(g.id, epoch, t.now.WallMs()))
	return targets[m.id], epoch
}

// topicsOf lists the existing topics that a member subscribes to, and notes how many partitions they have.
func (t *turn) topicsOf(m *consumerMember, partitions map[topicID]int32) []topicID {
	names := m.topics
	if r := t.g.regexes[m.regex]; m.regex != "" && r != nil {
		names = slices.Concat(names, r.topics)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	out := make([]topicID, 0, len(names))
	for _, name := range names {
		if id, ok := t.s.d.Topics.TopicID(name); ok {
			out = append(out, id)
			if _, known := partitions[id]; !known {
				partitions[id] = t.s.d.Topics.Partitions(id)
			}
		}
	}
	return out
}

// subscribed tells whether a member subscribes to a topic that exists.
func (t *turn) subscribed(m *consumerMember) func(topicID) bool {
	return func(id topicID) bool {
		name, ok := t.s.d.Topics.TopicName(id)
		if !ok {
			return false
		}
		if _, found := slices.BinarySearch(m.topics, name); found {
			return true
		}
		r := t.g.regexes[m.regex]
		if m.regex == "" || r == nil {
			return false
		}
		_, found := slices.BinarySearch(r.topics, name)
		return found
	}
}

// reconcile brings the member closer to its target.
func (t *turn) reconcile(m *consumerMember, target partitionsOf, epoch int32, a advance) (*consumerMember, *refusal) {
	if !a.subscriptionChanged && m.reconciledTo(epoch) {
		return m, nil
	}
	r := reconciliation{target: target, targetEpoch: epoch, subscribed: t.subscribed(m), subscriptionChanged: a.subscriptionChanged,
		free: t.g.free, owned: a.owned}
	next, ok := r.reconcile(m)
	if !ok {
		return nil, refuse(kerr.FencedMemberEpoch, "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.")
	}
	if a.known > 0 && next != m {
		next = next.next()
		next.previousEpoch = a.known
	}
	if next.equal(m) {
		return m, nil
	}
	t.write(next.currentRecord(t.g.id))
	t.wake(m, next)
	if next.classic == nil {
		if next.state == memberUnrevoked {
			t.setRevoke(next)
		} else {
			t.cancelRevoke(next.id)
		}
	}
	return next, nil
}

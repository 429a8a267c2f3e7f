package group

import (
	"cmp"
	"slices"
)

// Server-side assignors: who of the members should have which partitions. They are functions of the members' subscriptions and of the
// target assignment so far; how members get there without owning anything twice is the reconciliation's matter (consumer_reconcile.go).
//
// As in Apache Kafka 4.4.0 neither looks at racks: clients and records carry them, and a change of racks makes a new assignment through
// the metadata hash, but the partitions are spread the same.

// Names of the assignors, as group.consumer.assignors and ServerAssignor have them.
const (
	assignorUniform = "uniform"
	assignorRange   = "range"
)

// assignMember is a member as an assignor sees it.
type assignMember struct {
	id       string
	instance *string
	// topics are the existing topics it subscribes to, without duplicates.
	topics []topicID
	// has is its target assignment so far.
	has partitionsOf
}

// assignInput is what an assignor works on. Members have distinct ids and come in any order.
type assignInput struct {
	members []assignMember
	// partitions is how many a topic has, for every topic that a member subscribes to.
	partitions map[topicID]int32
	// homogeneous says that all members subscribe to the same topics.
	homogeneous bool
}

// assign computes the target assignment by member with the assignor of that name; a member that gets nothing may be missing.
func assign(assignor string, in assignInput) map[string]partitionsOf {
	if len(in.members) == 0 {
		return nil
	}
	members := slices.Clone(in.members)
	slices.SortFunc(members, func(a, b assignMember) int { return cmp.Compare(a.id, b.id) })
	in.members = members
	switch {
	case assignor == assignorRange:
		return assignRanges(in)
	case in.homogeneous:
		return assignUniformly(in)
	default:
		return assignBalanced(in)
	}
}

// keep is what of its target so far a member may keep: partitions that exist, of topics that it still subscribes to.
func (in *assignInput) keep(m *assignMember) partitionsOf {
	if len(m.has) == 0 {
		return partitionsOf{}
	}
	out := make(partitionsOf, len(m.has))
	for _, topic := range m.topics {
		had := m.has[topic]
		if n := in.partitions[topic]; len(had) > 0 && had[len(had)-1] >= n {
			at, _ := slices.BinarySearch(had, n)
			had = had[:at]
		}
		if len(had) > 0 {
			out[topic] = had
		}
	}
	return out
}

// slot is one partition on its way to a member.
type slot struct {
	topic     topicID
	partition int32
}

// freeSlots lists the partitions of the topics, in order, that no member keeps.
func freeSlots(topics []topicID, partitions map[topicID]int32, kept []partitionsOf) []slot {
	taken := make(map[topicID][]bool, len(topics))
	total := 0
	for _, t := range topics {
		taken[t] = make([]bool, partitions[t])
		total += int(partitions[t])
	}
	for _, k := range kept {
		for t, l := range k {
			for _, p := range l {
				taken[t][p] = true
			}
			total -= len(l)
		}
	}
	free := make([]slot, 0, max(total, 0))
	for _, t := range topics {
		for p, is := range taken[t] {
			if !is {
				free = append(free, slot{t, int32(p)})
			}
		}
	}
	return free
}

// give adds slots to what a member has.
func give(to partitionsOf, slots []slot) {
	byTopic := map[topicID][]int32{}
	for _, s := range slots {
		byTopic[s.topic] = append(byTopic[s.topic], s.partition)
	}
	for t, l := range byTopic {
		to.add(t, l...)
	}
}

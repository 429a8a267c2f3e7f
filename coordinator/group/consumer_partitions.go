package group

import (
	"bytes"
	"maps"
	"slices"
)

// topicID is a topic's id, the nil id for none.
type topicID = [16]byte

// partitionsOf are partitions by topic: a target assignment. The partitions of a topic are ascending and not empty. Never changed after
// it was made: it is shared between the group, its members and what is computed from them.
type partitionsOf map[topicID][]int32

// epochsOf are partitions by topic, each with the epoch at which the member was given it: what a member owns or has to give up. No topic
// is empty. Never changed after it was made.
type epochsOf map[topicID]map[int32]int32

// sortedTopics lists the topics of a map by id, so that the map's order is not seen outside.
func sortedTopics[V any](m map[topicID]V) []topicID {
	return slices.SortedFunc(maps.Keys(m), compareTopics)
}

func compareTopics(a, b topicID) int { return bytes.Compare(a[:], b[:]) }

// sortedPartitions lists the partitions of a topic, ascending.
func (e epochsOf) sortedPartitions(topic topicID) []int32 {
	return slices.Sorted(maps.Keys(e[topic]))
}

func (e epochsOf) has(topic topicID, partition int32) bool {
	_, ok := e[topic][partition]
	return ok
}

func (e epochsOf) equal(o epochsOf) bool {
	return maps.EqualFunc(e, o, func(a, b map[int32]int32) bool { return maps.Equal(a, b) })
}

// withEpoch gives every partition the same epoch.
func (p partitionsOf) withEpoch(epoch int32) epochsOf {
	out := make(epochsOf, len(p))
	for topic, partitions := range p {
		m := make(map[int32]int32, len(partitions))
		for _, n := range partitions {
			m[n] = epoch
		}
		out[topic] = m
	}
	return out
}

func (p partitionsOf) has(topic topicID, partition int32) bool {
	_, ok := slices.BinarySearch(p[topic], partition)
	return ok
}

func (p partitionsOf) equal(o partitionsOf) bool {
	return maps.EqualFunc(p, o, func(a, b []int32) bool { return slices.Equal(a, b) })
}

// count is how many partitions there are.
func (p partitionsOf) count() (n int) {
	for _, l := range p {
		n += len(l)
	}
	return n
}

// add puts partitions in and keeps what partitionsOf promises.
func (p partitionsOf) add(topic topicID, partitions ...int32) {
	if len(partitions) == 0 {
		return
	}
	l := append(slices.Clone(p[topic]), partitions...)
	slices.Sort(l)
	p[topic] = slices.Compact(l)
}

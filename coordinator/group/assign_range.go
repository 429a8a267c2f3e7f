package group

import (
	"cmp"
	"slices"
)

// assignRanges is the range assignor: of each topic every subscriber gets a run of neighbouring partitions, the first ones one more when
// it does not come out even. Members are in the same order for all topics, so topics with equally many partitions are assigned alike and can
// be joined. It is not sticky. The order is static members by instance id, then the others by member id.
func assignRanges(in assignInput) map[string]partitionsOf {
	members := slices.Clone(in.members)
	slices.SortStableFunc(members, func(a, b assignMember) int {
		switch {
		case a.instance != nil && b.instance != nil:
			return cmp.Compare(*a.instance, *b.instance)
		case a.instance != nil:
			return -1
		case b.instance != nil:
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	subscribers := map[topicID]int32{}
	for i := range members {
		for _, t := range members[i].topics {
			subscribers[t]++
		}
	}
	served, next := map[topicID]int32{}, map[topicID]int32{}
	out := make(map[string]partitionsOf, len(members))
	for i := range members {
		got := make(partitionsOf, len(members[i].topics))
		for _, t := range members[i].topics {
			n := in.partitions[t] / subscribers[t]
			if served[t] < in.partitions[t]%subscribers[t] {
				n++
			}
			run := make([]int32, n)
			for k := range run {
				run[k] = next[t] + int32(k)
			}
			if n > 0 {
				got[t] = run
			}
			served[t]++
			next[t] += n
		}
		out[members[i].id] = got
	}
	return out
}

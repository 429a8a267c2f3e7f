package group

import (
	"maps"
	"slices"
)

// assignUniformly is the uniform assignor for members that all subscribe to the same topics (UniformHomogeneousAssignmentBuilder).
//
// Each member gets total/members partitions, and total%members of them one more. Sticky: a member keeps what it has up to its share, and
// the larger shares go first to those who have that many already, so no more partitions move than the balance demands.
func assignUniformly(in assignInput) map[string]partitionsOf {
	topics := slices.Clone(in.members[0].topics)
	slices.SortFunc(topics, compareTopics)
	total := 0
	for _, t := range topics {
		total += int(in.partitions[t])
	}
	share, larger := total/len(in.members), total%len(in.members)

	kept := make([]partitionsOf, len(in.members))
	quota := make([]int, len(in.members))
	for i := range in.members {
		kept[i], quota[i] = in.keep(&in.members[i]), share
	}
	for _, first := range []bool{true, false} {
		for i := range in.members {
			if larger > 0 && quota[i] == share && (kept[i].count() > share) == first {
				quota[i]++
				larger--
			}
		}
	}
	for i := range kept {
		kept[i] = cut(kept[i], quota[i])
	}
	free := freeSlots(topics, in.partitions, kept)
	out := make(map[string]partitionsOf, len(in.members))
	for i := range in.members {
		if n := quota[i] - kept[i].count(); n > 0 {
			kept[i] = maps.Clone(kept[i])
			give(kept[i], free[:n])
			free = free[n:]
		}
		out[in.members[i].id] = kept[i]
	}
	return out
}

// cut leaves at most n partitions, the first by topic and number.
func cut(p partitionsOf, n int) partitionsOf {
	if p.count() <= n {
		return p
	}
	out := make(partitionsOf, len(p))
	for _, t := range sortedTopics(p) {
		l := p[t]
		if len(l) > n {
			l = l[:n]
		}
		if len(l) > 0 {
			out[t] = l
		}
		n -= len(l)
	}
	return out
}

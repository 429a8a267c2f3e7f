package group

import (
	"cmp"
	"maps"
	"slices"
)

// balanceRounds bounds how often the balance is looked over; each round passes all topics. The same bound as Kafka's.
const balanceRounds = 16

// assignBalanced is the uniform assignor for members with different subscriptions (UniformHeterogeneousAssignmentBuilder).
//
// Members keep what they have; free partitions go to the least loaded subscriber of their topic; then partitions move from the most to the
// least loaded of a topic's subscribers as long as that makes two loads more even. Topics come by how much each subscriber has to take.
func assignBalanced(in assignInput) map[string]partitionsOf {
	b := newBalancer(in)
	for _, t := range b.topics {
		b.handOut(t)
	}
	for range balanceRounds {
		moved := false
		for _, t := range b.topics {
			moved = b.even(t) || moved
		}
		if !moved {
			break
		}
	}
	return b.result()
}

// balancer is the state of one computation. Members are their indexes in in.members.
type balancer struct {
	in          assignInput
	topics      []topicID          // in the order of work
	subscribers map[topicID][]int  // ascending
	owner       map[topicID][]int  // by partition, noOwner when free
	load        []int              // partitions of each member
	kept        []partitionsOf     // what each member had
	changed     []map[topicID]bool // what is no longer as in kept
}

const noOwner = -1

func newBalancer(in assignInput) *balancer {
	n := len(in.members)
	b := &balancer{in: in, subscribers: map[topicID][]int{}, owner: map[topicID][]int{}, load: make([]int, n),
		kept: make([]partitionsOf, n), changed: make([]map[topicID]bool, n)}
	for i := range in.members {
		for _, t := range in.members[i].topics {
			b.subscribers[t] = append(b.subscribers[t], i)
		}
	}
	for t := range b.subscribers {
		b.topics = append(b.topics, t)
		b.owner[t] = slices.Repeat([]int{noOwner}, int(in.partitions[t]))
	}
	slices.SortFunc(b.topics, b.compareTopics)
	for i := range in.members {
		b.kept[i] = in.keep(&in.members[i])
		for t, l := range b.kept[i] {
			for _, p := range l {
				b.owner[t][p] = i
			}
			b.load[i] += len(l)
		}
		b.changed[i] = map[topicID]bool{}
	}
	return b
}

// compareTopics: the more partitions per subscriber the earlier, then the fewer subscribers.
func (b *balancer) compareTopics(x, y topicID) int {
	sx, sy := len(b.subscribers[x]), len(b.subscribers[y])
	return cmp.Or(
		cmp.Compare(int64(b.in.partitions[y])*int64(sx), int64(b.in.partitions[x])*int64(sy)),
		cmp.Compare(sx, sy),
		compareTopics(x, y))
}

// byLoad orders members by load, then by index.
func (b *balancer) byLoad(x, y int) int {
	return cmp.Or(cmp.Compare(b.load[x], b.load[y]), cmp.Compare(x, y))
}

// handOut gives the free partitions of a topic to its least loaded subscribers.
func (b *balancer) handOut(topic topicID) {
	h := memberHeap{less: func(x, y int) bool { return b.byLoad(x, y) < 0 }}
	for p, o := range b.owner[topic] {
		if o != noOwner {
			continue
		}
		if h.members == nil {
			h.init(b.subscribers[topic])
		}
		b.move(topic, int32(p), h.members[0])
		h.down(0)
	}
}

// even moves partitions of one topic from its most loaded owners to its least loaded subscribers while their loads differ by two or
// more. It tells whether anything moved.
func (b *balancer) even(topic topicID) (moved bool) {
	if len(b.subscribers[topic]) < 2 {
		return false
	}
	owned := map[int][]int32{}
	for p, o := range b.owner[topic] {
		owned[o] = append(owned[o], int32(p))
	}
	givers := memberHeap{less: func(x, y int) bool {
		return cmp.Or(cmp.Compare(b.load[y], b.load[x]), cmp.Compare(y, x)) < 0
	}}
	givers.init(slices.Sorted(maps.Keys(owned)))
	takers := memberHeap{less: func(x, y int) bool { return b.byLoad(x, y) < 0 }}
	takers.init(b.subscribers[topic])
	for len(givers.members) > 0 {
		from, to := givers.members[0], takers.members[0]
		if b.load[from]-b.load[to] < 2 {
			return moved
		}
		l := owned[from]
		b.move(topic, l[len(l)-1], to)
		moved = true
		// A member that gives was above one that takes by two, so neither changes sides: each heap stays right but for its top.
		takers.down(0)
		if owned[from] = l[:len(l)-1]; len(owned[from]) == 0 {
			givers.pop()
		} else {
			givers.down(0)
		}
	}
	return moved
}

func (b *balancer) move(topic topicID, partition int32, to int) {
	if from := b.owner[topic][partition]; from != noOwner {
		b.load[from]--
		b.changed[from][topic] = true
	}
	b.owner[topic][partition] = to
	b.load[to]++
	b.changed[to][topic] = true
}

func (b *balancer) result() map[string]partitionsOf {
	now := make([]partitionsOf, len(b.in.members))
	for i := range now {
		if len(b.changed[i]) == 0 {
			now[i] = b.kept[i]
			continue
		}
		now[i] = maps.Clone(b.kept[i])
		for t := range b.changed[i] {
			delete(now[i], t)
		}
	}
	for _, t := range b.topics {
		for p, o := range b.owner[t] {
			if o != noOwner && b.changed[o][t] {
				now[o][t] = append(now[o][t], int32(p))
			}
		}
	}
	out := make(map[string]partitionsOf, len(now))
	for i := range now {
		out[b.in.members[i].id] = now[i]
	}
	return out
}

// memberHeap is a binary heap of member indexes whose top may be changed in place.
type memberHeap struct {
	members []int
	less    func(x, y int) bool
}

func (h *memberHeap) init(members []int) {
	h.members = slices.Clone(members)
	for i := len(h.members)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *memberHeap) pop() {
	last := len(h.members) - 1
	h.members[0] = h.members[last]
	h.members = h.members[:last]
	h.down(0)
}

func (h *memberHeap) down(i int) {
	for {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(h.members) && h.less(h.members[c], h.members[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.members[i], h.members[least] = h.members[least], h.members[i]
		i = least
	}
}

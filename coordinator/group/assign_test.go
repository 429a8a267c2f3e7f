package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func topicNo(n int) topicID { return topicID{15: byte(n)} }

// assignment of members a, b, c … in one line: a=1:0,1 2:0 b=…
func showTargets(targets map[string]partitionsOf) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		text := id + "="
		for _, t := range sortedTopics(targets[id]) {
			text += fmt.Sprintf("%d:%s ", t[15], strings.Trim(strings.ReplaceAll(fmt.Sprint(targets[id][t]), " ", ","), "[]"))
		}
		out = append(out, strings.TrimSpace(text))
	}
	return strings.Join(out, "  ")
}

func TestAssignRange(t *testing.T) {
	f := func(in assignInput, want string) {
		t.Helper()
		if got := showTargets(assign(assignorRange, in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	both := []topicID{topicNo(1), topicNo(2)}
	in := assignInput{partitions: map[topicID]int32{topicNo(1): 5, topicNo(2): 5}, homogeneous: true,
		members: []assignMember{{id: "b", topics: both}, {id: "a", topics: both}, {id: "c", topics: both}}}
	f(in, "a=1:0,1 2:0,1  b=1:2,3 2:2,3  c=1:4 2:4") // the same partitions of both topics: they can be joined
	x, y := "x", "y"
	in.members[2].instance, in.members[0].instance = &x, &y // static members come first, by instance
	f(in, "a=1:4 2:4  b=1:2,3 2:2,3  c=1:0,1 2:0,1")
	in.members = []assignMember{{id: "a", topics: both[:1]}, {id: "b", topics: both}, {id: "c", topics: both[1:]}}
	f(in, "a=1:0,1,2  b=1:3,4 2:0,1,2  c=2:3,4")
	in.partitions = map[topicID]int32{topicNo(1): 1, topicNo(2): 0}
	f(in, "a=1:0  b=  c=")
}

func TestAssignUniformKeepsWhatItCan(t *testing.T) {
	f := func(in assignInput, want string) {
		t.Helper()
		if got := showTargets(assign(assignorUniform, in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	one := []topicID{topicNo(1)}
	has := func(p ...int32) partitionsOf { return partitionsOf{topicNo(1): p} }
	in := assignInput{partitions: map[topicID]int32{topicNo(1): 7}, homogeneous: true}
	in.members = []assignMember{{id: "a", topics: one}, {id: "b", topics: one}}
	f(in, "a=1:0,1,2,3  b=1:4,5,6")
	// b has had the larger share and keeps it.
	in.members = []assignMember{{id: "a", topics: one, has: has(0, 1, 2)}, {id: "b", topics: one, has: has(3, 4, 5, 6)}}
	f(in, "a=1:0,1,2  b=1:3,4,5,6")
	// A third comes: only what it needs moves.
	in.members = append(in.members, assignMember{id: "c", topics: one})
	f(in, "a=1:0,1,2  b=1:3,4  c=1:5,6")
	// A topic that shrank, as after it was made anew, leaves nothing behind.
	in.partitions[topicNo(1)] = 2
	f(in, "a=1:0  b=1:1  c=")
	f(assignInput{}, "")
	f(assignInput{members: []assignMember{{id: "a"}}, homogeneous: true}, "a=")
}

// TestAssignProperties: for random groups and random changes of them, every partition of a subscribed topic has exactly one owner that
// subscribes to it; uniform is balanced as far as single moves can, and homogeneous groups move no more than they must.
func TestAssignProperties(t *testing.T) {
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		in := assignInput{partitions: map[topicID]int32{}, homogeneous: seed%2 == 0}
		topics := 1 + rnd.IntN(6)
		for i := range topics {
			in.partitions[topicNo(i+1)] = int32(rnd.IntN(12))
		}
		for i := range 1 + rnd.IntN(9) {
			in.members = append(in.members, assignMember{id: fmt.Sprintf("m%d", i), topics: someTopics(rnd, topics, in.homogeneous)})
		}
		for round := range 4 {
			before := map[string]partitionsOf{}
			for i := range in.members {
				before[in.members[i].id] = in.keep(&in.members[i])
			}
			targets := assign(assignorUniform, in)
			where := fmt.Sprintf("seed %d round %d\nbefore %s\nafter  %s", seed, round, showTargets(before), showTargets(targets))
			checkOwners(t, in, targets, where)
			checkBalance(t, in, targets, where)
			if in.homogeneous {
				checkSticky(t, in, before, targets, where)
			}
			checkOwners(t, in, assign(assignorRange, in), "range, "+where)
			for i := range in.members {
				in.members[i].has = targets[in.members[i].id]
			}
			again := assign(assignorUniform, in)
			if showTargets(again) != showTargets(targets) {
				t.Fatalf("assigned again without a change: %s\n%s", showTargets(again), where)
			}
			change(rnd, &in, topics)
		}
	}
}

func someTopics(rnd *rand.Rand, n int, all bool) (out []topicID) {
	for i := range n {
		if all || rnd.IntN(2) == 0 {
			out = append(out, topicNo(i+1))
		}
	}
	return out
}

func change(rnd *rand.Rand, in *assignInput, topics int) {
	switch rnd.IntN(4) {
	case 0:
		in.members = append(in.members, assignMember{id: fmt.Sprintf("n%d", rnd.IntN(1000)+len(in.members)*1000), topics: someTopics(rnd, topics, in.homogeneous)})
	case 1:
		if len(in.members) > 1 {
			at := rnd.IntN(len(in.members))
			in.members = slices.Delete(in.members, at, at+1)
		}
	case 2:
		in.partitions[topicNo(1+rnd.IntN(topics))] += int32(rnd.IntN(3))
	case 3:
		if !in.homogeneous {
			in.members[rnd.IntN(len(in.members))].topics = someTopics(rnd, topics, false)
		}
	}
}

func checkOwners(t *testing.T, in assignInput, targets map[string]partitionsOf, where string) {
	t.Helper()
	owner := map[slot]string{}
	wanted := map[topicID]bool{}
	for _, m := range in.members {
		for _, topic := range m.topics {
			wanted[topic] = true
		}
		for topic, list := range targets[m.id] {
			if !slices.Contains(m.topics, topic) || !slices.IsSorted(list) {
				t.Fatalf("%s gets %v of topic %d\n%s", m.id, list, topic[15], where)
			}
			for _, p := range list {
				if p >= in.partitions[topic] || owner[slot{topic, p}] != "" {
					t.Fatalf("partition %d of topic %d: %s and %q\n%s", p, topic[15], m.id, owner[slot{topic, p}], where)
				}
				owner[slot{topic, p}] = m.id
			}
		}
	}
	for topic := range wanted {
		for p := range in.partitions[topic] {
			if owner[slot{topic, p}] == "" {
				t.Fatalf("nobody gets partition %d of topic %d\n%s", p, topic[15], where)
			}
		}
	}
}

// checkBalance: no partition can be moved to make two loads more even.
func checkBalance(t *testing.T, in assignInput, targets map[string]partitionsOf, where string) {
	t.Helper()
	for _, from := range in.members {
		for topic := range targets[from.id] {
			for _, to := range in.members {
				if slices.Contains(to.topics, topic) && targets[from.id].count()-targets[to.id].count() > 1 {
					t.Fatalf("%s has more than %s by two or more, and topic %d in common\n%s", from.id, to.id, topic[15], where)
				}
			}
		}
	}
}

// checkSticky: a member that kept less than it had is at its share, the larger one if it could have that.
func checkSticky(t *testing.T, in assignInput, before, targets map[string]partitionsOf, where string) {
	t.Helper()
	moved, surplus, total := 0, 0, 0
	for _, n := range in.partitions {
		total += int(n)
	}
	share, larger := total/len(in.members), total%len(in.members)
	for id, had := range before {
		over := had.count() - share
		if over > 0 && larger > 0 {
			over, larger = over-1, larger-1
		}
		surplus += max(over, 0)
		for topic, list := range had {
			for _, p := range list {
				if !targets[id].has(topic, p) {
					moved++
				}
			}
		}
	}
	if moved > surplus {
		t.Fatalf("%d partitions lost their owner, %d had to\n%s", moved, surplus, where)
	}
}

func BenchmarkAssignUniform(b *testing.B) {
	for _, homogeneous := range []bool{true, false} {
		in := assignInput{partitions: map[topicID]int32{}, homogeneous: homogeneous}
		rnd := rand.New(rand.NewPCG(1, 1))
		for i := range 20 {
			in.partitions[topicNo(i+1)] = 100
		}
		for i := range 200 {
			in.members = append(in.members, assignMember{id: fmt.Sprintf("member-%d", i), topics: someTopics(rnd, 20, homogeneous)})
		}
		targets := assign(assignorUniform, in)
		for i := range in.members[:199] {
			in.members[i].has = targets[in.members[i].id]
		}
		b.Run(fmt.Sprintf("200members2000partitions/homogeneous=%t", homogeneous), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				assign(assignorUniform, in)
			}
		})
	}
}

// The assignor that most members want is used; of two that as many want, the one that Java's HashMap has first.
func TestPreferredAssignor(t *testing.T) {
	f := func(counts map[string]int, want string) {
		t.Helper()
		g := newConsumerGroup("g")
		g.assignors = counts
		if got := g.preferred("fallback", nil, nil); got != want {
			t.Errorf("of %v %s is preferred, want %s", counts, got, want)
		}
	}
	f(nil, "fallback")
	f(map[string]int{"range": 1}, "range")
	f(map[string]int{"range": 2, "uniform": 1}, "range")
	f(map[string]int{"range": 1, "uniform": 1}, "uniform")
}

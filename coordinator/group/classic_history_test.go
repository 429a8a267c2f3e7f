package group

import (
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/coordinator"
)

// TestClassicHistories runs random histories: after every event the log folds to what is served, no call is answered twice or lost, and the
// group's counts are those of its members.
func TestClassicHistories(t *testing.T) {
	for seed := range int64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runClassicHistory(t, rand.New(rand.NewSource(seed)), 250) })
	}
}

func runClassicHistory(t *testing.T, r *rand.Rand, events int) {
	w := newClassicStory(t)
	w.topics.set("t", 2)
	w.topics.set("u", 1)
	w.set["group.initial.rebalance.delay.ms"] = []string{"0", "3000"}[r.Intn(2)]
	w.set["group.max.size"] = []string{"2", "100"}[r.Intn(2)]
	var told []string
	for range events {
		line := randomClassicEvent(w, r)
		told = append(told, line)
		w.event(strings.Fields(line))
		w.checkFold(line)
		w.checkCalls(line)
		checkClassicCounts(t, w)
		if t.Failed() {
			t.Fatalf("history:\n%s", strings.Join(told, "\n"))
		}
	}
}

func randomClassicEvent(w *classicStory, r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.Intn(len(from))] }
	g := pick("g", "g", "g", "h")
	member, generation := "stranger", int32(0)
	var instance string
	if c := w.s.groups[g]; c != nil && c.classic != nil {
		generation = c.classic.generation - int32(r.Intn(8)/7)
		ids := c.classic.sorted()
		if len(ids) > 0 && r.Intn(12) > 0 {
			m := ids[r.Intn(len(ids))]
			member = m.id
			if m.instance != nil {
				instance = " instance=" + *m.instance
			}
		}
		for id := range c.classic.pendingJoin {
			if r.Intn(3) == 0 {
				member, instance = id, ""
			}
		}
	}
	at := w.since + time.Duration(r.Intn(4000))*time.Millisecond
	now := fmt.Sprintf(" group=%s at=%v", g, at)
	protocols := " protocols=" + pick("range", "range,rr", "rr,range", "sticky") + " topics=" + pick("t", "t,u", "")
	as := fmt.Sprintf(" member=%s generation=%d%s", member, generation, instance)
	offsets := " offsets=" + pick("t-0:1", "t-1:2,u-0:3", "u-0:4")
	producer := fmt.Sprint(" producer=", 1+r.Intn(3))
	switch r.Intn(20) {
	case 0, 1:
		return "join v=" + pick("0", "3", "4", "9") + protocols + now
	case 2:
		return "join v=9 instance=" + pick("a", "b") + protocols + now
	case 3, 4, 5:
		return "join v=9 member=" + member + instance + protocols + now
	case 6, 7, 8:
		return "sync" + as + " assign=" + member + ":x" + now
	case 9, 10:
		return "heartbeat" + as + now
	case 11:
		return "leave members=" + member + now
	case 12:
		return "commit" + as + offsets + now
	case 13:
		return "commit" + offsets + now
	case 14:
		return "txn-commit" + producer + pick(as, "") + offsets + now
	case 15:
		return "end-txn result=" + pick("commit", "abort") + producer
	case 16:
		return pick("delete-group", "delete-offsets partitions=t-0,u-0", "delete-offsets partitions=t-1") + now
	case 17:
		return pick("restart", "wall jumps=50h", "wall jumps=-1h", "delete-topic name=u", "topic name=u partitions=1")
	default:
		return fmt.Sprintf("wait at=%v", w.since+time.Duration(1+r.Intn(30))*time.Second)
	}
}

// checkClassicCounts compares what a group counts with what its members say.
func checkClassicCounts(t *testing.T, w *classicStory) {
	for _, g := range w.s.sortedGroups() {
		c := g.classic
		if c == nil {
			continue
		}
		joining, votes, static := 0, map[string]int{}, 0
		for _, m := range c.members {
			if m.join != nil {
				joining++
			}
			if m.instance != nil {
				static++
				if c.static[*m.instance] != m.id {
					t.Errorf("%s: instance %s is %s, not %s", g.id, *m.instance, c.static[*m.instance], m.id)
				}
			}
			for _, p := range m.protocols {
				votes[p.name]++
			}
			if m.sync != nil && c.state != stateCompleting {
				t.Errorf("%s: %s waits for its assignment in %s", g.id, m.id, c.state)
			}
			if m.armed.IsZero() && m.join == nil && m.sync == nil {
				t.Errorf("%s: nothing ends the session of %s", g.id, m.id)
			}
		}
		if joining != c.awaitingJoin || static != len(c.static) || fmt.Sprint(votes) != fmt.Sprint(c.votes) {
			t.Errorf("%s counts %d joining, %d static, votes %v; members say %d, %d, %v", g.id, c.awaitingJoin, len(c.static), c.votes, joining, static, votes)
		}
		switch {
		case len(c.members) > 0 && (c.members[c.leader] == nil || c.state == stateEmpty):
			t.Errorf("%s has members, leader %q, in %s", g.id, c.leader, c.state)
		case len(c.members) == 0 && c.state != stateEmpty && c.state != statePreparing:
			t.Errorf("%s has no members in %s", g.id, c.state)
		}
	}
}

// Bytes that nobody wrote are skipped, whatever they are; the rest of the log still counts.
func FuzzApply(f *testing.F) {
	w := newClassicStory(f)
	w.event(strings.Fields("join v=3"))
	w.event(strings.Fields("sync member=c-m1 generation=1 assign=c-m1:x"))
	w.event(strings.Fields("commit member=c-m1 generation=1 offsets=t-0:1"))
	for _, l := range w.log {
		f.Add(l.rec.Key, l.rec.Value)
	}
	settings := maps.Clone(newConsumerWorld(f).set) // records of consumer groups need their settings, too
	maps.Copy(settings, w.set)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		s := New(Deps{Topics: w.topics, Settings: settings})
		for _, v := range [][]byte{value, nil} {
			s.Apply(coordinator.Record{Key: key, Value: v})
			s.ApplyTxn(coordinator.Txn{ProducerID: 1}, coordinator.Record{Key: key, Value: v})
		}
		s.EndTxn(w.now(), coordinator.Txn{ProducerID: 1}, true)
		s.Loaded(w.now())
	})
}

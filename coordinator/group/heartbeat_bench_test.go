package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A heartbeat moves a deadline: all it allocates is its answer.
func TestHeartbeatAllocations(t *testing.T) {
	w, req := stableGroup(t, 3)
	got := testing.AllocsPerRun(1000, func() { w.s.Heartbeat(w.now(), callNumber(1), req) })
	if got > 2 { // the response and the list of replies
		t.Errorf("a heartbeat allocates %v times, want at most 2", got)
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	w, req := stableGroup(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		w.s.Heartbeat(w.now(), callNumber(1), req)
	}
}

// BenchmarkJoinStorm measures the coordinator's part when 200 members join at once: all join, all are told, the leader assigns.
func BenchmarkJoinStorm(b *testing.B) {
	for b.Loop() {
		stableGroup(b, 200)
	}
}

// stableGroup makes a group of n members and a heartbeat of one of them.
func stableGroup(t testing.TB, n int) (*classicStory, *kmsg.HeartbeatRequest) {
	w := newClassicStory(t)
	for range n {
		w.event(strings.Fields("join v=3 topics=t"))
	}
	w.wait(7e9) // the first delay and its extension
	var assign []string
	c := w.s.groups["g"].classic
	for _, m := range c.sorted() {
		assign = append(assign, m.id+":x")
	}
	w.event(strings.Fields(fmt.Sprintf("sync member=%s generation=1 assign=%s", c.leader, strings.Join(assign, ","))))
	if c.state != stateStable || len(c.members) != n {
		t.Fatalf("%d members in %s", len(c.members), c.state)
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 4, "g", c.leader, 1
	return w, req
}

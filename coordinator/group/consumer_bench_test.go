package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A heartbeat that changes nothing moves a deadline: all it allocates is its answer.
func TestConsumerHeartbeatAllocations(t *testing.T) {
	beat := quietHeartbeat(t)
	if got := testing.AllocsPerRun(1000, beat); got > 2 { // the response and the list of replies
		t.Errorf("a heartbeat allocates %v times, want at most 2", got)
	}
}

func BenchmarkConsumerHeartbeat(b *testing.B) {
	beat := quietHeartbeat(b)
	b.ReportAllocs()
	for b.Loop() {
		beat()
	}
}

// quietHeartbeat makes a member of a stable group with 100 partitions, and returns a heartbeat of it.
func quietHeartbeat(t testing.TB) func() {
	w := newConsumerWorld(t)
	w.topics.set("foo", 100)
	w.event([]string{"heartbeat", "member=a", "epoch=0", "topics=foo"})
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, "g", "a", w.s.consumer("g").members["a"].epoch
	c := w.client()
	w.do(w.s.ConsumerGroupHeartbeat(w.now(), c, nil, req)) // the first after a change compares the topics once more
	return func() { w.s.ConsumerGroupHeartbeat(w.now(), c, nil, req) }
}

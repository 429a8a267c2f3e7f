package handler

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/metadata/record"
	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/replica"
)

func (n *dataNode) fetched(req *kmsg.FetchRequest, version int16) string {
	n.Helper()
	return told(answerOf[*kmsg.FetchResponse](n, n.send(req, version), req))
}

func TestFetchEveryVersion(t *testing.T) {
	n := newDataNode(t)
	data := plainBatch(t, 3)
	size := len(data)
	n.mustProduce("a", 0, data)
	for v := int16(4); v <= 18; v++ {
		eq(t, fmt.Sprint("v", v), n.fetched(fetchReq("a/0@0"), v), fmt.Sprintf("a/0 code=0 hw=3 bytes=%d", size))
	}
}

// An isolation level that there is not fails the whole request; before topic ids each partition is told so too.
func TestFetchOfUnknownIsolation(t *testing.T) {
	n := newDataNode(t)
	const each = "a/0 code=-1 hw=-1 bytes=0, a/7 code=-1 hw=-1 bytes=0"
	for v, want := range map[int16]string{4: each, 7: "error -1, " + each, 12: "error -1, " + each, 13: "error -1", 18: "error -1"} {
		for _, level := range []int8{-1, 2} {
			req := fetchReq("a/0@0", "a/7@0")
			req.IsolationLevel = level
			r := answerOf[*kmsg.FetchResponse](t, n.send(req, v), req)
			eq(t, fmt.Sprint("v", v), told(r), want)
		}
	}
}

func TestFetchErrorsNeverSpoilTheNeighbours(t *testing.T) {
	n := newDataNode(t)
	n.mustProduce("a", 0, plainBatch(t, 1))
	for _, v := range []int16{4, 11, 12, 13, 16, 18} {
		unknown := 3
		if v >= 13 {
			unknown = 100
		}
		req := fetchReq("none/0@0", "a/0@0", "a/7@0", "a/1@5", "other/0@0")
		r := answerOf[*kmsg.FetchResponse](t, n.send(req, v), req)
		eq(t, fmt.Sprint("v", v), told(r), wantNeighbours(v, unknown))
		for _, rt := range r.Topics {
			for _, p := range rt.Partitions {
				if p.RecordBatches == nil {
					t.Errorf("v%d: null records in %s/%d", v, rt.Topic, p.Partition)
				}
				if p.ErrorCode == kerr.NotLeaderForPartition.Code && v >= 16 && (p.CurrentLeader.LeaderID != 2 || len(r.Brokers) != 1 || r.Brokers[0].NodeID != 2) {
					t.Errorf("v%d: leader %+v, brokers %+v", v, p.CurrentLeader, r.Brokers)
				}
			}
		}
	}
}

// wantNeighbours: what the log was asked for comes first, in the order of the request, then what was refused before.
func wantNeighbours(v int16, unknown int) string {
	other, none := "other", "none"
	if v >= 13 {
		other, none = "o", "n"
	}
	return fmt.Sprintf("a/0 code=0 hw=1 bytes=69, a/1 code=1 hw=-1 bytes=0, %s/0 code=6 hw=-1 bytes=0, %s/0 code=%d hw=-1 bytes=0, a/7 code=3 hw=-1 bytes=0",
		other, none, unknown)
}

func TestFetchWaits(t *testing.T) {
	n := newDataNode(t)
	conn := &dataConn{id: 3}
	fetch := func(change func(*kmsg.FetchRequest)) (*dataCall, *kmsg.FetchRequest) {
		req := fetchReq("a/0@0", "b/1@0")
		if change != nil {
			change(req)
		}
		return n.sendOn(conn, req, 12), req
	}
	c, req := fetch(nil)
	eq(t, "waits", c.answered, 0)
	n.mustProduce("b", 1, plainBatch(t, 1))
	eq(t, "woken", told(answerOf[*kmsg.FetchResponse](t, c, req)), "a/0 code=0 hw=0 bytes=0, b/1 code=0 hw=1 bytes=69")

	later := func(r *kmsg.FetchRequest) { r.Topics[1].Partitions[0].FetchOffset = 1 }
	c, req = fetch(later)
	n.clk.Advance(499 * time.Millisecond)
	eq(t, "before the deadline", c.answered, 0)
	n.clk.Advance(time.Millisecond)
	eq(t, "at the deadline", told(answerOf[*kmsg.FetchResponse](t, c, req)), "a/0 code=0 hw=0 bytes=0, b/1 code=0 hw=1 bytes=0")
	n.mustProduce("b", 1, plainBatch(t, 1))
	eq(t, "once", c.answered, 1)

	c, _ = fetch(func(r *kmsg.FetchRequest) { later(r); r.MinBytes = 0 })
	eq(t, "no min bytes", c.answered, 1)
	c, _ = fetch(func(r *kmsg.FetchRequest) { r.Topics[1].Partitions[0].FetchOffset = 2; r.MaxWaitMillis = 0 })
	eq(t, "no wait", c.answered, 1)
	c, _ = fetch(func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].FetchOffset = 55 })
	eq(t, "an error of the log", c.answered, 1)
	c, req = fetch(func(r *kmsg.FetchRequest) {
		r.Topics[0].Topic = "none"
		r.Topics[1].Partitions[0].FetchOffset = 2
	})
	eq(t, "an unknown topic does not end the wait", c.answered, 0)
	n.clk.Advance(time.Second)
	// The name in the answer was in the frame, which is gone.
	eq(t, "after it", told(answerOf[*kmsg.FetchResponse](t, c, req)), "b/1 code=0 hw=2 bytes=0, none/0 code=3 hw=-1 bytes=0")
	eq(t, "the connection was asked once to tell its end", conn.listen, 1)
}

func TestParkedFetchEndsWithItsConnection(t *testing.T) {
	n := newDataNode(t)
	conn := &dataConn{id: 3}
	c := n.sendOn(conn, fetchReq("a/0@0"), 12)
	conn.end()
	eq(t, "ended without an answer", fmt.Sprint(c.answered, c.none), "1 true")
	n.mustProduce("a", 0, plainBatch(t, 1))
	n.clk.Advance(time.Minute)
	eq(t, "once", c.answered, 1)
}

func TestParkedFetchHearsOfTheTopicsEnd(t *testing.T) {
	n := newDataNode(t)
	req := fetchReq("a/0@0")
	c := n.send(req, 12)
	n.apply(&record.RemoveTopicRecord{TopicID: topicIDOf("a")})
	eq(t, "answer", len(told(answerOf[*kmsg.FetchResponse](t, c, req))) > 0, true)
	eq(t, "by name", n.fetched(fetchReq("a/0@0"), 12), "a/0 code=3 hw=-1 bytes=0")
	eq(t, "by id", n.fetched(fetchReq("a/0@0"), 13), "a/0 code=100 hw=-1 bytes=0")
}

// A session by ids keeps the names: the topic's end is an unknown partition in it, and a topic of the same name another one.
func TestSessionOutlivesItsTopic(t *testing.T) {
	n := newDataNode(t)
	req := fetchReq("a/0@0")
	req.SessionEpoch, req.MaxWaitMillis = 0, 0
	first := answerOf[*kmsg.FetchResponse](t, n.send(req, 17), req)
	eq(t, "full", told(first), "a/0 code=0 hw=0 bytes=0")
	next := fetchReq()
	next.SessionID, next.MaxWaitMillis = first.SessionID, 0
	step := func(what, want string) {
		t.Helper()
		next.SessionEpoch++
		eq(t, what, n.fetched(next, 17), want)
	}
	next.SessionEpoch = 0
	step("first incremental", "")
	step("nothing new", "")
	n.apply(&record.RemoveTopicRecord{TopicID: topicIDOf("a")})
	step("deleted", "a/0 code=3 hw=-1 bytes=0")
	again := [16]byte{0x77}
	n.apply(&record.TopicRecord{Name: "a", TopicID: again}, &record.PartitionRecord{TopicID: again, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1})
	step("made again", "a/0 code=103 hw=-1 bytes=0")
}

func TestFetchLimits(t *testing.T) {
	n := newDataNode(t)
	var size int
	for range 3 {
		for _, p := range []int32{0, 1} {
			b := plainBatch(t, 1)
			size = len(b)
			n.mustProduce("a", p, b)
		}
	}
	f := func(what string, change func(*kmsg.FetchRequest), want string) {
		t.Helper()
		req := fetchReq("a/0@0", "a/1@0")
		change(req)
		eq(t, what, n.fetched(req, 12), want)
	}
	f("first batch whole, then nothing", func(r *kmsg.FetchRequest) { r.MaxBytes = 1 },
		fmt.Sprintf("a/0 code=0 hw=3 bytes=%d, a/1 code=0 hw=3 bytes=0", size))
	f("partition limit", func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].PartitionMaxBytes = int32(size) },
		fmt.Sprintf("a/0 code=0 hw=3 bytes=%d, a/1 code=0 hw=3 bytes=%d", size, 3*size))
	f("the partition limit counts once something was read", func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[1].PartitionMaxBytes = 0 },
		fmt.Sprintf("a/0 code=0 hw=3 bytes=%d, a/1 code=0 hw=3 bytes=0", 3*size))
	f("both", func(r *kmsg.FetchRequest) { r.MaxBytes = int32(3*size + size) }, fmt.Sprintf("a/0 code=0 hw=3 bytes=%d, a/1 code=0 hw=3 bytes=%d", 3*size, size))
}

func TestFetchPlan(t *testing.T) {
	l := limitsOf(500, 10, 1<<30, 1000)
	eq(t, "fetch.max.bytes bounds max bytes", l.maxBytes, 1000)
	eq(t, "max bytes bounds min bytes", limitsOf(500, 10, 5, 1000).minBytes, 5)
	f := func(what string, l fetchLimits, p fetchProgress, want bool) {
		t.Helper()
		eq(t, what, l.answers(p), want)
	}
	f("nothing yet", l, fetchProgress{asked: 1, bytes: 9}, false)
	f("enough", l, fetchProgress{asked: 1, bytes: 10}, true)
	f("error", l, fetchProgress{asked: 1, failed: true}, true)
	f("diverging", l, fetchProgress{asked: 1, diverges: true}, true)
	f("nothing to wait for", l, fetchProgress{}, true)
	f("no wait", limitsOf(0, 10, 100, 1000), fetchProgress{asked: 1}, true)
	f("negative min bytes", limitsOf(1, -5, 100, 1000), fetchProgress{asked: 1}, true)

	b := fetchBudget{left: 100, minOne: true}
	ask := func(max int32, want string) {
		t.Helper()
		n, one := b.ask(max)
		eq(t, "ask", fmt.Sprint(n, one), want)
	}
	ask(30, "30 true")
	b.took(0)
	ask(-1, "0 true")
	b.took(60)
	ask(1000, "40 false")
	b.took(70)
	ask(1000, "0 false")
}

// All optional parts of a response at once, in every version.
func TestFetchResponseIsCanonical(t *testing.T) {
	rack := "r1"
	for v := int16(4); v <= 18; v++ {
		r := fetchResponse{version: v, code: 0, sessionID: 5, codes: plainCodes{}, splices: new(protocol.SplicePool), brokers: []fetchBroker{{id: 2, host: "h", port: 9092, rack: &rack}, {id: 3, host: "i", port: 1}}}
		entry := func(topic string, p int32, change func(*fetchEntry)) {
			e := fetchEntry{fetchPartition: fetchPartition{topic: topic, id: topicIDOf(topic), partition: p}, leader: -1, leaderAt: -1}
			change(&e)
			r.entries = append(r.entries, e)
		}
		entry("a", 0, func(e *fetchEntry) { e.res.Range = textRange("records of a/0") })
		entry("a", 1, func(e *fetchEntry) { e.skip = true })
		entry("a", 2, func(e *fetchEntry) {
			e.aborted = true
			e.res.Aborted = []replica.AbortedTxn{{ProducerID: 7, FirstOffset: 3}, {ProducerID: 8, FirstOffset: 9}}
		})
		entry("b", 0, func(e *fetchEntry) { e.err, e.leader, e.leaderAt = kerr.FencedLeaderEpoch, 2, 4 })
		entry("a", 3, func(e *fetchEntry) { e.res.Diverges = v >= 12; e.res.DivergingEpoch, e.res.DivergingOffset = 1, 30 })
		s := r.encode()
		out := spliced(s)
		eq(t, fmt.Sprint("v", v, " length"), s.Len(), len(out))
		var got kmsg.FetchResponse
		got.SetVersion(v)
		if err := got.ReadFrom(out); err != nil {
			t.Fatalf("v%d: %v", v, err)
		}
		eq(t, fmt.Sprint("v", v), string(got.AppendTo(nil)), string(out))
		eq(t, fmt.Sprint("v", v, " topics"), len(got.Topics), 3)
		eq(t, fmt.Sprint("v", v, " records"), string(got.Topics[0].Partitions[0].RecordBatches), "records of a/0")
	}
}

// textRange is a file range over a string.
type textRange string

func (r textRange) Len() int                                  { return len(r) }
func (r textRange) ReadAt(p []byte, off int64) (int, error)   { return copy(p, r[off:]), nil }
func (r textRange) ReadNoWait(p []byte, o int64) (int, error) { return r.ReadAt(p, o) }
func (textRange) Hot() bool                                   { return true }
func (textRange) Fd() (fd uintptr, pos int64, ok bool)        { return 0, 0, false }
func (textRange) Release()                                    {}

// quietFetch drops a response as a server does that has written it.
type quietFetch struct{ dataCall }

func (c *quietFetch) ReplySplice(s *protocol.Splice) { s.Release() }

func newQuietFetch(t testing.TB, version int16, wants ...string) *quietFetch {
	req := fetchReq(wants...)
	req.SetVersion(version)
	return &quietFetch{dataCall{testCall: *callOf(req), conn: &dataConn{id: 1}}}
}

// A warm fetch of one partition allocates the request's topics and partitions (kmsg) and storage's range; the answer's memory is used again.
func TestFetchAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("pools forget on purpose in race builds")
	}
	n := newDataNode(t)
	n.mustProduce("a", 0, plainBatch(t, 10))
	c := newQuietFetch(t, 12, "a/0@0")
	if got := testing.AllocsPerRun(200, func() { n.h.fetch(c) }); got > 6 {
		t.Errorf("%v allocations per fetch, want at most 6", got)
	}
}

func BenchmarkFetch(b *testing.B) {
	n := newDataNode(b)
	n.mustProduce("a", 0, plainBatch(b, 100))
	c := newQuietFetch(b, 12, "a/0@0")
	b.ReportAllocs()
	for b.Loop() {
		n.h.fetch(c)
	}
}

// BenchmarkFetchResponse is the answer alone, of 100 partitions.
func BenchmarkFetchResponse(b *testing.B) {
	r := fetchResponse{version: 13, codes: plainCodes{}, splices: new(protocol.SplicePool)}
	for i := range 100 {
		r.entries = append(r.entries, fetchEntry{fetchPartition: fetchPartition{topic: "a", id: topicIDOf("a"), partition: int32(i)}})
	}
	b.ReportAllocs()
	for b.Loop() {
		r.encode().Release()
	}
}

// BenchmarkFetchIdleSession is what a consumer of many quiet partitions costs per poll.
func BenchmarkFetchIdleSession(b *testing.B) {
	n := newDataNode(b)
	leaders := make([]int32, 1000)
	for i := range leaders {
		leaders[i] = 1
	}
	n.topic("many", leaders...)
	var wants []string
	for i := range leaders {
		wants = append(wants, fmt.Sprintf("many/%d@0", i))
	}
	req := fetchReq(wants...)
	req.SessionEpoch, req.MaxWaitMillis = 0, 0
	id := answerOf[*kmsg.FetchResponse](b, n.send(req, 17), req).SessionID
	next := fetchReq()
	next.SessionID, next.SessionEpoch, next.MaxWaitMillis = id, 0, 0
	next.SetVersion(17)
	b.ReportAllocs()
	for b.Loop() {
		next.SessionEpoch++
		c := &quietFetch{dataCall{testCall: *callOf(next), conn: &dataConn{id: 1}}}
		n.h.fetch(c)
	}
}

type plainCodes struct{}

func (plainCodes) code(err error) int16 { return codeOf(err) }

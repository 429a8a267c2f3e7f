package coordinator

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/wheel"
)

// memLog is a partition's log in memory; hold keeps commitments back, fail refuses writes.
type memLog struct {
	mu      sync.Mutex
	batches []LoadedBatch
	next    int64
	hold    bool
	held    []func(error)
	fail    error

	unreadable error
}

func (l *memLog) Write(_, _ int32, recs []Record, txn *Txn, _ int64) (Written, error) {
	return l.add(LoadedBatch{Records: recs, Txn: txn})
}

func (l *memLog) WriteMarker(_, _ int32, txn Txn, commit bool, _ int32) (Written, error) {
	return l.add(LoadedBatch{Txn: &txn, Marker: true, Commit: commit})
}

func (l *memLog) add(b LoadedBatch) (Written, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return Written{}, l.fail
	}
	l.batches = append(l.batches, b)
	l.next += int64(max(len(b.Records), 1))
	w := Written{NextOffset: l.next, Committed: !l.hold}
	if l.hold {
		w.After = func(committed func(error)) { l.held = append(l.held, committed) }
	}
	return w, nil
}

func (l *memLog) Load(_ int32, each func(LoadedBatch) error) error {
	if l.unreadable != nil {
		return l.unreadable
	}
	for _, b := range l.batches {
		if err := each(b); err != nil {
			return err
		}
	}
	return nil
}

// words remembers the keys applied to it, in order; those of open transactions apart.
type words struct {
	applied []string
	pending map[int64][]string
	parked  []Handle
}

func (w *words) Apply(r Record) { w.applied = append(w.applied, string(r.Key)) }
func (w *words) ApplyTxn(t Txn, r Record) {
	w.pending[t.ProducerID] = append(w.pending[t.ProducerID], string(r.Key))
}
func (w *words) Loaded(Now) Effects { return Effects{} }
func (w *words) Fire(_ Now, k string) Effects {
	return Effects{Records: []Record{{Key: []byte("fired " + k)}}}
}
func (w *words) EndTxn(_ Now, t Txn, commit bool) Effects {
	if commit {
		w.applied = append(w.applied, w.pending[t.ProducerID]...)
	}
	delete(w.pending, t.ProducerID)
	return Effects{}
}
func (w *words) Dropped() []Handle {
	out := w.parked
	w.parked = nil
	return out
}

// call is one that tells whether, and how often, it was answered.
type call struct{ got []int16 }

func (a *call) Complete(r kmsg.Response) {
	a.got = append(a.got, r.(*kmsg.HeartbeatResponse).ErrorCode)
}

// Fail notes 16 for a lost shard, 15 for other errors.
func (a *call) Fail(err error) {
	if errors.Is(err, ErrNotCoordinator) {
		a.got = append(a.got, 16)
		return
	}
	a.got = append(a.got, 15)
}

func newRuntime(l *memLog, clk clock.Clock) *Runtime[*words] {
	return New(Options[*words]{
		Topic: "__t", Writer: l, Clock: clk, Wheel: wheel.New(clk), Log: zerolog.Nop(), Go: func(f func()) { f() },
		New: func(_, _ int32) *words { return &words{pending: map[int64][]string{}} },
	})
}

func put(a *call, keys ...string) func(*words, Now) Effects {
	return func(*words, Now) Effects {
		var e Effects
		for _, k := range keys {
			e.Records = append(e.Records, Record{Key: []byte(k)})
		}
		e.Replies = []Reply{{To: a, Response: &kmsg.HeartbeatResponse{}}}
		return e
	}
}

func state(t *testing.T, r *Runtime[*words]) string {
	t.Helper()
	var s string
	if err := r.Submit(0, func(m *words, _ Now) Effects { s = strings.Join(m.applied, " "); return Effects{} }); err != nil {
		t.Fatal(err)
	}
	return s
}

// A reply leaves only after its records, and everything written before it, are committed.
func TestRepliesWaitForCommitment(t *testing.T) {
	l := &memLog{hold: true}
	r := newRuntime(l, clock.NewManual(time.Unix(0, 0)))
	r.Elect(0, 1)
	var a, b call
	if err := r.Submit(0, put(&a, "x")); err != nil {
		t.Fatal(err)
	}
	if err := r.Submit(0, put(&b)); err != nil { // a read that sees x
		t.Fatal(err)
	}
	if len(a.got)+len(b.got) != 0 {
		t.Fatalf("answered before commitment: %v %v", a.got, b.got)
	}
	l.held[0](nil)
	if fmt.Sprint(a.got, b.got) != "[0] [0]" {
		t.Fatalf("after commitment: got %v %v, want one answer each", a.got, b.got)
	}
}

// A refused write answers its call with an error, drops the shard and loads it again from the log.
func TestFailedWriteReloads(t *testing.T) {
	l := &memLog{}
	r := newRuntime(l, clock.NewManual(time.Unix(0, 0)))
	r.Elect(0, 1)
	var a, b, parked call
	if err := r.Submit(0, put(&a, "x")); err != nil {
		t.Fatal(err)
	}
	if err := r.Submit(0, func(m *words, _ Now) Effects { m.parked = append(m.parked, &parked); return Effects{} }); err != nil {
		t.Fatal(err)
	}
	l.fail = errors.New("disk full")
	if err := r.Submit(0, put(&b, "y")); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(a.got, b.got, parked.got) != "[0] [15] [15]" {
		t.Fatalf("answers: %v %v %v", a.got, b.got, parked.got)
	}
	if got := state(t, r); got != "x" {
		t.Fatalf("after reload: %q, want x", got)
	}
}

// Loading folds the same records to the same state; aborted and open transactions do not count.
func TestLoadEqualsServing(t *testing.T) {
	l := &memLog{}
	r := newRuntime(l, clock.NewManual(time.Unix(0, 0)))
	r.Elect(0, 1)
	txn := func(pid int64, key string) {
		if err := r.Submit(0, func(*words, Now) Effects {
			return Effects{Records: []Record{{Key: []byte(key)}}, Txn: &Txn{ProducerID: pid}}
		}); err != nil {
			t.Fatal(err)
		}
	}
	var a call
	txn(1, "committed")
	txn(2, "aborted")
	txn(3, "open")
	if err := r.Submit(0, put(&a, "plain")); err != nil {
		t.Fatal(err)
	}
	var marked []error
	r.Marker(0, Txn{ProducerID: 1}, true, 0, func(err error) { marked = append(marked, err) })
	r.Marker(0, Txn{ProducerID: 2}, false, 0, func(err error) { marked = append(marked, err) })
	if fmt.Sprint(marked) != "[<nil> <nil>]" {
		t.Fatalf("markers: %v", marked)
	}
	want := "plain committed"
	if got := state(t, r); got != want {
		t.Fatalf("serving: %q, want %q", got, want)
	}
	r.Elect(0, 2)
	if got := state(t, r); got != want {
		t.Fatalf("loaded: %q, want %q", got, want)
	}
}

// Timers fire once, as an event like any other; a cancelled one does not.
func TestTimers(t *testing.T) {
	clk := clock.NewManual(time.Unix(0, 0))
	r := newRuntime(&memLog{}, clk)
	r.Elect(0, 1)
	if err := r.Submit(0, func(_ *words, now Now) Effects {
		return Effects{Timers: []TimerChange{{"a", now.Mono.Add(time.Second)}, {"b", now.Mono.Add(time.Second)}, {Key: "b"}}}
	}); err != nil {
		t.Fatal(err)
	}
	clk.Advance(10 * time.Second)
	if got := state(t, r); got != "fired a" {
		t.Fatalf("got %q, want %q", got, "fired a")
	}
}

// A partition that this broker does not lead is refused; calls parked there are answered when it is lost.
func TestResign(t *testing.T) {
	r := newRuntime(&memLog{}, clock.NewManual(time.Unix(0, 0)))
	if err := r.Submit(0, put(&call{})); !errors.Is(err, ErrNotCoordinator) {
		t.Fatalf("unknown partition: %v", err)
	}
	r.Elect(0, 1)
	var a call
	if err := r.Submit(0, func(m *words, _ Now) Effects { m.parked = append(m.parked, &a); return Effects{} }); err != nil {
		t.Fatal(err)
	}
	r.Resign(0)
	if fmt.Sprint(a.got) != "[16]" {
		t.Fatalf("parked call: %v", a.got)
	}
	if err := r.Submit(0, put(&call{})); !errors.Is(err, ErrNotCoordinator) {
		t.Fatalf("after resigning: %v", err)
	}
}

// A refused write of a step that has changed nothing else fails its call and leaves the shard alone.
func TestCleanRefusalKeepsShard(t *testing.T) {
	l := &memLog{}
	r := newRuntime(l, clock.NewManual(time.Unix(0, 0)))
	r.Elect(0, 1)
	var a, parked call
	if err := r.Submit(0, func(m *words, _ Now) Effects { m.parked = append(m.parked, &parked); return Effects{} }); err != nil {
		t.Fatal(err)
	}
	l.fail = errors.New("not enough replicas")
	if err := r.Submit(0, func(m *words, now Now) Effects { e := put(&a, "x")(m, now); e.Clean = true; return e }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(a.got, parked.got) != "[15] []" {
		t.Fatalf("answers: %v, parked %v; want [15] and none", a.got, parked.got)
	}
	l.fail = nil
	if err := r.Submit(0, put(&a, "y")); err != nil || state(t, r) != "y" {
		t.Fatalf("after the refusal: %v, %q", err, state(t, r))
	}
}

// Many records that have nothing to do with each other are written in batches of bounded size; the reply waits for the last.
func TestLooseRecordsAreSplit(t *testing.T) {
	l := &memLog{hold: true}
	r := newRuntime(l, clock.NewManual(time.Unix(0, 0)))
	r.Elect(0, 1)
	var a call
	keys := make([]string, 2*looseRecords+1)
	for i := range keys {
		keys[i] = "k"
	}
	if err := r.Submit(0, func(m *words, now Now) Effects { e := put(&a, keys...)(m, now); e.Loose = true; return e }); err != nil {
		t.Fatal(err)
	}
	if len(l.batches) != 3 || len(l.batches[2].Records) != 1 || l.batches[2].Records[0].Offset != 2*looseRecords {
		t.Fatalf("%d batches", len(l.batches))
	}
	for i, committed := range l.held {
		if len(a.got) != 0 {
			t.Fatalf("answered after %d of 3 batches", i)
		}
		committed(nil)
	}
	if len(a.got) != 1 {
		t.Fatal("not answered after the last batch")
	}
}

// Records that turn out not to be committed fail their call and all after it, and the shard is loaded again.
func TestLostCommitment(t *testing.T) {
	l := &memLog{hold: true}
	r := newRuntime(l, clock.NewManual(time.Unix(0, 0)))
	r.Elect(0, 1)
	var a, b, c call
	for _, f := range []func(*words, Now) Effects{put(&a, "x"), put(&b, "y"), put(&c)} {
		if err := r.Submit(0, f); err != nil {
			t.Fatal(err)
		}
	}
	l.held[1](nil) // out of order: must wait for the first
	if len(b.got) != 0 {
		t.Fatal("answered before the records in front were committed")
	}
	l.batches = nil // what the new leader has
	l.held[0](errors.New("not leader"))
	if fmt.Sprint(a.got, b.got, c.got) != "[15] [15] [15]" {
		t.Fatalf("answers: %v %v %v, want one error each", a.got, b.got, c.got)
	}
	if got := state(t, r); got != "" {
		t.Fatalf("reloaded: %q", got)
	}
}

// While a shard is loading calls are told so; Later waits for the end.
func TestLoading(t *testing.T) {
	l := &memLog{}
	clk := clock.NewManual(time.Unix(0, 0))
	var queue []func()
	r := New(Options[*words]{Topic: "__t", Writer: l, Clock: clk, Wheel: wheel.New(clk), Log: zerolog.Nop(), Go: func(f func()) { queue = append(queue, f) },
		New: func(_, _ int32) *words { return &words{pending: map[int64][]string{}} }})
	r.Elect(0, 1)
	var a call
	if err := r.Submit(0, put(&a, "x")); !errors.Is(err, ErrLoading) {
		t.Fatalf("while loading: %v", err)
	}
	r.Later(0, put(&a, "later"))
	r.Later(1, put(&a, "nowhere"))
	queue[0]()
	if got := state(t, r); got != "later" || len(a.got) != 1 {
		t.Fatalf("loaded: %q, answers %v", got, a.got)
	}
	r.Later(0, put(&a, "at once"))
	if got := state(t, r); got != "later at once" {
		t.Fatalf("after loading: %q", got)
	}
	if got := fmt.Sprint(r.Partitions()); got != "[0]" {
		t.Fatalf("partitions %s", got)
	}
	r.Close()
	if err := r.Submit(0, put(&a)); !errors.Is(err, ErrNotCoordinator) {
		t.Fatalf("closed: %v", err)
	}
}

// A log that can't be read leaves the coordinator unavailable until the partition is elected anew.
func TestUnreadableLog(t *testing.T) {
	l := &memLog{unreadable: errors.New("bad sector")}
	r := newRuntime(l, clock.NewManual(time.Unix(0, 0)))
	r.Elect(0, 1)
	if err := r.Submit(0, put(&call{})); !errors.Is(err, ErrNotAvailable) {
		t.Fatalf("unreadable: %v", err)
	}
	l.unreadable = nil
	r.Elect(0, 1)
	if got := state(t, r); got != "" {
		t.Fatal(got)
	}
}

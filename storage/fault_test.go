package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// ledger is what a story's client was told: the judge of every start after a failure.
type ledger struct {
	mu      sync.Mutex
	batches map[int64][][]byte // by base offset, as acknowledged or attempted there
	acked   int64              // everything below was acknowledged
	synced  int64              // everything below was acknowledged by a flush
	start   int64              // the log start may be anywhere up to here
}

func (g *ledger) allow(start int64) { g.mu.Lock(); g.start = max(g.start, start); g.mu.Unlock() }

// story is a broker's life on a disk that may fail at any operation: append, roll, flush, checkpoint, DeleteRecords, retention, file
// deletion, topic deletion, clean stop, start. It goes on after errors as a client would, and notes what succeeded.
func story(d *testDisk, g *ledger) {
	d.cfg.SegmentBytes, d.cfg.IndexIntervalBytes, d.cfg.RetentionMs = 1500, 200, 60_000
	for round := range 2 {
		m, err := Open(d.options())
		if err != nil {
			return
		}
		life(d, m, g, round)
		closed := m.Close()
		if closed == nil && m.online() == 1 {
			g.mu.Lock()
			g.synced = g.acked
			g.mu.Unlock()
		}
	}
}

func life(d *testDisk, m *Manager, g *ledger, round int) {
	l, err := m.Create(testKey(), "")
	if err != nil {
		return
	}
	for i := range volumeSyncLogs * round { // enough in the second round that the stop syncs the volume
		if e, err := m.Create(PartitionKey{Topic: "many", ID: TopicID{8}, Partition: int32(i)}, ""); err == nil {
			_, _ = e.Append(makeBatch(1, 10, d.clk.Wall().UnixMilli()), AppendOptions{LeaderEpoch: 1}) // as below
		}
	}
	other := PartitionKey{Topic: "other", ID: TopicID{9}, Partition: 3}
	if o, err := m.Create(other, ""); err == nil {
		_, _ = o.Append(makeBatch(1, 10, d.clk.Wall().UnixMilli()), AppendOptions{LeaderEpoch: 1}) // its fate is not the story's
	}
	for i := range 12 {
		d.clk.Advance(5 * time.Second)
		appendStep(d, l, g, i)
		m.env.wg.Wait()
		if i%4 == 3 {
			upTo := l.LogEndOffset()
			if l.Flush() == nil {
				g.mu.Lock()
				g.synced = max(g.synced, upTo)
				g.mu.Unlock()
			}
		}
	}
	_ = m.Checkpoint() // failures are the story's point
	g.allow(l.LogStartOffset() + 3)
	_ = l.DeleteRecordsTo(l.LogStartOffset() + 3)
	d.clk.Advance(30 * time.Second)
	g.allow(l.LogEndOffset()) // retention may take anything
	m.EnforceRetention()
	m.env.wg.Wait()
	d.clk.Advance(2 * time.Minute)
	m.DeleteFiles()
	_ = m.Delete(other)
	if round == 1 {
		m.EnforceRetention() // now the active segment too
	}
	m.env.wg.Wait()
	appendStep(d, l, g, 99)
	m.env.wg.Wait()
}

func appendStep(d *testDisk, l *Log, g *ledger, i int) {
	data := makeBatch(2, 60+i, d.clk.Wall().UnixMilli())
	end := l.LogEndOffset()
	if i%3 == 0 {
		setProducer(data, 1000+end, 0)
	}
	g.mu.Lock()
	g.batches[end] = append(g.batches[end], data) // patched in place by the append; perhaps written even if not acknowledged
	g.mu.Unlock()
	res, err := l.Append(data, AppendOptions{LeaderEpoch: 1})
	if err != nil {
		return
	}
	if res.BaseOffset != end {
		panic(fmt.Sprintf("append at %d went to %d", end, res.BaseOffset))
	}
	g.mu.Lock()
	g.acked = res.LastOffset + 1
	g.mu.Unlock()
}

func setProducer(data []byte, id int64, seq int32) {
	b := batch.Batch(data)
	b.SetProducer(id, 0, seq)
	b.RenewCRC()
}

// verify starts a broker on a disk as a failure left it: everything below atLeast must be there as it was written, and after a clean
// stop Check must find nothing.
func (g *ledger) verify(t *testing.T, d *testDisk, atLeast int64, what string) {
	t.Helper()
	m, err := Open(d.options())
	if err != nil {
		t.Fatalf("%s: start: %v", what, err)
	}
	l, err := m.Create(testKey(), "") // as a broker does that finds the partition in its metadata
	if err != nil {
		t.Fatalf("%s: create: %v", what, err)
	}
	if l.LogEndOffset() < atLeast {
		t.Fatalf("%s: log ends at %d, but everything below %d was promised", what, l.LogEndOffset(), atLeast)
	}
	if l.LogStartOffset() > max(g.start, 0) {
		t.Fatalf("%s: log starts at %d, at most %d was asked for", what, l.LogStartOffset(), g.start)
	}
	next := l.LogStartOffset()
	defer func() {
		if next < atLeast {
			t.Errorf("%s: offset %d is missing, everything below %d was promised", what, next, atLeast)
		}
	}()
	for b := range batch.All(readAll(t, l, 700)) {
		if b.BaseOffset() <= next {
			next = b.NextOffset()
		}
		if !slices.ContainsFunc(g.batches[b.BaseOffset()], func(want []byte) bool { return bytes.Equal(b, want) }) {
			t.Fatalf("%s: batch at offset %d is not the one that was written", what, b.BaseOffset())
		}
	}
	if _, err := l.Append(makeBatch(1, 10, d.clk.Wall().UnixMilli()), AppendOptions{LeaderEpoch: 1}); err != nil {
		t.Fatalf("%s: append after restart: %v", what, err)
	}
	err = m.Reconcile(func(topic string, _ TopicID, _ int32) bool { return topic == testKey().Topic })
	if err != nil {
		t.Fatalf("%s: reconcile: %v", what, err)
	}
	if err := m.Close(); err != nil {
		t.Fatalf("%s: stop: %v", what, err)
	}
	mustCheck(t, d.fs, d.dir)
}

// TestFailEachOperation fails the i-th file operation, once or from then on, whole or torn, for every i of the story; after a kill
// -9 everything acknowledged must be there.
func TestFailEachOperation(t *testing.T) {
	for _, o := range []vfs.ErrOptions{{}, {Sticky: true}, {Mode: vfs.ModeWrites, Torn: true}, {Mode: vfs.ModeWrites, Torn: true, Sticky: true}} {
		for i := int64(0); ; i++ {
			mem := vfs.NewMem()
			d := newTestDisk(t)
			failing := vfs.NewErrOptions(mem, i, o)
			d.fs = failing
			g := &ledger{batches: map[int64][][]byte{}}
			story(d, g)
			d.fs = mem.Clone()
			g.verify(t, d, g.acked, fmt.Sprintf("operation %d (%+v)", i, o))
			if !failing.Failed() {
				t.Logf("%+v: %d operations", o, i)
				if i < 100 {
					t.Fatalf("only %d operations", i)
				}
				break
			}
		}
	}
}

// TestCrashAtEachOperation cuts the power before every file operation of the story: what a flush or a clean stop acknowledged must
// be there, whether nothing else or any part of it reached the disk.
func TestCrashAtEachOperation(t *testing.T) {
	for seed := range uint64(3) {
		crashStory(t, seed)
	}
}

func crashStory(t *testing.T, seed uint64) {
	t.Helper()
	mem := vfs.NewMem()
	d := newTestDisk(t)
	g := &ledger{batches: map[int64][][]byte{}}
	rng := rand.New(rand.NewPCG(seed, 2))
	crashes := 0
	hook := func(i int64, op, name string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		crashes++
		for k, disk := range []*vfs.Mem{mem.CrashClone(), mem.CrashCloneKeeping(rng)} {
			c := *d
			c.fs = disk
			copied := &ledger{batches: g.batches, start: g.start}
			copied.verify(t, &c, g.synced, fmt.Sprintf("seed %d: power cut before operation %d, %s %s (%d)", seed, i, op, name, k))
		}
	}
	d.fs = vfs.NewErrOptions(mem, -1, vfs.ErrOptions{Hook: hook, Mode: vfs.ModeWrites})
	story(d, g)
	if crashes < 100 {
		t.Fatalf("only %d operations", crashes)
	}
	t.Logf("%d power cuts", crashes)
}

// TestDiskFull: a full disk takes the directory offline, and once there is space everything acknowledged is there.
func TestDiskFull(t *testing.T) {
	mem := vfs.NewMem()
	d := newTestDisk(t)
	d.fs = mem
	d.cfg.SegmentBytes = 5000
	var failed []string
	o := d.options()
	o.OnDirFailure = func(dir string, err error) { failed = append(failed, fmt.Sprint(dir, ": ", err)) }
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	l := mustCreate(t, m)
	mem.SetSpace(20_000)
	g := &ledger{batches: map[int64][][]byte{}}
	for range 200 {
		data := makeBatch(2, 100, startTime().UnixMilli())
		res, err := l.Append(data, AppendOptions{LeaderEpoch: 1})
		m.env.wg.Wait()
		if err != nil {
			if !errors.Is(err, ErrLogDirOffline) {
				t.Fatalf("append on a full disk: %v", err)
			}
			break
		}
		g.batches[res.BaseOffset], g.acked = [][]byte{data}, res.LastOffset+1
	}
	if len(failed) != 1 || m.Dirs()[0].Online {
		t.Fatalf("directory failures: %q, online %v", failed, m.Dirs()[0].Online)
	}
	if _, err := l.Read(ReadOptions{Offset: 0, MaxBytes: 100, UpTo: 10}); !errors.Is(err, ErrLogDirOffline) {
		t.Fatalf("read from an offline directory: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	mem.SetSpace(0)
	d.fs = mem.Clone()
	g.verify(t, d, g.acked, "full disk")
}

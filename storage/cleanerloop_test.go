package storage

import (
	"fmt"
	"math"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// TestCleanerLoops compacts on the manual clock by the cleaner's own threads, whose number changes meanwhile; old files go, the
// checkpoint is written and believed after a restart, and Close joins a thread in the middle of a pass.
func TestCleanerLoops(t *testing.T) {
	d := compactedDisk(t)
	var threads atomic.Int32
	threads.Store(0)
	o := d.options()
	o.Cleaner = func() CleanerConfig {
		c := DefaultCleanerConfig()
		c.Threads = int(threads.Load())
		return c
	}
	m, l, h := filledLog(t, d, o)
	before := l.Size()
	m.Start()
	d.clk.Advance(time.Minute)
	if l.Size() != before {
		t.Fatal("cleaned without a thread")
	}
	threads.Store(2)
	m.CleanerChanged()
	checkpointed := func() bool { // it follows the pass, on the cleaner's goroutine
		got, err := readOffsetCheckpoint(d.fs, path.Join(d.dir, cleanerCheckpointFile))
		return err == nil && got[topicPartition{"t", 0}] == l.cleanPoint.Load()
	}
	for l.cleanPoint.Load() < 0 || len(d.files(deletedSuffix)) > 0 || !checkpointed() {
		d.clk.Advance(20 * time.Second)
	}
	if l.Size() >= before/2 {
		t.Fatalf("%d bytes of %d are left", l.Size(), before)
	}
	got, err := readOffsetCheckpoint(d.fs, path.Join(d.dir, cleanerCheckpointFile))
	must(t, err)
	if at := got[topicPartition{"t", 0}]; at != l.cleanPoint.Load() || at != l.active().base {
		t.Fatalf("checkpoint %d, cleaned up to %d, active from %d", at, l.cleanPoint.Load(), l.active().base)
	}
	threads.Store(1)
	m.CleanerChanged()
	h.verify(t, l, "after the loops")
	must(t, m.Close())
	mustCheck(t, d.fs, d.dir)
	m = d.open()
	if at := mustCreate(t, m).cleanPoint.Load(); at != got[topicPartition{"t", 0}] {
		t.Fatalf("after a restart cleaned up to %d", at)
	}
	must(t, m.Close())
}

// TestCleanerThrottle: the pauses between pieces keep reading and writing below the bound, which may change during a pass.
func TestCleanerThrottle(t *testing.T) {
	d := compactedDisk(t)
	rate := 1000.0
	o := d.options()
	o.Cleaner = func() CleanerConfig {
		c := DefaultCleanerConfig()
		c.MaxIOBytesPerSecond, c.IOBufferBytes = rate, 1000
		return c
	}
	m, l, h := filledLog(t, d, o)
	bytes := float64(2 * l.Size()) // read twice; what is written comes on top
	start := d.clk.Mono()
	for l.cleanPoint.Load() < 0 {
		next := m.StepCleaner(d.clk.Mono())
		if next.After(d.clk.Mono()) {
			d.clk.Advance(next.Sub(d.clk.Mono()))
		}
		if l.cleanPoint.Load() < 0 && d.clk.Mono().Sub(start) > time.Hour {
			t.Fatal("no end")
		}
	}
	took := d.clk.Mono().Sub(start).Seconds()
	if least, most := 0.8*bytes/rate, 1.6*bytes/rate; took < least || took > most {
		t.Errorf("took %.1f s, want %.1f to %.1f", took, least, most)
	}
	h.verify(t, l, "throttled")
	must(t, m.Close())
}

// TestCleanerConcurrently compacts over and over while somebody appends, readers go through the log from anywhere, and retention and
// file deletion do their work: every reader gets ascending offsets, and everything of each key's last value.
func TestCleanerConcurrently(t *testing.T) {
	d := compactedDisk(t)
	d.cfg.FileDeleteDelayMs = 0
	o := d.options()
	o.MaxOpenSegments = 4
	m, err := Open(o)
	must(t, err)
	l := mustCreate(t, m)
	m.SetHWSource(func(l *Log) int64 { return l.LogEndOffset() })
	h := newHistory()
	var done atomic.Bool
	var wg sync.WaitGroup
	run := func(f func() error) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !done.Load() {
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	var passes atomic.Int64
	run(func() error {
		_, err := m.CleanNow(testKey(), CleanOptions{})
		passes.Add(1)
		return err
	})
	run(func() error {
		m.EnforceRetention()
		m.DeleteFiles()
		return nil
	})
	for r := range 2 {
		from := int64(r)
		run(func() error {
			end := l.LogEndOffset()
			if from = (from*31 + 17) % 1_000_003; end > 0 {
				return readUp(l, from%end, end)
			}
			return nil
		})
	}
	for i := range 2000 {
		must(t, h.write(l, batch.Options{}, 0, d.now(), keyed{fmt.Sprint("k", i%20), fmt.Sprint("v", i)}))
		for i%100 == 99 && passes.Load() < int64(i/50) && !t.Failed() {
			runtime.Gosched()
		}
	}
	done.Store(true)
	wg.Wait()
	h.verify(t, l, "at the end")
	must(t, m.Close())
	mustCheck(t, d.fs, d.dir)
}

// readUp reads from an offset to the end.
func readUp(l *Log, from, end int64) error {
	for from < end {
		res, err := l.Read(ReadOptions{Offset: from, MaxBytes: 700, UpTo: end, MinOne: true})
		if err != nil {
			return fmt.Errorf("read at %d: %w", from, err)
		}
		if res.Range == nil {
			return nil // all of it was compacted away: what comes next lies above
		}
		data := make([]byte, res.Range.Len())
		_, err = res.Range.ReadAt(data, 0)
		res.Range.Release()
		if err != nil {
			return err
		}
		next := from
		for b := range batch.All(data) {
			if b.LastOffset() < next || !b.ValidCRC() {
				return fmt.Errorf("read at %d: batch %d-%d after %d", from, b.BaseOffset(), b.LastOffset(), next)
			}
			next = b.NextOffset()
		}
		if next == from {
			return fmt.Errorf("no progress at %d", from)
		}
		from = next
	}
	return nil
}

// TestCleanerAllocations: the work on a record allocates nothing.
func TestCleanerAllocations(t *testing.T) {
	measure := func(perBatch int) uint64 {
		d := compactedDisk(t)
		d.cfg.SegmentBytes = 1 << 20
		m := d.open()
		l := mustCreate(t, m)
		h := newHistory()
		for i := range 40 {
			var records []keyed
			for j := range perBatch {
				k := fmt.Sprint("k", j)
				if j%2 == 0 {
					k = fmt.Sprint("k", j, "-", i) // half of each batch stays
				}
				records = append(records, keyed{k, "value"})
			}
			must(t, h.write(l, batch.Options{}, 0, d.now(), records...))
		}
		l.OnHighWatermark(l.LogEndOffset())
		must(t, l.rollNow())
		p, err := m.cleaner.grabLog(l, DefaultCleanerConfig())
		must(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for p.stage != stageDone {
			_, err := p.advance()
			must(t, err)
		}
		runtime.ReadMemStats(&after)
		m.cleaner.release(p)
		must(t, m.Close())
		return after.Mallocs - before.Mallocs
	}
	few, many := measure(2), measure(200)
	if many > few+200 {
		t.Errorf("%d allocations with 8000 records, %d with 80", many, few)
	}
}

// TestOffsetMap: the map holds what it promises within its memory, at any size, and knows nothing else.
func TestOffsetMap(t *testing.T) {
	f := func(buffer int64, load float64, atMost int64, wantLimit int) {
		t.Helper()
		m := newOffsetMap(buffer, load, atMost)
		if m.limit != wantLimit {
			t.Errorf("%d bytes, load %v: room for %d keys, want %d", buffer, load, m.limit, wantLimit)
		}
		key := func(i int) []byte { return fmt.Appendf(nil, "key-%d", i) }
		n, last := 0, int64(0)
		for !m.full() && int64(n) < atMost {
			m.put(key(n), int64(n))
			if grew := m.bytes(); grew != last && grew+last > max(buffer, 2*mapMinSlots*mapSlotBytes) {
				t.Fatalf("%d bytes beside %d, the bound is %d", grew, last, buffer)
			}
			last = m.bytes()
			n++
		}
		for i := range n {
			m.put(key(i), int64(i)+1000)
		}
		for i := range n {
			if got := m.get(key(i)); got != int64(i)+1000 {
				t.Fatalf("key %d of %d: %d", i, n, got)
			}
		}
		for i := range 100 {
			if got := m.get(key(n + i)); got != -1 {
				t.Fatalf("key %d is not there, got %d", n+i, got)
			}
		}
	}
	f(24*100, 0.9, math.MaxInt64, 90)
	f(24*100, 1.5, math.MaxInt64, 99)
	f(24*5000, 0.9, 10, 4500)
	f(24*100_000, 0.9, math.MaxInt64, 90_000)
	f(24*100_000, 0.5, 30_000, 50_000)
	f(1, 0.9, 10, 0)
}

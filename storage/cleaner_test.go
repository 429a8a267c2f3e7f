package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// keyed is a record of a compacted log as a test wrote it; value "" is a tombstone.
type keyed struct{ key, value string }

// written is a record in the history; fate is known when its transaction, if any, has ended.
type written struct {
	keyed
	producer int64 // of its transaction, 0 none
	fate     fate
}

type fate uint8

const (
	committed fate = iota
	aborted
	undecided
)

// history is what was written to a compacted log: the judge of what compaction, crashes and starts leave of it.
type history struct {
	mu      sync.Mutex        // guards all; not held while the log works, whose file operations may ask
	records map[int64]written // by offset; the last ones may have failed
	end     int64             // everything below was acknowledged
	seqs    map[int64]int32
}

func newHistory() *history { return &history{records: map[int64]written{}, seqs: map[int64]int32{}} }

// write appends a batch; producer 0 is none, a negative one is producer -n in a transaction.
func (h *history) write(l *Log, o batch.Options, producer, ts int64, records ...keyed) error {
	o.LeaderEpoch, o.ProducerID, o.ProducerEpoch, o.BaseSequence = 1, batch.NoProducerID, batch.NoProducerEpoch, batch.NoSequence
	if producer != 0 {
		o.ProducerID, o.ProducerEpoch, o.Transactional = max(producer, -producer), 0, producer < 0
		o.BaseSequence = h.seqs[o.ProducerID]
	}
	b := batch.NewBuilder(nil, o)
	h.mu.Lock()
	for i, r := range records {
		w := written{keyed: r}
		if producer < 0 {
			w.producer, w.fate = -producer, undecided
		}
		h.records[l.LogEndOffset()+int64(i)] = w
		var v []byte
		if r.value != "" {
			v = []byte(r.value)
		}
		b.Append(int64(i), ts+int64(i), []byte(r.key), v, batch.Header{Key: "h", Value: []byte("x")})
	}
	h.mu.Unlock()
	data, err := b.Finish()
	if err != nil {
		return err
	}
	res, err := l.Append(data, AppendOptions{LeaderEpoch: 1, Verified: true})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if producer != 0 {
		h.seqs[o.ProducerID] += int32(len(records))
	}
	h.end = res.LastOffset + 1
	return nil
}

// finish writes a producer's marker.
func (h *history) finish(l *Log, producer int64, commit bool, ts int64) error {
	data := batch.AppendMarker(nil, producer, 0, batch.Marker{Commit: commit, Timestamp: ts})
	res, err := l.Append(data, AppendOptions{Origin: OriginCoordinator, LeaderEpoch: 1})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for off, r := range h.records {
		if r.producer == producer && r.fate == undecided {
			if r.fate = committed; !commit {
				r.fate = aborted
			}
			h.records[off] = r
		}
	}
	h.end = res.LastOffset + 1
	return nil
}

// truncate forgets what a truncation cut off.
func (h *history) truncate(offset int64) {
	for off := range h.records {
		if off >= offset {
			delete(h.records, off)
		}
	}
	h.end = min(h.end, offset)
}

// last is each key's last committed record below end; maybe are the offsets whose fate is not known, or not known to that log.
func (h *history) last(l *Log, end int64) (last map[string]int64, maybe map[int64]bool) {
	open := map[int64]int64{}
	for _, p := range l.Producers() {
		if p.CurrentTxnStartOffset >= 0 {
			open[p.ProducerID] = p.CurrentTxnStartOffset
		}
	}
	last, maybe = map[string]int64{}, map[int64]bool{}
	for off, r := range h.records {
		if off >= l.LogEndOffset() {
			continue
		}
		if start, ok := open[r.producer]; r.fate == undecided || r.producer != 0 && ok && off >= start {
			maybe[off] = true
			continue
		}
		if at, ok := last[r.key]; r.fate == committed && off < end && (!ok || off > at) {
			last[r.key] = off
		}
	}
	return last, maybe
}

// viewOf is what a read_committed reader finds in a log: each key's last record. Every record must be as it was written.
func (h *history) viewOf(t testing.TB, l *Log, what string) map[string]int64 {
	t.Helper()
	data := readAll(t, l, 1<<20)
	aborted, err := l.AbortedTxns(0, l.LogEndOffset())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	next := int64(0)
	for b := range batch.All(data) {
		if b.BaseOffset() < next || !b.ValidCRC() {
			t.Fatalf("%s: batch of offset %d after %d, crc %v", what, b.BaseOffset(), next, b.ValidCRC())
		}
		next = b.NextOffset()
		var r batch.Reader
		if err := r.Reset(b, batch.NoLimit); err != nil {
			t.Fatal(err)
		}
		var rec batch.Record
		for r.Next(&rec) {
			if b.IsControl() {
				continue
			}
			w, ok := h.records[rec.Offset]
			if !ok || w.key != string(rec.Key) || w.value != string(rec.Value) || rec.HeaderCount != 1 {
				t.Fatalf("%s: offset %d holds %q=%q, written was %+v (%v)", what, rec.Offset, rec.Key, rec.Value, w, ok)
			}
			if !b.IsTransactional() || !abortedAt(aborted, b.ProducerID(), rec.Offset) {
				out[w.key] = rec.Offset
			}
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		r.Close()
	}
	return out
}

func abortedAt(txns []AbortedTxn, producer, offset int64) bool {
	for _, a := range txns {
		if a.ProducerID == producer && a.FirstOffset <= offset && offset <= a.LastOffset {
			return true
		}
	}
	return false
}

// verify compares a log with what was written below its end; tombstones may be gone.
func (h *history) verify(t testing.TB, l *Log, what string) {
	t.Helper()
	h.verifyFrom(t, l, math.MaxInt64, what)
}

// verifyFrom is verify for a log that may have lost anything from offset durable on.
func (h *history) verifyFrom(t testing.TB, l *Log, durable int64, what string) {
	t.Helper()
	got := h.viewOf(t, l, what)
	want, maybe := h.last(l, durable)
	for k, off := range want {
		at, ok := got[k]
		if ok && (at == off || at > off && (maybe[at] || at >= durable)) || !ok && h.records[off].value == "" {
			continue
		}
		t.Fatalf("%s: the last record of %s is at %d (%v), want %d %+v; log ends at %d", what, k, at, ok, off, h.records[off], l.LogEndOffset())
	}
	for k, off := range got {
		if h.records[off].fate == aborted && !maybe[off] {
			t.Fatalf("%s: %s is read at %d, which was aborted", what, k, off)
		}
	}
}

// compactedDisk has a log that is compacted, with small segments.
func compactedDisk(t testing.TB) *testDisk {
	d := newTestDisk(t)
	d.cfg.CleanupDelete, d.cfg.CleanupCompact = false, true
	d.cfg.SegmentBytes, d.cfg.IndexIntervalBytes = 1500, 200
	d.cfg.MaxCompactionLagMs, d.cfg.DeleteRetentionMs, d.cfg.MinCleanableDirtyRatio = math.MaxInt64, 24*3600_000, 0.01
	return d
}

func (d *testDisk) now() int64 { return d.clk.Wall().UnixMilli() }

// must is for steps that cannot fail.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTombstones: a tombstone stays for delete.retention.ms after the pass that first met it, whatever comes between, and goes then;
// nobody who reads within that time misses it.
func TestTombstones(t *testing.T) {
	d := compactedDisk(t)
	m := d.open()
	l := mustCreate(t, m)
	h := newHistory()
	must(t, h.write(l, batch.Options{}, 0, d.now(), keyed{"a", "1"}, keyed{"b", "1"}))
	must(t, h.write(l, batch.Options{}, 0, d.now(), keyed{"a", ""}, keyed{"c", "1"}))
	clean := func(wantA bool, what string) {
		t.Helper()
		must(t, h.write(l, batch.Options{}, 0, d.now(), keyed{"dirty", what}))
		l.OnHighWatermark(l.LogEndOffset())
		if _, err := m.CleanNow(testKey(), CleanOptions{Roll: true}); err != nil {
			t.Fatal(err)
		}
		h.verify(t, l, what)
		view := h.viewOf(t, l, what)
		if _, ok := view["a"]; ok != wantA {
			t.Fatalf("%s: the tombstone is there: %v, want %v", what, ok, wantA)
		}
		if off := view["b"]; off != 1 {
			t.Fatalf("%s: b is at %d", what, off)
		}
	}
	clean(true, "first pass")
	d.clk.Advance(23*time.Hour + 59*time.Minute + 59*time.Second)
	clean(true, "a second before the horizon")
	d.clk.Advance(999 * time.Millisecond)
	clean(true, "a millisecond before the horizon")
	d.clk.Advance(time.Millisecond)
	clean(false, "at the horizon")
	must(t, m.Close())
	mustCheck(t, d.fs, d.dir)
}

// TestCleanerHistories compacts random histories in many passes, with every codec, transactions, tombstones and maps that are too
// small, and restarts between: no pass loses the last value of a key, changes an offset, or shows what was aborted.
func TestCleanerHistories(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		d := compactedDisk(t)
		d.cfg.ProducerIDExpirationMs = 1 << 40
		keys := 5 + rng.IntN(60)
		cleaner := DefaultCleanerConfig()
		cleaner.IOBufferBytes = int64(100 + rng.IntN(5000))
		cleaner.DedupeBufferBytes = int64(mapSlotBytes * (8 + rng.IntN(100)))
		open := func() (*Manager, *Log) {
			o := d.options()
			o.Cleaner = func() CleanerConfig { return cleaner }
			m, err := Open(o)
			must(t, err)
			l := mustCreate(t, m)
			l.OnHighWatermark(l.LogEndOffset())
			return m, l
		}
		m, l := open()
		h := newHistory()
		openTxn := map[int64]bool{}
		for step := range 60 {
			what := fmt.Sprintf("seed %d step %d", seed, step)
			randomWrites(t, rng, h, l, d, keys, openTxn)
			l.OnHighWatermark(l.LogEndOffset())
			switch rng.IntN(6) {
			case 0, 1, 2:
				before := l.LogEndOffset()
				stats, err := m.CleanNow(testKey(), CleanOptions{Roll: rng.IntN(2) == 0})
				must(t, err)
				if l.LogEndOffset() != before || stats.NextDirty > stats.UpTo {
					t.Fatalf("%s: log end %d → %d, %+v", what, before, l.LogEndOffset(), stats)
				}
			case 3:
				must(t, m.Close())
				m, l = open()
			case 4:
				d = d.crash()
				m, l = open()
			case 5:
				d.clk.Advance(time.Duration(rng.IntN(30)) * time.Hour)
			}
			h.verify(t, l, what)
		}
		must(t, m.Close())
		mustCheck(t, d.fs, d.dir)
	}
}

func randomWrites(t *testing.T, rng *rand.Rand, h *history, l *Log, d *testDisk, keys int, openTxn map[int64]bool) {
	t.Helper()
	for range rng.IntN(6) {
		var records []keyed
		for range 1 + rng.IntN(8) {
			r := keyed{key: fmt.Sprint("k", rng.IntN(keys)), value: fmt.Sprint("v", rng.Uint32())}
			if rng.IntN(5) == 0 {
				r.value = ""
			}
			records = append(records, r)
		}
		producer := int64(rng.IntN(4))
		if p := int64(10 + rng.IntN(3)); rng.IntN(3) == 0 {
			producer, openTxn[p] = -p, true
		}
		must(t, h.write(l, batch.Options{Codec: batch.Codec(rng.IntN(5))}, producer, d.now(), records...))
		d.clk.Advance(time.Second)
		for p := range openTxn {
			if rng.IntN(2) == 0 {
				must(t, h.finish(l, p, rng.IntN(2) == 0, d.now()))
				delete(openTxn, p)
			}
		}
	}
}

// cleaningLife writes, compacts and restarts on a disk that may fail; h knows what was acknowledged, synced tells what a flush did.
func cleaningLife(d *testDisk, h *history, synced func(int64)) {
	for round := range 2 {
		m, err := Open(d.options())
		if err != nil {
			return
		}
		l, err := m.Create(testKey(), "")
		if err != nil {
			_ = m.Close() // the disk has failed
			return
		}
		l.OnHighWatermark(l.LogEndOffset())
		for i := range 4 {
			for j := range 4 {
				k := i*4 + j + round
				if h.write(l, batch.Options{}, 0, d.now(), keyed{fmt.Sprint("k", k%5), fmt.Sprint("v", k, "-", round)}, keyed{fmt.Sprint("t", k%3), ""}) != nil {
					_ = m.Close()
					return
				}
				if h.write(l, batch.Options{}, -20, d.now(), keyed{fmt.Sprint("x", k%2), fmt.Sprint("x", k)}) != nil || h.finish(l, 20, j%2 == 0, d.now()) != nil {
					_ = m.Close()
					return
				}
				m.env.wg.Wait() // so that crashes during a flush find the history at rest
				d.clk.Advance(time.Minute)
			}
			l.OnHighWatermark(l.LogEndOffset())
			if i%3 == 1 {
				if upTo := l.LogEndOffset(); l.Flush() == nil {
					synced(upTo)
				}
			}
			_, _ = m.CleanNow(testKey(), CleanOptions{Roll: i%2 == 0}) // failures are the point
			m.env.wg.Wait()
			d.clk.Advance(time.Minute)
			m.DeleteFiles()
			d.clk.Advance(9 * time.Hour)
		}
		upTo := l.LogEndOffset()
		if m.Close() == nil && m.online() == 1 {
			synced(upTo)
		}
	}
}

func (h *history) verifyDisk(t *testing.T, d *testDisk, atLeast int64, what string) {
	t.Helper()
	m, err := Open(d.options())
	if err != nil {
		t.Fatalf("%s: start: %v", what, err)
	}
	l, err := m.Create(testKey(), "")
	if err != nil {
		t.Fatalf("%s: create: %v", what, err)
	}
	if l.LogEndOffset() < atLeast {
		t.Fatalf("%s: log ends at %d, everything below %d was promised", what, l.LogEndOffset(), atLeast)
	}
	h.verifyFrom(t, l, atLeast, what)
	if err := m.Close(); err != nil {
		t.Fatalf("%s: close: %v", what, err)
	}
	mustCheck(t, d.fs, d.dir)
}

// TestCleanerFailEachOperation fails the i-th file operation of a life with compaction, for every i.
func TestCleanerFailEachOperation(t *testing.T) {
	for _, o := range []vfs.ErrOptions{{}, {Sticky: true}, {Mode: vfs.ModeWrites, Torn: true}} {
		for i := int64(0); ; i++ {
			mem := vfs.NewMem()
			d := compactedDisk(t)
			failing := vfs.NewErrOptions(mem, i, o)
			d.fs = failing
			h := newHistory()
			cleaningLife(d, h, func(int64) {})
			c := *d
			c.fs = mem.Clone()
			h.verifyDisk(t, &c, h.end, fmt.Sprintf("operation %d (%+v)", i, o))
			if !failing.Failed() {
				t.Logf("%+v: %d operations", o, i)
				if i < 300 {
					t.Fatalf("only %d operations", i)
				}
				break
			}
		}
	}
}

// TestCleanerCrashAtEachOperation kills the process and cuts the power before every file operation of a life with compaction.
func TestCleanerCrashAtEachOperation(t *testing.T) {
	for seed := range uint64(3) {
		mem := vfs.NewMem()
		d := compactedDisk(t)
		h := newHistory()
		rng := rand.New(rand.NewPCG(seed, 3))
		durable, crashes := int64(0), 0
		hook := func(i int64, op, name string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			crashes++
			for k, disk := range []*vfs.Mem{mem.Clone(), mem.CrashClone(), mem.CrashCloneKeeping(rng)} {
				c := *d
				c.fs = disk
				atLeast := durable
				if k == 0 {
					atLeast = h.end
				}
				h.verifyDisk(t, &c, atLeast, fmt.Sprintf("seed %d: crash %d before operation %d, %s %s", seed, k, i, op, name))
			}
		}
		d.fs = vfs.NewErrOptions(mem, -1, vfs.ErrOptions{Hook: hook, Mode: vfs.ModeWrites})
		cleaningLife(d, h, func(upTo int64) {
			h.mu.Lock()
			durable = max(durable, upTo)
			h.mu.Unlock()
		})
		t.Logf("%d crashes", crashes)
		if crashes < 300 {
			t.Fatalf("only %d operations", crashes)
		}
	}
}

// filledLog has some dozen segments in which every key was written many times.
func filledLog(t testing.TB, d *testDisk, o Options) (*Manager, *Log, *history) {
	t.Helper()
	m, err := Open(o)
	must(t, err)
	l := mustCreate(t, m)
	h := newHistory()
	for i := range 300 {
		must(t, h.write(l, batch.Options{}, 0, d.now(), keyed{fmt.Sprint("k", i%20), fmt.Sprint("v", i)}))
		d.clk.Advance(time.Second)
	}
	m.env.wg.Wait()
	l.OnHighWatermark(l.LogEndOffset())
	return m, l, h
}

// TestCleanerAborts: a pass ends without harm when its log is truncated, closed, moved or deleted, when its policy changes and when a
// pass asked for takes over; a truncation lowers the checkpoint.
func TestCleanerAborts(t *testing.T) {
	f := func(what string, during func(*testDisk, *Manager, *Log, *history), after func(*Manager, *Log) error) {
		t.Helper()
		for pieces := 1; ; pieces++ {
			d := compactedDisk(t)
			o := d.options()
			o.Dirs = append(o.Dirs, "/data2")
			m, l, h := filledLog(t, d, o)
			l.OnHighWatermark(200)
			p := m.cleaner.grab(DefaultCleanerConfig())
			if p == nil {
				t.Fatal("nothing to clean")
			}
			whole := false
			for range pieces {
				_, done, err := m.cleanPiece(p)
				must(t, err)
				if whole = done; done {
					break
				}
			}
			during(d, m, l, h)
			if !whole {
				if _, done, err := m.cleanPiece(p); !done || err == nil {
					t.Fatalf("%s after %d pieces: done %v, %v", what, pieces, done, err)
				}
			}
			m.cleaner.release(p)
			if after != nil {
				if err := after(m, l); err != nil {
					t.Fatalf("%s after %d pieces: %v", what, pieces, err)
				}
			}
			if l.usable() == nil {
				h.verify(t, l, what)
			}
			must(t, m.Close())
			for _, dir := range o.Dirs {
				mustCheck(t, d.fs, dir)
			}
			if whole {
				return
			}
		}
	}
	again := func(m *Manager, l *Log) error {
		_, err := m.CleanNow(testKey(), CleanOptions{})
		return err
	}
	f("truncation", func(_ *testDisk, _ *Manager, l *Log, h *history) {
		l.cleanPoint.Store(280)
		must(t, l.TruncateTo(230))
		h.truncate(230)
		if p := l.cleanPoint.Load(); p > 230 {
			t.Fatalf("cleaned up to %d in a log that ends at 230", p)
		}
		l.cleanPoint.Store(-1)
	}, again)
	f("emptying", func(_ *testDisk, _ *Manager, l *Log, h *history) {
		must(t, l.TruncateFullyAndStartAt(1000))
		h.truncate(0)
	}, again)
	f("policy", func(d *testDisk, m *Manager, l *Log, _ *history) {
		cfg := d.cfg
		cfg.CleanupDelete, cfg.CleanupCompact, cfg.RetentionMs = true, false, -1
		m.ConfigChanged("t", cfg)
	}, nil)
	f("deletion", func(_ *testDisk, m *Manager, _ *Log, _ *history) { must(t, m.Delete(testKey())) }, nil)
	f("pass", func(_ *testDisk, m *Manager, l *Log, _ *history) { must(t, again(m, l)) }, again)
	f("move", func(d *testDisk, m *Manager, l *Log, _ *history) {
		to := "/data2"
		if l.Dir() == to {
			to = "/data"
		}
		must(t, m.MoveDir(testKey(), to))
		for m.Future(testKey()) != nil {
			m.StepMoves(d.clk.Mono())
		}
		if l.Dir() != to {
			t.Fatalf("the log is in %s", l.Dir())
		}
	}, again)
}

// TestCleanerSelection: what is cleaned, and from where to where.
func TestCleanerSelection(t *testing.T) {
	f := func(what string, change func(*testDisk, *Manager, *Log), want bool) {
		t.Helper()
		d := compactedDisk(t)
		m, l, h := filledLog(t, d, d.options())
		change(d, m, l)
		l.cfg.Store(&d.cfg)
		before := l.Size()
		now := d.clk.Mono()
		for n := 0; n < 100; n++ {
			if next := m.StepCleaner(now); next.After(now) {
				break
			}
		}
		if got := l.Size() < before; got != want {
			t.Errorf("%s: cleaned %v, want %v (%d of %d bytes)", what, got, want, l.Size(), before)
		}
		h.verify(t, l, what)
		must(t, m.Close())
	}
	f("all dirty", func(*testDisk, *Manager, *Log) {}, true)
	f("not compacted", func(d *testDisk, _ *Manager, _ *Log) { d.cfg.CleanupCompact = false }, false)
	f("ratio of 1", func(d *testDisk, _ *Manager, _ *Log) { d.cfg.MinCleanableDirtyRatio = 1 }, false)
	f("ratio of 1, but old", func(d *testDisk, _ *Manager, _ *Log) {
		d.cfg.MinCleanableDirtyRatio, d.cfg.MaxCompactionLagMs = 1, 10_000
	}, true)
	f("ratio of 1, not old", func(d *testDisk, _ *Manager, _ *Log) {
		d.cfg.MinCleanableDirtyRatio, d.cfg.MaxCompactionLagMs = 1, 3600_000
	}, false)
	f("too young", func(d *testDisk, _ *Manager, _ *Log) { d.cfg.MinCompactionLagMs = 3600_000 }, false)
	f("some of it old enough", func(d *testDisk, _ *Manager, _ *Log) { d.cfg.MinCompactionLagMs = 100_000 }, true)
	f("not replicated", func(_ *testDisk, _ *Manager, l *Log) { l.OnHighWatermark(3) }, false)
	f("clean", func(_ *testDisk, _ *Manager, l *Log) { l.cleanPoint.Store(l.active().base) }, false)
	f("checkpoint beyond the end", func(_ *testDisk, _ *Manager, l *Log) { l.cleanPoint.Store(1 << 40) }, true)
	f("uncleanable", func(_ *testDisk, _ *Manager, l *Log) { l.uncleanable.Store(true) }, false)
}

// TestCleanerUncleanable: a log with a damaged batch is left as it is, and the others are cleaned.
func TestCleanerUncleanable(t *testing.T) {
	d := compactedDisk(t)
	m, l, _ := filledLog(t, d, d.options())
	key := PartitionKey{Topic: "u", ID: TopicID{5}, Partition: 0}
	other, err := m.Create(key, "")
	must(t, err)
	h := newHistory()
	for i := range 100 {
		must(t, h.write(other, batch.Options{}, 0, d.now(), keyed{fmt.Sprint("k", i%3), fmt.Sprint("v", i)}))
	}
	m.env.wg.Wait()
	other.OnHighWatermark(other.LogEndOffset())
	d.edit(segmentName(0, logSuffix), func(data []byte) []byte { data[200] ^= 1; return data })
	before, size := l.Size(), other.Size()
	now := d.clk.Mono()
	for range 200 {
		now = m.StepCleaner(now)
	}
	if !l.uncleanable.Load() || l.Size() != before || !l.Online() {
		t.Errorf("uncleanable %v, size %d of %d, online %v", l.uncleanable.Load(), l.Size(), before, l.Online())
	}
	if other.uncleanable.Load() || other.Size() >= size {
		t.Errorf("the other log: uncleanable %v, %d bytes of %d", other.uncleanable.Load(), other.Size(), size)
	}
	h.verify(t, other, "beside a damaged log")
	must(t, m.Close())
}

// TestCleanerLargeBatch: batches larger than the buffers and than max.message.bytes, which was lowered, are compacted too.
func TestCleanerLargeBatch(t *testing.T) {
	d := compactedDisk(t)
	d.cfg.SegmentBytes = 1 << 20
	o := d.options()
	o.Cleaner = func() CleanerConfig {
		c := DefaultCleanerConfig()
		c.IOBufferBytes = 1000
		return c
	}
	m, err := Open(o)
	must(t, err)
	l := mustCreate(t, m)
	h := newHistory()
	big := string(bytes.Repeat([]byte("0123456789"), 5000))
	for i := range 6 {
		must(t, h.write(l, batch.Options{Codec: batch.Codec(i % 5)}, 0, d.now(), keyed{fmt.Sprint("k", i%2), fmt.Sprint(i, big)}, keyed{"same", fmt.Sprint(i, big)}))
	}
	l.OnHighWatermark(l.LogEndOffset())
	d.cfg.MaxMessageBytes = 100
	m.ConfigChanged("t", d.cfg)
	stats, err := m.CleanNow(testKey(), CleanOptions{Roll: true})
	must(t, err)
	if stats.RecordsKept != 3 {
		t.Fatalf("%+v", stats)
	}
	h.verify(t, l, "large batches")
	must(t, m.Close())
	mustCheck(t, d.fs, d.dir)
}

// TestCleanerOffline: a disk that fails during a pass takes its directory offline.
func TestCleanerOffline(t *testing.T) {
	d := compactedDisk(t)
	mem := vfs.NewMem()
	failing := vfs.NewErrOptions(mem, -1, vfs.ErrOptions{Mode: vfs.ModeWrites, Sticky: true})
	d.fs = failing
	var told []string
	o := d.options()
	o.OnDirFailure = func(dir string, _ error) { told = append(told, dir) }
	m, l, _ := filledLog(t, d, o)
	failing.FailNext(2)
	if _, err := m.CleanNow(testKey(), CleanOptions{}); !errors.Is(err, ErrLogDirOffline) || len(told) != 1 || l.Online() {
		t.Fatalf("%v, told %v", err, told)
	}
}

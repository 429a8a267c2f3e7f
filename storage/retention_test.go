package storage

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"
)

// segmentedLog is a log of ten segments of one batch of ten records each, a minute apart, and an empty… active one with the last batch.
func segmentedLog(t testing.TB) (*testDisk, *Manager, *Log, int64) {
	t.Helper()
	d := newTestDisk(t)
	size := int64(len(makeBatch(10, 100, startTime().UnixMilli())))
	d.cfg.SegmentBytes = int32(size)
	m := d.open()
	l := mustCreate(t, m)
	for range 10 {
		mustAppend(t, l, makeBatch(10, 100, d.clk.Wall().UnixMilli()))
		d.clk.Advance(time.Minute)
	}
	m.env.wg.Wait()
	if l.SegmentCount() != 10 {
		t.Fatalf("%d segments", l.SegmentCount())
	}
	return d, m, l, size
}

func TestRetention(t *testing.T) {
	f := func(name string, change func(*LogConfig), hw, wantStart int64) {
		t.Helper()
		d, m, l, _ := segmentedLog(t)
		cfg := l.Config()
		change(&cfg)
		l.SetConfig(cfg)
		m.SetHWSource(func(*Log) int64 { return hw })
		m.EnforceRetention()
		if got := l.LogStartOffset(); got != wantStart {
			t.Errorf("%s: log starts at %d, want %d", name, got, wantStart)
		}
		if l.LogEndOffset() != 100 || l.SegmentCount() == 0 {
			t.Errorf("%s: log ends at %d", name, l.LogEndOffset())
		}
		mustAppend(t, l, makeBatch(1, 10, d.clk.Wall().UnixMilli()))
		if wantStart < 100 {
			readAll(t, l, 1000)
		}
		// Log, two indexes and producer snapshot of each segment; the first segment has no snapshot.
		if n := len(d.files(deletedSuffix)); wantStart > 0 && n != int(wantStart/10)*4-1 {
			t.Errorf("%s: %d deleted files wait", name, n)
		}
		d.clk.Advance(time.Duration(l.Config().FileDeleteDelayMs) * time.Millisecond)
		m.DeleteFiles()
		if n := len(d.files(deletedSuffix)); n != 0 {
			t.Errorf("%s: %d deleted files are left", name, n)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, d.fs, d.dir)
		m = d.open()
		if got := m.Get(testKey().ID, 0).LogStartOffset(); got != wantStart {
			t.Errorf("%s: log starts at %d after a restart, want %d", name, got, wantStart)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	size := int64(len(makeBatch(10, 100, startTime().UnixMilli())))
	f("nothing", func(*LogConfig) {}, 100, 0)
	f("size", func(c *LogConfig) { c.RetentionBytes = 3 * size }, 100, 70)
	f("size just not", func(c *LogConfig) { c.RetentionBytes = 3*size - 1 }, 100, 70)
	f("size nothing", func(c *LogConfig) { c.RetentionBytes = 0 }, 100, 100)
	f("time", func(c *LogConfig) { c.RetentionMs = 4*60_000 + 30_000 }, 100, 60)
	f("time, the active segment too", func(c *LogConfig) { c.RetentionMs = 0 }, 100, 100)
	f("high watermark", func(c *LogConfig) { c.RetentionMs = 0 }, 35, 30)
	f("compact only", func(c *LogConfig) { c.CleanupDelete, c.CleanupCompact, c.RetentionMs = false, true, 0 }, 100, 0)
	f("unlimited", func(c *LogConfig) { c.RetentionMs, c.RetentionBytes = -1, -1 }, 100, 0)
}

// TestDeletedStaysReadable: who holds a range of a deleted segment reads it to the end, also when it was the only one.
func TestDeletedStaysReadable(t *testing.T) {
	d, m, l, _ := segmentedLog(t)
	res, err := l.Read(ReadOptions{Offset: 0, MaxBytes: 1 << 20, UpTo: math.MaxInt64})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, res.Range.Len())
	if _, err := res.Range.ReadAt(want, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.DeleteRecordsTo(55); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(ReadOptions{Offset: 54, MaxBytes: 100, UpTo: math.MaxInt64}); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Fatalf("read below the start: %v", err)
	}
	m.SetHWSource(func(*Log) int64 { return 100 })
	m.EnforceRetention()
	if l.LogStartOffset() != 55 || l.SegmentCount() != 5 {
		t.Fatalf("start %d, %d segments", l.LogStartOffset(), l.SegmentCount())
	}
	d.clk.Advance(time.Hour)
	m.DeleteFiles()
	if err := m.Delete(testKey()); err != nil {
		t.Fatal(err)
	}
	d.clk.Advance(time.Hour)
	m.DeleteFiles()
	got := make([]byte, len(want))
	if _, err := res.Range.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read of a deleted segment: %v", err)
	}
	res.Range.Release()
	if _, err := l.Append(makeBatch(1, 1, 0), AppendOptions{}); !errors.Is(err, ErrLogClosed) {
		t.Fatalf("append to a deleted log: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRoll: by time against the records' timestamps, by a full index, by size; a log of one batch per segment otherwise does not.
func TestRoll(t *testing.T) {
	f := func(name string, change func(*LogConfig), gapMs int64, batches, wantSegments int) {
		t.Helper()
		d := newTestDisk(t)
		change(&d.cfg)
		m := d.open()
		l := mustCreate(t, m)
		for i := range batches {
			mustAppend(t, l, makeBatch(1, 100, startTime().UnixMilli()+int64(i)*gapMs))
		}
		if got := l.SegmentCount(); got != wantSegments {
			t.Errorf("%s: %d segments, want %d", name, got, wantSegments)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, d.fs, d.dir)
	}
	f("no", func(*LogConfig) {}, 1000, 10, 1)
	f("time", func(c *LogConfig) { c.SegmentMs = 2500 }, 1000, 9, 3)
	f("time with jitter at most as much", func(c *LogConfig) { c.SegmentMs, c.SegmentJitterMs = 2500, 1 }, 1000, 9, 3)
	f("size", func(c *LogConfig) { c.SegmentBytes = int32(3 * len(makeBatch(1, 100, startTime().UnixMilli()))) }, 1000, 9, 3)
	f("index", func(c *LogConfig) { c.SegmentIndexBytes, c.IndexIntervalBytes = 48, 0 }, 1000, 9, 3)
}

func TestTruncate(t *testing.T) {
	for _, reopen := range []bool{false, true} {
		for to := int64(0); to <= 101; to += 7 {
			d, m, l, _ := segmentedLog(t)
			for i := range 3 { // epochs 2, 3, 4
				if _, err := l.Append(makeBatch(10, 100, d.clk.Wall().UnixMilli()), AppendOptions{LeaderEpoch: int32(2 + i)}); err != nil {
					t.Fatal(err)
				}
			}
			if reopen {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				m = d.open()
				l = m.Get(testKey().ID, 0)
			}
			all := readAll(t, l, 1<<20)
			if err := l.TruncateTo(to); err != nil {
				t.Fatalf("truncate to %d: %v", to, err)
			}
			if l.LogEndOffset() > to {
				t.Fatalf("truncate to %d: end %d", to, l.LogEndOffset())
			}
			if got := readAll(t, l, 999); !bytes.HasPrefix(all, got) {
				t.Fatalf("truncate to %d: other bytes", to)
			}
			if _, end := l.EndOffsetForEpoch(4); end >= 0 {
				t.Fatalf("truncate to %d: epoch 4 still ends at %d", to, end)
			}
			mustAppend(t, l, makeBatch(1, 10, d.clk.Wall().UnixMilli()))
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if to%10 == 0 { // else the log now has a hole before the new batch, as a follower's never has
				mustCheck(t, d.fs, d.dir)
			}
		}
	}
}

func TestTruncateFully(t *testing.T) {
	d, m, l, _ := segmentedLog(t)
	if err := l.TruncateFullyAndStartAt(500); err != nil {
		t.Fatal(err)
	}
	if l.LogStartOffset() != 500 || l.LogEndOffset() != 500 || l.SegmentCount() != 1 {
		t.Fatalf("start %d, end %d, %d segments", l.LogStartOffset(), l.LogEndOffset(), l.SegmentCount())
	}
	if res := mustAppend(t, l, makeBatch(2, 10, 0)); res.BaseOffset != 500 {
		t.Fatalf("append went to %d", res.BaseOffset)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, d.fs, d.dir)
	m = d.open()
	if l := m.Get(testKey().ID, 0); l.LogStartOffset() != 500 || l.LogEndOffset() != 502 {
		t.Fatalf("after a restart: start %d, end %d", l.LogStartOffset(), l.LogEndOffset())
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestEpochs(t *testing.T) {
	d := newTestDisk(t)
	m := d.open()
	l := mustCreate(t, m)
	f := func(l *Log, epoch, wantEpoch int32, wantEnd int64) {
		t.Helper()
		if e, end := l.EndOffsetForEpoch(epoch); e != wantEpoch || end != wantEnd {
			t.Errorf("epoch %d: got epoch %d ending at %d, want %d, %d", epoch, e, end, wantEpoch, wantEnd)
		}
	}
	f(l, 0, -1, -1)
	for _, e := range []int32{2, 2, 5, 9} {
		if err := l.AssignEpoch(e); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(makeBatch(10, 1, 0), AppendOptions{LeaderEpoch: e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.AssignEpoch(11); err != nil { // no records yet
		t.Fatal(err)
	}
	check := func(l *Log) {
		t.Helper()
		f(l, 0, 0, 0)
		f(l, 2, 2, 20)
		f(l, 3, 2, 20)
		f(l, 5, 5, 30)
		f(l, 9, 9, 40)
		f(l, 12, -1, -1)
		if got := []int32{l.EpochForOffset(0), l.EpochForOffset(19), l.EpochForOffset(20), l.EpochForOffset(39)}; got[0] != 2 || got[1] != 2 || got[2] != 5 || got[3] != 9 {
			t.Errorf("epochs by offset: %v", got)
		}
	}
	check(l)
	f(l, 11, 11, 40)
	if e, ok := l.LatestEpoch(); e != 11 || !ok {
		t.Errorf("latest epoch %d", e)
	}
	crashed := d.crash()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*testDisk{d, crashed} {
		m := d.open()
		check(m.Get(testKey().ID, 0))
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

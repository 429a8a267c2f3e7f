package storage

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/internal/vfs"
)

func osLog(tb testing.TB) (*Manager, *Log) {
	tb.Helper()
	d := newTestDisk(tb)
	d.fs, d.dir = vfs.OS(), tb.TempDir()
	o := d.options()
	o.Clock = clock.System()
	m, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	return m, mustCreate(tb, m)
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			_, l := osLog(b)
			data := makeBatch(1, size-80, startTime().UnixMilli())
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				for i := range 8 {
					data[i] = 0 // the base offset that a client sends
				}
				if _, err := l.Append(data, AppendOptions{LeaderEpoch: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, where := range []string{"tail", "middle"} {
		b.Run(where, func(b *testing.B) {
			_, l := osLog(b)
			for range 4000 {
				mustAppend(b, l, makeBatch(10, 100, startTime().UnixMilli()))
			}
			off := l.LogEndOffset() - 10
			if where == "middle" {
				off = l.LogEndOffset() / 2
			}
			b.ReportAllocs()
			for b.Loop() {
				res, err := l.Read(ReadOptions{Offset: off, MaxBytes: 64 << 10, UpTo: math.MaxInt64, MinOne: true})
				if err != nil {
					b.Fatal(err)
				}
				res.Range.Release()
			}
		})
	}
}

// BenchmarkReadOn is a reader that goes through the middle of a log, one batch or many at a time.
func BenchmarkReadOn(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprintf("batches of %d", size), func(b *testing.B) {
			_, l := osLog(b)
			for range 2000 {
				mustAppend(b, l, makeBatch(1, size, startTime().UnixMilli()))
			}
			off := int64(0)
			step := int64(max(1, (64<<10)/(size+80)))
			b.ReportAllocs()
			for b.Loop() {
				res, err := l.Read(ReadOptions{Offset: off, MaxBytes: 64 << 10, UpTo: math.MaxInt64, MinOne: true})
				if err != nil {
					b.Fatal(err)
				}
				res.Range.Release()
				if off += step; off > 1900 {
					off = 0
				}
			}
		})
	}
}

// TestAllocations holds the hot paths to their budgets.
func TestAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("builds with costly checks allocate more")
	}
	_, l := osLog(t)
	data := makeBatch(10, 100, startTime().UnixMilli())
	f := func(name string, budget float64, run func()) {
		t.Helper()
		if got := testing.AllocsPerRun(500, run); got > budget {
			t.Errorf("%s: %v allocations, budget %v", name, got, budget)
		}
	}
	f("append", 1, func() {
		clear(data[:8])
		if _, err := l.Append(data, AppendOptions{LeaderEpoch: 1}); err != nil {
			t.Fatal(err)
		}
	})
	for _, off := range []int64{l.LogEndOffset() - 5, l.LogEndOffset() / 2} {
		f("read", 2, func() {
			res, err := l.Read(ReadOptions{Offset: off, MaxBytes: 64 << 10, UpTo: math.MaxInt64, MinOne: true})
			if err != nil {
				t.Fatal(err)
			}
			res.Range.Release()
		})
	}
}

// BenchmarkOpen is the start of a broker of 10,000 partitions after a clean stop.
func BenchmarkOpen(b *testing.B) {
	d := newTestDisk(b)
	d.fs, d.dir = vfs.OS(), b.TempDir()
	m := d.open()
	for i := range 10_000 {
		l, err := m.Create(PartitionKey{Topic: fmt.Sprintf("topic-%d", i), ID: TopicID{byte(i), byte(i >> 8), 1}}, "")
		if err != nil {
			b.Fatal(err)
		}
		if i%2 == 0 {
			mustAppend(b, l, makeBatch(1, 100, startTime().UnixMilli()))
		}
	}
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m := d.open()
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestManyPartitions: a start after a clean stop opens nothing and keeps little for each log.
func TestManyPartitions(t *testing.T) {
	const count, budgetBytes = 500, 4 << 10
	d := newTestDisk(t)
	d.fs, d.dir = vfs.OS(), t.TempDir()
	m := d.open()
	for i := range count {
		l, err := m.Create(PartitionKey{Topic: "topic", ID: TopicID{byte(i), byte(i >> 8), 1}, Partition: int32(i)}, "")
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			mustAppend(t, l, makeBatch(1, 100, startTime().UnixMilli()))
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = nil
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m = d.open()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / count; got > budgetBytes {
		t.Errorf("%d bytes for each log, budget %d", got, budgetBytes)
	} else {
		t.Logf("%d bytes for each log", got)
	}
	if n := m.env.handles.Len(); n != 0 {
		t.Errorf("%d segments are open after a start", n)
	}
	for _, l := range m.Logs() {
		if want := int64(1 - l.Key().Partition%2); l.LogEndOffset() != want {
			t.Fatalf("%v ends at %d, want %d", l.Key(), l.LogEndOffset(), want)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, d.fs, d.dir)
}

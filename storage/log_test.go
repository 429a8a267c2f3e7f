package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// testConfig is Kafka's defaults for what a log needs.
func testConfig() LogConfig {
	return LogConfig{
		CleanupDelete: true, CompressionType: "producer", FileDeleteDelayMs: 60_000, FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64,
		IndexIntervalBytes: 4096, MaxMessageBytes: 1 << 20, MaxDecompressedMessageBytes: 64 << 20,
		MessageTimestampAfterMaxMs: math.MaxInt64, MessageTimestampBeforeMaxMs: math.MaxInt64,
		RetentionBytes: -1, RetentionMs: 7 * 24 * 3600_000, SegmentBytes: 1 << 30, SegmentIndexBytes: 10 << 20, SegmentMs: 7 * 24 * 3600_000,
		ProducerIDExpirationMs: 86400_000, MinInsyncReplicas: 1,
	}
}

// startTime is when the tests' clock starts.
func startTime() time.Time { return time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC) }

// testDisk is a log directory on some disk, with a clock and a configuration that tests change.
type testDisk struct {
	t   testing.TB
	fs  vfs.FS
	clk *clock.Manual
	cfg LogConfig
	dir string
}

func newTestDisk(t testing.TB) *testDisk {
	return &testDisk{t: t, fs: vfs.NewMem(), clk: clock.NewManual(startTime()), cfg: testConfig(), dir: "/data"}
}

func (d *testDisk) options() Options {
	return Options{FS: d.fs, Clock: d.clk, Log: zerolog.Nop(), Dirs: []string{d.dir}, NodeID: 1, ClusterID: "DwlN2ho3Q5e7fLxfca6atQ",
		RecoveryThreads: 2, Defaults: func() LogConfig { return d.cfg }}
}

func (d *testDisk) open() *Manager {
	d.t.Helper()
	m, err := Open(d.options())
	if err != nil {
		d.t.Fatalf("open: %v", err)
	}
	return m
}

// crash is the same disk as a process that dies now leaves it: kill -9 keeps everything written.
func (d *testDisk) crash() *testDisk {
	c := *d
	c.fs = d.fs.(*vfs.Mem).Clone()
	return &c
}

func testKey() PartitionKey { return PartitionKey{Topic: "t", ID: TopicID{1, 2, 3}, Partition: 0} }

func mustCreate(t testing.TB, m *Manager) *Log {
	t.Helper()
	l, err := m.Create(testKey(), "")
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return l
}

// makeBatch is a batch of n records of about valueBytes each, at ts and the milliseconds after.
func makeBatch(n, valueBytes int, ts int64) []byte {
	return makeCodecBatch(batch.None, n, valueBytes, ts)
}

func makeCodecBatch(c batch.Codec, n, valueBytes int, ts int64) []byte {
	o := batch.PlainOptions(0, batch.NoLeaderEpoch)
	o.Codec, o.Level = c, c.Level()
	b := batch.NewBuilder(nil, o)
	for i := range n {
		b.Append(int64(i), ts+int64(i), fmt.Appendf(nil, "k%d", i), bytes.Repeat([]byte{byte('a' + i%26)}, valueBytes))
	}
	out, err := b.Finish()
	if err != nil {
		panic(err)
	}
	return out
}

func mustAppend(t testing.TB, l *Log, data []byte) AppendResult {
	t.Helper()
	res, err := l.Append(data, AppendOptions{LeaderEpoch: 1, Version: 11})
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return res
}

// readAll reads the whole log by reads of at most max bytes, and gives the batches one after the other.
func readAll(t testing.TB, l *Log, max int) []byte {
	t.Helper()
	return readBelow(t, l, l.LogEndOffset(), max)
}

// readBelow reads up to an offset.
func readBelow(t testing.TB, l *Log, end int64, max int) []byte {
	t.Helper()
	var out []byte
	for off := l.LogStartOffset(); off < end; {
		res, err := l.Read(ReadOptions{Offset: off, MaxBytes: max, UpTo: math.MaxInt64, MinOne: true})
		if err != nil {
			t.Fatalf("read at %d: %v", off, err)
		}
		if res.Range == nil { // a hole at the end, as a power cut may leave: the caller compares what came
			return out
		}
		data := make([]byte, res.Range.Len())
		if n, err := res.Range.ReadAt(data, 0); err != nil || n != len(data) {
			t.Fatalf("read at %d: %d of %d bytes, %v", off, n, len(data), err)
		}
		res.Range.Release()
		whole := batch.WholeSize(data)
		for b := range batch.All(data[:whole]) {
			if !b.ValidCRC() {
				t.Fatalf("bad crc at offset %d", b.BaseOffset())
			}
			off = b.NextOffset()
		}
		out = append(out, data[:whole]...)
	}
	return out
}

func TestAppendReadRestart(t *testing.T) {
	d := newTestDisk(t)
	d.cfg.SegmentBytes = 20_000
	m := d.open()
	l := mustCreate(t, m)
	var want []byte
	next := int64(0)
	for i := range 300 {
		data := makeBatch(1+i%7, 50+i%90, startTime().UnixMilli()+int64(i)*1000)
		res := mustAppend(t, l, data)
		if res.BaseOffset != next || res.LastOffset != next+int64(i%7) {
			t.Fatalf("append %d: offsets %d to %d, want from %d", i, res.BaseOffset, res.LastOffset, next)
		}
		next = res.LastOffset + 1
		want = append(want, data...)
	}
	if n := l.SegmentCount(); n < 5 {
		t.Fatalf("%d segments, want several", n)
	}
	for _, max := range []int{1, 100, 4096, 1 << 20} {
		if got := readAll(t, l, max); !bytes.Equal(got, want) {
			t.Fatalf("reads of %d bytes: got %d bytes, want %d", max, len(got), len(want))
		}
	}
	crashed := d.crash()
	if err := m.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	for name, disk := range map[string]*testDisk{"clean": d, "crash": crashed} {
		m := disk.open()
		l := m.Get(testKey().ID, 0)
		if l == nil {
			t.Fatalf("%s: the log is gone", name)
		}
		if l.LogEndOffset() != next {
			t.Fatalf("%s: end %d, want %d", name, l.LogEndOffset(), next)
		}
		if got := readAll(t, l, 5000); !bytes.Equal(got, want) {
			t.Fatalf("%s: got %d bytes, want %d", name, len(got), len(want))
		}
		mustAppend(t, l, makeBatch(3, 10, startTime().UnixMilli()))
		if err := m.Close(); err != nil {
			t.Fatalf("%s: close: %v", name, err)
		}
	}
}

func TestReadBounds(t *testing.T) {
	d := newTestDisk(t)
	m := d.open()
	defer m.Close()
	l := mustCreate(t, m)
	size := 0
	for range 10 {
		data := makeBatch(5, 100, startTime().UnixMilli())
		size = len(data)
		mustAppend(t, l, data)
	}
	f := func(offset, upTo int64, max int, minOne bool, wantBytes int, wantErr error) {
		t.Helper()
		res, err := l.Read(ReadOptions{Offset: offset, UpTo: upTo, MaxBytes: max, MinOne: minOne})
		if !errors.Is(err, wantErr) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		got := 0
		if res.Range != nil {
			got = res.Range.Len()
			res.Range.Release()
		}
		if got != wantBytes {
			t.Fatalf("offset %d up to %d, %d bytes: got %d bytes, want %d", offset, upTo, max, got, wantBytes)
		}
	}
	f(0, 50, 1<<20, true, 10*size, nil)
	f(7, 50, 1<<20, true, 9*size, nil) // the batch that holds the offset, whole
	f(0, 20, 1<<20, true, 4*size, nil)
	f(0, 23, 1<<20, true, 4*size, nil) // whole batches below the bound
	f(48, 50, 1, true, size, nil)      // the first batch whole
	f(0, 50, size+10, true, size+10, nil)
	f(0, 50, 10, false, 10, nil)
	f(0, 50, 0, false, 0, nil)
	f(50, 50, 100, true, 0, nil) // at the end
	f(20, 20, 100, true, 0, nil)
	f(30, 20, 100, true, 0, nil)
	f(51, 60, 100, true, 0, ErrOffsetOutOfRange)
	f(-1, 50, 100, true, 0, ErrOffsetOutOfRange)
	if err := l.DeleteRecordsTo(12); err != nil {
		t.Fatal(err)
	}
	f(11, 50, 100, true, 0, ErrOffsetOutOfRange)
	f(12, 50, 1<<20, true, 8*size, nil)
	if got := l.BytesBetween(15, 45); got != int64(6*size) {
		t.Fatalf("bytes between: got %d, want %d", got, 6*size)
	}
}

// TestReadEverywhere reads from every offset of a log of several segments, active and reopened, and compares with a plain walk.
func TestReadEverywhere(t *testing.T) {
	d := newTestDisk(t)
	d.cfg.SegmentBytes, d.cfg.IndexIntervalBytes = 30_000, 500
	m := d.open()
	l := mustCreate(t, m)
	for i := range 400 {
		mustAppend(t, l, makeBatch(1+i%5, 20+i%200, startTime().UnixMilli()+int64(i)))
	}
	check := func(l *Log) {
		t.Helper()
		var bases []int64
		for b := range batch.All(readAll(t, l, 1<<20)) {
			for range b.Count() {
				bases = append(bases, b.BaseOffset())
			}
		}
		for off := range l.LogEndOffset() {
			res, err := l.Read(ReadOptions{Offset: off, MaxBytes: 1, MinOne: true, UpTo: math.MaxInt64})
			if err != nil || res.Range == nil {
				t.Fatalf("read at %d: %v", off, err)
			}
			data := make([]byte, res.Range.Len())
			_, err = res.Range.ReadAt(data, 0)
			res.Range.Release()
			if got := batch.Batch(data).BaseOffset(); err != nil || got != bases[off] {
				t.Fatalf("read at %d: batch at %d, want %d (%v)", off, got, bases[off], err)
			}
		}
	}
	check(l)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = d.open()
	defer m.Close()
	check(m.Get(testKey().ID, 0))
}

func TestOffsetForTimestamp(t *testing.T) {
	for _, c := range []batch.Codec{batch.None, batch.Zstd} {
		d := newTestDisk(t)
		d.cfg.SegmentBytes, d.cfg.IndexIntervalBytes = 2000, 200
		m := d.open()
		l := mustCreate(t, m)
		base := startTime().UnixMilli()
		for i := range 100 { // ten records each, a second apart within the batch a millisecond
			mustAppend(t, l, makeCodecBatch(c, 10, 20, base+int64(i)*1000))
		}
		f := func(l *Log, ts, want int64) {
			t.Helper()
			got, err := l.OffsetForTimestamp(ts, math.MaxInt64)
			if err != nil || got.Offset != want {
				t.Fatalf("%v: timestamp %d: got %+v, %v, want offset %d", c, ts-base, got, err, want)
			}
		}
		check := func(l *Log) {
			t.Helper()
			f(l, 0, 0)
			f(l, base, 0)
			f(l, base+5, 5)
			f(l, base+10, 10)
			for i := range int64(100) {
				f(l, base+i*1000, i*10)
				f(l, base+i*1000+9, i*10+9)
			}
			f(l, base+99_010, -1)
			got, err := l.MaxTimestamp(math.MaxInt64)
			if err != nil || got.Offset != 999 || got.Timestamp != base+99_009 || got.LeaderEpoch != 1 {
				t.Fatalf("max timestamp: %+v, %v", got, err)
			}
		}
		check(l)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m = d.open()
		check(m.Get(testKey().ID, 0))
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

func TestMetaProperties(t *testing.T) {
	d := newTestDisk(t)
	m := d.open()
	data, err := d.fs.ReadFile("/data/meta.properties")
	if err != nil {
		t.Fatal(err)
	}
	id := m.DirIDs()["/data"]
	want := "#\n#Tue Dec 01 08:00:00 UTC 2026\nnode.id=1\ndirectory.id=" + uuidString(id) + "\nversion=1\ncluster.id=DwlN2ho3Q5e7fLxfca6atQ\n"
	if string(data) != want {
		t.Fatalf("got %q, want %q", data, want)
	}
	_, err = Open(d.options())
	var wrong *WrongDirError
	if !errors.As(err, &wrong) || !errors.Is(err, vfs.ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	data, err = d.fs.ReadFile("/data/.kafka_cleanshutdown")
	if err != nil || string(data) != `{"version":0,"brokerEpoch":-1}` {
		t.Fatalf("clean shutdown: %q, %v", data, err)
	}
	f := func(change func(*Options), wantReason string) {
		t.Helper()
		o := d.options()
		change(&o)
		_, err := Open(o)
		if err == nil || !strings.Contains(err.Error(), wantReason) {
			t.Errorf("got %v, want %q", err, wantReason)
		}
	}
	f(func(o *Options) { o.NodeID = 2 }, "belongs to node 1")
	f(func(o *Options) { o.ClusterID = "other" }, "belongs to cluster")
	f(func(o *Options) { o.Dirs = []string{"/data", "/data/"} }, "named twice")
	o := d.options()
	o.ClusterID = ""
	m, err = Open(o)
	if err != nil || m.ClusterID() != "DwlN2ho3Q5e7fLxfca6atQ" || m.DirIDs()["/data"] != id {
		t.Fatalf("the cluster id of the directory: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMetadataDir: a metadata.log.dir of its own says whose it is, too, and takes no logs.
func TestMetadataDir(t *testing.T) {
	d := newTestDisk(t)
	o := d.options()
	o.ClusterID, o.MetadataDir = "", "/meta"
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := readMetaProperties(d.fs, "/meta")
	if err != nil || meta.clusterID != m.ClusterID() || meta.nodeID != 1 || len(m.Dirs()) != 1 {
		t.Fatalf("%+v, %v", meta, err)
	}
	if _, err := d.fs.Lock("/meta/.lock"); !errors.Is(err, vfs.ErrLocked) {
		t.Fatalf("lock: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	o.ClusterID = "other"
	if _, err := Open(o); err == nil {
		t.Fatal("opened for another cluster")
	}
}

// TestSeveralDirs: logs go where the fewest are; a directory that fails takes its logs with it, and no others.
func TestSeveralDirs(t *testing.T) {
	mem := vfs.NewMem()
	bad := vfs.NewErrOptions(mem, -1, vfs.ErrOptions{Mode: vfs.ModeWrites, Sticky: true})
	d := newTestDisk(t)
	d.fs = &splitFS{FS: mem, bad: bad, prefix: "/b"}
	o := d.options()
	o.Dirs = []string{"/a", "/b"}
	var failed []string
	o.OnDirFailure = func(dir string, _ error) { failed = append(failed, dir) }
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var logs []*Log
	for i := range int32(4) {
		l, err := m.Create(PartitionKey{Topic: "t", ID: TopicID{1}, Partition: i}, "")
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, makeBatch(1, 10, 0))
		logs = append(logs, l)
	}
	if got := []string{logs[0].Dir(), logs[1].Dir(), logs[2].Dir(), logs[3].Dir()}; fmt.Sprint(got) != "[/a /b /a /b]" {
		t.Fatalf("directories: %v", got)
	}
	bad.FailNext(0)
	if _, err := logs[1].Append(makeBatch(1, 10, 0), AppendOptions{}); !errors.Is(err, ErrLogDirOffline) {
		t.Fatalf("append on a failing disk: %v", err)
	}
	if _, err := logs[3].Read(ReadOptions{Offset: 0, MaxBytes: 10, UpTo: 1}); !errors.Is(err, ErrLogDirOffline) {
		t.Fatalf("read on an offline directory: %v", err)
	}
	if len(failed) != 1 || failed[0] != "/b" {
		t.Fatalf("failures: %v", failed)
	}
	mustAppend(t, logs[0], makeBatch(1, 10, 0))
	if l, err := m.Create(PartitionKey{Topic: "u", ID: TopicID{2}}, ""); err != nil || l.Dir() != "/a" {
		t.Fatalf("create with one directory left: %v", err)
	}
	if _, err := m.Create(PartitionKey{Topic: "v", ID: TopicID{3}}, "/b"); !errors.Is(err, ErrLogDirOffline) {
		t.Fatalf("create in an offline directory: %v", err)
	}
	if info := m.Dirs(); !info[0].Online || info[1].Online {
		t.Fatalf("directories: %+v", info)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if clean, _, err := readCleanShutdown(mem, "/b"); clean || err != nil {
		t.Fatalf("the offline directory was marked clean (%v)", err)
	}
	bad.FailNext(-1)
	if m, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if l := m.Get(TopicID{1}, 1); l.LogEndOffset() != 1 {
		t.Fatalf("end %d", l.LogEndOffset())
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, mem, "/a")
	mustCheck(t, mem, "/b")
}

// splitFS sends what lies under a prefix to a disk that fails.
type splitFS struct {
	vfs.FS
	bad    vfs.FS
	prefix string
}

func (s *splitFS) pick(name string) vfs.FS {
	if strings.HasPrefix(name, s.prefix) {
		return s.bad
	}
	return s.FS
}

func (s *splitFS) Open(name string) (vfs.File, error)     { return s.pick(name).Open(name) }
func (s *splitFS) Create(name string) (vfs.File, error)   { return s.pick(name).Create(name) }
func (s *splitFS) Rename(from, to string) error           { return s.pick(from).Rename(from, to) }
func (s *splitFS) MkdirAll(name string) error             { return s.pick(name).MkdirAll(name) }
func (s *splitFS) WriteFile(name string, b []byte) error  { return s.pick(name).WriteFile(name, b) }
func (s *splitFS) SyncDir(name string) error              { return s.pick(name).SyncDir(name) }
func (s *splitFS) Remove(name string) error               { return s.pick(name).Remove(name) }
func (s *splitFS) OpenRead(name string) (vfs.File, error) { return s.pick(name).OpenRead(name) }

// TestTopicAgain: a topic of the same name with another id finds an empty log; the old one becomes stray.
func TestTopicAgain(t *testing.T) {
	d, _ := filledDisk(t, true)
	m := d.open()
	again := testKey()
	again.ID = TopicID{7}
	l, err := m.Create(again, "")
	if err != nil || l.LogEndOffset() != 0 {
		t.Fatalf("%v, end %d", err, l.LogEndOffset())
	}
	if m.Get(testKey().ID, 0) != nil {
		t.Fatal("the old id still resolves")
	}
	if n := dirsWith(t, d.fs, d.dir, strayDirSuffix); n != 1 {
		t.Fatalf("%d stray directories", n)
	}
	if err := m.Reconcile(func(string, TopicID, int32) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if n := dirsWith(t, d.fs, d.dir, strayDirSuffix); n != 2 || len(m.Logs()) != 0 {
		t.Fatalf("%d stray directories, %d logs", n, len(m.Logs()))
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func dirsWith(t *testing.T, fs vfs.FS, dir, suffix string) (n int) {
	t.Helper()
	entries, err := fs.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			n++
		}
	}
	return n
}

// TestMoveDir moves a log to another directory while it grows; its users keep their pointer.
func TestMoveDir(t *testing.T) {
	d := newTestDisk(t)
	d.cfg.SegmentBytes = 20_000
	o := d.options()
	o.Dirs = []string{"/a", "/b"}
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Create(testKey(), "/a")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	grow := func(n int) {
		for range n {
			data := makeBatch(5, 1000, startTime().UnixMilli())
			mustAppend(t, l, data)
			want = append(want, data...)
		}
	}
	grow(600)
	if err := m.MoveDir(testKey(), "/b"); err != nil {
		t.Fatal(err)
	}
	if dir, lag, ok := m.FutureLag(testKey()); dir != "/b" || lag != l.LogEndOffset() || !ok {
		t.Fatalf("future: %s, %d, %v", dir, lag, ok)
	}
	steps := 0
	for !m.StepMoves(time.Time{}.Add(1)).IsZero() {
		grow(3)
		if steps++; steps > 1000 {
			t.Fatal("the move does not end")
		}
	}
	if l.Dir() != "/b" || m.Future(testKey()) != nil {
		t.Fatalf("the log is in %s", l.Dir())
	}
	grow(10)
	if got := readAll(t, l, 1<<16); !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, want %d", len(got), len(want))
	}
	d.clk.Advance(time.Hour)
	m.DeleteFiles()
	if n := dirsWith(t, d.fs, "/a", deleteDirSuffix); n != 0 {
		t.Fatalf("%d directories wait for deletion", n)
	}
	crashed := d.fs.(*vfs.Mem).Clone()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, fs := range []vfs.FS{d.fs, crashed} {
		o.FS = fs
		if m, err = Open(o); err != nil {
			t.Fatal(err)
		}
		l = m.Get(testKey().ID, 0)
		if got := readAll(t, l, 1<<16); l.Dir() != "/b" || !bytes.Equal(got, want) {
			t.Fatalf("after a restart: %d bytes in %s, want %d", len(got), l.Dir(), len(want))
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, fs, "/b")
	}
}

// TestFlushGroup: everybody who waits is told once, after what they wait for is durable; one sync serves many.
func TestFlushGroup(t *testing.T) {
	mem := vfs.NewMem()
	var mu sync.Mutex
	syncs := 0
	d := newTestDisk(t)
	d.cfg.FlushMessages = 1
	d.fs = vfs.NewErrOptions(mem, -1, vfs.ErrOptions{Hook: func(_ int64, op, name string) {
		if op == "sync" && strings.HasSuffix(name, logSuffix) {
			mu.Lock()
			syncs++
			mu.Unlock()
		}
	}})
	m := d.open()
	l := mustCreate(t, m)
	const count = 200
	var wg sync.WaitGroup
	for range count {
		res := mustAppend(t, l, makeBatch(1, 10, 0))
		if !l.NeedsFlush(res) {
			continue // a sync has overtaken it
		}
		upTo := res.LastOffset + 1
		wg.Add(1)
		done := func(err error) {
			if err != nil || l.RecoveryPoint() < upTo {
				t.Errorf("done for %d at recovery point %d: %v", upTo, l.RecoveryPoint(), err)
			}
			wg.Done()
		}
		if !l.FlushGroup(upTo, done) {
			wg.Done()
		}
	}
	wg.Wait()
	mu.Lock()
	t.Logf("%d appends, %d syncs", count, syncs)
	mu.Unlock()
	if l.FlushGroup(l.LogEndOffset(), nil) {
		t.Error("nothing should be left to flush")
	}
	c := *d
	c.fs = mem.CrashClone()
	m2 := c.open()
	if got := mustCreate(t, m2).LogEndOffset(); got != count {
		t.Errorf("after a power cut the log ends at %d, want %d", got, count)
	}
	if err := errors.Join(m.Close(), m2.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestAbortedTxnsIn: a reader hears of every aborted transaction in what it got, and of few behind it, however many there are. The numbers
// with an index entry for each 150 bytes are what Kafka 4.4 answers.
func TestAbortedTxnsIn(t *testing.T) {
	d := newTestDisk(t)
	d.cfg.IndexIntervalBytes = 150
	m := d.open()
	l := mustCreate(t, m)
	record := func(pid int64, seq int32) {
		t.Helper()
		o := batch.PlainOptions(0, batch.NoLeaderEpoch)
		if pid >= 0 {
			o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = pid, 0, seq, true
		}
		b := batch.NewBuilder(nil, o)
		b.Append(0, startTime().UnixMilli(), []byte("k0"), []byte("v0"))
		data, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(data, AppendOptions{LeaderEpoch: 1, Verified: true}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int32(200) {
		record(7, 2*i)
		record(7, 2*i+1)
		data := batch.AppendMarker(nil, 7, 0, batch.Marker{Commit: i == 3, Timestamp: startTime().UnixMilli()})
		if _, err := l.Append(data, AppendOptions{LeaderEpoch: 1, Origin: OriginCoordinator}); err != nil {
			t.Fatal(err)
		}
		record(-1, 0)
	}
	f := func(l *Log, from int64, maxBytes int, want string) {
		t.Helper()
		r, err := l.Read(ReadOptions{Offset: from, MaxBytes: maxBytes, MinOne: true, UpTo: l.LogEndOffset()})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Range.Release()
		got, err := l.AbortedTxnsIn(r.Range, from)
		if err != nil {
			t.Fatal(err)
		}
		var first []int64
		for _, a := range got {
			first = append(first, a.FirstOffset)
		}
		if fmt.Sprint(first) != want {
			t.Errorf("aborted in %d bytes from %d: %v, want %s", maxBytes, from, first, want)
		}
	}
	check := func(l *Log) {
		t.Helper()
		f(l, 0, 1, "[0]")
		f(l, 0, 200, "[0]")
		f(l, 2, 1, "[0 4]")
		f(l, 3, 1, "[4]")
		f(l, 4, 1, "[4]")
		f(l, 12, 300, "[16]")
		f(l, 400, 600, "[400 404 408]")
		f(l, 796, 1<<20, "[796]")
		f(l, 799, 1<<20, "[]")
	}
	check(l)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = d.open()
	check(mustCreate(t, m))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestExpiredProducersOverRestart: a start forgets producers that have been silent for too long, whether it reads a snapshot or the log; not
// those of open transactions.
func TestExpiredProducersOverRestart(t *testing.T) {
	d := newTestDisk(t)
	m := d.open()
	l := mustCreate(t, m)
	for pid := range int64(2) {
		o := batch.PlainOptions(0, batch.NoLeaderEpoch)
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = pid, 0, 0, pid == 1
		b := batch.NewBuilder(nil, o)
		b.Append(0, startTime().UnixMilli(), nil, []byte("v"))
		data, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(data, AppendOptions{LeaderEpoch: 1, Verified: true}); err != nil {
			t.Fatal(err)
		}
	}
	crashed := d.crash()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	f := func(what string, d *testDisk, want string) {
		t.Helper()
		m := d.open()
		var ids []int64
		for _, p := range mustCreate(t, m).Producers() {
			ids = append(ids, p.ProducerID)
		}
		if fmt.Sprint(ids) != want {
			t.Errorf("%s: producers %v, want %s", what, ids, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	f("killed, in time", crashed.crash(), "[0 1]")
	d.clk.Advance(25 * time.Hour) // one clock for all
	f("killed", crashed, "[1]")
	f("stopped", d, "[1]")
}

// TestTransactions: the first unstable offset and the aborted ranges, also after a restart, clean or not, and across segments.
func TestTransactions(t *testing.T) {
	d := newTestDisk(t)
	d.cfg.SegmentBytes = 600
	m := d.open()
	l := mustCreate(t, m)
	send := func(pid int64, seq int32) {
		t.Helper()
		o := batch.PlainOptions(0, batch.NoLeaderEpoch)
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = pid, 0, seq, true
		b := batch.NewBuilder(nil, o)
		b.Append(0, startTime().UnixMilli(), nil, bytes.Repeat([]byte("x"), 100))
		data, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(data, AppendOptions{LeaderEpoch: 1, Verified: true}); err != nil {
			t.Fatal(err)
		}
	}
	end := func(pid int64, commit bool) {
		t.Helper()
		data := batch.AppendMarker(nil, pid, 0, batch.Marker{Commit: commit, Timestamp: startTime().UnixMilli()})
		if _, err := l.Append(data, AppendOptions{LeaderEpoch: 1, Origin: OriginCoordinator}); err != nil {
			t.Fatal(err)
		}
	}
	send(1, 0)    // 0
	send(2, 0)    // 1
	send(1, 1)    // 2
	end(1, false) // 3
	send(3, 0)    // 4
	end(2, true)  // 5
	send(3, 1)    // 6
	end(3, false) // 7
	send(4, 0)    // 8 open
	mustAppend(t, l, makeBatch(3, 100, startTime().UnixMilli()))
	check := func(l *Log) {
		t.Helper()
		if off, ok := l.FirstUnstableOffset(); off != 8 || !ok {
			t.Fatalf("first unstable offset %d, %v", off, ok)
		}
		got, err := l.AbortedTxns(0, 8)
		if err != nil || fmt.Sprint(got) != "[{1 0 3 1} {3 4 7 8}]" {
			t.Fatalf("aborted: %v, %v", got, err)
		}
		if got, err = l.AbortedTxns(5, 8); err != nil || len(got) != 1 {
			t.Fatalf("aborted from 5: %v, %v", got, err)
		}
		if p, ok := l.ProducerEntry(4); !ok || p.CurrentTxnStartOffset != 8 {
			t.Fatalf("producer 4: %+v", p)
		}
		if n := len(l.Producers()); n != 4 {
			t.Fatalf("%d producers", n)
		}
	}
	check(l)
	m.env.wg.Wait()
	crashed := d.crash()
	crashed.remove(crashed.files(txnIndexSuffix)[0]) // recovery makes it again
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*testDisk{d, crashed} {
		m := d.open()
		check(m.Get(testKey().ID, 0))
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, d.fs, d.dir)
	}
}

// TestStandalone is the metadata log's use: batches with offsets and epochs as given, synced, cut at both ends.
func TestStandalone(t *testing.T) {
	d := newTestDisk(t)
	o := StandaloneOptions{FS: d.fs, Clock: d.clk, Log: zerolog.Nop(), Dir: "/data/__cluster_metadata-0", Key: PartitionKey{Topic: metadataTopic, ID: TopicID{15: 1}}, Config: d.cfg}
	o.Config.SegmentBytes = 1000
	if err := d.fs.MkdirAll("/data"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/"} {
		if err := d.fs.SyncDir(p); err != nil {
			t.Fatal(err)
		}
	}
	l, err := OpenStandalone(o)
	if err != nil {
		t.Fatal(err)
	}
	put := func(l *Log, offset int64, epoch int32) {
		t.Helper()
		data := makeBatch(1, 100, startTime().UnixMilli())
		batch.Batch(data).SetBaseOffset(offset)
		batch.Batch(data).SetLeaderEpoch(epoch)
		res, err := l.Append(data, AppendOptions{Origin: OriginReplication, LeaderEpoch: epoch})
		if err != nil || res.BaseOffset != offset || res.LastOffset != offset {
			t.Fatalf("append at %d: %+v, %v", offset, res, err)
		}
	}
	for i := range int64(50) {
		put(l, i, int32(1+i/10))
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	reopen := func(fs vfs.FS, wantStart, wantEnd int64) *Log {
		t.Helper()
		o.FS = fs
		l, err := OpenStandalone(o)
		if err != nil {
			t.Fatal(err)
		}
		if l.LogStartOffset() != wantStart || l.LogEndOffset() != wantEnd {
			t.Fatalf("offsets %d to %d, want %d to %d", l.LogStartOffset(), l.LogEndOffset(), wantStart, wantEnd)
		}
		readAll(t, l, 500)
		return l
	}
	if err := reopen(d.fs.(*vfs.Mem).CrashClone(), 0, 50).Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.TruncateTo(33); err != nil {
		t.Fatal(err)
	}
	put(l, 33, 9)
	if err := l.DeletePrefix(20); err != nil {
		t.Fatal(err)
	}
	if l.LogStartOffset() != 20 || l.segments()[0].base > 20 || l.segments()[1].base <= 20 {
		t.Fatalf("start %d, segments from %d, %d", l.LogStartOffset(), l.segments()[0].base, l.segments()[1].base)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o.LogStart = 20
	l = reopen(d.fs, 20, 34)
	if e, end := l.EndOffsetForEpoch(4); e != 4 || end != 33 {
		t.Fatalf("epoch 4 ends at %d (%d)", end, e)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	problems, err := CheckLog(d.fs, "/data/__cluster_metadata-0")
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, %v", problems, err)
	}
}

// TestLoops runs the periodic work on the manual clock: checkpoints, retention, file deletion; and Close joins it.
func TestLoops(t *testing.T) {
	d := newTestDisk(t)
	d.cfg.RetentionMs, d.cfg.FlushMs = 1000, 1000
	o := d.options()
	o.FlushCheckInterval = time.Second
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	m.SetHWSource(func(l *Log) int64 { return l.LogEndOffset() })
	l := mustCreate(t, m)
	m.Start()
	mustAppend(t, l, makeBatch(5, 10, startTime().UnixMilli()))
	for l.LogStartOffset() != 5 || l.RecoveryPoint() != 5 {
		d.clk.Advance(10 * time.Second)
	}
	for {
		if n := len(d.files(deletedSuffix)); n == 0 {
			break
		}
		d.clk.Advance(10 * time.Second)
	}
	for {
		got, err := readOffsetCheckpoint(d.fs, path.Join(d.dir, highWatermarkFile))
		if err != nil {
			t.Fatal(err)
		}
		if got[topicPartition{"t", 0}] == 5 {
			break
		}
		d.clk.Advance(10 * time.Second)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, d.fs, d.dir)
}

// TestConcurrentReaders reads while the log grows, rolls and loses its start.
func TestConcurrentReaders(t *testing.T) {
	d := newTestDisk(t)
	d.cfg.SegmentBytes, d.cfg.IndexIntervalBytes = 3000, 200
	o := d.options()
	o.MaxOpenSegments = 3
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	l := mustCreate(t, m)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for r := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			off := int64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if off >= l.LogEndOffset() {
					off = l.LogStartOffset()
				}
				res, err := l.Read(ReadOptions{Offset: off, MaxBytes: 500 * (r + 1), UpTo: math.MaxInt64, MinOne: true})
				if errors.Is(err, ErrOffsetOutOfRange) {
					off = l.LogStartOffset()
					continue
				}
				if err != nil {
					t.Errorf("read at %d: %v", off, err)
					return
				}
				if res.Range == nil {
					continue
				}
				data := make([]byte, res.Range.Len())
				_, err = res.Range.ReadAt(data, 0)
				res.Range.Release()
				if err != nil {
					t.Errorf("read at %d: %v", off, err)
					return
				}
				first := true
				for b := range batch.All(data) {
					if !b.ValidCRC() || first && (b.BaseOffset() > off || b.LastOffset() < off) {
						t.Errorf("read at %d: batch at %d", off, b.BaseOffset())
						return
					}
					first = false
					off = b.NextOffset()
				}
			}
		}()
	}
	for i := range 2000 {
		mustAppend(t, l, makeBatch(1+i%3, 50, startTime().UnixMilli()+int64(i)))
		if i%100 == 99 {
			if err := l.DeleteRecordsTo(l.LogEndOffset() - 50); err != nil {
				t.Fatal(err)
			}
			m.EnforceRetention()
			d.clk.Advance(time.Hour)
			m.DeleteFiles()
		}
	}
	close(stop)
	wg.Wait()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, d.fs, d.dir)
}

package replica

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/storage"
)

// node is a broker's partitions on a memory disk, with a clock that tests move.
type node struct {
	testing.TB
	*Manager
	clk   *clock.Manual
	disk  *vfs.Mem
	err   *vfs.Err // what storage sees of disk
	dirs  []string
	store *storage.Manager
	cfg   storage.LogConfig
}

// selfID is the broker under test; 2 and 3 are others.
const selfID = 1

func newNode(t testing.TB, change ...func(*storage.LogConfig)) *node {
	n := &node{TB: t, clk: clock.NewManual(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)), disk: vfs.NewMem(), dirs: []string{"/data"}}
	n.cfg = storage.LogConfig{
		CleanupDelete: true, CompressionType: "producer", FileDeleteDelayMs: 60_000, FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64,
		IndexIntervalBytes: 4096, MaxMessageBytes: 1 << 20, MaxDecompressedMessageBytes: 64 << 20, MinInsyncReplicas: 1,
		MessageTimestampAfterMaxMs: math.MaxInt64, MessageTimestampBeforeMaxMs: math.MaxInt64, RetentionBytes: -1, RetentionMs: -1,
		SegmentBytes: 1 << 30, SegmentIndexBytes: 10 << 20, SegmentMs: math.MaxInt64, ProducerIDExpirationMs: 86400_000,
	}
	for _, f := range change {
		f(&n.cfg)
	}
	n.open()
	t.Cleanup(n.shut)
	return n
}

func (n *node) open() {
	n.Helper()
	n.err = vfs.NewErr(n.disk, -1)
	store, err := storage.Open(storage.Options{FS: n.err, Clock: n.clk, Log: zerolog.Nop(), Dirs: n.dirs, NodeID: selfID, RecoveryThreads: 1,
		Defaults:     func() storage.LogConfig { return n.cfg },
		OnDirFailure: func(dir string, err error) { n.DirFailed(dir) }})
	if err != nil {
		n.Fatal(err)
	}
	n.store = store
	n.Manager = New(Options{NodeID: selfID, Store: StoreOf(store), Clock: n.clk, Wheel: wheel.New(n.clk), Log: zerolog.Nop()})
	store.SetHWSource(n.HighWatermark)
}

func (n *node) shut() {
	n.Manager.Close()
	if err := n.store.Close(); err != nil {
		n.Error(err)
	}
}

// id is the id of the test topic number i.
func id(i byte) TopicID { return TopicID{0: 0x10, 15: i} }

// lead makes this broker the leader of partition 0 of topic i among replicas, all of them in sync.
func (n *node) lead(i byte, epoch int32, replicas ...int32) *Partition {
	n.Helper()
	if replicas == nil {
		replicas = []int32{selfID}
	}
	n.Assign(Assignment{Topic: fmt.Sprintf("t%d", i), ID: id(i), Replicas: replicas, ISR: replicas, Leader: selfID, LeaderEpoch: epoch})
	return n.Partition(id(i), 0)
}

// records is a batch of count records.
func records(t testing.TB, count int) []byte {
	t.Helper()
	b := batch.NewBuilder(nil, batch.PlainOptions(0, -1))
	for i := range count {
		b.Append(int64(i), int64(1000+i), nil, []byte("value"))
	}
	out, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (n *node) put(p *Partition, count int) AppendResult {
	n.Helper()
	r, err := p.Append(records(n, count), AppendOptions{Acks: 1, Version: 9, LeaderEpoch: -1, Verified: true})
	if err != nil {
		n.Fatal(err)
	}
	return r
}

// read is a plain consumer's read.
func read(offset int64) ReadOptions {
	return ReadOptions{Offset: offset, MaxBytes: 1 << 20, MinOne: true, LeaderEpoch: -1, LastFetchedEpoch: -1, Replica: -1}
}

func eq[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// offsets are log start, LSO, HW and LEO.
func offsets(p *Partition) string {
	return fmt.Sprint(p.LogStartOffset(), p.LastStableOffset(), p.HighWatermark(), p.LogEndOffset())
}

func TestAppendAndReadAlone(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	r := n.put(p, 3)
	eq(t, "base", r.BaseOffset, 0)
	eq(t, "next", r.NextOffset, 3)
	eq(t, "pending", r.Pending, false)
	eq(t, "second base", n.put(p, 2).BaseOffset, 3)
	eq(t, "offsets", offsets(p), "0 5 5 5")

	got, err := p.Read(read(0))
	wantErr(t, "read", err, nil)
	if got.Range == nil || got.Aborted != nil {
		t.Fatalf("read: %+v", got)
	}
	eq(t, "bytes", got.Range.Len(), int(p.Size()))
	got.Range.Release()
	got, err = p.Read(read(5))
	wantErr(t, "read at the end", err, nil)
	eq(t, "nothing", got.Range == nil, true)
	for _, o := range []int64{-1, 6} {
		got, err = p.Read(read(o))
		wantErr(t, "out of range", err, kerr.OffsetOutOfRange)
		eq(t, "high watermark with an error", got.HighWatermark, -1)
	}
}

func TestEpochsAreCheckedBeforeLeadership(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 5)
	n.put(p, 1)
	for epoch, want := range map[int32]error{-1: nil, 4: kerr.FencedLeaderEpoch, 5: nil, 6: kerr.UnknownLeaderEpoch} {
		o := read(1)
		o.LeaderEpoch = epoch
		_, err := p.Read(o)
		wantErr(t, fmt.Sprint("epoch ", epoch), err, want)
	}
	n.Assign(Assignment{Topic: "t1", ID: id(1), Replicas: []int32{1, 2}, ISR: []int32{2}, Leader: 2, LeaderEpoch: 6})
	_, err := p.Append(records(t, 1), AppendOptions{Acks: 1, LeaderEpoch: -1})
	wantErr(t, "append as follower", err, kerr.NotLeaderForPartition)
	o := read(0)
	_, err = p.Read(o)
	wantErr(t, "a consumer with a rack may read from a follower", err, nil)
	o.LeaderOnly, o.LeaderEpoch = true, 5
	_, err = p.Read(o)
	wantErr(t, "old epoch", err, kerr.FencedLeaderEpoch)
	o.LeaderEpoch = 6
	_, err = p.Read(o)
	wantErr(t, "leader only", err, kerr.NotLeaderForPartition)
}

func TestDivergingEpoch(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	n.put(p, 3)
	n.lead(1, 4)
	n.put(p, 2)
	f := func(offset int64, epoch int32, want string) {
		t.Helper()
		o := read(offset)
		o.LastFetchedEpoch = epoch
		r, err := p.Read(o)
		if r.Range != nil {
			r.Range.Release()
		}
		got := fmt.Sprint(r.Diverges, r.DivergingEpoch, r.DivergingOffset)
		if err != nil {
			got = kerr.ErrorForCode(err.(*kerr.Error).Code).(*kerr.Error).Message
		}
		eq(t, fmt.Sprintf("offset %d after epoch %d", offset, epoch), got, want)
	}
	f(3, 0, "false 0 0")
	f(5, 4, "false 0 0")
	f(4, 0, "true 0 3")            // epoch 0 ended at 3
	f(4, 2, "true 0 3")            // the leader has no epoch 2: the one before it counts
	f(4, 7, "OFFSET_OUT_OF_RANGE") // unknown to the leader
}

func TestHighWatermarkFollowsTheISR(t *testing.T) {
	n := newNode(t, func(c *storage.LogConfig) { c.MinInsyncReplicas = 2 })
	p := n.lead(1, 0, 1, 2, 3)
	r, err := p.Append(records(t, 4), AppendOptions{Acks: -1, LeaderEpoch: -1, Verified: true})
	wantErr(t, "append", err, nil)
	eq(t, "pending", r.Pending, true)
	var acked []error
	a := &AckWaiter{Acks: -1, NextOffset: r.NextOffset, Done: func(err error) { acked = append(acked, err) }}
	p.Await(a)
	follow := func(replica int32, offset int64) {
		o := read(offset)
		o.Replica, o.LeaderOnly = replica, true
		r, err := p.Read(o)
		wantErr(t, fmt.Sprint("fetch of follower ", replica), err, nil)
		if r.Range != nil {
			r.Range.Release()
		}
	}
	follow(2, 0)
	follow(3, 0)
	follow(2, 4)
	eq(t, "offsets with one follower behind", offsets(p), "0 0 0 4")
	eq(t, "acks with one follower behind", len(acked), 0)
	follow(3, 4)
	eq(t, "offsets", offsets(p), "0 4 4 4")
	eq(t, "acks", fmt.Sprint(acked), "[<nil>]")
	eq(t, "forget after completion", p.Forget(a), false)

	// A small ISR takes no acks=all, and the high watermark stands still.
	n.Assign(Assignment{Topic: "t1", ID: id(1), Replicas: []int32{1, 2, 3}, ISR: []int32{1}, Leader: 1, LeaderEpoch: 0})
	_, err = p.Append(records(t, 1), AppendOptions{Acks: -1, LeaderEpoch: -1})
	wantErr(t, "acks=all with a small ISR", err, kerr.NotEnoughReplicas)
	n.put(p, 1)
	eq(t, "offsets with a small ISR", offsets(p), "0 4 4 5")

	o := read(0)
	for _, stranger := range []int32{selfID, 77} {
		o.Replica = stranger
		_, err = p.Read(o)
		wantErr(t, fmt.Sprint("fetch of ", stranger), err, kerr.NotLeaderForPartition)
	}
}

func TestAcksOfAllAloneWhateverMinISR(t *testing.T) {
	n := newNode(t, func(c *storage.LogConfig) { c.MinInsyncReplicas = 2 })
	p := n.lead(1, 0)
	r, err := p.Append(records(t, 1), AppendOptions{Acks: -1, LeaderEpoch: -1, Verified: true})
	wantErr(t, "append", err, nil)
	eq(t, "pending", r.Pending, false)
}

func TestWaitersEndWithLeadership(t *testing.T) {
	for name, end := range map[string]struct {
		end  func(*node)
		want error
	}{
		"leader moved": {func(n *node) {
			n.Assign(Assignment{Topic: "t1", ID: id(1), Replicas: []int32{1, 2}, ISR: []int32{2}, Leader: 2, LeaderEpoch: 1})
		}, kerr.NotLeaderForPartition},
		"topic deleted": {func(n *node) { n.Remove(id(1)) }, kerr.UnknownTopicOrPartition},
		"directory failed": {func(n *node) {
			n.DirFailed("/data")
			n.clk.Advance(0)
		}, kerr.KafkaStorageError},
		"closed": {func(n *node) { n.Manager.Close() }, kerr.NotLeaderForPartition},
	} {
		n := newNode(t)
		p := n.lead(1, 0, 1, 2)
		r, err := p.Append(records(t, 1), AppendOptions{Acks: -1, LeaderEpoch: -1, Verified: true})
		wantErr(t, "append", err, nil)
		var got []error
		p.Await(&AckWaiter{Acks: -1, NextOffset: r.NextOffset, Done: func(err error) { got = append(got, err) }})
		fired := 0
		n.NewWaiter(1, []Watch{{Partition: p, Offset: 0, MaxBytes: 100}}, func() { fired++ }).Park(n.clk.Mono().Add(time.Hour))
		end.end(n)
		eq(t, name+": produces", fmt.Sprint(got), fmt.Sprint([]error{end.want}))
		eq(t, name+": fetches", fired, 1)
		n.clk.Advance(2 * time.Hour)
		eq(t, name+": fetches after the deadline", fired, 1)
	}
}

func TestFlushHoldsHighWatermarkBack(t *testing.T) {
	n := newNode(t, func(c *storage.LogConfig) { c.FlushMessages = 1 })
	p := n.lead(1, 0)
	done := make(chan error, 1)
	r, err := p.Append(records(t, 2), AppendOptions{Acks: 1, LeaderEpoch: -1, Verified: true})
	wantErr(t, "append", err, nil)
	p.Await(&AckWaiter{Acks: 1, NextOffset: r.NextOffset, Done: func(err error) { done <- err }})
	wantErr(t, "ack", <-done, nil)
	eq(t, "offsets", offsets(p), "0 2 2 2")
	// what was acknowledged survives a power cut
	n.shut()
	n.disk = n.disk.CrashClone()
	n.open()
	p = n.lead(1, 0)
	eq(t, "offsets after the crash", offsets(p), "0 2 2 2")
}

func TestDeleteRecords(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	n.put(p, 3)
	n.put(p, 3)
	f := func(offset, low int64, want error) {
		t.Helper()
		got, err := p.DeleteRecords(offset)
		wantErr(t, fmt.Sprint("delete to ", offset), err, want)
		eq(t, fmt.Sprint("low watermark after ", offset), got, low)
	}
	f(0, 0, nil)
	f(2, 2, nil)
	f(1, 2, nil)
	f(6, 6, nil)
	f(7, -1, kerr.OffsetOutOfRange)
	f(-5, -1, kerr.OffsetOutOfRange)
	f(-1, 6, nil)
	eq(t, "offsets", offsets(p), "6 6 6 6")

	n = newNode(t, func(c *storage.LogConfig) { c.CleanupDelete, c.CleanupCompact = false, true })
	p = n.lead(1, 0)
	f(0, -1, kerr.PolicyViolation)
}

func TestOffsetsByTime(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 3)
	f := func(ts int64, want string) {
		t.Helper()
		at, err := p.Offset(OffsetQuery{Timestamp: ts, LeaderEpoch: -1, Consumer: true, LeaderOnly: true})
		wantErr(t, fmt.Sprint("time ", ts), err, nil)
		eq(t, fmt.Sprint("time ", ts), fmt.Sprint(at.Timestamp, at.Offset, at.LeaderEpoch), want)
	}
	f(LatestTimestamp, "-1 0 3")
	f(EarliestTimestamp, "-1 0 3")
	f(MaxTimestamp, "-1 -1 -1")
	f(0, "-1 -1 -1")
	n.put(p, 3) // at 1000, 1001, 1002
	f(LatestTimestamp, "-1 3 3")
	f(EarliestLocalTimestamp, "-1 0 3")
	f(LatestTieredTimestamp, "-1 -1 -1")
	f(EarliestPendingTimestamp, "-1 -1 -1")
	f(MaxTimestamp, "1002 2 3")
	f(0, "1000 0 3")
	f(1001, "1001 1 3")
	f(1003, "-1 -1 -1")
}

func TestTopicMadeAgainIsAnother(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	n.put(p, 3)
	n.Remove(id(1))
	eq(t, "removed", p.Removed(), true)
	eq(t, "look-up", n.Partition(id(1), 0) == nil, true)
	n.Assign(Assignment{Topic: "t1", ID: id(9), Replicas: []int32{1}, ISR: []int32{1}, Leader: 1})
	eq(t, "offsets of the new one", offsets(n.Partition(id(9), 0)), "0 0 0 0")
	_, err := p.Read(read(0))
	wantErr(t, "read of the old one", err, kerr.UnknownTopicOrPartition)
}

func TestRestartKeepsOffsets(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	n.put(p, 4)
	if _, err := p.DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	n.shut()
	n.open()
	eq(t, "offsets", offsets(n.lead(1, 0)), "2 4 4 4")
}

func TestLostDirectoryIsNotMadeAnew(t *testing.T) {
	n := newNode(t)
	n.Assign(Assignment{Topic: "t1", ID: id(1), Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, Dir: [16]byte{15: 2}})
	n.Assign(Assignment{Topic: "t2", ID: id(2), Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, Dir: [16]byte{1, 2, 3}})
	for _, i := range []byte{1, 2} {
		_, err := n.Partition(id(i), 0).Read(read(0))
		wantErr(t, fmt.Sprint("topic ", i), err, kerr.KafkaStorageError)
	}
	n.Assign(Assignment{Topic: "t3", ID: id(3), Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, Dir: n.store.DirIDs()["/data"]})
	eq(t, "in a directory of ours", offsets(n.Partition(id(3), 0)), "0 0 0 0")
}

// A failing write takes its directory offline from within the append: the append gets KAFKA_STORAGE_ERROR, so does everything after it in that
// directory, and the other directory goes on.
func TestFailingWriteTakesTheDirectoryOffline(t *testing.T) {
	n := newNode(t)
	n.shut()
	n.dirs = []string{"/data", "/more"}
	n.open()
	ids := n.store.DirIDs()
	in := func(i byte, dir string) *Partition {
		n.Assign(Assignment{Topic: fmt.Sprintf("t%d", i), ID: id(i), Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, Dir: ids[dir]})
		return n.Partition(id(i), 0)
	}
	bad, beside, good := in(1, "/data"), in(2, "/data"), in(3, "/more")
	for _, p := range []*Partition{bad, beside, good} {
		n.put(p, 1)
	}
	fired := 0
	n.NewWaiter(1, []Watch{{Partition: beside, Offset: 1, MaxBytes: 100}}, func() { fired++ }).Park(n.clk.Mono().Add(time.Hour))
	n.err.FailNext(0)
	_, err := bad.Append(records(t, 1), AppendOptions{Acks: 1, LeaderEpoch: -1, Verified: true})
	wantErr(t, "the append that failed", err, kerr.KafkaStorageError)
	n.clk.Advance(0)
	eq(t, "role", bad.Role(), RoleOffline)
	eq(t, "fetches beside it are answered", fired, 1)
	for _, p := range []*Partition{bad, beside} {
		_, err = p.Append(records(t, 1), AppendOptions{Acks: 1, LeaderEpoch: -1, Verified: true})
		wantErr(t, "append", err, kerr.KafkaStorageError)
		_, err = p.Read(read(0))
		wantErr(t, "read", err, kerr.KafkaStorageError)
		_, err = p.Offset(OffsetQuery{Timestamp: LatestTimestamp, LeaderEpoch: -1})
		wantErr(t, "offset", err, kerr.KafkaStorageError)
	}
	eq(t, "the other directory", n.put(good, 1).BaseOffset, 1)
	in(1, "/data") // the next image names it again
	eq(t, "role after the next image", n.Partition(id(1), 0).Role(), RoleOffline)
	eq(t, "a new partition of no directory", in(4, "").Role(), RoleLeader)
	for _, d := range n.DescribeDirs(func(string, int32) bool { return true }) {
		eq(t, d.Path+" online", d.Online, d.Path == "/more")
	}
}

// A new epoch of the same leader keeps the produces that wait: they are answered once the followers have fetched under it.
func TestProducesOutliveANewEpochOfTheirLeader(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0, 1, 2)
	r, err := p.Append(records(t, 2), AppendOptions{Acks: -1, LeaderEpoch: -1, Verified: true})
	wantErr(t, "append", err, nil)
	var got []error
	p.Await(&AckWaiter{Acks: -1, NextOffset: r.NextOffset, Done: func(err error) { got = append(got, err) }})
	n.lead(1, 1, 1, 2)
	eq(t, "after the new epoch", len(got), 0)
	o := read(2)
	o.Replica, o.LeaderEpoch = 2, 1
	_, err = p.Read(o)
	wantErr(t, "follower's fetch", err, nil)
	eq(t, "acks", fmt.Sprint(got), "[<nil>]")
	eq(t, "offsets", offsets(p), "0 2 2 2")
}

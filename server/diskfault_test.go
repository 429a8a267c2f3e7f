package server

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

var errDisk = errors.New("input/output error")

// failingDisk is a disk on which everything below one directory can fail.
type failingDisk struct {
	vfs.FS
	dir    string
	broken atomic.Bool
}

func (d *failingDisk) check(name string) error {
	if d.broken.Load() && strings.HasPrefix(name, d.dir) {
		return &fs.PathError{Op: "write", Path: name, Err: errDisk}
	}
	return nil
}

func (d *failingDisk) Open(name string) (vfs.File, error) { return d.file(d.FS.Open, name) }

func (d *failingDisk) OpenRead(name string) (vfs.File, error) { return d.file(d.FS.OpenRead, name) }

func (d *failingDisk) Create(name string) (vfs.File, error) { return d.file(d.FS.Create, name) }

func (d *failingDisk) file(open func(string) (vfs.File, error), name string) (vfs.File, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return &failingFile{f, d}, nil
}

func (d *failingDisk) MkdirAll(name string) error {
	if err := d.check(name); err != nil {
		return err
	}
	return d.FS.MkdirAll(name)
}

func (d *failingDisk) Rename(from, to string) error {
	if err := d.check(to); err != nil {
		return err
	}
	return d.FS.Rename(from, to)
}

type failingFile struct {
	vfs.File
	d *failingDisk
}

func (f *failingFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.d.check(f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *failingFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.d.check(f.Name()); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *failingFile) WriteVAt(bufs [][]byte, off int64) (int, error) {
	if err := f.d.check(f.Name()); err != nil {
		return 0, err
	}
	return f.File.WriteVAt(bufs, off)
}

func (f *failingFile) Sync() error {
	if err := f.d.check(f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// startOn runs a broker on a disk; failed hears what it does not survive.
func startOn(t *testing.T, disk vfs.FS, dirs string) (b *Broker, failed chan error) {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dirs}})
	if err != nil {
		t.Fatal(err)
	}
	failed = make(chan error, 1)
	b, err = Start(Options{Config: cfg, FS: disk, Clock: clock.System(), Log: zerolog.Nop(), Failed: func(err error) { failed <- err }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() }) // its disk may be broken
	return b, failed
}

// put writes a record to a partition and tells the error of the broker.
func put(t *testing.T, b *Broker, topic string, partition int32, value []byte) error {
	t.Helper()
	c := kgoClient(t, b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(), kgo.RecordRetries(0), kgo.ProducerBatchMaxBytes(4<<20),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordDeliveryTimeout(2*time.Second))
	defer c.Close()
	return c.ProduceSync(testContext(t), &kgo.Record{Topic: topic, Partition: partition, Value: value}).FirstErr()
}

// offsetOf asks for the end of a partition.
func offsetOf(t *testing.T, b *Broker, topic string, partition int32) (int64, error) {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp = partition, -1
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := kgoClient(t, b).Broker(1).Request(testContext(t), req)
	if err != nil {
		t.Fatal(err)
	}
	p := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	return p.Offset, kerr.ErrorForCode(p.ErrorCode)
}

func newTopic(t *testing.T, b *Broker, topic string, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	r := kmsg.NewCreateTopicsRequestTopic()
	r.Topic, r.NumPartitions, r.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, r)
	if code := request[*kmsg.CreateTopicsResponse](t, kgoClient(t, b), req).Topics[0].ErrorCode; code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
}

// A log directory that fails takes its partitions offline and no others; they have no leader, as Kafka 4.4.0 has it. When the disk works again,
// a start finds everything that was acknowledged.
func TestLogDirectoryFails(t *testing.T) {
	disk := &failingDisk{FS: vfs.NewMem(), dir: "/two"}
	b, failed := startOn(t, disk, "/one,/two")
	newTopic(t, b, "a", 4)
	acknowledged := map[int32]int64{}
	write := func(want func(p int32) bool) {
		t.Helper()
		for p := range int32(4) {
			err := put(t, b, "a", p, []byte("x"))
			if err == nil {
				acknowledged[p]++
			}
			if (err == nil) != want(p) {
				t.Errorf("partition %d: %v", p, err)
			}
		}
	}
	write(func(int32) bool { return true })
	if got := checkDirs(t, b, "a"); got["/one"] != 2 || got["/two"] != 2 {
		t.Fatalf("partitions by directory: %v", got)
	}
	there := func(p int32) bool { return b.store.Get(b.Image().Topic("a").ID, p).Dir() == "/one" }
	disk.broken.Store(true)
	write(there)
	waitFor(t, "the controller to know", func() bool { return len(b.Image().Broker(1).LogDirs) == 1 })
	write(there)
	for p := range int32(4) {
		mp := b.Image().Topic("a").Partition(p)
		off, err := offsetOf(t, b, "a", p)
		switch {
		case there(p) && (mp.Leader != 1 || err != nil || off != 3):
			t.Errorf("partition %d of the good disk: leader %d, end %d, %v", p, mp.Leader, off, err)
		case !there(p) && (mp.Leader != -1 || len(mp.ISR) != 0 || !errors.Is(err, kerr.KafkaStorageError)):
			t.Errorf("partition %d of the bad disk: leader %d, ISR %v, end %d, %v", p, mp.Leader, mp.ISR, off, err)
		}
		if err := fetchCode(t, b, "a", p); there(p) != (err == nil) || err != nil && !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("fetch from partition %d: %v", p, err)
		}
	}
	described, err := kgoClient(t, b).Broker(1).Request(testContext(t), kmsg.NewPtrDescribeLogDirsRequest())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range described.(*kmsg.DescribeLogDirsResponse).Dirs {
		if err := kerr.ErrorForCode(d.ErrorCode); (d.Dir == "/two") != errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("%s: %v", d.Dir, err)
		}
	}
	newTopic(t, b, "later", 4) // all in the directory that is left
	if got := checkDirs(t, b, "later"); got["/one"] != 4 {
		t.Errorf("new partitions by directory: %v", got)
	}
	select {
	case err := <-failed:
		t.Errorf("the broker gave up: %v", err)
	default:
	}
	_ = b.Close() // the directory is offline
	disk.broken.Store(false)
	b, _ = startOn(t, disk, "/one,/two")
	for p := range int32(4) {
		if off, err := offsetOf(t, b, "a", p); err != nil || off < acknowledged[p] {
			t.Errorf("partition %d after the restart: end %d (%v), %d were acknowledged", p, off, err, acknowledged[p])
		}
	}
	write(func(int32) bool { return true })
}

// fetchCode reads the start of a partition, past what metadata says.
func fetchCode(t *testing.T, b *Broker, topic string, partition int32) error {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = 12, 1, 1<<20, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = topic, b.Image().Topic(topic).ID
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.PartitionMaxBytes = partition, 1<<20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := kgoClient(t, b).Broker(1).Request(testContext(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return kerr.ErrorForCode(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode)
}

// The directory with the metadata log does not fail without the broker, which says so in one line.
func TestMetadataDirectoryFails(t *testing.T) {
	disk := &failingDisk{FS: vfs.NewMem(), dir: "/one"}
	b, failed := startOn(t, disk, "/one,/two")
	newTopic(t, b, "a", 2)
	disk.broken.Store(true)
	for p := range int32(2) {
		_ = put(t, b, "a", p, []byte("x")) // one of them is on the other disk
	}
	err := <-failed
	if text := err.Error(); !strings.Contains(text, "/one, which holds the metadata log, failed") || strings.Contains(text, "\n") {
		t.Errorf("error %q", text)
	}
	if !errors.Is(err, errDisk) {
		t.Errorf("the cause is lost in %v", err)
	}
}

// fillDisk writes until the only disk is full, which ends the broker; after room was made a start finds all that was acknowledged.
func fillDisk(t *testing.T, disk vfs.FS, dir string, makeRoom func()) {
	t.Helper()
	b, failed := startOn(t, disk, dir)
	newTopic(t, b, "a", 3)
	acknowledged := map[int32]int64{}
	for i, full := 0, false; !full; i++ {
		p := int32(i % 3)
		err := put(t, b, "a", p, pattern(100_000))
		if full = err != nil; !full {
			acknowledged[p]++
		}
		if i > 1000 {
			t.Fatal("the disk is not full after 100 MB")
		}
	}
	if err := <-failed; !strings.Contains(err.Error(), "failed") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
	_ = b.Close() // nothing more can be written
	makeRoom()
	b, _ = startOn(t, disk, dir)
	for p := range int32(3) {
		end, err := offsetOf(t, b, "a", p)
		if err != nil || end < acknowledged[p] || acknowledged[p] == 0 {
			t.Fatalf("partition %d ends at %d (%v), %d records were acknowledged", p, end, err, acknowledged[p])
		}
		for i, r := range consume(t, b, "a", p, int(acknowledged[p]))[:acknowledged[p]] {
			if string(r.Value) != string(pattern(100_000)) {
				t.Errorf("partition %d: record %d came back differently", p, i)
			}
		}
		if err := put(t, b, "a", p, []byte("more")); err != nil {
			t.Error(err)
		}
	}
}

func TestDiskIsFull(t *testing.T) {
	disk := vfs.NewMem()
	disk.SetSpace(2 << 20)
	fillDisk(t, disk, "/data", func() { disk.SetSpace(0) })
}

func TestNoLogDirectoryIsLeft(t *testing.T) {
	disk := &failingDisk{FS: vfs.NewMem(), dir: "/"}
	disk.broken.Store(true)
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=/one,/two"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(Options{Config: cfg, FS: disk, Clock: clock.System(), Log: zerolog.Nop()})
	if err == nil {
		_ = b.Close()
		t.Fatal("started without a directory")
	}
	if !errors.Is(err, errDisk) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
}

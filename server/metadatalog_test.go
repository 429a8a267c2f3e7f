package server

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/metadata"
)

const testMetadataDir = "/data"

func openTestMetadataLog(fsys vfs.FS) (*metadataLog, error) {
	return openMetadataLog(metadataLogOptions{FS: fsys, Clock: clock.System(), Log: zerolog.Nop(), Dir: testMetadataDir,
		Config: metadataLogConfig(1<<20, 1<<40)})
}

// quorum starts a controller on the disk, with small limits, so that it writes snapshots and cuts the log.
func quorum(t *testing.T, fsys vfs.FS) (*controller.Controller, error) {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + testMetadataDir}})
	if err != nil {
		t.Fatal(err)
	}
	log, err := openTestMetadataLog(fsys)
	if err != nil {
		return nil, err
	}
	bits := uint64(0)
	c, err := controller.Start(controller.Options{
		NodeID: 1, Log: log, Clock: clock.System(), Logger: zerolog.Nop(), Static: cfg,
		Broker:                   controller.Registration{LogDirs: [][16]byte{{1}}},
		Random:                   func() uint64 { bits += 0x9e3779b97f4a7c15; return bits },
		MaxBytesBetweenSnapshots: 1500, MaxRetentionBytes: 4000,
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return c, nil
}

// createTopic waits for the answer; acked, if there is one, is called on the controller's goroutine when the topic is there.
func createTopic(c *controller.Controller, name string, acked func(name string)) *kerr.Error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 1
	req.Topics = append(req.Topics, topic)
	done := make(chan int16, 1)
	c.CreateTopics(req, func(r *kmsg.CreateTopicsResponse) {
		if acked != nil && r.Topics[0].ErrorCode == 0 {
			acked(name)
		}
		done <- r.Topics[0].ErrorCode
	})
	err, _ := kerr.ErrorForCode(<-done).(*kerr.Error)
	return err
}

// workload creates topics until one is refused, and tells which were acknowledged.
func workload(c *controller.Controller, acked func(name string)) {
	for i := range 16 {
		name := fmt.Sprintf("topic-%02d", i)
		if createTopic(c, name, acked) != nil {
			return
		}
	}
}

// check starts on what a crash left: everything acknowledged must be there, and the quorum must go on.
func check(t *testing.T, what string, disk vfs.FS, acked []string) {
	t.Helper()
	c, err := quorum(t, disk)
	if err != nil {
		t.Fatalf("%s: start: %v", what, err)
	}
	img := c.Image()
	for _, name := range acked {
		if topic := img.Topic(name); topic == nil || len(topic.Partitions) != 2 {
			t.Errorf("%s: topic %s was acknowledged and came back as %+v", what, name, topic)
		}
	}
	for topic := range img.Topics() {
		if len(topic.Partitions) != 2 || topic.Partitions[1].Leader != 1 {
			t.Errorf("%s: half a topic came back: %+v", what, topic)
		}
	}
	if err := createTopic(c, "afterwards", nil); err != nil {
		t.Errorf("%s: no topic can be created afterwards: %v", what, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("%s: close: %v", what, err)
	}
}

// newDisk has the log directory, which is storage's to make.
func newDisk(t *testing.T) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll(testMetadataDir), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return mem
}

// A power cut before any file operation of a life with snapshots, pruning, and a restart.
func TestMetadataLogPowerCutAtEveryOperation(t *testing.T) {
	mem := newDisk(t)
	type moment struct {
		op    string
		disk  *vfs.Mem
		acked []string
	}
	var moments []moment
	var acked []string
	disk := vfs.NewErrOptions(mem, -1, vfs.ErrOptions{Hook: func(i int64, op, name string) {
		moments = append(moments, moment{fmt.Sprintf("power cut before operation %d, %s of %s", i, op, path.Base(name)), mem.CrashClone(), slices.Clone(acked)})
	}})
	c, err := quorum(t, disk)
	if err != nil {
		t.Fatal(err)
	}
	workload(c, func(name string) { acked = append(acked, name) })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if len(acked) != 16 {
		t.Fatalf("%d topics were acknowledged, want 16", len(acked))
	}
	if n := countSnapshots(t, mem); n == 0 {
		t.Fatal("the life has no snapshot: the test tests less than it says")
	}
	for _, m := range moments {
		check(t, m.op, m.disk, m.acked)
	}
}

func countSnapshots(t *testing.T, disk vfs.FS) (n int) {
	t.Helper()
	entries, err := disk.ReadDir(path.Join(testMetadataDir, metadataDirName))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), checkpointSuffix) {
			n++
		}
	}
	return n
}

// Every file operation fails once: the start fails or the quorum stops, and what was acknowledged survives.
func TestMetadataLogFailureOfEveryOperation(t *testing.T) {
	for n := int64(0); ; n++ {
		mem := newDisk(t)
		disk := vfs.NewErr(mem, n)
		var acked []string
		c, err := quorum(t, disk)
		if err == nil {
			workload(c, func(name string) { acked = append(acked, name) })
			_ = c.Close() // may be what fails
		} else if !errors.Is(err, vfs.ErrInjected) {
			t.Fatalf("operation %d fails and the start says %v", n, err)
		}
		crashed := mem.CrashClone()
		check(t, fmt.Sprintf("operation %d failed", n), mem, acked)
		check(t, fmt.Sprintf("operation %d failed, then a power cut", n), crashed, acked)
		if !disk.Failed() {
			if len(acked) != 16 {
				t.Fatalf("nothing failed and %d topics were acknowledged, want 16", len(acked))
			}
			return
		}
	}
}

// The files of Kafka 4.4.0, as its first start leaves them, and what we go on with.
func TestMetadataLogOfKafka(t *testing.T) {
	disk := vfs.NewMem()
	dir := path.Join(testMetadataDir, metadataDirName)
	if err := disk.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"00000000000000000000.log", "00000000000000000000-0000000000.checkpoint", "quorum-state"} {
		data, err := vfs.OS().ReadFile(path.Join("testdata/metadatalog", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteFile(path.Join(dir, name), data); err != nil {
			t.Fatal(err)
		}
	}
	log, err := openTestMetadataLog(disk)
	if err != nil {
		t.Fatal(err)
	}
	state, ok, err := log.State()
	if err != nil || !ok || state.LeaderEpoch != 1 || state.LeaderID != 1 || state.VotedID != -1 || len(state.Voters) != 1 {
		t.Errorf("quorum state %+v, %t, %v", state, ok, err)
	}
	snaps := log.Snapshots()
	if len(snaps) != 1 || snaps[0].EndOffset != 0 || snaps[0].LastTimestampMs != 1796111820769 {
		t.Errorf("snapshots %+v", snaps)
	}
	if err := log.SaveState(state); err != nil {
		t.Fatal(err)
	}
	if got, want := bothFiles(t, disk, "quorum-state"); !bytes.Equal(got, want) {
		t.Errorf("quorum-state is %s, want %s", got, want)
	}
	batches := 0
	err = log.ReadSnapshot(snaps[0].SnapshotID, func(b controller.LogBatch) error { batches += len(b.Values); return nil })
	if err != nil || batches != 6 {
		t.Errorf("the snapshot has %d records, %v; want 6", batches, err)
	}
	rewriteSnapshot(t, log, snaps[0])
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := quorum(t, disk)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	img := c.Image()
	if got := img.MetadataVersion(); got != 33 {
		t.Errorf("metadata.version %d, want 33", got)
	}
	if b := img.Broker(1); b == nil || b.Fenced || b.Epoch != 16 {
		t.Errorf("broker 1 is %+v, want unfenced with epoch 16: LeaderChange at 15, registration after it", b)
	}
	if got := img.Config(metadata.ResourceBroker, "")["min.insync.replicas"]; got != "1" {
		t.Errorf("min.insync.replicas is %q, want 1", got)
	}
}

// bothFiles reads a file of the disk and Kafka's.
func bothFiles(t *testing.T, disk vfs.FS, name string) (got, want []byte) {
	t.Helper()
	want, err := vfs.OS().ReadFile(path.Join("testdata/metadatalog", name))
	if err != nil {
		t.Fatal(err)
	}
	got, err = disk.ReadFile(path.Join(testMetadataDir, metadataDirName, name))
	if err != nil {
		t.Fatal(err)
	}
	return got, want
}

// rewriteSnapshot writes what a snapshot has once more: the same bytes as Kafka's must come out, but for the times in the batches of header
// and footer.
func rewriteSnapshot(t *testing.T, log *metadataLog, info controller.SnapshotInfo) {
	t.Helper()
	var batches []controller.LogBatch
	if err := log.ReadSnapshot(info.SnapshotID, func(b controller.LogBatch) error { batches = append(batches, b); return nil }); err != nil {
		t.Fatal(err)
	}
	err := log.WriteSnapshot(info.SnapshotID, info.LastTimestampMs, func() (controller.LogBatch, bool) {
		if len(batches) == 0 {
			return controller.LogBatch{}, false
		}
		b := batches[0]
		batches = batches[1:]
		return b, true
	})
	if err != nil {
		t.Fatal(err)
	}
	got, want := bothFiles(t, log.o.FS, snapshotName(info.SnapshotID))
	const header, footer = 83, 75 // bytes of their batches
	if len(got) != len(want) || !bytes.Equal(got[header:len(got)-footer], want[header:len(want)-footer]) {
		t.Errorf("snapshot is\n%q\nwant\n%q", got, want)
	}
	if n := len(log.Snapshots()); n != 1 {
		t.Errorf("%d snapshots after one was written again, want 1", n)
	}
}

func TestSnapshotNames(t *testing.T) {
	f := func(name string, want controller.SnapshotID, ok bool) {
		t.Helper()
		got, gotOK := parseSnapshotName(name)
		if got != want || gotOK != ok {
			t.Errorf("%q is %+v, %t; want %+v, %t", name, got, gotOK, want, ok)
		}
		if ok && snapshotName(got) != name {
			t.Errorf("%+v is written %q, want %q", got, snapshotName(got), name)
		}
	}
	f("00000000000000001234-0000000007.checkpoint", controller.SnapshotID{EndOffset: 1234, Epoch: 7}, true)
	f("00000000000000001234-0000000007.checkpoint.part", controller.SnapshotID{}, false)
	f("leader-epoch-checkpoint", controller.SnapshotID{}, false)
	f("0000000000000000123x-0000000007.checkpoint", controller.SnapshotID{EndOffset: 0, Epoch: 7}, false)
}

// The quorum-state file of a cluster whose voters are in the log (kraft.version 1) keeps its form.
func TestQuorumStateOfDynamicVoters(t *testing.T) {
	disk := vfs.NewMem()
	log, err := openTestMetadataLog(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	name := path.Join(testMetadataDir, metadataDirName, quorumStateFile)
	const text = `{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`
	if err := disk.WriteFile(name, []byte(text)); err != nil {
		t.Fatal(err)
	}
	state, ok, err := log.State()
	if err != nil || !ok || state.DataVersion != 1 || state.LeaderEpoch != 5 {
		t.Fatalf("state %+v, %t, %v", state, ok, err)
	}
	if err := log.SaveState(state); err != nil {
		t.Fatal(err)
	}
	if got, err := disk.ReadFile(name); err != nil || string(got) != text {
		t.Errorf("written again: %s, %v; want %s", got, err, text)
	}
	if err := disk.WriteFile(name, []byte(`{"data_version":2}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := log.State(); err == nil {
		t.Error("a quorum state of an unknown version is accepted")
	}
}

// The directory that kafka-storage of old versions formatted, without a log: its features are the cluster's.
func TestBootstrapCheckpoint(t *testing.T) {
	disk := vfs.NewMem()
	log, err := openTestMetadataLog(disk)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.ReadBootstrap(func(controller.LogBatch) error { return errors.New("there is none") }); err != nil {
		t.Fatal(err)
	}
	data, err := vfs.OS().ReadFile("testdata/metadatalog/00000000000000000000-0000000000.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(path.Join(testMetadataDir, bootstrapFile), data); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := log.ReadBootstrap(func(b controller.LogBatch) error { n += len(b.Values); return nil }); err != nil || n != 6 {
		t.Errorf("%d records, %v; want 6", n, err)
	}
	if err := log.ReadSnapshot(controller.SnapshotID{EndOffset: 9}, nil); !errors.Is(err, controller.ErrNoSnapshot) || errors.Is(err, fs.ErrExist) {
		t.Errorf("a snapshot that is not there gives %v, want ErrNoSnapshot", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

package controller

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

func startTest(t testing.TB, log Log, change ...func(*Options)) *Controller {
	t.Helper()
	o := testOptions(t, log, clock.NewManual(time.UnixMilli(1_700_000_000_000)))
	for _, f := range change {
		f(&o)
	}
	c, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func newTopic(name string, partitions int32) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	return t
}

func createRequest(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.Topics = topics
	return req
}

// create waits for the answer and gives the code of the first topic.
func create(c *Controller, topics ...kmsg.CreateTopicsRequestTopic) int16 {
	done := make(chan *kmsg.CreateTopicsResponse, 1)
	c.CreateTopics(createRequest(topics...), func(r *kmsg.CreateTopicsResponse) { done <- r })
	return (<-done).Topics[0].ErrorCode
}

// A command is answered after the image that has its records was published, in order (I3).
func TestAnswerComesAfterPublish(t *testing.T) {
	var mu sync.Mutex
	var published []*metadata.Image
	c := startTest(t, NewMemLog(), func(o *Options) {
		o.Publish = func(img *metadata.Image, d *metadata.Delta) {
			mu.Lock()
			published = append(published, img)
			mu.Unlock()
			if d.Empty() {
				t.Error("an empty delta was published")
			}
		}
	})
	answers := make(chan string, 50)
	for i := range cap(answers) {
		name := fmt.Sprintf("t%02d", i)
		c.CreateTopics(createRequest(newTopic(name, 1)), func(r *kmsg.CreateTopicsResponse) {
			mu.Lock()
			seen := published[len(published)-1].Topic(name) != nil && c.Image().Topic(name) != nil
			mu.Unlock()
			if !seen {
				t.Errorf("%s was answered before its image was published", name)
			}
			answers <- r.Topics[0].Topic
		})
	}
	for i := range cap(answers) {
		if got, want := <-answers, fmt.Sprintf("t%02d", i); got != want {
			t.Fatalf("answer %d is for %s, want %s", i, got, want)
		}
	}
	for i := 1; i < len(published); i++ {
		if published[i].Offset <= published[i-1].Offset {
			t.Errorf("image %d is at offset %d, after %d", i, published[i].Offset, published[i-1].Offset)
		}
	}
}

// The first delta has everything.
func TestFirstDeltaIsComplete(t *testing.T) {
	log := NewMemLog()
	c := startTest(t, log)
	if code := create(c, newTopic("a", 3)); code != 0 {
		t.Fatalf("create: %v", kerr.ErrorForCode(code))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var first *metadata.Delta
	startTest(t, log, func(o *Options) {
		o.Publish = func(_ *metadata.Image, d *metadata.Delta) {
			if first == nil {
				first = d
			}
		}
	})
	if len(first.Topics) != 1 || len(first.Brokers) != 1 || len(first.Features) != 6 {
		t.Fatalf("first delta has %d topics, %d brokers, %d features; want 1, 1, 6", len(first.Topics), len(first.Brokers), len(first.Features))
	}
	for _, td := range first.Topics {
		if td.Old != nil || td.New.Name != "a" || len(td.Partitions) != 3 {
			t.Errorf("topic delta %+v, want topic a, new, with 3 partitions", td)
		}
	}
}

// gatedLog holds back syncs until it is told, so that commands queue up behind one.
type gatedLog struct {
	*MemLog
	gate    chan struct{}
	entered chan struct{}
}

func (l *gatedLog) Sync() error {
	if l.gate != nil {
		l.entered <- struct{}{}
		<-l.gate
	}
	return l.MemLog.Sync()
}

// All commands that wait while a sync runs share the next one.
func TestCommandsShareASync(t *testing.T) {
	log := &gatedLog{MemLog: NewMemLog()}
	c := startTest(t, log)
	log.gate, log.entered = make(chan struct{}), make(chan struct{}, 10)
	done := make(chan int16, 100)
	ask := func(name string) {
		c.CreateTopics(createRequest(newTopic(name, 1)), func(r *kmsg.CreateTopicsResponse) { done <- r.Topics[0].ErrorCode })
	}
	before := log.Syncs
	ask("first")
	<-log.entered
	for i := range 99 {
		ask(fmt.Sprintf("t%d", i))
	}
	close(log.gate)
	for range 100 {
		if code := <-done; code != 0 {
			t.Fatalf("create: %v", kerr.ErrorForCode(code))
		}
	}
	if got := log.Syncs - before; got != 2 {
		t.Errorf("100 commands took %d syncs, want 2", got)
	}
}

// What was acknowledged is there after a power cut at any moment; what was not is there wholly or not at all.
func TestPowerCutKeepsWhatWasAnswered(t *testing.T) {
	log := NewMemLog()
	c := startTest(t, log)
	for i := range 10 {
		if code := create(c, newTopic(fmt.Sprintf("t%d", i), 2)); code != 0 {
			t.Fatalf("create: %v", kerr.ErrorForCode(code))
		}
		again := startTest(t, log.Crash(), func(o *Options) { o.CleanStart = false })
		for j := range i + 1 {
			topic := again.Image().Topic(fmt.Sprintf("t%d", j))
			if topic == nil || len(topic.Partitions) != 2 {
				t.Fatalf("topic t%d is lost after a power cut behind topic %d", j, i)
			}
			if topic.Partitions[0].LeaderEpoch != 1 {
				t.Errorf("leader epoch is %d after a start that was not clean, want 1", topic.Partitions[0].LeaderEpoch)
			}
		}
	}
}

// A log that fails ends the controller: callers get NOT_CONTROLLER, the owner hears of it once.
func TestFailingLogStopsTheController(t *testing.T) {
	for _, op := range []string{"Append", "Sync"} {
		t.Run(op, func(t *testing.T) {
			log := NewMemLog()
			failed := make(chan error, 10)
			c := startTest(t, log, func(o *Options) { o.Failed = func(err error) { failed <- err } })
			broken := errors.New("disk is gone")
			log.Fail = func(o string) error {
				if o == op {
					return broken
				}
				return nil
			}
			for range 3 {
				if code := create(c, newTopic("a", 1)); code != kerr.NotController.Code {
					t.Errorf("create is answered %v, want NOT_CONTROLLER", kerr.ErrorForCode(code))
				}
			}
			if err := <-failed; !errors.Is(err, broken) {
				t.Errorf("owner hears %v, want %v", err, broken)
			}
			if len(failed) > 0 {
				t.Error("owner hears it twice")
			}
			if c.Image().Topic("a") != nil {
				t.Error("the topic is published though its records could not be written")
			}
		})
	}
}

// After Close, and for what is queued at it, callers get an answer.
func TestCloseAnswers(t *testing.T) {
	c := startTest(t, NewMemLog())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if code := create(c, newTopic("a", 1)); code != kerr.NotController.Code {
		t.Errorf("create after Close is answered %v, want NOT_CONTROLLER", kerr.ErrorForCode(code))
	}
	done := make(chan error, 1)
	c.AllocateProducerIDs(func(_ int64, _ int32, err error) { done <- err })
	if err := <-done; !errors.Is(err, kerr.NotController) {
		t.Errorf("AllocateProducerIDs after Close gives %v, want NOT_CONTROLLER", err)
	}
}

// A snapshot is written after so many bytes, old ones and the log before them go, and a start finds the same image.
func TestSnapshotAndPrune(t *testing.T) {
	log := NewMemLog()
	c := startTest(t, log, func(o *Options) {
		o.MaxBytesBetweenSnapshots = 2000
		o.MaxRetentionBytes = 6000
	})
	for i := range 60 {
		if code := create(c, newTopic(fmt.Sprintf("t%02d", i), 1)); code != 0 {
			t.Fatalf("create: %v", kerr.ErrorForCode(code))
		}
	}
	want := c.Image()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if len(log.Snapshots()) == 0 || log.StartOffset() == 0 {
		t.Fatalf("%d snapshots, log starts at %d: want some, and a log that was cut", len(log.Snapshots()), log.StartOffset())
	}
	again := startTest(t, log).Image()
	if again.TopicCount() != want.TopicCount() {
		t.Errorf("%d topics after a start from the snapshot, want %d", again.TopicCount(), want.TopicCount())
	}
	for topic := range want.Topics() {
		if got := again.TopicByID(topic.ID); got == nil || got.Name != topic.Name || len(got.Partitions) != 1 {
			t.Errorf("topic %s came back as %+v", topic.Name, got)
		}
	}
}

// A snapshot by time needs something new to be in it; an idle controller asks for no timer.
func TestSnapshotByTime(t *testing.T) {
	log := NewMemLog()
	o := testOptions(t, log, clock.NewManual(time.UnixMilli(1_700_000_000_000))).withDefaults()
	o.SnapshotInterval = time.Hour
	r := &replica{o: o, publish: func(*metadata.Image, *metadata.Delta) {}}
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	topic := []command{{decide: func(m *machine) effects {
		records, _ := m.createTopics(createRequest(newTopic("a", 1)))
		return effects{records: records}
	}}}
	begin := time.UnixMilli(0)
	f := func(after time.Duration, queue []command, next time.Duration, snapshots int) {
		t.Helper()
		at, err := r.step(begin.Add(after), queue)
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 && !at.IsZero() || next != 0 && !at.Equal(begin.Add(next)) {
			t.Errorf("after %v the next step is asked for at %v, want %v", after, at.Sub(begin), next)
		}
		if got := len(log.Snapshots()); got != snapshots {
			t.Errorf("after %v there are %d snapshots, want %d", after, got, snapshots)
		}
	}
	f(0, topic, time.Hour, 1) // the one of the new directory
	f(59*time.Minute, nil, time.Hour, 1)
	f(time.Hour, nil, 0, 2)
	f(100*time.Hour, nil, 0, 2)
	f(101*time.Hour, []command{{decide: func(m *machine) effects {
		_, records := m.allocateProducerIDs()
		return effects{records: records}
	}}}, 102*time.Hour, 2)
}

// A transaction that its leader did not end is aborted, as Kafka's new leader does.
func TestOpenTransactionIsAborted(t *testing.T) {
	log := NewMemLog()
	c := startTest(t, log)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	put := func(msgs ...record.Message) {
		b := LogBatch{BaseOffset: log.EndOffset(), Epoch: 1, Control: NotControl}
		for _, m := range msgs {
			b.Values = append(b.Values, record.Append(nil, m, 0))
		}
		if err := log.Append([]LogBatch{b}); err != nil {
			t.Fatal(err)
		}
	}
	put(&record.BeginTransactionRecord{}, &record.TopicRecord{Name: "half", TopicID: [16]byte{9}})
	img := startTest(t, log).Image()
	if img.Topic("half") != nil {
		t.Error("a topic of a transaction without an end is there")
	}
	l, err := load(log)
	if err != nil {
		t.Fatal(err)
	}
	if l.openTransaction || l.img.Topic("half") != nil {
		t.Errorf("after the start the log has an open transaction: %t, topic %v", l.openTransaction, l.img.Topic("half"))
	}
}

// A damaged log is an error with its offset, not a start with less.
func TestDamagedRecordIsRefused(t *testing.T) {
	log := NewMemLog()
	if err := log.Append([]LogBatch{{Epoch: 1, Control: NotControl, Values: [][]byte{{1, 2}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(testOptions(t, log, clock.System())); err == nil {
		t.Error("a controller starts on a record that can't be read")
	}
}

func TestSeveralVotersAreRefused(t *testing.T) {
	o := testOptions(t, NewMemLog(), clock.System())
	o.Voters = []int32{1, 2, 3}
	if _, err := Start(o); err == nil {
		t.Error("a quorum of three starts as a quorum of one")
	}
}

// Node id 0 is as good as any.
func TestNodeZero(t *testing.T) {
	c := startTest(t, NewMemLog(), func(o *Options) { o.NodeID = 0 })
	if code := create(c, newTopic("a", 1)); code != 0 {
		t.Fatalf("create: %v", kerr.ErrorForCode(code))
	}
	if got := c.Image().Topic("a").Partitions[0].Leader; got != 0 {
		t.Errorf("leader is %d, want 0", got)
	}
}

// Resource types and operations that kmsg has no name for.
func TestUnknownConfigTypesAndOperations(t *testing.T) {
	c := startTest(t, NewMemLog())
	create(c, newTopic("a", 1))
	f := func(resourceType kmsg.ConfigResourceType, op kmsg.IncrementalAlterConfigOp, want *kerr.Error) {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = resourceType, "a"
		cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		value := "1"
		cfg.Name, cfg.Op, cfg.Value = "retention.ms", op, &value
		r.Configs = append(r.Configs, cfg)
		req.Resources = append(req.Resources, r)
		done := make(chan int16, 1)
		c.IncrementalAlterConfigs(req, func(r *kmsg.IncrementalAlterConfigsResponse) { done <- r.Resources[0].ErrorCode })
		if code := <-done; code != want.Code {
			t.Errorf("type %d operation %d is answered %v, want %v", resourceType, op, kerr.ErrorForCode(code), want)
		}
	}
	f(77, 0, kerr.InvalidRequest)
	f(2, 9, kerr.UnknownServerError)
	f(2, -1, kerr.UnknownServerError)
}

// Replicas of one partition are on different brokers and, where possible, racks; leaders are spread evenly and never fenced.
func TestPlacement(t *testing.T) {
	img := metadata.Empty()
	var recs []record.Message
	for id := range int32(6) {
		rack := fmt.Sprintf("r%d", id%3)
		b := &record.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: 1, Rack: &rack, Fenced: id == 5, LogDirs: [][16]byte{{1, byte(id)}}}
		recs = append(recs, b)
	}
	img, _, err := img.Apply(recs, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	bits := uint64(0)
	m := newMachine(&Options{NodeID: 0, Random: func() uint64 { bits += 0x9e3779b97f4a7c15; return bits }}, img, 6)
	p := m.newPlacer()
	leaders := map[int32]int{}
	for range 600 {
		replicas := p.place(3)
		racks, seen := map[int32]bool{}, map[int32]bool{}
		for _, id := range replicas {
			racks[id%3], seen[id] = true, true
		}
		if len(seen) != 3 || len(racks) != 3 {
			t.Fatalf("replicas %v are on %d brokers in %d racks, want 3 and 3", replicas, len(seen), len(racks))
		}
		leaders[replicas[0]]++
	}
	if leaders[5] > 0 {
		t.Errorf("the fenced broker leads %d partitions", leaders[5])
	}
	for id := range int32(5) {
		if n := leaders[id]; n < 60 {
			t.Errorf("broker %d leads %d of 600 partitions: %v", id, n, leaders)
		}
	}
	if err := p.check(7); !err.failed() {
		t.Error("seven replicas on six brokers are accepted")
	}
	for range 10 {
		if got := p.place(6); len(got) != 6 {
			t.Errorf("six replicas are placed on %v", got)
		}
	}
}

// A thousand topics, or one of ten thousand partitions, take the controller a small part of a second.
func BenchmarkCreateTopics(b *testing.B) {
	f := func(name string, topics, partitions int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := startTest(b, NewMemLog())
				done := make(chan struct{}, topics)
				for i := range topics {
					c.CreateTopics(createRequest(newTopic(fmt.Sprintf("topic-%d", i), int32(partitions))), func(*kmsg.CreateTopicsResponse) { done <- struct{}{} })
				}
				for range topics {
					<-done
				}
				if got := c.Image().TopicCount(); got != topics {
					b.Fatalf("%d topics, want %d", got, topics)
				}
			}
		})
	}
	f("1000x1", 1000, 1)
	f("1x10000", 1, 10000)
}

package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/txn"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// openTxn begins a transaction of the id "x" with one record in each partition of the topic, and an offset of group "g".
func openTxn(t *testing.T, b *Broker, topic string, partitions int32) (*kgo.Client, txn.Producer) {
	t.Helper()
	ctx := testContext(t)
	c := kgoClient(t, b, kgo.TransactionalID("x"), kgo.MetadataMinAge(50*time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic))
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for p := range partitions {
		if err := c.ProduceSync(ctx, &kgo.Record{Partition: p, Value: []byte(fmt.Sprint(p))}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	id, epoch, err := c.ProducerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group, commit.ProducerID, commit.ProducerEpoch = "x", "g", id, epoch
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rp.Offset = 5
	rt.Partitions = append(rt.Partitions, rp)
	commit.Topics = append(commit.Topics, rt)
	at, err := kadm.NewClient(c).ListTopics(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	commit.Topics[0].TopicID = at[topic].ID
	resp, err := commit.RequestWith(ctx, c)
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("TxnOffsetCommit: %+v, %v", resp, err)
	}
	return c, txn.Producer{TransactionalID: "x", ProducerID: id, ProducerEpoch: epoch}
}

// stable waits until the last stable offset of every partition is its end, and reads the committed offset of g.
func stable(t *testing.T, b *Broker, topic string) int64 {
	t.Helper()
	ctx := testContext(t)
	adm := kadm.NewClient(kgoClient(t, b))
	for {
		ends, err := adm.ListEndOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		lsos, err := adm.ListCommittedOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		open := false
		ends.Each(func(o kadm.ListedOffset) {
			lso, _ := lsos.Lookup(o.Topic, o.Partition)
			open = open || lso.Offset != o.Offset
		})
		if !open {
			break
		}
	}
	os, err := adm.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := os.Lookup(topic, 0)
	return o.At
}

func makeTopic(t *testing.T, b *Broker, topic string, partitions int32) {
	t.Helper()
	if _, err := kadm.NewClient(kgoClient(t, b)).CreateTopic(testContext(t), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

// A broker that ends between the decision and its markers brings the transaction to its end when it starts again.
func TestDecidedTransactionEndsAfterRestart(t *testing.T) {
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprint(commit), func(t *testing.T) {
			dir := t.TempDir()
			b := startBroker(t, dir)
			makeTopic(t, b, "data", 3)
			_, p := openTxn(t, b, "data", 3)
			partition := coordinator.PartitionFor("x", 50)
			err := b.coord.txns.Submit(partition, func(s *txn.Shard, now coordinator.Now) coordinator.Effects {
				e, _ := s.End(now, nil, func(txn.Outcome) kmsg.Response { return nil }, txn.EndRequest{Producer: p, Commit: commit, Version: 2}, -1)
				s.Dropped()
				e.Replies = nil // the decision is all that gets into the log
				return e
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b = startBroker(t, dir)
			want, records := int64(-1), 0
			if commit {
				want, records = 5, 3
			}
			if got := stable(t, b, "data"); got != want && (commit || got != 0) {
				t.Errorf("offset of the group: %d, want %d", got, want)
			}
			c := kgoClient(t, b, kgo.ConsumeTopics("data"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
			produceValues(t, b, "data", 10, 11)
			n := 0
			for n < records+1 {
				fs := c.PollFetches(testContext(t))
				if err := fs.Err(); err != nil {
					t.Fatalf("after %d of %d records: %v", n, records+1, err)
				}
				fs.EachRecord(func(r *kgo.Record) {
					n++
					if !commit && string(r.Value) != "10" {
						t.Errorf("aborted record %s was read", r.Value)
					}
				})
			}
		})
	}
}

// A marker that cannot be written is tried until it is in; who waits for the end is answered before.
func TestMarkerIsRetried(t *testing.T) {
	b := startBroker(t, t.TempDir())
	makeTopic(t, b, "data", 1)
	c, _ := openTxn(t, b, "data", 1)
	partition := coordinator.PartitionFor("g", 50)
	b.coord.groups.Resign(partition) // its markers are refused
	if err := c.EndTransaction(testContext(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		ts, err := kadm.NewClient(kgoClient(t, b)).DescribeTransactions(testContext(t), "x")
		if err != nil {
			t.Fatal(err)
		}
		return ts["x"].State
	}
	if s := state(); s != "PrepareCommit" {
		t.Fatalf("state %s, want PrepareCommit", s)
	}
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	b.coord.groups.Elect(partition, 0)
	if err := c.ProduceSync(testContext(t), &kgo.Record{Value: []byte("next")}).FirstErr(); err != nil {
		t.Fatalf("the next transaction: %v", err)
	}
	if err := c.EndTransaction(testContext(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got := stable(t, b, "data"); got != 5 {
		t.Errorf("offset of the group: %d, want 5", got)
	}
}

// A partition that has seen a later coordinator takes no marker: the call is answered, and the next try waits.
func TestMarkerOfFencedCoordinator(t *testing.T) {
	b := startBroker(t, t.TempDir())
	makeTopic(t, b, "data", 1)
	c, p := openTxn(t, b, "data", 1)
	mark := kmsg.NewPtrWriteTxnMarkersRequest()
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch = p.ProducerID, p.ProducerEpoch, 9
	m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "data", Partitions: []int32{0}}}
	mark.Markers = append(mark.Markers, m)
	if r, err := mark.RequestWith(testContext(t), c); err != nil || r.Markers[0].Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("WriteTxnMarkers: %+v, %v", r, err)
	}
	if err := c.EndTransaction(testContext(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	adm := kadm.NewClient(kgoClient(t, b))
	ts, err := adm.DescribeTransactions(testContext(t), "x")
	if err != nil || ts["x"].State != "PrepareCommit" {
		t.Errorf("state %q, %v; want PrepareCommit", ts["x"].State, err)
	}
	f := func(rounds int, fenced bool, want time.Duration) {
		t.Helper()
		if got := markerBackoff(rounds, fenced); got != want {
			t.Errorf("after %d rounds, fenced %v: %v, want %v", rounds, fenced, got, want)
		}
	}
	f(1, false, 100*time.Millisecond)
	f(3, false, 400*time.Millisecond)
	f(100, false, time.Second)
	f(1, true, time.Minute)
}

// What a fenced producer commits late for a group, after its transaction was ended, opens no transaction that nobody would end.
func TestLateOffsetCommitOpensNothing(t *testing.T) {
	b := startBroker(t, t.TempDir())
	makeTopic(t, b, "data", 1)
	_, old := openTxn(t, b, "data", 1)
	fresh := kgoClient(t, b, kgo.TransactionalID("x"))
	if _, _, err := fresh.ProducerID(testContext(t)); err != nil {
		t.Fatal(err)
	}
	for _, version := range []int16{3, 4, 5} {
		commit := kmsg.NewPtrTxnOffsetCommitRequest()
		commit.TransactionalID, commit.Group, commit.ProducerID, commit.ProducerEpoch = "x", "g", old.ProducerID, old.ProducerEpoch
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		rt.Topic = "data"
		rt.Partitions = append(rt.Partitions, kmsg.NewTxnOffsetCommitRequestTopicPartition())
		commit.Topics = append(commit.Topics, rt)
		versions := kversion.Stable()
		versions.SetMaxKeyVersion(commit.Key(), version)
		c := kgoClient(t, b, kgo.MaxVersions(versions))
		resp, err := commit.RequestWith(testContext(t), c)
		if err != nil {
			t.Fatal(err)
		}
		if code := resp.Topics[0].Partitions[0].ErrorCode; code != kerr.InvalidProducerEpoch.Code {
			t.Errorf("version %d: code %d, want %d", version, code, kerr.InvalidProducerEpoch.Code)
		}
	}
	if got := stable(t, b, "data"); got > 0 {
		t.Errorf("offset of the group: %d, want none", got)
	}
}

// A transaction that has timed out is aborted without its producer.
func TestTransactionTimesOut(t *testing.T) {
	b := startBroker(t, t.TempDir(), "transaction.abort.timed.out.transaction.cleanup.interval.ms=50")
	makeTopic(t, b, "data", 1)
	c := kgoClient(t, b, kgo.TransactionalID("x"), kgo.TransactionTimeout(200*time.Millisecond), kgo.DefaultProduceTopic("data"))
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := c.ProduceSync(testContext(t), kgo.StringRecord("never")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	stable(t, b, "data")
	ts, err := kadm.NewClient(kgoClient(t, b)).DescribeTransactions(testContext(t), "x")
	if err != nil || ts["x"].State != "CompleteAbort" {
		t.Errorf("state %q, %v; want CompleteAbort", ts["x"].State, err)
	}
	if err := c.EndTransaction(testContext(t), kgo.TryCommit); err == nil {
		t.Error("the commit of a transaction that has timed out succeeded")
	}
}

// producesUnadded writes as an older transactional producer that has not added the partition.
func producesUnadded(w *dynamicWorld) string {
	w.t.Helper()
	id := "unadded-" + w.topic
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(kmsg.Produce.Int16(), 9)
	c := kgoClient(w.t, w.b, kgo.MaxVersions(versions))
	ctx := testContext(w.t)
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &id, 60_000
	p, err := init.RequestWith(ctx, c)
	if err != nil || p.ErrorCode != 0 {
		w.t.Fatalf("InitProducerId: %+v, %v", p, err)
	}
	o := batch.PlainOptions(0, -1)
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = p.ProducerID, p.ProducerEpoch, 0, true
	bld := batch.NewBuilder(nil, o)
	bld.Append(0, w.b.o.Clock.Wall().UnixMilli(), nil, []byte("x"))
	data, err := bld.Finish()
	if err != nil {
		w.t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.TransactionID = -1, 5000, &id
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = w.topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Records = data
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return verdict(kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode))
}

package server

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// readGroup reads n records as a member of the group and commits them.
func readGroup(t *testing.T, b *Broker, group, topic string, n int) (values []string) {
	t.Helper()
	c := kgoClient(t, b, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	ctx := testContext(t)
	for len(values) < n {
		fs := c.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(values), n, err)
		}
		fs.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	if err := c.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	c.Close() // leaves the group
	return values
}

func produceValues(t *testing.T, b *Broker, topic string, from, to int) {
	t.Helper()
	c := kgoClient(t, b, kgo.DefaultProduceTopic(topic))
	for i := from; i < to; i++ {
		c.Produce(testContext(t), kgo.StringRecord(fmt.Sprint(i)), nil)
	}
	if err := c.Flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

// A group goes on where it stopped, also after a restart of the broker: no record twice, none left out.
func TestGroupGoesOnAfterRestart(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, dir)
	if _, err := kadm.NewClient(kgoClient(t, b)).CreateTopic(testContext(t), 3, 1, nil, "data"); err != nil {
		t.Fatal(err)
	}
	produceValues(t, b, "data", 0, 100)
	got := readGroup(t, b, "g", "data", 100)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = startBroker(t, dir)
	produceValues(t, b, "data", 100, 150)
	got = append(got, readGroup(t, b, "g", "data", 50)...)
	slices.Sort(got)
	if len(slices.Compact(slices.Clone(got))) != 150 || len(got) != 150 {
		t.Fatalf("%d records, %d of them different; want 150", len(got), len(slices.Compact(got)))
	}
	lag, err := kadm.NewClient(kgoClient(t, b)).Lag(testContext(t), "g")
	if err != nil || lag["g"].State != "Empty" || lag["g"].Lag.Total() != 0 {
		t.Fatalf("lag %+v, %v", lag["g"], err)
	}
}

// A deleted topic takes its offsets along before its deletion is answered.
func TestDeletedTopicTakesOffsetsAlong(t *testing.T) {
	b := startBroker(t, t.TempDir())
	ctx := testContext(t)
	adm := kadm.NewClient(kgoClient(t, b))
	for _, topic := range []string{"a", "b"} {
		if _, err := adm.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset("a", 0, 5, -1)
	offsets.AddOffset("b", 0, 6, -1)
	if err := adm.CommitAllOffsets(ctx, "g", offsets); err != nil {
		t.Fatal(err)
	}
	if _, err := adm.DeleteTopics(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	left, err := adm.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	if got := left.Offsets().Sorted(); len(got) != 1 || got[0].Topic != "b" || got[0].At != 6 {
		t.Fatalf("offsets left: %+v", got)
	}
}

// Internal topics are made as Kafka makes them; a replication factor that the cluster can't have leaves the coordinator unavailable.
func TestOffsetsTopicIsMadeWhenNeeded(t *testing.T) {
	b := startBroker(t, t.TempDir())
	adm := kadm.NewClient(kgoClient(t, b))
	ctx := testContext(t)
	if b.Image().Topic(offsetsTopic) != nil {
		t.Fatal("the topic is there before anybody asked")
	}
	if _, err := adm.FetchOffsets(ctx, "g"); err != nil {
		t.Fatal(err)
	}
	cfg, err := adm.DescribeTopicConfigs(ctx, offsetsTopic)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range cfg[0].Configs {
		got[c.Key] = c.MaybeValue()
	}
	for k, want := range map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"} {
		if got[k] != want {
			t.Errorf("%s is %q, want %q", k, got[k], want)
		}
	}
	other := startBroker(t, t.TempDir(), "offsets.topic.replication.factor=3")
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = "g", []string{"g"}
	resp, err := kgoClient(t, other).SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode; code != kerr.CoordinatorNotAvailable.Code {
		t.Errorf("replication factor 3 on one broker: %d", code)
	}
}

// The log of a partition is read back as it was written: transactions and their markers too, compressed or not.
func TestInternalLogReadsBack(t *testing.T) {
	for _, codec := range []string{"0", "1", "4"} {
		b := startBroker(t, t.TempDir(), "offsets.topic.compression.codec="+codec)
		if _, err := kadm.NewClient(kgoClient(t, b)).FetchOffsets(testContext(t), "g"); err != nil {
			t.Fatal(err)
		}
		log := b.coord.log
		txn := coordinator.Txn{ProducerID: 77, ProducerEpoch: 1}
		write := func(txn *coordinator.Txn, keys ...string) {
			t.Helper()
			var recs []coordinator.Record
			for _, k := range keys {
				recs = append(recs, coordinator.Record{Key: []byte(k), Value: []byte("value of " + k)})
			}
			if _, err := log.Write(3, 0, recs, txn, b.o.Clock.Wall().UnixMilli()); err != nil {
				t.Fatal(err)
			}
		}
		write(nil, "a", "b")
		write(&txn, "c")
		if _, err := log.WriteMarker(3, 0, txn, true, 0); err != nil {
			t.Fatal(err)
		}
		write(nil, "d")
		var got []string
		if err := log.Load(3, func(lb coordinator.LoadedBatch) error {
			line := fmt.Sprintf("txn=%t marker=%t", lb.Txn != nil, lb.Marker)
			for _, r := range lb.Records {
				line += fmt.Sprintf(" %d:%s=%s", r.Offset, r.Key, r.Value)
			}
			got = append(got, line)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := []string{"txn=false marker=false 0:a=value of a 1:b=value of b", "txn=true marker=false 2:c=value of c", "txn=true marker=true", "txn=false marker=false 4:d=value of d"}
		if !slices.Equal(got, want) {
			t.Errorf("codec %s:\n%q, want\n%q", codec, got, want)
		}
		if _, err := log.Write(3, 7, []coordinator.Record{{Key: []byte("x")}}, nil, 0); err == nil {
			t.Error("a write under an epoch that is not the leader's was taken")
		}
	}
}

// BenchmarkLoadOffsets measures how long a coordinator with 100,000 committed offsets loads.
func BenchmarkLoadOffsets(b *testing.B) {
	const offsets = 100_000
	broker := startBroker(b, b.TempDir())
	c, err := kgo.NewClient(kgo.SeedBrokers(broker.Addrs()["PLAINTEXT"]))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := kadm.NewClient(c).FetchOffsets(context.Background(), "g"); err != nil {
		b.Fatal(err)
	}
	for i := 0; i < offsets; i += 1000 {
		var recs []coordinator.Record
		for j := i; j < i+1000; j++ {
			k := &record.OffsetCommitKey{Group: fmt.Sprint("group-", j%500), Topic: fmt.Sprint("topic-", j/500), Partition: int32(j % 7)}
			v := &record.OffsetCommitValue{Offset: int64(j), LeaderEpoch: 1, Metadata: "host-1", CommitTimestamp: 1, TopicID: [16]byte{1}}
			recs = append(recs, coordinator.Record{Key: record.AppendKey(nil, k), Value: record.AppendValue(nil, v, 4)})
		}
		if _, err := broker.coord.log.Write(5, 0, recs, nil, 1); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s := group.New(group.Deps{})
		n := 0
		if err := broker.coord.log.Load(5, func(lb coordinator.LoadedBatch) error {
			for _, r := range lb.Records {
				s.Apply(r)
				n++
			}
			return nil
		}); err != nil || n != offsets {
			b.Fatalf("%d records, %v", n, err)
		}
	}
}

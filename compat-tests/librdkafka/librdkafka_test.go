// Package librdkafka tests a broker with librdkafka, through confluent-kafka-go.
package librdkafka

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

// limit bounds each test's calls.
const limit = 60 * time.Second

func ctxOf(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func settings(t *testing.T, kv ...any) *kafka.ConfigMap {
	m := kafka.ConfigMap{"bootstrap.servers": corpus.Bootstrap(t), "message.max.bytes": 12 << 20}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	return &m
}

func admin(t *testing.T) *kafka.AdminClient {
	t.Helper()
	a, err := kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": corpus.Bootstrap(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func topic(t *testing.T, what string, partitions int, configs map[string]string) string {
	t.Helper()
	name := corpus.Topic(t, "rd-"+what)
	a := admin(t)
	rs, err := a.CreateTopics(ctxOf(t), []kafka.TopicSpecification{{Topic: name, NumPartitions: partitions, ReplicationFactor: 1, Config: configs}})
	if err != nil || rs[0].Error.Code() != kafka.ErrNoError {
		t.Fatalf("create %s: %v %v", name, err, rs)
	}
	t.Cleanup(func() { _, _ = a.DeleteTopics(context.Background(), []string{name}) }) // a leftover harms nobody
	return name
}

// produce sends all to partition 0 unless the message says otherwise, and returns the delivery reports in order.
func produce(t *testing.T, cfg *kafka.ConfigMap, ms []*kafka.Message) []*kafka.Message {
	t.Helper()
	p, err := kafka.NewProducer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	reports := make(chan kafka.Event, len(ms))
	for i, m := range ms {
		m.Opaque = i
		for {
			err := p.Produce(m, reports)
			if err == nil {
				break
			}
			if ke, ok := err.(kafka.Error); !ok || ke.Code() != kafka.ErrQueueFull {
				t.Fatalf("produce message %d: %v", i, err)
			}
			p.Flush(100)
		}
	}
	got := make([]*kafka.Message, len(ms))
	timeout := time.After(limit)
	for n := range ms {
		select {
		case e := <-reports:
			m := e.(*kafka.Message)
			got[m.Opaque.(int)] = m
		case <-timeout:
			t.Fatalf("%d of %d delivery reports in %v", n, len(ms), limit)
		}
	}
	return got
}

func delivered(t *testing.T, ms []*kafka.Message) {
	t.Helper()
	for i, m := range ms {
		if m.TopicPartition.Error != nil {
			t.Fatalf("message %d: %v", i, m.TopicPartition.Error)
		}
	}
}

func consume(t *testing.T, name string, partition int32, from kafka.Offset, n int) []*kafka.Message {
	t.Helper()
	c, err := kafka.NewConsumer(settings(t, "group.id", "unused", "enable.auto.commit", false, "auto.offset.reset", "error", "fetch.message.max.bytes", 11<<20, "receive.message.max.bytes", 100<<20, "fetch.max.bytes", 60<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Assign([]kafka.TopicPartition{{Topic: &name, Partition: partition, Offset: from}}); err != nil {
		t.Fatal(err)
	}
	got := make([]*kafka.Message, 0, n)
	end := time.Now().Add(limit)
	for len(got) < n && time.Now().Before(end) {
		switch e := c.Poll(200).(type) {
		case *kafka.Message:
			if e.TopicPartition.Error != nil {
				t.Fatalf("after %d of %d messages: %v", len(got), n, e.TopicPartition.Error)
			}
			got = append(got, e)
		case kafka.Error:
			t.Fatalf("after %d of %d messages: %v", len(got), n, e)
		}
	}
	if len(got) < n {
		t.Fatalf("%d of %d messages in %v", len(got), n, limit)
	}
	return got
}

func messages(name string, n int) []*kafka.Message {
	ms := make([]*kafka.Message, n)
	for i := range ms {
		ms[i] = &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &name}, Key: []byte{byte(i)}, Value: corpus.Value(name, i)}
	}
	return ms
}

func check(t *testing.T, got, want []*kafka.Message) {
	t.Helper()
	for i, w := range want {
		if d := corpus.Diff(got[i].Value, w.Value); d != "" || got[i].TopicPartition.Offset != kafka.Offset(i) || !bytes.Equal(got[i].Key, w.Key) {
			t.Fatalf("message %d: offset %d key %q %s", i, got[i].TopicPartition.Offset, got[i].Key, d)
		}
	}
}

func TestCodecs(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			name := topic(t, "codec", 1, nil)
			ms := messages(name, 1000)
			for i, m := range ms {
				m.Timestamp = time.UnixMilli(1_700_000_000_000 + int64(i))
				m.Headers = []kafka.Header{{Key: "i", Value: []byte{byte(i)}}}
			}
			delivered(t, produce(t, settings(t, "compression.codec", codec), ms))
			got := consume(t, name, 0, 0, len(ms))
			check(t, got, ms)
			if g := got[9]; g.Timestamp.UnixMilli() != 1_700_000_000_009 || len(g.Headers) != 1 || g.Headers[0].Value[0] != 9 {
				t.Errorf("timestamp %v headers %v", g.Timestamp, g.Headers)
			}
		})
	}
}

func TestAcks(t *testing.T) {
	for what, kv := range map[string][]any{"0": {"acks", 0}, "1": {"acks", 1}, "all": {"acks", -1}, "idempotent": {"enable.idempotence", true}} {
		t.Run(what, func(t *testing.T) {
			name := topic(t, "acks", 1, nil)
			ms := messages(name, 2000)
			delivered(t, produce(t, settings(t, append(kv, "batch.num.messages", 50)...), ms))
			check(t, consume(t, name, 0, 0, len(ms)), ms)
		})
	}
}

func TestNulls(t *testing.T) {
	name := topic(t, "nulls", 1, nil)
	tp := kafka.TopicPartition{Topic: &name}
	delivered(t, produce(t, settings(t), []*kafka.Message{
		{TopicPartition: tp},
		{TopicPartition: tp, Key: []byte("k")},
		{TopicPartition: tp, Value: []byte("v"), Headers: []kafka.Header{{Key: "a", Value: nil}, {Key: "a", Value: []byte("2")}}},
	}))
	got := consume(t, name, 0, 0, 3)
	if got[0].Key != nil || got[0].Value != nil || string(got[1].Key) != "k" || got[1].Value != nil || string(got[2].Value) != "v" {
		t.Errorf("got %v", got)
	}
	if h := got[2].Headers; len(h) != 2 || h[0].Value != nil || string(h[1].Value) != "2" {
		t.Errorf("headers %v", h)
	}
}

func TestText(t *testing.T) {
	name := topic(t, "text", 1, nil)
	lines := corpus.Lines(t)
	ms := make([]*kafka.Message, len(lines))
	for i, l := range lines {
		ms[i] = &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &name}, Value: l}
	}
	delivered(t, produce(t, settings(t, "compression.codec", "lz4", "linger.ms", 20, "queue.buffering.max.messages", 1_000_000), ms))
	var text bytes.Buffer
	for _, m := range consume(t, name, 0, 0, len(ms)) {
		text.Write(m.Value)
		text.WriteByte('\n')
	}
	if d := corpus.Diff(text.Bytes(), corpus.File(t, "text.txt")); d != "" {
		t.Fatal("text ", d)
	}
}

func TestBinaries(t *testing.T) {
	name := topic(t, "binary", 1, map[string]string{"max.message.bytes": corpus.MaxMessageBytes})
	var ms []*kafka.Message
	for _, f := range corpus.Binaries() {
		ms = append(ms, &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &name}, Value: corpus.File(t, f)})
	}
	delivered(t, produce(t, settings(t), ms))
	for i, m := range consume(t, name, 0, 0, len(ms)) {
		if d := corpus.Diff(m.Value, ms[i].Value); d != "" {
			t.Errorf("%s %s", corpus.Binaries()[i], d)
		}
	}
}

func TestOffsets(t *testing.T) {
	name := topic(t, "offsets", 1, nil)
	base := time.Now().Add(-time.Hour)
	ms := messages(name, 20)
	for i, m := range ms {
		m.Timestamp = base.Add(time.Duration(i) * time.Second)
	}
	delivered(t, produce(t, settings(t), ms))
	c, err := kafka.NewConsumer(settings(t, "group.id", "unused"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	low, high, err := c.QueryWatermarkOffsets(name, 0, 10000)
	if err != nil || low != 0 || high != 20 {
		t.Errorf("watermarks %d to %d: %v", low, high, err)
	}
	f := func(at time.Time, want kafka.Offset) {
		t.Helper()
		r, err := c.OffsetsForTimes([]kafka.TopicPartition{{Topic: &name, Offset: kafka.Offset(at.UnixMilli())}}, 10000)
		if err != nil || r[0].Offset != want {
			t.Errorf("offset at %v: %v %v, want %v", at, r, err, want)
		}
	}
	f(base, 0)
	f(base.Add(3500*time.Millisecond), 4)
	f(base.Add(time.Hour), kafka.OffsetEnd)
}

func TestAdmin(t *testing.T) {
	a := admin(t)
	name := topic(t, "admin", 2, map[string]string{"retention.ms": "7200000"})
	rs, err := a.CreateTopics(ctxOf(t), []kafka.TopicSpecification{{Topic: name, NumPartitions: 1, ReplicationFactor: 1}})
	if err != nil || rs[0].Error.Code() != kafka.ErrTopicAlreadyExists {
		t.Errorf("create twice: %v %v", err, rs)
	}
	rs, err = a.CreatePartitions(ctxOf(t), []kafka.PartitionsSpecification{{Topic: name, IncreaseTo: 3}})
	if err != nil || rs[0].Error.Code() != kafka.ErrNoError {
		t.Errorf("grow: %v %v", err, rs)
	}
	d, err := a.DescribeTopics(ctxOf(t), kafka.NewTopicCollectionOfTopicNames([]string{name}))
	if err != nil || len(d.TopicDescriptions) != 1 || len(d.TopicDescriptions[0].Partitions) != 3 {
		t.Errorf("describe: %v %+v", err, d)
	}
	res := kafka.ConfigResource{Type: kafka.ResourceTopic, Name: name}
	alter := res
	alter.Config = []kafka.ConfigEntry{{Name: "segment.ms", Value: "60000", IncrementalOperation: kafka.AlterConfigOpTypeSet}}
	if ar, err := a.IncrementalAlterConfigs(ctxOf(t), []kafka.ConfigResource{alter}); err != nil || ar[0].Error.Code() != kafka.ErrNoError {
		t.Errorf("alter: %v %v", err, ar)
	}
	dc, err := a.DescribeConfigs(ctxOf(t), []kafka.ConfigResource{res})
	if err != nil {
		t.Fatal(err)
	}
	if c := dc[0].Config; c["segment.ms"].Value != "60000" || c["retention.ms"].Value != "7200000" {
		t.Errorf("segment.ms=%v retention.ms=%v", c["segment.ms"], c["retention.ms"])
	}
	delivered(t, produce(t, settings(t), messages(name, 10)))
	dr, err := a.DeleteRecords(ctxOf(t), []kafka.TopicPartition{{Topic: &name, Partition: 0, Offset: 4}})
	if err != nil || dr.DeleteRecordsResults[0].TopicPartition.Error != nil || dr.DeleteRecordsResults[0].DeletedRecords.LowWatermark != 4 {
		t.Errorf("delete records: %v %+v", err, dr)
	}
	lo, err := a.ListOffsets(ctxOf(t), map[kafka.TopicPartition]kafka.OffsetSpec{{Topic: &name, Partition: 0}: kafka.EarliestOffsetSpec})
	if err != nil {
		t.Fatal(err)
	}
	for tp, r := range lo.ResultInfos {
		if r.Offset != 4 {
			t.Errorf("%v starts at %d, want 4", tp, r.Offset)
		}
	}
	if cl, err := a.DescribeCluster(ctxOf(t)); err != nil || cl.ClusterID == nil || len(cl.Nodes) == 0 {
		t.Errorf("cluster %+v: %v", cl, err)
	}
	rs, err = a.DeleteTopics(ctxOf(t), []string{name, "no-such-topic-at-all"})
	if err != nil || rs[0].Error.Code() != kafka.ErrNoError || rs[1].Error.Code() != kafka.ErrUnknownTopicOrPart {
		t.Errorf("delete: %v %v", err, rs)
	}
}

func TestErrors(t *testing.T) {
	name := topic(t, "errors", 1, map[string]string{"max.message.bytes": "1000"})
	big := messages(name, 1)
	big[0].Value = make([]byte, 5000)
	got := produce(t, settings(t), big)
	if ke, ok := got[0].TopicPartition.Error.(kafka.Error); !ok || ke.Code() != kafka.ErrMsgSizeTooLarge {
		t.Errorf("5000 bytes where 1000 are allowed: %v", got[0].TopicPartition.Error)
	}
	missing := messages(name, 1)
	missing[0].TopicPartition.Partition = 7
	got = produce(t, settings(t), missing)
	if ke, ok := got[0].TopicPartition.Error.(kafka.Error); !ok || ke.Code() != kafka.ErrUnknownPartition {
		t.Errorf("a partition that is not there: %v", got[0].TopicPartition.Error)
	}
	c, err := kafka.NewConsumer(settings(t, "group.id", "unused", "auto.offset.reset", "error"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Assign([]kafka.TopicPartition{{Topic: &name, Offset: 10}}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(limit); ; {
		if time.Now().After(end) {
			t.Fatal("no error for an offset past the end")
		}
		if ke, ok := c.Poll(200).(kafka.Error); ok {
			if ke.Code() != kafka.ErrAutoOffsetReset {
				t.Errorf("consume past the end: %v", ke)
			}
			return
		}
	}
}

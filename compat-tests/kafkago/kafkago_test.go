// Package kafkago tests a broker with segmentio/kafka-go.
package kafkago

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	kafka "github.com/segmentio/kafka-go"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

// limit bounds each test's calls.
const limit = 60 * time.Second

func ctxOf(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// transport is a fresh one: the default is shared and goes on believing what it once saw of the cluster.
func transport(t *testing.T) *kafka.Transport {
	tr := &kafka.Transport{MetadataTTL: 100 * time.Millisecond}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func client(t *testing.T) *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(corpus.Bootstrap(t)), Timeout: limit, Transport: transport(t)}
}

func create(t *testing.T, cfg kafka.TopicConfig) error {
	t.Helper()
	resp, err := client(t).CreateTopics(ctxOf(t), &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{cfg}})
	if err != nil {
		return err
	}
	return resp.Errors[cfg.Topic]
}

func topic(t *testing.T, what string, partitions int, configs ...kafka.ConfigEntry) string {
	t.Helper()
	name := corpus.Topic(t, "kafkago-"+what)
	if err := create(t, kafka.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = client(t).DeleteTopics(context.Background(), &kafka.DeleteTopicsRequest{Topics: []string{name}}) // a leftover harms nobody
	})
	return name
}

func writer(t *testing.T, name string) *kafka.Writer {
	w := &kafka.Writer{Addr: kafka.TCP(corpus.Bootstrap(t)), Topic: name, RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond, BatchSize: 2000, BatchBytes: 12 << 20, MaxAttempts: 2, Transport: transport(t)}
	t.Cleanup(func() { _ = w.Close() }) // everything was written synchronously
	return w
}

func produce(t *testing.T, w *kafka.Writer, ms ...kafka.Message) {
	t.Helper()
	if err := w.WriteMessages(ctxOf(t), ms...); err != nil {
		t.Fatalf("produce %d messages: %v", len(ms), err)
	}
}

func consume(t *testing.T, name string, from int64, n int) []kafka.Message {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{corpus.Bootstrap(t)}, Topic: name, Partition: 0, MaxBytes: 12 << 20, MaxWait: 200 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(from); err != nil {
		t.Fatal(err)
	}
	got := make([]kafka.Message, 0, n)
	for len(got) < n {
		m, err := r.ReadMessage(ctxOf(t))
		if err != nil {
			t.Fatalf("after %d of %d messages: %v", len(got), n, err)
		}
		got = append(got, m)
	}
	return got
}

func TestCodecs(t *testing.T) {
	for _, codec := range []kafka.Compression{0, kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			name := topic(t, "codec", 1)
			w := writer(t, name)
			w.Compression = codec
			var ms []kafka.Message
			for i := range 500 {
				ms = append(ms, kafka.Message{Key: []byte{byte(i)}, Value: corpus.Value(name, i), Time: time.UnixMilli(1_700_000_000_000 + int64(i)), Headers: []kafka.Header{{Key: "i", Value: []byte{byte(i)}}}})
			}
			produce(t, w, ms...)
			for i, m := range consume(t, name, 0, len(ms)) {
				if d := corpus.Diff(m.Value, ms[i].Value); d != "" || m.Offset != int64(i) || !bytes.Equal(m.Key, ms[i].Key) || !m.Time.Equal(ms[i].Time) || len(m.Headers) != 1 || m.Headers[0].Value[0] != byte(i) {
					t.Fatalf("message %d: offset %d key %q time %v headers %v %s", i, m.Offset, m.Key, m.Time, m.Headers, d)
				}
			}
		})
	}
}

func TestNulls(t *testing.T) {
	name := topic(t, "nulls", 1)
	produce(t, writer(t, name), kafka.Message{Value: []byte{}}, kafka.Message{Key: []byte("k")}, kafka.Message{Value: []byte("v")})
	got := consume(t, name, 0, 3)
	if len(got[0].Value) != 0 || string(got[1].Key) != "k" || len(got[1].Value) != 0 || string(got[2].Value) != "v" {
		t.Errorf("got %q %q %q", got[0].Value, got[1].Value, got[2].Value)
	}
}

func TestText(t *testing.T) {
	name := topic(t, "text", 1)
	w := writer(t, name)
	w.Compression = kafka.Zstd
	lines := corpus.Lines(t)
	ms := make([]kafka.Message, len(lines))
	for i, l := range lines {
		ms[i].Value = l
	}
	produce(t, w, ms...)
	var text bytes.Buffer
	for _, m := range consume(t, name, 0, len(ms)) {
		text.Write(m.Value)
		text.WriteByte('\n')
	}
	if d := corpus.Diff(text.Bytes(), corpus.File(t, "text.txt")); d != "" {
		t.Fatal("text ", d)
	}
}

func TestBinaries(t *testing.T) {
	name := topic(t, "binary", 1, kafka.ConfigEntry{ConfigName: "max.message.bytes", ConfigValue: corpus.MaxMessageBytes})
	w := writer(t, name)
	for _, f := range corpus.Binaries() {
		produce(t, w, kafka.Message{Value: corpus.File(t, f)})
	}
	for i, m := range consume(t, name, 0, len(corpus.Binaries())) {
		if d := corpus.Diff(m.Value, corpus.File(t, corpus.Binaries()[i])); d != "" {
			t.Errorf("%s %s", corpus.Binaries()[i], d)
		}
	}
}

// The connection API writes and reads without a writer's or reader's retries, with old protocol versions.
func TestConn(t *testing.T) {
	name := topic(t, "conn", 1)
	conn, err := kafka.DialLeader(ctxOf(t), "tcp", corpus.Bootstrap(t), name, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.WriteMessages(kafka.Message{Value: []byte("one")}, kafka.Message{Value: []byte("two")}); err != nil {
		t.Fatal(err)
	}
	first, last, err := conn.ReadOffsets()
	if err != nil || first != 0 || last != 2 {
		t.Errorf("offsets %d to %d: %v", first, last, err)
	}
	b := conn.ReadBatch(1, 1<<20)
	for _, want := range []string{"one", "two"} {
		m, err := b.ReadMessage()
		if err != nil || string(m.Value) != want {
			t.Errorf("got %q: %v", m.Value, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestOffsetsByTime(t *testing.T) {
	name := topic(t, "times", 1)
	base := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	var ms []kafka.Message
	for i := range 20 {
		ms = append(ms, kafka.Message{Value: []byte("x"), Time: base.Add(time.Duration(i) * time.Second)})
	}
	produce(t, writer(t, name), ms...)
	resp, err := client(t).ListOffsets(ctxOf(t), &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{name: {kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0), kafka.TimeOffsetOf(0, base.Add(5*time.Second+1))}}})
	if err != nil {
		t.Fatal(err)
	}
	p := resp.Topics[name][0]
	if p.Error != nil || p.FirstOffset != 0 || p.LastOffset != 20 {
		t.Errorf("offsets %+v", p)
	}
	found := false
	for o := range p.Offsets {
		found = found || o == 5
	}
	if !found {
		t.Errorf("offset 5 is not among %v", p.Offsets)
	}
}

func TestAdmin(t *testing.T) {
	cl := client(t)
	name := topic(t, "admin", 2, kafka.ConfigEntry{ConfigName: "retention.ms", ConfigValue: "7200000"})
	if err := create(t, kafka.TopicConfig{Topic: name, NumPartitions: 1, ReplicationFactor: 1}); !errors.Is(err, kafka.TopicAlreadyExists) {
		t.Errorf("create twice: %v", err)
	}
	if err := create(t, kafka.TopicConfig{Topic: corpus.Topic(t, "kafkago-wide"), NumPartitions: 1, ReplicationFactor: 9}); !errors.Is(err, kafka.InvalidReplicationFactor) {
		t.Errorf("nine replicas: %v", err)
	}
	cp, err := cl.CreatePartitions(ctxOf(t), &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: name, Count: 3}}})
	if err != nil || cp.Errors[name] != nil {
		t.Error(err, cp.Errors)
	}
	md, err := client(t).Metadata(ctxOf(t), &kafka.MetadataRequest{Topics: []string{name}})
	if err != nil || len(md.Topics) != 1 || len(md.Topics[0].Partitions) != 3 {
		t.Fatalf("metadata %+v: %v", md, err)
	}
	alter, err := cl.IncrementalAlterConfigs(ctxOf(t), &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "segment.ms", Value: "60000", ConfigOperation: kafka.ConfigOperationSet}},
	}}})
	if err != nil || alter.Resources[0].Error != nil {
		t.Error(err)
	}
	dc, err := cl.DescribeConfigs(ctxOf(t), &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: name}}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range dc.Resources[0].ConfigEntries {
		got[e.ConfigName] = e.ConfigValue
	}
	if got["segment.ms"] != "60000" || got["retention.ms"] != "7200000" || got["cleanup.policy"] != "delete" {
		t.Errorf("segment.ms=%s retention.ms=%s cleanup.policy=%s", got["segment.ms"], got["retention.ms"], got["cleanup.policy"])
	}
	del, err := cl.DeleteTopics(ctxOf(t), &kafka.DeleteTopicsRequest{Topics: []string{name, "no-such-topic-at-all"}})
	if err != nil || del.Errors[name] != nil || !errors.Is(del.Errors["no-such-topic-at-all"], kafka.UnknownTopicOrPartition) {
		t.Errorf("delete: %v %v", err, del.Errors)
	}
}

func TestErrors(t *testing.T) {
	name := topic(t, "errors", 1)
	w := writer(t, name)
	produce(t, w, kafka.Message{Value: []byte("x")})
	var we kafka.WriteErrors
	if err := w.WriteMessages(ctxOf(t), kafka.Message{Value: make([]byte, 2<<20)}); !errors.As(err, &we) || !errors.Is(we[0], kafka.MessageSizeTooLarge) {
		t.Errorf("2 MiB: %v", err)
	}
	resp, err := client(t).Fetch(ctxOf(t), &kafka.FetchRequest{Topic: name, Partition: 0, Offset: 100, MaxBytes: 1 << 20})
	if err == nil {
		err = resp.Error
	}
	if !errors.Is(err, kafka.OffsetOutOfRange) {
		t.Errorf("fetch past the end: %v", err)
	}
}

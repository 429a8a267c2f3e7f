// Package sarama tests a broker with IBM/sarama.
package sarama

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

// limit bounds the wait for one record.
const limit = 30 * time.Second

// config is for the newest protocol versions that sarama has; sync producers need both Return flags.
func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Producer.Return.Successes = true
	c.Producer.Return.Errors = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Consumer.Return.Errors = true
	c.Producer.MaxMessageBytes = 12 << 20
	c.Producer.Retry.Max = 2
	return c
}

func admin(t *testing.T) sarama.ClusterAdmin {
	t.Helper()
	a, err := sarama.NewClusterAdmin([]string{corpus.Bootstrap(t)}, config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // nothing depends on it
	return a
}

func topic(t *testing.T, what string, partitions int32, configs map[string]*string) string {
	t.Helper()
	name := corpus.Topic(t, "sarama-"+what)
	a := admin(t)
	if err := a.CreateTopic(name, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.DeleteTopic(name) }) // a leftover harms nobody
	return name
}

func produce(t *testing.T, c *sarama.Config, ms []*sarama.ProducerMessage) {
	t.Helper()
	p, err := sarama.NewSyncProducer([]string{corpus.Bootstrap(t)}, c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.SendMessages(ms); err != nil {
		t.Fatalf("produce %d messages: %v", len(ms), err)
	}
}

func consume(t *testing.T, name string, partition int32, from int64, n int) []*sarama.ConsumerMessage {
	t.Helper()
	c := config()
	c.Consumer.Fetch.Default = 4 << 20
	co, err := sarama.NewConsumer([]string{corpus.Bootstrap(t)}, c)
	if err != nil {
		t.Fatal(err)
	}
	defer co.Close()
	pc, err := co.ConsumePartition(name, partition, from)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.AsyncClose()
	var got []*sarama.ConsumerMessage
	timeout := time.After(limit)
	for len(got) < n {
		select {
		case m := <-pc.Messages():
			got = append(got, m)
		case err := <-pc.Errors():
			t.Fatalf("after %d of %d messages: %v", len(got), n, err)
		case <-timeout:
			t.Fatalf("got %d of %d messages in %v", len(got), n, limit)
		}
	}
	return got
}

func messages(name string, n int) []*sarama.ProducerMessage {
	ms := make([]*sarama.ProducerMessage, n)
	for i := range ms {
		ms[i] = &sarama.ProducerMessage{Topic: name, Key: sarama.ByteEncoder{byte(i)}, Value: sarama.ByteEncoder(corpus.Value(name, i))}
	}
	return ms
}

func check(t *testing.T, got []*sarama.ConsumerMessage, want []*sarama.ProducerMessage) {
	t.Helper()
	for i, w := range want {
		v, _ := w.Value.Encode() // cannot fail for bytes
		if d := corpus.Diff(got[i].Value, v); d != "" {
			t.Fatalf("message %d %s", i, d)
		}
		if got[i].Offset != w.Offset {
			t.Fatalf("message %d has offset %d, the producer was told %d", i, got[i].Offset, w.Offset)
		}
	}
}

func TestCodecs(t *testing.T) {
	for _, codec := range []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD} {
		t.Run(codec.String(), func(t *testing.T) {
			name := topic(t, "codec", 1, nil)
			c := config()
			c.Producer.Compression = codec
			ms := messages(name, 500)
			for i, m := range ms {
				m.Timestamp = time.UnixMilli(1_700_000_000_000 + int64(i))
			}
			produce(t, c, ms)
			got := consume(t, name, 0, sarama.OffsetOldest, len(ms))
			check(t, got, ms)
			if ts := got[7].Timestamp.UnixMilli(); ts != 1_700_000_000_007 {
				t.Errorf("timestamp %d", ts)
			}
		})
	}
}

// Older protocol versions are what programs set that never touched the version again.
func TestOldVersions(t *testing.T) {
	for _, v := range []sarama.KafkaVersion{sarama.V2_1_0_0, sarama.V2_8_0_0, sarama.V3_6_0_0} {
		t.Run(v.String(), func(t *testing.T) {
			name := topic(t, "version", 1, nil)
			c := config()
			c.Version = v
			ms := messages(name, 50)
			produce(t, c, ms)
			check(t, consume(t, name, 0, 0, len(ms)), ms)
		})
	}
}

func TestIdempotent(t *testing.T) {
	name := topic(t, "idem", 3, nil)
	c := config()
	c.Producer.Idempotent = true
	c.Net.MaxOpenRequests = 1
	ms := messages(name, 3000)
	for i, m := range ms {
		m.Partition = int32(i % 3)
	}
	produce(t, c, ms)
	for p := range 3 {
		var want []*sarama.ProducerMessage
		for i := p; i < len(ms); i += 3 {
			want = append(want, ms[i])
		}
		check(t, consume(t, name, int32(p), 0, len(want)), want)
	}
}

func TestHeadersAndNulls(t *testing.T) {
	name := topic(t, "nulls", 1, nil)
	produce(t, config(), []*sarama.ProducerMessage{
		{Topic: name},
		{Topic: name, Key: sarama.StringEncoder("k")},
		{Topic: name, Value: sarama.StringEncoder("v"), Headers: []sarama.RecordHeader{{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("a"), Value: nil}}},
	})
	got := consume(t, name, 0, 0, 3)
	if got[0].Key != nil || got[0].Value != nil || string(got[1].Key) != "k" || got[1].Value != nil {
		t.Errorf("keys and values %q %q, %q %q", got[0].Key, got[0].Value, got[1].Key, got[1].Value)
	}
	if h := got[2].Headers; len(h) != 2 || string(h[0].Key) != "a" || string(h[0].Value) != "1" || len(h[1].Value) != 0 {
		t.Errorf("headers %v", h)
	}
}

func TestText(t *testing.T) {
	name := topic(t, "text", 1, nil)
	c := config()
	c.Producer.Compression = sarama.CompressionSnappy
	c.Producer.Flush.Messages = 1000
	c.Producer.Flush.Frequency = 5 * time.Millisecond
	c.Producer.Flush.MaxMessages = 5000
	lines := corpus.Lines(t)
	ms := make([]*sarama.ProducerMessage, len(lines))
	for i, l := range lines {
		ms[i] = &sarama.ProducerMessage{Topic: name, Value: sarama.ByteEncoder(l)}
	}
	produce(t, c, ms)
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
	size := corpus.MaxMessageBytes
	name := topic(t, "binary", 1, map[string]*string{"max.message.bytes": &size})
	for _, f := range corpus.Binaries() {
		produce(t, config(), []*sarama.ProducerMessage{{Topic: name, Value: sarama.ByteEncoder(corpus.File(t, f))}})
	}
	for i, m := range consume(t, name, 0, 0, len(corpus.Binaries())) {
		if d := corpus.Diff(m.Value, corpus.File(t, corpus.Binaries()[i])); d != "" {
			t.Errorf("%s %s", corpus.Binaries()[i], d)
		}
	}
}

func TestOffsetsByTime(t *testing.T) {
	name := topic(t, "times", 1, nil)
	base := time.Now().Add(-time.Hour)
	ms := messages(name, 20)
	for i, m := range ms {
		m.Timestamp = base.Add(time.Duration(i) * time.Second)
	}
	produce(t, config(), ms)
	cl, err := sarama.NewClient([]string{corpus.Bootstrap(t)}, config())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	f := func(at, want int64) {
		t.Helper()
		got, err := cl.GetOffset(name, 0, at)
		if err != nil || got != want {
			t.Errorf("offset at %d is %d (%v), want %d", at, got, err, want)
		}
	}
	f(sarama.OffsetOldest, 0)
	f(sarama.OffsetNewest, 20)
	f(base.Add(4*time.Second).UnixMilli(), 4)
	f(base.Add(4*time.Second).UnixMilli()+1, 5)
	f(base.Add(time.Minute).UnixMilli(), -1)
}

func TestAdmin(t *testing.T) {
	a := admin(t)
	retention := "7200000"
	name := topic(t, "admin", 2, map[string]*string{"retention.ms": &retention})
	topics, err := a.ListTopics()
	for end := time.Now().Add(limit); err == nil && topics[name].NumPartitions == 0 && time.Now().Before(end); { // Kafka answers before all know of it
		topics, err = a.ListTopics()
	}
	if err != nil || topics[name].NumPartitions != 2 || topics[name].ReplicationFactor != 1 {
		t.Fatalf("listed as %+v: %v", topics[name], err)
	}
	if v := topics[name].ConfigEntries["retention.ms"]; v == nil || *v != retention {
		t.Errorf("retention.ms is %v", v)
	}
	var te *sarama.TopicError
	if err := a.CreateTopic(name, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); !errors.As(err, &te) || te.Err != sarama.ErrTopicAlreadyExists {
		t.Errorf("create twice: %v", err)
	}
	if err := a.CreatePartitions(name, 4, nil, false); err != nil {
		t.Error(err)
	}
	if d, err := a.DescribeTopics([]string{name}); err != nil || len(d[0].Partitions) != 4 {
		t.Errorf("described as %+v: %v", d, err)
	}
	v := "1000"
	if err := a.IncrementalAlterConfig(sarama.TopicResource, name, map[string]sarama.IncrementalAlterConfigsEntry{"segment.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &v}}, false); err != nil {
		t.Error(err)
	}
	// AlterConfig replaces all that was set.
	if err := a.AlterConfig(sarama.TopicResource, name, map[string]*string{"retention.bytes": &v}, false); err != nil {
		t.Error(err)
	}
	es, err := a.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]sarama.ConfigEntry{}
	for _, e := range es {
		got[e.Name] = e
	}
	if got["retention.bytes"].Value != v || got["segment.ms"].Value != "604800000" || got["retention.ms"].Value != "604800000" {
		t.Errorf("retention.bytes=%s segment.ms=%s retention.ms=%s", got["retention.bytes"].Value, got["segment.ms"].Value, got["retention.ms"].Value)
	}
	produce(t, config(), messages(name, 10))
	if err := a.DeleteRecords(name, map[int32]int64{0: 6}); err != nil {
		t.Error(err)
	}
	if m := consume(t, name, 0, sarama.OffsetOldest, 1)[0]; m.Offset != 6 {
		t.Errorf("the oldest offset is %d after deleting before 6", m.Offset)
	}
	if dirs, err := a.DescribeLogDirs([]int32{leader(t, name)}); err != nil || len(dirs) != 1 {
		t.Errorf("log dirs %v: %v", dirs, err)
	}
	if err := a.DeleteTopic(name); err != nil {
		t.Error(err)
	}
	if err := a.DeleteTopic(name); !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		t.Errorf("delete twice: %v", err)
	}
}

func leader(t *testing.T, name string) int32 {
	t.Helper()
	cl, err := sarama.NewClient([]string{corpus.Bootstrap(t)}, config())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	b, err := cl.Leader(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b.ID()
}

func TestErrors(t *testing.T) {
	name := topic(t, "errors", 1, nil)
	produce(t, config(), messages(name, 3))
	co, err := sarama.NewConsumer([]string{corpus.Bootstrap(t)}, config())
	if err != nil {
		t.Fatal(err)
	}
	defer co.Close()
	if _, err := co.ConsumePartition(name, 0, 10); !errors.Is(err, sarama.ErrOffsetOutOfRange) {
		t.Errorf("consume past the end: %v", err)
	}
	p, err := sarama.NewSyncProducer([]string{corpus.Bootstrap(t)}, config())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: name, Value: sarama.ByteEncoder(make([]byte, 2<<20))}); !errors.Is(err, sarama.ErrMessageSizeTooLarge) {
		t.Errorf("2 MiB: %v", err)
	}
	if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: "no good/name", Value: sarama.StringEncoder("x")}); !errors.Is(err, sarama.ErrInvalidTopic) {
		t.Errorf("a bad name: %v", err)
	}
}

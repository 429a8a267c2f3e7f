package server

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// startBroker runs a broker on the directory with a free port until the test ends, unless it is closed earlier.
func startBroker(t *testing.T, dir string, overrides ...string) *Broker {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: append([]string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir}, overrides...)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(Options{Config: cfg, FS: vfs.OS(), Clock: clock.System(), Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func kgoClient(t *testing.T, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addrs()["PLAINTEXT"])}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// consume reads n records of the topic's partition from its start.
func consume(t *testing.T, b *Broker, topic string, partition int32, n int) []*kgo.Record {
	t.Helper()
	c := kgoClient(t, b, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	var got []*kgo.Record
	for len(got) < n {
		fs := c.PollFetches(testContext(t))
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		got = append(got, fs.Records()...)
	}
	return got
}

// Real data, end to end: a topic is created, 10,000 records and a large one are produced idempotently and come back byte for byte,
// also after a restart.
func TestProduceConsumeRestart(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, dir)
	ctx := testContext(t)
	p := kgoClient(t, b, kgo.DefaultProduceTopic("data"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(4<<20))
	if _, err := kadm.NewClient(p).CreateTopic(ctx, 2, 1, map[string]*string{"max.message.bytes": kadm.StringPtr("5000000")}, "data"); err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{Partition: int32(i % 2), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d", i)})
	}
	rs = append(rs, &kgo.Record{Partition: 0, Value: pattern(3 << 20)})
	if err := p.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	check := func(b *Broker) {
		t.Helper()
		for part := range int32(2) {
			got := consume(t, b, "data", part, n/2+1-int(part))
			for i, r := range got[:n/2] {
				if want := fmt.Sprintf("value %d", 2*i+int(part)); string(r.Value) != want || r.Offset != int64(i) {
					t.Fatalf("partition %d record %d: offset %d value %q, want %q", part, i, r.Offset, r.Value, want)
				}
			}
			if part == 0 && !bytes.Equal(got[n/2].Value, pattern(3<<20)) {
				t.Fatal("the large record came back differently")
			}
		}
	}
	check(b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	check(startBroker(t, dir))
}

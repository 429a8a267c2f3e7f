package server

import (
	"bytes"
	"context"
	"fmt"
	"strings"
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
func startBroker(t testing.TB, dir string, overrides ...string) *Broker {
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

// setConfig alters one setting of a resource and waits for the answer.
func setConfig(t *testing.T, b *Broker, topic, name, value string) {
	t.Helper()
	a := kadm.NewClient(kgoClient(t, b))
	set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}
	var rs kadm.AlterConfigsResponses
	var err error
	if topic == "" {
		rs, err = a.AlterBrokerConfigs(testContext(t), set)
	} else {
		rs, err = a.AlterTopicConfigs(testContext(t), set, topic)
	}
	if err != nil || len(rs) != 1 || rs[0].Err != nil {
		t.Fatalf("%s=%s: %v %v", name, value, err, rs)
	}
}

func TestDynamicSettingsHaveEffect(t *testing.T) {
	b := startBroker(t, t.TempDir())
	ctx := testContext(t)
	c := kgoClient(t, b)
	if _, err := kadm.NewClient(c).CreateTopic(ctx, 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	limit := func() int32 { return b.store.Get(b.Image().Topic("a").ID, 0).Config().MaxMessageBytes }
	setConfig(t, b, "", "message.max.bytes", "5000")
	if got := limit(); got != 5000 {
		t.Errorf("after the broker's change the topic's limit is %d", got)
	}
	setConfig(t, b, "a", "max.message.bytes", "6000")
	if got := limit(); got != 6000 {
		t.Errorf("after the topic's change its limit is %d", got)
	}
	setConfig(t, b, "", "max.connections.per.ip", "1000")
	setConfig(t, b, "", "max.connections.per.ip.overrides", "127.0.0.1:1")
	c.Close()
	waitFor(t, "the clients to be gone", func() bool {
		for b.net.connections() > 0 {
			b.net.each(func(k *conn) { k.tr.post(func() { k.fail("test", nil); k.shut() }) })
		}
		return true
	})
	first := dialBroker(t, b)
	first.send(frame(1, []byte{0, 0, 0, 0}))
	first.answer()
	dialBroker(t, b).wantClosed()
}

func dialBroker(t *testing.T, b *Broker) *client {
	t.Helper()
	return (&fixture{t: t, addr: b.Addrs()["PLAINTEXT"]}).dial()
}

func TestStartRefuses(t *testing.T) {
	b := startBroker(t, t.TempDir())
	f := func(want string, overrides ...string) {
		t.Helper()
		cfg, _, err := config.Load(config.Sources{Overrides: append([]string{"log.dirs=" + t.TempDir()}, overrides...)})
		if err != nil {
			t.Fatal(err)
		}
		other, err := Start(Options{Config: cfg, FS: vfs.OS(), Clock: clock.System(), Log: zerolog.Nop()})
		if err == nil {
			_ = other.Close()
			t.Errorf("started with %q", overrides)
			return
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q, want one line with %q", err, want)
		}
	}
	f("in use", "listeners=PLAINTEXT://"+b.Addrs()["PLAINTEXT"])
	f("not supported yet", "listeners=SASL_PLAINTEXT://127.0.0.1:0", "inter.broker.listener.name=SASL_PLAINTEXT")
	f("is in use by another process", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs="+b.o.Config.LogDirs()[0])
}

// A consumer that waits for data is woken by the append, and a broker that stops does not keep it waiting.
func TestParkedFetchIsWokenAndEndsAtClose(t *testing.T) {
	b := startBroker(t, t.TempDir())
	p := kgoClient(t, b, kgo.DefaultProduceTopic("a"))
	if _, err := kadm.NewClient(p).CreateTopic(testContext(t), 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	c := kgoClient(t, b, kgo.FetchMaxWait(20*time.Second), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"a": {0: kgo.NewOffset().AtStart()}}))
	parked := func() bool {
		n, asked := make(chan bool, 100), 0
		b.net.each(func(k *conn) {
			if k.tr.post(func() { n <- k.inFlight && k.call.header.Key == fetchKey }) {
				asked++
			}
		})
		for range asked {
			if <-n {
				return true
			}
		}
		return false
	}
	got := make(chan kgo.Fetches, 2)
	poll := func() { got <- c.PollFetches(testContext(t)) }
	go poll()
	waitFor(t, "the fetch to be parked", parked)
	began := clock.System().Mono()
	if err := p.ProduceSync(testContext(t), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if fs := <-got; fs.NumRecords() != 1 {
		t.Fatalf("%d records, %v", fs.NumRecords(), fs.Err())
	}
	if took := clock.System().Mono().Sub(began); took > 2*time.Second {
		t.Errorf("the waiting fetch was answered after %v", took)
	}
	go poll()
	waitFor(t, "the next fetch to be parked", parked)
	began = clock.System().Mono()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if took := clock.System().Mono().Sub(began); took > time.Second {
		t.Errorf("closing took %v", took)
	}
	c.Close()
	<-got
}

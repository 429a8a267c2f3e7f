// Package franz tests a broker with franz-go (kgo, kadm).
package franz

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

// limit bounds each test's calls: a broker that does not answer fails the test, not the run.
const limit = 60 * time.Second

func ctxOf(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	all := append([]kgo.Opt{kgo.SeedBrokers(corpus.Bootstrap(t)), kgo.RecordRetries(3), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)
	cl, err := kgo.NewClient(all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func admin(t *testing.T) *kadm.Client { return kadm.NewClient(client(t)) }

// topic makes a topic and removes it at the end of the test. configs are key, value, key, value.
func topic(t *testing.T, what string, partitions int32, configs ...string) string {
	t.Helper()
	name := corpus.Topic(t, what)
	m := map[string]*string{}
	for i := 0; i < len(configs); i += 2 {
		m[configs[i]] = &configs[i+1]
	}
	adm := admin(t)
	resp, err := adm.CreateTopic(ctxOf(t), partitions, 1, m, name)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		t.Fatalf("create topic %s: %v", name, err)
	}
	t.Cleanup(func() { _, _ = adm.DeleteTopics(context.Background(), name) }) // a leftover harms nobody
	return name
}

// consume reads n records of one partition from an offset, by assign.
func consume(t *testing.T, name string, partition int32, from int64, n int, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	at := map[string]map[int32]kgo.Offset{name: {partition: kgo.NewOffset().At(from)}}
	cl := client(t, append([]kgo.Opt{kgo.ConsumePartitions(at), kgo.FetchMaxPartitionBytes(16 << 20)}, opts...)...)
	ctx := ctxOf(t)
	var got []*kgo.Record
	for len(got) < n {
		fs := cl.PollFetches(ctx)
		for _, e := range fs.Errors() {
			t.Fatalf("fetch %s-%d after %d of %d records: %v", e.Topic, e.Partition, len(got), n, e.Err)
		}
		got = append(got, fs.Records()...)
	}
	return got
}

func produce(t *testing.T, cl *kgo.Client, recs []*kgo.Record) {
	t.Helper()
	if err := cl.ProduceSync(ctxOf(t), recs...).FirstErr(); err != nil {
		t.Fatalf("produce %d records to %s: %v", len(recs), recs[0].Topic, err)
	}
}

// same compares records field by field; offsets must count up from first.
func same(t *testing.T, got, want []*kgo.Record, first int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Offset != first+int64(i) {
			t.Fatalf("record %d: offset %d, want %d", i, g.Offset, first+int64(i))
		}
		if (g.Key == nil) != (w.Key == nil) || !bytes.Equal(g.Key, w.Key) {
			t.Fatalf("record %d: key %q, want %q", i, g.Key, w.Key)
		}
		if (g.Value == nil) != (w.Value == nil) || !bytes.Equal(g.Value, w.Value) {
			t.Fatalf("record %d: value %s", i, corpus.Diff(g.Value, w.Value))
		}
		if len(g.Headers) != len(w.Headers) {
			t.Fatalf("record %d: %d headers, want %d", i, len(g.Headers), len(w.Headers))
		}
		for j, h := range w.Headers {
			if gh := g.Headers[j]; gh.Key != h.Key || !bytes.Equal(gh.Value, h.Value) || (gh.Value == nil) != (h.Value == nil) {
				t.Fatalf("record %d: header %d is %q=%q, want %q=%q", i, j, gh.Key, gh.Value, h.Key, h.Value)
			}
		}
		if !w.Timestamp.IsZero() && g.Timestamp.UnixMilli() != w.Timestamp.UnixMilli() {
			t.Fatalf("record %d: timestamp %d, want %d", i, g.Timestamp.UnixMilli(), w.Timestamp.UnixMilli())
		}
	}
}

func series(name string, n int) []*kgo.Record {
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{Topic: name, Key: []byte{byte(i)}, Value: corpus.Value(name, i)}
	}
	return recs
}

func wantCode(t *testing.T, what string, err error, want *kerr.Error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got error %v, want %v", what, err, want)
	}
}

func TestCodecs(t *testing.T) {
	for what, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := topic(t, "codec", 2)
			cl := client(t, kgo.ProducerBatchCompression(codec))
			want := series(name, 1000)
			for i, r := range want {
				r.Partition = 1
				r.Timestamp = time.UnixMilli(1_700_000_000_000 + int64(i))
				r.Headers = []kgo.RecordHeader{{Key: "i", Value: []byte{byte(i >> 8), byte(i)}}}
			}
			produce(t, cl, want)
			same(t, consume(t, name, 1, 0, len(want)), want, 0)
			same(t, consume(t, name, 1, 500, 500), want[500:], 500)
		})
	}
}

func TestBrokerSideCodec(t *testing.T) {
	for _, codec := range []string{"uncompressed", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			name := topic(t, "recompress", 1, "compression.type", codec)
			want := series(name, 500)
			produce(t, client(t, kgo.ProducerBatchCompression(kgo.SnappyCompression())), want)
			got := consume(t, name, 0, 0, len(want))
			same(t, got, want, 0)
			code := map[string]uint8{"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}[codec]
			if got[0].Attrs.CompressionType() != code {
				t.Errorf("the stored batch has codec %d, want %d", got[0].Attrs.CompressionType(), code)
			}
		})
	}
}

func TestAcks(t *testing.T) {
	for what, opts := range map[string][]kgo.Opt{
		"none":       {kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()},
		"leader":     {kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()},
		"all":        {kgo.DisableIdempotentWrite()},
		"idempotent": {},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := topic(t, "acks", 1)
			cl := client(t, opts...)
			want := series(name, 300)
			for i := 0; i < len(want); i += 100 { // three requests at least
				produce(t, cl, want[i:i+100])
			}
			same(t, consume(t, name, 0, 0, len(want)), want, 0)
		})
	}
}

func TestIdempotentManyPartitions(t *testing.T) {
	name := topic(t, "idem", 12)
	cl := client(t, kgo.MaxBufferedRecords(100_000), kgo.ProducerBatchMaxBytes(16<<10))
	const each = 2000
	recs := series(name, 12*each)
	for i, r := range recs {
		r.Partition = int32(i % 12)
	}
	produce(t, cl, recs)
	for p := range int32(12) {
		var want []*kgo.Record
		for i := int(p); i < len(recs); i += 12 {
			want = append(want, recs[i])
		}
		same(t, consume(t, name, p, 0, each), want, 0)
	}
}

func TestHeadersAndNulls(t *testing.T) {
	name := topic(t, "nulls", 1)
	want := []*kgo.Record{
		{Key: nil, Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("k"), Value: nil},
		{Key: nil, Value: []byte("v")},
		{Value: []byte("h"), Headers: []kgo.RecordHeader{{Key: "", Value: nil}, {Key: "a", Value: []byte{}}, {Key: "a", Value: []byte("again")}, {Key: "ü", Value: []byte{0, 255}}}},
	}
	for _, r := range want {
		r.Topic = name
	}
	produce(t, client(t), want)
	same(t, consume(t, name, 0, 0, len(want)), want, 0)
}

func TestText(t *testing.T) {
	name := topic(t, "text", 1)
	lines := corpus.Lines(t)
	recs := make([]*kgo.Record, len(lines))
	for i, l := range lines {
		recs[i] = &kgo.Record{Topic: name, Value: l}
	}
	produce(t, client(t, kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(len(recs))), recs)
	got := consume(t, name, 0, 0, len(lines))
	var text bytes.Buffer
	for _, r := range got {
		text.Write(r.Value)
		text.WriteByte('\n')
	}
	if d := corpus.Diff(text.Bytes(), corpus.File(t, "text.txt")); d != "" {
		t.Fatal("text ", d)
	}
}

func TestBinaries(t *testing.T) {
	name := topic(t, "binary", 1, "max.message.bytes", corpus.MaxMessageBytes)
	cl := client(t, kgo.ProducerBatchMaxBytes(11<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedBytes(64<<20))
	for _, f := range corpus.Binaries() {
		produce(t, cl, []*kgo.Record{{Topic: name, Key: []byte(f), Value: corpus.File(t, f)}})
	}
	for i, r := range consume(t, name, 0, 0, len(corpus.Binaries()), kgo.FetchMaxPartitionBytes(1<<20)) {
		f := corpus.Binaries()[i]
		if string(r.Key) != f {
			t.Fatalf("record %d is %s, want %s", i, r.Key, f)
		}
		if d := corpus.Diff(r.Value, corpus.File(t, f)); d != "" {
			t.Errorf("%s %s", f, d)
		}
	}
}

func TestTooLarge(t *testing.T) {
	name := topic(t, "toolarge", 1, "max.message.bytes", "1000")
	cl := client(t, kgo.ProducerBatchCompression(kgo.NoCompression()))
	err := cl.ProduceSync(ctxOf(t), &kgo.Record{Topic: name, Value: make([]byte, 2000)}).FirstErr()
	wantCode(t, "2000 bytes where 1000 are allowed", err, kerr.MessageTooLarge)
	produce(t, client(t), []*kgo.Record{{Topic: name, Value: []byte("fits")}})
	if got := consume(t, name, 0, 0, 1); string(got[0].Value) != "fits" {
		t.Errorf("got %q", got[0].Value)
	}
}

func TestLogAppendTime(t *testing.T) {
	name := topic(t, "logappend", 1, "message.timestamp.type", "LogAppendTime")
	before := time.Now().Add(-time.Second)
	produce(t, client(t), []*kgo.Record{{Topic: name, Value: []byte("x"), Timestamp: time.UnixMilli(1000)}})
	got := consume(t, name, 0, 0, 1)[0]
	if got.Timestamp.Before(before) || got.Timestamp.After(time.Now().Add(time.Second)) || got.Attrs.TimestampType() != 1 {
		t.Errorf("timestamp %v of type %d, want now, of type 1", got.Timestamp, got.Attrs.TimestampType())
	}
}

func TestTimestampLookup(t *testing.T) {
	name := topic(t, "times", 1)
	cl := client(t, kgo.ProducerLinger(0))
	base := time.Now().Add(-time.Hour).UnixMilli()
	for b := range 5 { // five batches of ten records, a second between records
		var recs []*kgo.Record
		for i := range 10 {
			recs = append(recs, &kgo.Record{Topic: name, Value: []byte("x"), Timestamp: time.UnixMilli(base + int64(b*10+i)*1000)})
		}
		produce(t, cl, recs)
	}
	adm := kadm.NewClient(cl)
	f := func(ms, want int64) {
		t.Helper()
		l, err := adm.ListOffsetsAfterMilli(ctxOf(t), ms, name)
		if err != nil || l.Error() != nil {
			t.Fatal(err, l.Error())
		}
		o, _ := l.Lookup(name, 0)
		if o.Offset != want {
			t.Errorf("offset at %+d ms is %d, want %d", ms-base, o.Offset, want)
		}
	}
	f(base-1, 0)
	f(base, 0)
	f(base+1, 1)
	f(base+17_500, 18)
	f(base+49_000, 49)
	f(base+49_001, 50) // past the last: the end
	for _, c := range []struct {
		what string
		list func(context.Context, ...string) (kadm.ListedOffsets, error)
		want int64
	}{{"start", adm.ListStartOffsets, 0}, {"end", adm.ListEndOffsets, 50}, {"max timestamp", adm.ListMaxTimestampOffsets, 49}} {
		l, err := c.list(ctxOf(t), name)
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := l.Lookup(name, 0); o.Err != nil || o.Offset != c.want {
			t.Errorf("%s offset is %d (%v), want %d", c.what, o.Offset, o.Err, c.want)
		}
	}
}

func TestOffsetOutOfRange(t *testing.T) {
	name := topic(t, "range", 1)
	produce(t, client(t), series(name, 5))
	for _, at := range []int64{6, 1000} {
		cl := client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {0: kgo.NewOffset().At(at)}}), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
		err := cl.PollFetches(ctxOf(t)).Err()
		wantCode(t, "fetch past the end", err, kerr.OffsetOutOfRange)
	}
}

func TestFetchWaitsForTheAppend(t *testing.T) {
	name := topic(t, "wait", 1)
	cl := client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {0: kgo.NewOffset().AtStart()}}), kgo.FetchMaxWait(20*time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if fs := cl.PollFetches(ctx); fs.NumRecords() != 0 {
		t.Fatal("records in an empty topic")
	}
	produce(t, client(t), series(name, 1))
	start := time.Now()
	if fs := cl.PollFetches(ctxOf(t)); fs.NumRecords() != 1 {
		t.Fatalf("got %d records: %v", fs.NumRecords(), fs.Err())
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the waiting fetch was answered %v after the append", took)
	}
}

func TestManyConsumersOfOnePartition(t *testing.T) {
	name := topic(t, "fan", 1)
	want := series(name, 3000)
	produce(t, client(t, kgo.ProducerBatchMaxBytes(4<<10)), want)
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			from := i * 300
			same(t, consume(t, name, 0, int64(from), len(want)-from, kgo.FetchMaxPartitionBytes(5000)), want[from:], int64(from))
		})
	}
}

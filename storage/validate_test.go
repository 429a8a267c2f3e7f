package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

const validateNow = 1_700_000_000_000

func validateConfig() *LogConfig {
	return &LogConfig{
		CleanupDelete: true, CompressionType: "producer",
		CompressionGzipLevel: -1, CompressionLz4Level: 9, CompressionZstdLevel: 3,
		MaxMessageBytes: 1_048_588, MaxDecompressedMessageBytes: batch.NoLimit, SegmentBytes: 1 << 30,
		MessageTimestampBeforeMaxMs: 1<<63 - 1, MessageTimestampAfterMaxMs: 3_600_000,
	}
}

// records builds a batch of n records at the validation's now.
func records(t testing.TB, n int, c batch.Codec, change func(*batch.Options)) batch.Batch {
	t.Helper()
	o := batch.PlainOptions(0, -1)
	o.Codec, o.Level = c, c.Level()
	if change != nil {
		change(&o)
	}
	b := batch.NewBuilder(nil, o)
	for i := range n {
		b.Append(o.BaseOffset+int64(i), validateNow+int64(i), fmt.Appendf(nil, "k%d", i), []byte("v"))
	}
	raw, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// changed is a copy with its CRC renewed.
func changed(b batch.Batch, f func(batch.Batch)) batch.Batch {
	c := batch.Batch(bytes.Clone(b))
	f(c)
	c.RenewCRC()
	return c
}

// outcome tells what became of an append.
func outcome(v validated, err error) string {
	var ire *InvalidRecordsError
	var ke *kerr.Error
	switch {
	case errors.As(err, &ire):
		return fmt.Sprintf("%v %q %v", ire.Err.(*kerr.Error).Message, ire.Message, ire.Records)
	case errors.As(err, &ke):
		return ke.Message
	case err != nil:
		return "error " + err.Error()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d..%d max %d append %d", v.FirstOffset, v.LastOffset, v.MaxTimestamp, v.LogAppendTime)
	for b := range batch.All(v.Records) {
		fmt.Fprintf(&out, "; %d..%d epoch %d %v count %d base %d max %d", b.BaseOffset(), b.LastOffset(), b.LeaderEpoch(), b.Codec(), b.Count(), b.BaseTimestamp()-validateNow, b.MaxTimestamp()-validateNow)
		if b.IsLogAppendTime() {
			out.WriteString(" append")
		}
		if b.HasProducerID() {
			fmt.Fprintf(&out, " pid %d/%d/%d", b.ProducerID(), b.ProducerEpoch(), b.BaseSequence())
		}
		if !b.ValidCRC() {
			out.WriteString(" BAD CRC")
		}
	}
	return out.String()
}

func TestValidateClient(t *testing.T) {
	f := func(name string, in []byte, want string, settings ...func(*LogConfig)) {
		t.Helper()
		cfg := validateConfig()
		for _, s := range settings {
			s(cfg)
		}
		got := outcome(validateAndAssign(bytes.Clone(in), AppendOptions{LeaderEpoch: 5, Version: 9}, cfg, assignment{"t-0", 100, validateNow}))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
	one, gz := records(t, 3, batch.None, nil), records(t, 3, batch.Gzip, nil)
	compact := func(c *LogConfig) { c.CleanupCompact = true }
	appendTime := func(c *LogConfig) { c.MessageTimestampLogAppendTime = true }
	compression := func(name string) func(*LogConfig) { return func(c *LogConfig) { c.CompressionType = name } }

	f("plain", one, "100..102 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2")
	f("gzip", gz, "100..102 max 1700000000002 append -1; 100..102 epoch 5 gzip count 3 base 0 max 2")
	f("a tail is dropped", append(bytes.Clone(one), one[:40]...), "100..102 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2")
	f("nothing", nil, "-1..-1 max -1 append -1")
	f("two batches", append(bytes.Clone(one), one...), "100..105 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2; 103..105 epoch 5 uncompressed count 3 base 0 max 2")
	f("two compressed", append(bytes.Clone(gz), gz...), "INVALID_RECORD")
	f("base offset", changed(one, func(b batch.Batch) { b.SetBaseOffset(7) }), "INVALID_RECORD")
	f("bad crc", func() []byte { b := bytes.Clone(one); batch.Batch(b).SetCRC(1); return b }(), "CORRUPT_MESSAGE")
	f("base offset before crc", func() []byte {
		b := bytes.Clone(one)
		batch.Batch(b).SetCRC(1)
		batch.Batch(b).SetBaseOffset(1)
		return b
	}(), "INVALID_RECORD")
	f("size before crc", func() []byte { b := bytes.Clone(one); batch.Batch(b).SetCRC(1); return b }(), "MESSAGE_TOO_LARGE", func(c *LogConfig) { c.MaxMessageBytes = int32(len(one)) - 1 })
	f("as large as allowed", one, "100..102 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2", func(c *LogConfig) { c.MaxMessageBytes = int32(len(one)) })
	f("larger than a segment", one, "RECORD_LIST_TOO_LARGE", func(c *LogConfig) { c.SegmentBytes = int32(len(one)) - 1 })
	f("magic 1", changed(one, func(b batch.Batch) { b.SetMagic(1) }), "INVALID_RECORD")
	f("magic 3", changed(one, func(b batch.Batch) { b.SetMagic(3) }), "CORRUPT_MESSAGE")
	f("codec 5", changed(one, func(b batch.Batch) { b.SetAttributes(5) }), "UNKNOWN_SERVER_ERROR")
	f("count", changed(one, func(b batch.Batch) { b.SetCount(4) }), "INVALID_RECORD")
	f("count and delta too large", changed(one, func(b batch.Batch) { b.SetCount(4); b.SetLastOffsetDelta(3) }), "INVALID_RECORD")
	f("count and delta too small", changed(one, func(b batch.Batch) { b.SetCount(2); b.SetLastOffsetDelta(1) }), "INVALID_RECORD")
	f("count 0", changed(one, func(b batch.Batch) { b.SetCount(0); b.SetLastOffsetDelta(-1) }), "INVALID_RECORD")
	f("delta", changed(one, func(b batch.Batch) { b.SetLastOffsetDelta(7) }), "INVALID_RECORD")
	f("control", changed(one, func(b batch.Batch) { b.SetAttributes(batch.AttrControl) }), "INVALID_RECORD")
	f("sequence", changed(one, func(b batch.Batch) { b.SetProducer(1, 0, -1) }), "INVALID_RECORD")
	f("producer", changed(one, func(b batch.Batch) { b.SetProducer(1, 2, 3) }), "100..102 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2 pid 1/2/3")
	f("max timestamp is corrected", changed(one, func(b batch.Batch) { b.SetMaxTimestampField(validateNow + 77) }), "100..102 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2")
	f("broken gzip", changed(gz, func(b batch.Batch) { copy(b[batch.HeaderSize:], "this is not gzip") }), "UNKNOWN_SERVER_ERROR")

	f("append time", one, "100..102 max 1700000000000 append 1700000000000; 100..102 epoch 5 uncompressed count 3 base 0 max 0 append", appendTime)
	f("append time gzip", gz, "100..102 max 1700000000000 append 1700000000000; 100..102 epoch 5 gzip count 3 base 0 max 0 append", appendTime)
	f("append time by the client", changed(one, func(b batch.Batch) { b.SetAttributes(batch.AttrLogAppendTime) }),
		`100..102 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2`)
	f("append time by the client where it is the broker's", changed(records(t, 1, batch.None, nil), func(b batch.Batch) { b.SetAttributes(batch.AttrLogAppendTime) }),
		`INVALID_TIMESTAMP "One or more records have been rejected due to invalid timestamp" [{0 Invalid timestamp type in message DefaultRecord(offset=0, timestamp=1700000000000, key=2 bytes, value=1 bytes). Producer should not set timestamp type to LogAppendTime.}]`, appendTime)

	f("too far ahead", changed(one, func(b batch.Batch) { b.SetBaseTimestamp(validateNow + 3_599_999) }),
		`INVALID_TIMESTAMP "One or more records have been rejected due to invalid timestamp" [{2 Timestamp 1700003600001 of message with offset 2 is out of range. The timestamp should be within [-9223370336854775807, 1700003600000]}]`)
	f("too old", changed(one, func(b batch.Batch) { b.SetBaseTimestamp(validateNow - 12) }),
		`INVALID_TIMESTAMP "One or more records have been rejected due to invalid timestamp" [{0 Timestamp 1699999999988 of message with offset 0 is out of range. The timestamp should be within [1699999999989, 1700003600000]}]`,
		func(c *LogConfig) { c.MessageTimestampBeforeMaxMs = 11 })
	f("no timestamp", changed(records(t, 1, batch.None, nil), func(b batch.Batch) { b.SetBaseTimestamp(-1); b.SetMaxTimestampField(-1) }),
		"100..100 max -1 append -1; 100..100 epoch 5 uncompressed count 1 base -1700000000001 max -1700000000001")

	nulls := func(c batch.Codec) []byte {
		o := batch.PlainOptions(0, 0)
		o.Codec, o.Level = c, c.Level()
		b := batch.NewBuilder(nil, o)
		for i := range 5 {
			b.Append(int64(i), validateNow, map[bool][]byte{true: []byte("k")}[i == 1], []byte("v"))
		}
		raw, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	const complaint = "Compacted topic cannot accept message without key in topic partition t-0"
	wantNulls := fmt.Sprintf(`INVALID_RECORD "One or more records have been rejected due to 4 record errors in total, and only showing the first three errors at most: [RecordError(batchIndex=0, message='%[1]s'), RecordError(batchIndex=2, message='%[1]s'), RecordError(batchIndex=3, message='%[1]s')]" [{0 %[1]s} {2 %[1]s} {3 %[1]s} {4 %[1]s}]`, complaint)
	for c := batch.None; c <= batch.Zstd; c++ {
		f("null keys "+c.String(), nulls(c), wantNulls, compact)
		f("too large once decompressed "+c.String(), records(t, 3, c, nil), map[bool]string{
			true:  "100..102 max 1700000000002 append -1; 100..102 epoch 5 uncompressed count 3 base 0 max 2",
			false: "INVALID_RECORD",
		}[c == batch.None], func(cfg *LogConfig) { cfg.MaxDecompressedMessageBytes = 5 })
	}

	for from := batch.None; from <= batch.Zstd; from++ {
		for to := batch.None; to <= batch.Zstd; to++ {
			in := changed(records(t, 3, from, nil), func(b batch.Batch) { b.SetProducer(1, 2, 3) })
			f(fmt.Sprintf("%v to %v", from, to), in, fmt.Sprintf("100..102 max 1700000000002 append -1; 100..102 epoch 5 %v count 3 base 0 max 2 pid 1/2/3", to), compression(to.String()))
			f(fmt.Sprintf("%v to %v, append time", from, to), in, fmt.Sprintf("100..102 max 1700000000000 append 1700000000000; 100..102 epoch 5 %v count 3 base 0 max 0 append pid 1/2/3", to), compression(to.String()), appendTime)
		}
	}
	f("too large once recompressed", records(t, 500, batch.Gzip, nil), "MESSAGE_TOO_LARGE", compression("uncompressed"), func(c *LogConfig) { c.MaxMessageBytes = 4000 })
	f("two batches into one", append(bytes.Clone(one), one...), "100..105 max 1700000000002 append -1; 100..105 epoch 5 zstd count 6 base 0 max 2", compression("zstd"))

	// Offsets out of order inside a compressed batch: as Kafka 4.4 answers.
	gap := batch.NewBuilder(nil, batch.Options{Codec: batch.Gzip, Level: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1})
	gap.Append(0, validateNow, []byte("a"), nil)
	gap.Append(5, validateNow+1, []byte("b"), nil)
	gap.SetLastOffset(1)
	raw, err := gap.Finish()
	if err != nil {
		t.Fatal(err)
	}
	f("gap in a compressed batch", raw, "UNKNOWN_SERVER_ERROR")
	f("gap in a recompressed batch", raw, "100..101 max 1700000000001 append -1; 100..101 epoch 5 lz4 count 2 base 0 max 1", compression("lz4"))
}

func TestValidateOtherOrigins(t *testing.T) {
	f := func(name string, origin Origin, in []byte, want string, settings ...func(*LogConfig)) {
		t.Helper()
		cfg := validateConfig()
		for _, s := range settings {
			s(cfg)
		}
		got := outcome(validateAndAssign(bytes.Clone(in), AppendOptions{LeaderEpoch: 5, Origin: origin}, cfg, assignment{"t-0", 100, validateNow}))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
	small := func(c *LogConfig) { c.MaxMessageBytes = 10 }
	marker := batch.AppendMarker(nil, 7, 1, batch.Marker{Timestamp: validateNow})
	wantMarker := "100..100 max 1700000000000 append -1; 100..100 epoch 5 uncompressed count 1 base 0 max 0 pid 7/1/-1"
	f("marker", OriginCoordinator, marker, wantMarker)
	f("a marker is never compressed", OriginCoordinator, marker, wantMarker, func(c *LogConfig) { c.CompressionType = "gzip" })
	f("the coordinator is bounded", OriginCoordinator, marker, "MESSAGE_TOO_LARGE", small)

	at := func(base int64, epoch int32) []byte {
		return changed(records(t, 2, batch.None, nil), func(b batch.Batch) { b.SetBaseOffset(base); b.SetLeaderEpoch(epoch) })
	}
	f("replicated as it is", OriginReplication, at(500, 3), "500..501 max 1700000000001 append -1; 500..501 epoch 3 uncompressed count 2 base 0 max 1", small)
	f("replication stops at a higher epoch", OriginReplication, append(at(500, 3), at(502, 6)...), "500..501 max 1700000000001 append -1; 500..501 epoch 3 uncompressed count 2 base 0 max 1")
	f("replication out of order", OriginReplication, append(at(500, 3), at(500, 3)...), "UNKNOWN_SERVER_ERROR")
	f("replication with a bad crc", OriginReplication, func() []byte { b := at(500, 3); b[len(b)-1]++; return b }(), "CORRUPT_MESSAGE")
}

// An append that is refused leaves nothing behind in the producers or the caller's records but header fields; one that is taken
// is the caller's memory, patched.
func TestValidatePatchesInPlace(t *testing.T) {
	in := records(t, 3, batch.Gzip, nil)
	v, err := validateAndAssign(in, AppendOptions{LeaderEpoch: 2}, validateConfig(), assignment{"t-0", 10, validateNow})
	if err != nil {
		t.Fatal(err)
	}
	if &v.Records[0] != &in[0] || in.BaseOffset() != 10 || in.LeaderEpoch() != 2 || !in.ValidCRC() {
		t.Errorf("not in place: base %d epoch %d", in.BaseOffset(), in.LeaderEpoch())
	}
}

func TestValidateAllocatesNothing(t *testing.T) {
	in, cfg := records(t, 100, batch.None, nil), validateConfig()
	allocs := testing.AllocsPerRun(100, func() {
		in.SetBaseOffset(0)
		v, err := validateAndAssign(in, AppendOptions{LeaderEpoch: 2}, cfg, assignment{"t-0", 10, validateNow})
		if err != nil || v.LastOffset != 109 {
			t.Fatal(v, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// Any bytes: an error or whole, valid batches with running offsets.
func FuzzValidate(f *testing.F) {
	for c := batch.None; c <= batch.Zstd; c++ {
		f.Add([]byte(records(f, 3, c, nil)), uint8(c), uint8(0))
	}
	f.Fuzz(func(t *testing.T, in []byte, flags, origin uint8) {
		cfg := validateConfig()
		cfg.CompressionType = [...]string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"}[flags%6]
		cfg.MessageTimestampLogAppendTime, cfg.CleanupCompact = flags&64 != 0, flags&128 != 0
		cfg.MaxDecompressedMessageBytes = 1 << 16
		if b := batch.Batch(in); len(b) >= batch.HeaderSize && int64(binary.BigEndian.Uint32(b[8:]))+12 == int64(len(b)) {
			b.RenewCRC()
		}
		v, err := validateAndAssign(in, AppendOptions{LeaderEpoch: 1, Origin: Origin(origin % 3)}, cfg, assignment{"t-0", 100, validateNow})
		if err != nil {
			var ke *kerr.Error
			if !errors.As(err, &ke) {
				t.Fatalf("no code in %v", err)
			}
			return
		}
		if Origin(origin%3) == OriginReplication {
			return
		}
		next := int64(100)
		for b := range batch.All(v.Records) {
			if Origin(origin%3) == OriginClient && b.BaseOffset() != next {
				t.Fatalf("base offset %d, want %d", b.BaseOffset(), next)
			}
			if !b.ValidCRC() || b.LeaderEpoch() != 1 {
				t.Fatalf("crc %v epoch %d", b.ValidCRC(), b.LeaderEpoch())
			}
			next = b.NextOffset()
		}
		if v.Count > 0 && v.LastOffset != next-1 {
			t.Fatalf("last offset %d, want %d", v.LastOffset, next-1)
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	for c := batch.None; c <= batch.Zstd; c++ {
		for _, n := range []int{1, 100} {
			b.Run(fmt.Sprintf("%v/%d", c, n), func(b *testing.B) {
				in, cfg := records(b, n, c, nil), validateConfig()
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					in.SetBaseOffset(0)
					if _, err := validateAndAssign(in, AppendOptions{}, cfg, assignment{"t-0", 10, validateNow}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
)

// dump tells all records of a batch in a line each, and how reading ended.
func dump(b Batch, limit int) string {
	var r Reader
	defer r.Close()
	var out strings.Builder
	if err := r.Reset(b, limit); err != nil {
		return "reset: " + err.Error()
	}
	var rec Record
	for r.Next(&rec) {
		fmt.Fprintf(&out, "%d@%d %s=%s", rec.Offset, rec.Timestamp, text(rec.Key), text(rec.Value))
		for k, v := range rec.Headers {
			fmt.Fprintf(&out, " %s:%s", text(k), text(v))
		}
		out.WriteString("\n")
	}
	if r.Err() != nil {
		fmt.Fprintf(&out, "error: %v\n", r.Err())
	}
	return out.String()
}

func text(b []byte) string {
	if b == nil {
		return "null"
	}
	if len(b) > 20 {
		return fmt.Sprintf("(%d bytes)", len(b))
	}
	return fmt.Sprintf("%q", b)
}

func TestBuildAndReadAllCodecs(t *testing.T) {
	big := bytes.Repeat([]byte("all work and no play "), 5000)
	want := `10@50 "k"=null
11@40 null="v" "h1":"x" "h2":null "":""
12@60 ""=""
20@55 "big"=(105000 bytes)
`
	for c := None; c <= Zstd; c++ {
		o := PlainOptions(10, 4)
		o.Codec, o.Level = c, c.Level()
		b := NewBuilder([]byte("before"), o)
		b.Append(10, 50, []byte("k"), nil)
		b.Append(11, 40, nil, []byte("v"), Header{"h1", []byte("x")}, Header{"h2", nil}, Header{"", []byte{}})
		b.Append(12, 60, []byte{}, []byte{})
		b.Append(20, 55, []byte("big"), big)
		raw, err := b.Finish()
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		batch, rest, err := Next(raw[len("before"):])
		if err != nil || len(rest) != 0 {
			t.Fatalf("%v: next: %v, %d bytes left", c, err, len(rest))
		}
		if !batch.ValidCRC() || batch.Codec() != c || batch.Count() != 4 || batch.LastOffset() != 20 || batch.MaxTimestamp() != 60 || batch.BaseTimestamp() != 50 {
			t.Errorf("%v: header of %d..%d, count %d", c, batch.BaseOffset(), batch.LastOffset(), batch.Count())
		}
		if got := dump(batch, NoLimit); got != want {
			t.Errorf("%v:\n%s\nwant\n%s", c, got, want)
		}
		// A second batch of what was read is the same again.
		again := NewBuilder(nil, o)
		var r Reader
		if err := r.Reset(batch, NoLimit); err != nil {
			t.Fatal(err)
		}
		for rec := (Record{}); r.Next(&rec); {
			again.AppendRecord(rec.Offset, &rec)
		}
		r.Close()
		if raw, err := again.Finish(); err != nil || dump(raw, NoLimit) != want {
			t.Errorf("%v: rebuilt %v:\n%s", c, err, dump(raw, NoLimit))
		}
	}
}

func TestReaderLimitsEachDecompressedRecord(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		o := PlainOptions(0, 0)
		o.Codec, o.Level = c, c.Level()
		b := NewBuilder(nil, o)
		for i := range 10 {
			b.Append(int64(i), 0, nil, make([]byte, 900))
		}
		raw, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(raw, 1000); strings.Contains(got, "error") {
			t.Errorf("%v: ten records of 900 with a limit of 1000 each: %s", c, got)
		}
		if got := dump(raw, 800); strings.Contains(got, "exceeds") != (c != None) {
			t.Errorf("%v: records of 900 with a limit of 800: %s", c, got)
		}
	}
}

func TestBrokenRecords(t *testing.T) {
	f := func(name string, b Batch, want string) {
		t.Helper()
		got := dump(b, NoLimit)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for c := None; c <= Zstd; c++ {
		change := func(o *Options) { o.Codec, o.Level = c, c.Level() }
		count := func(n int32) Batch {
			b := plain(t, 3, change)
			b.SetCount(n)
			return b
		}
		f(c.String()+" too many counted", count(4), "premature EOF")
		f(c.String()+" too few counted", count(2), "records still remaining")
		f(c.String()+" negative count", count(-1), "invalid record count")
		if got := dump(count(0), NoLimit); got != "" {
			t.Errorf("%v: zero counted: %s", c, got)
		}
		if c == None {
			continue
		}
		b := plain(t, 3, change)
		copy(b[HeaderSize:], "this is nothing")
		f(c.String()+" garbage", b, ErrDecompress.Error())
	}
	b := plain(t, 1, nil)
	b.SetAttributes(5)
	f("unknown codec", b, "unknown compression type id: 5")

	body := func(raw ...byte) Batch {
		b := append(bytes.Clone(plain(t, 0, nil)), binary.AppendVarint(nil, int64(len(raw)))...)
		b = append(b, raw...)
		Batch(b).SetLength(int32(len(b) - Overhead))
		Batch(b).SetCount(1)
		return b
	}
	f("a record", body(0, 0, 0, 1, 1, 0), `0@0 null=null`)
	f("empty body", body(), "structure")
	f("key beyond the end", body(0, 0, 0, 40, 1, 0), "structure")
	f("headers below zero", body(0, 0, 0, 1, 1, 1), "headers")
	f("more headers than bytes", body(0, 0, 0, 1, 1, 40), "headers")
	f("null header key", body(0, 0, 0, 1, 1, 2, 1, 1), "headers")
	f("a byte too many", body(0, 0, 0, 1, 1, 0, 0), "record size")
	if b, err := NewBuilder(nil, PlainOptions(0, 0)).Finish(); err != nil || dump(b, NoLimit) != "" {
		t.Errorf("no records: %v", err)
	}
}

func TestSnappyForms(t *testing.T) {
	src := bytes.Repeat([]byte("abcdefgh"), 20000)
	f := func(name string, packed []byte) {
		t.Helper()
		got, err := Decompress(nil, packed, Snappy, len(src))
		if err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	xerial := compressSnappy(nil, src)
	f("xerial", xerial)
	f("bare block", snappy.Encode(nil, src))
	f("two streams", append(compressSnappy(nil, src[:1000]), compressSnappy(nil, src[1000:])...))
	bad := func(name string, packed []byte) {
		t.Helper()
		if _, err := Decompress(nil, packed, Snappy, 1<<30); !errors.Is(err, ErrDecompress) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad("cut block", xerial[:len(xerial)-1])
	if got, err := Decompress(nil, xerial[:xerialHeaderSize+2], Snappy, 10); err != nil || len(got) != 0 {
		t.Errorf("cut length: %d bytes, %v", len(got), err)
	}
	bad("a block that claims a gigabyte", binary.AppendUvarint(nil, 1<<30))
}

func TestDecompressIsBounded(t *testing.T) {
	src := make([]byte, 100_000)
	for c := Gzip; c <= Zstd; c++ {
		packed, err := Compress(nil, src, c, c.Level())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decompress([]byte("x"), packed, c, len(src)); err != nil || len(got) != len(src)+1 {
			t.Errorf("%v: %d bytes, %v", c, len(got), err)
		}
		if got, err := Decompress([]byte("x"), packed, c, len(src)-1); err == nil || string(got) != "x" {
			t.Errorf("%v: over the limit: %d bytes, %v", c, len(got), err)
		}
		for level := int32(-1); level < 20; level++ {
			packed, err := Compress(nil, src, c, level)
			if err != nil {
				if c == Gzip && level > 9 {
					continue
				}
				t.Fatalf("%v level %d: %v", c, level, err)
			}
			if got, err := Decompress(nil, packed, c, len(src)); err != nil || !bytes.Equal(got, src) {
				t.Errorf("%v level %d: %v", c, level, err)
			}
		}
	}
}

func TestCodecNames(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		if got, ok := CodecOf(c.String()); !ok || got != c {
			t.Errorf("%v: %v %v", c, got, ok)
		}
	}
	if _, ok := CodecOf("producer"); ok {
		t.Error("producer is no codec")
	}
}

// Reading uncompressed batches, the marker's included, costs no allocation.
func TestReadAllocatesNothing(t *testing.T) {
	b := plain(t, 100, nil)
	m := Batch(AppendMarker(nil, 1, 1, Marker{Commit: true}))
	allocs := testing.AllocsPerRun(100, func() {
		var r Reader
		var rec Record
		n := 0
		for b := range All(b) {
			if !b.ValidCRC() || r.Reset(b, NoLimit) != nil {
				t.Fatal("invalid")
			}
			for r.Next(&rec) {
				n++
			}
		}
		if _, found, err := MarkerOf(m); n != 100 || !found || err != nil {
			t.Fatalf("%d records, marker %v %v", n, found, err)
		}
		r.Close()
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func TestCheckProduce(t *testing.T) {
	one := plain(t, 1, nil)
	zstd := plain(t, 1, func(o *Options) { o.Codec, o.Level = Zstd, 3 })
	magic := func(m int8) []byte { c := bytes.Clone(one); Batch(c).SetMagic(m); return c }
	f := func(name string, records []byte, version int16, want string) {
		t.Helper()
		if got := fmt.Sprint(CheckProduce(records, version)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("one", one, 3, "<nil>")
	f("none", nil, 9, "INVALID_RECORD")
	f("cut", one[:len(one)-1], 9, "INVALID_RECORD")
	f("two", append(bytes.Clone(one), one...), 9, "INVALID_RECORD")
	f("one and a tail", append(bytes.Clone(one), one[:30]...), 9, "<nil>")
	f("one and a corrupt second", append(bytes.Clone(one), magic(9)...), 9, "CORRUPT_MESSAGE")
	f("magic 1", magic(1), 9, "INVALID_RECORD")
	f("magic 3", magic(3), 9, "CORRUPT_MESSAGE")
	f("zstd early", zstd, 6, "UNSUPPORTED_COMPRESSION_TYPE")
	f("zstd", zstd, 7, "<nil>")
	txn := plain(t, 1, func(o *Options) { o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 1, 0, 0, true })
	if is, err := FirstIsTransactional(txn); !is || err != nil {
		t.Errorf("transactional: %v %v", is, err)
	}
	if is, err := FirstIsTransactional(one); is || err != nil {
		t.Errorf("not transactional: %v %v", is, err)
	}
	if _, err := FirstIsTransactional(magic(3)); err == nil || err.Error() != "Invalid magic found in record: 3" {
		t.Errorf("magic 3: %v", err)
	}
}

package batch

import (
	"bytes"
	"testing"
)

// Any bytes: batches are cut without a panic, and what reads cleanly is the same once built again.
func FuzzBatch(f *testing.F) {
	for c := None; c <= Zstd; c++ {
		f.Add([]byte(plain(f, 3, func(o *Options) { o.Codec, o.Level = c, c.Level() })))
	}
	f.Add(AppendMarker(nil, 1, 2, Marker{Commit: true, CoordinatorEpoch: 3}))
	f.Fuzz(func(t *testing.T, blob []byte) {
		total := 0
		for b := range All(blob) {
			total += len(b)
			if b.Magic() != Magic {
				continue
			}
			readAndRebuild(t, b)
			_, _, _ = MarkerOf(b) // only that it returns
		}
		if total != WholeSize(blob) {
			t.Fatalf("batches of %d bytes, whole size %d", total, WholeSize(blob))
		}
		_ = CheckProduce(blob, 9) // only that it returns
	})
}

func readAndRebuild(t *testing.T, b Batch) {
	const limit = 1 << 20
	before := dump(b, limit)
	var r Reader
	defer r.Close()
	if r.Reset(b, limit) != nil {
		return
	}
	out := NewBuilder(nil, Options{BaseOffset: b.BaseOffset()})
	n := 0
	for rec := (Record{}); r.Next(&rec); n++ {
		out.AppendRecord(rec.Offset, &rec)
	}
	if r.Err() != nil || n == 0 {
		return
	}
	raw, err := out.Finish()
	if err != nil {
		t.Fatalf("rebuild: %v", err)
	}
	if after := dump(raw, limit); after != before {
		t.Fatalf("rebuilt\n%s\nwas\n%s", after, before)
	}
}

// Any bytes: each codec gives an error or no more than its limit.
func FuzzDecompress(f *testing.F) {
	src := bytes.Repeat([]byte("kafka "), 100)
	for c := Gzip; c <= Zstd; c++ {
		packed, err := Compress(nil, src, c, c.Level())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(int8(c), packed)
	}
	f.Fuzz(func(t *testing.T, c int8, src []byte) {
		const limit = 1 << 16
		out, err := Decompress(nil, src, Codec(c), limit)
		if err == nil && Codec(c) != None && len(out) > limit {
			t.Fatalf("%d bytes with a limit of %d", len(out), limit)
		}
	})
}

package batch

import (
	"fmt"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{64, 1024, 64 << 10} {
		for c := None; c <= Zstd; c++ {
			o := PlainOptions(0, 0)
			o.Codec, o.Level = c, c.Level()
			build := NewBuilder(nil, o)
			for i := range max(1, (256<<10)/size) {
				build.Append(int64(i), int64(i), []byte("key"), make([]byte, size))
			}
			n := build.Size()
			raw, err := build.Finish()
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%dB", c, size), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				var r Reader
				defer r.Close()
				var rec Record
				for b.Loop() {
					if err := r.Reset(raw, NoLimit); err != nil {
						b.Fatal(err)
					}
					for r.Next(&rec) {
					}
					if r.Err() != nil {
						b.Fatal(r.Err())
					}
				}
			})
		}
	}
}

func BenchmarkCRC(b *testing.B) {
	raw := plain(b, 10_000, nil)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if !raw.ValidCRC() {
			b.Fatal("invalid")
		}
	}
}

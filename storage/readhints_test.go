package storage

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// TestReadHints lets several readers go through a log, batch by batch and in leaps, while it is cut and written anew: each must get the
// batch that holds its offset, wherever the places remembered from earlier reads lead.
func TestReadHints(t *testing.T) {
	d := newTestDisk(t)
	m := d.open()
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	l := mustCreate(t, m)
	r := rand.New(rand.NewPCG(1, 2))
	write := func() {
		for range 200 {
			mustAppend(t, l, makeBatch(1+r.IntN(5), 1+r.IntN(3000), startTime().UnixMilli()))
		}
	}
	read := func(offset int64, maxBytes int) (next int64) {
		t.Helper()
		res, err := l.Read(ReadOptions{Offset: offset, MaxBytes: maxBytes, UpTo: math.MaxInt64, MinOne: true})
		if err != nil || res.Range == nil {
			t.Fatalf("read at %d: %v, %v", offset, res.Range, err)
		}
		defer res.Range.Release()
		b := make([]byte, res.Range.Len())
		if _, err := res.Range.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		next = offset
		for len(b) >= 61 {
			n := int(binary.BigEndian.Uint32(b[8:])) + 12
			if n > len(b) {
				break
			}
			base := int64(binary.BigEndian.Uint64(b))
			last := base + int64(binary.BigEndian.Uint32(b[23:]))
			if base > next || last < next || base < next && next > offset {
				t.Fatalf("read at %d: batch %d to %d where %d was due", offset, base, last, next)
			}
			next, b = last+1, b[n:]
		}
		return next
	}
	write()
	for range 5 {
		at := [3]int64{}
		for range 600 {
			i := r.IntN(len(at))
			if at[i] = read(at[i], [...]int{1, 4000, 20_000}[i]); at[i] == l.LogEndOffset() {
				at[i] = 0
			}
		}
		if err := l.TruncateTo(l.LogEndOffset() / 2); err != nil {
			t.Fatal(err)
		}
		write()
	}
}

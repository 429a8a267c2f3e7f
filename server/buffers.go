package server

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Buffers are pooled by powers of two from 4 KiB to 4 MiB; smaller and larger ones are left to the garbage collector, so that
// one large request does not stay in memory for good.
const (
	minPooledBits = 12
	maxPooledBits = 22
)

// buffers is a pool of byte slices. Any goroutine may call.
type buffers struct {
	// unpooled is how many bytes of slices too large for the pools were given back since it was last set to 0.
	unpooled atomic.Int64
	pools    [maxPooledBits + 1]sync.Pool
	headers  sync.Pool // empty *[]byte, so that put allocates none
}

// get returns an empty slice with room for at least n bytes.
func (p *buffers) get(n int) []byte {
	b := max(bits.Len(uint(max(n, 1)-1)), minPooledBits)
	if b > maxPooledBits {
		return make([]byte, 0, n)
	}
	if x, ok := p.pools[b].Get().(*[]byte); ok {
		buf := (*x)[:0]
		*x = nil
		p.headers.Put(x)
		return buf
	}
	return make([]byte, 0, 1<<b)
}

// put gives a slice back; nobody may use it any more.
func (p *buffers) put(b []byte) {
	c := cap(b)
	if c > 1<<maxPooledBits {
		p.unpooled.Add(int64(c))
		return
	}
	if c < 1<<minPooledBits {
		return
	}
	x, ok := p.headers.Get().(*[]byte)
	if !ok {
		x = new([]byte)
	}
	*x = b[:0]
	p.pools[bits.Len(uint(c))-1].Put(x) // the largest class that the capacity fills
}

// grow returns b with room for at least n more bytes, in a pooled buffer if it had to move.
func (p *buffers) grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	c := append(p.get(max(len(b)+n, 2*cap(b))), b...)
	p.put(b)
	return c
}

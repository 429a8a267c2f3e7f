package cache

import (
	"sync"
	"sync/atomic"
)

// Resource is something open that Handles bounds.
type Resource interface {
	// Evicted tells that the cache has given up its reference: whoever finds the resource by a pointer forgets that pointer.
	// Called without locks.
	Evicted()
	// Release is called once, when nobody holds a reference any more.
	Release()
}

// Handle counts the references to a Resource; embed it there.
type Handle struct {
	refs atomic.Int32
	used atomic.Bool // since the hand of the clock last passed
	slot int         // 1-based position in the ring, 0 when not in it; guarded by Handles.mu
	r    Resource
}

// TryAcquire takes a reference, unless the resource has been closed.
func (h *Handle) TryAcquire() bool {
	for {
		n := h.refs.Load()
		if n <= 0 {
			return false
		}
		if h.refs.CompareAndSwap(n, n+1) {
			if !h.used.Load() {
				h.used.Store(true)
			}
			return true
		}
	}
}

// Done gives a reference back; the last one closes the resource.
func (h *Handle) Done() {
	if h.refs.Add(-1) == 0 {
		h.r.Release()
	}
}

// Handles bounds how many resources are open by dropping those not used for the longest (the clock algorithm: a hit costs one
// atomic load, and no lock). A resource in use stays open after it was dropped until its last reference is gone, so the bound
// is exceeded by what is in use. Handles must be exact, because files cannot be open twice for writing; that is why this is no ristretto.
type Handles struct {
	mu   sync.Mutex
	max  int
	ring []*Handle // guarded by mu
	hand int       // guarded by mu
}

// NewHandles bounds open resources to max.
func NewHandles(max int) *Handles { return &Handles{max: max} }

// Add puts an open resource under the bound; the caller gets a reference of its own.
func (c *Handles) Add(h *Handle, r Resource) {
	h.r = r
	h.refs.Store(2) // the cache's and the caller's
	h.used.Store(true)
	var evicted []*Handle
	c.mu.Lock()
	for len(c.ring) >= c.max && len(c.ring) > 0 {
		evicted = append(evicted, c.evictLocked())
	}
	c.ring = append(c.ring, h)
	h.slot = len(c.ring)
	c.mu.Unlock()
	for _, v := range evicted {
		v.r.Evicted()
		v.Done()
	}
}

func (c *Handles) evictLocked() *Handle {
	for {
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		h := c.ring[c.hand]
		if h.used.Swap(false) {
			c.hand++
			continue
		}
		c.removeLocked(h)
		return h
	}
}

func (c *Handles) removeLocked(h *Handle) {
	i := h.slot - 1
	last := len(c.ring) - 1
	c.ring[i] = c.ring[last]
	c.ring[i].slot = i + 1
	c.ring[last] = nil
	c.ring = c.ring[:last]
	h.slot = 0
}

// Drop takes a resource out (its file is deleted, its log closed) and gives up the cache's reference, if that is still held.
func (c *Handles) Drop(h *Handle) {
	c.mu.Lock()
	in := h.slot > 0
	if in {
		c.removeLocked(h)
	}
	c.mu.Unlock()
	if in {
		h.r.Evicted()
		h.Done()
	}
}

// Len is the number of resources that the cache holds open.
func (c *Handles) Len() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.ring) }

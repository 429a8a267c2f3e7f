package replica

import (
	"sync/atomic"
	"time"

	"github.com/kaja-mq/kaja/internal/wheel"
)

// Wakes is who has been completed under a lock and must hear of it after. The zero value is empty.
type Wakes struct {
	fetches []*FetchWaiter
	acks    []acked
}

type acked struct {
	a   *AckWaiter
	err error
}

func (w *Wakes) add(a *AckWaiter, err error) { w.acks = append(w.acks, acked{a, err}) }

// Fire tells everybody collected, once, and empties w. No lock may be held.
func (w *Wakes) Fire() {
	for _, x := range w.acks {
		x.a.Done(x.err)
	}
	for _, f := range w.fetches {
		f.end()
	}
	w.acks, w.fetches = nil, nil
}

// Watch is one partition that a parked fetch waits for.
type Watch struct {
	Partition     *Partition
	Offset        int64 // the fetch offset
	MaxBytes      int   // what the partition may contribute to the bytes waited for
	ReadCommitted bool
	Follower      bool // waits for the log end instead of the high watermark

	waiter     *FetchWaiter
	prev, next *Watch // guarded by Partition.wmu
	linked     bool   // guarded by Partition.wmu
}

// FetchWaiter is a parked fetch: it fires once, when enough can be read, when a partition of it changes hands, at its deadline, or never
// when it is cancelled. No polling: it is looked at by the appends themselves.
type FetchWaiter struct {
	minBytes int64
	fire     func()
	watches  []Watch
	wheel    *wheel.Wheel
	entry    wheel.Entry
	done     atomic.Bool
}

// NewWaiter makes a waiter for minBytes over the watches, which become its own. fire runs once on the goroutine of whoever completes
// it, without a lock; it must not block.
func (m *Manager) NewWaiter(minBytes int64, watches []Watch, fire func()) *FetchWaiter {
	w := &FetchWaiter{minBytes: minBytes, fire: fire, watches: watches, wheel: m.o.Wheel}
	w.entry.F = func() {
		if w.claim() {
			w.end()
		}
	}
	for i := range watches {
		watches[i].waiter = w
	}
	return w
}

// Park makes w wait until deadline (monotonic). It may fire before Park returns.
func (w *FetchWaiter) Park(deadline time.Time) {
	for i := range w.watches {
		x := &w.watches[i]
		x.Partition.link(x)
	}
	w.wheel.Schedule(&w.entry, deadline)
	// What was appended before the links were there has woken nobody.
	for i := range w.watches {
		if x := &w.watches[i]; (x.ready() || x.Partition.Role() != RoleLeader) && w.claim() {
			w.end()
			return
		}
	}
	if w.done.Load() { // completed while being parked: some links came after
		w.leave()
	}
}

// Cancel ends w without firing and reports whether it had not fired and will not.
func (w *FetchWaiter) Cancel() bool {
	if !w.claim() {
		return false
	}
	w.leave()
	return true
}

// claim makes the caller the one that completes w.
func (w *FetchWaiter) claim() bool { return w.done.CompareAndSwap(false, true) }

// end completes a claimed waiter.
func (w *FetchWaiter) end() {
	w.leave()
	w.fire()
}

func (w *FetchWaiter) leave() {
	for i := range w.watches {
		x := &w.watches[i]
		x.Partition.unlink(x)
	}
	w.wheel.Stop(&w.entry)
}

// ready tells whether what x has seen happen completes its waiter.
func (x *Watch) ready() bool {
	n := x.readable()
	if x.waiter.minBytes <= 1 || n == 0 {
		return n > 0
	}
	if n >= x.waiter.minBytes {
		return true
	}
	var sum int64
	for i := range x.waiter.watches {
		if sum += x.waiter.watches[i].readable(); sum >= x.waiter.minBytes {
			return true
		}
	}
	return false
}

// readable is about how many bytes a fetch would get from the partition now.
func (x *Watch) readable() int64 {
	p := x.Partition
	st := p.st.Load()
	if st.log == nil {
		return 0
	}
	var end int64
	switch {
	case x.Follower:
		end = st.log.LogEndOffset()
	case x.ReadCommitted:
		end = p.lso.Load() // known: the fetch has read before
	default:
		end = p.hw.Load()
	}
	if end <= x.Offset {
		return 0
	}
	if x.waiter.minBytes <= 1 {
		return 1
	}
	return min(st.log.BytesBetween(x.Offset, end), int64(x.MaxBytes))
}

// watchList is the watches of a partition, in order of arrival.
type watchList struct{ first, last *Watch }

func (p *Partition) link(x *Watch) {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	x.linked, x.prev, x.next = true, p.watches.last, nil
	if x.prev != nil {
		x.prev.next = x
	} else {
		p.watches.first = x
	}
	p.watches.last = x
	p.watched.Add(1)
}

func (p *Partition) unlink(x *Watch) {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	p.unlinkLocked(x)
}

func (p *Partition) unlinkLocked(x *Watch) {
	if !x.linked {
		return
	}
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		p.watches.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	} else {
		p.watches.last = x.prev
	}
	x.linked, x.prev, x.next = false, nil, nil
	p.watched.Add(-1)
}

// collect claims the fetches that have enough now.
func (p *Partition) collect(w *Wakes) { p.claimWatches(w, (*Watch).ready) }

// collectAll claims every fetch on the partition: it has to look again.
func (p *Partition) collectAll(w *Wakes) { p.claimWatches(w, func(*Watch) bool { return true }) }

func (p *Partition) claimWatches(w *Wakes, ready func(*Watch) bool) {
	if p.watched.Load() == 0 {
		return
	}
	p.wmu.Lock()
	defer p.wmu.Unlock()
	for x := p.watches.first; x != nil; {
		next := x.next
		if ready(x) && x.waiter.claim() {
			p.unlinkLocked(x)
			w.fetches = append(w.fetches, x.waiter)
		}
		x = next
	}
}

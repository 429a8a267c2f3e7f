// Package wheel keeps many deadlines with one timer.
//
// Owns: pending deadlines. Invariants: I1 each deadline fires at most once and not after a Stop that returned true.
// I2 an idle wheel has no running timer. Called by replica (parked produces and fetches), coordinator (sessions), server (idle connections).
// Any goroutine may call. Functions run on the clock's goroutine without a lock held: they must not block.
package wheel

import (
	"container/heap"
	"sync"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
)

// Wheel is a set of deadlines.
type Wheel struct {
	clk    clock.Clock
	mu     sync.Mutex
	heap   entries     // guarded by mu
	timer  clock.Timer // guarded by mu
	armed  time.Time   // guarded by mu; when timer fires
	closed bool        // guarded by mu
}

// Entry is one deadline. The zero value is not scheduled; an Entry may be scheduled again once it has fired or stopped.
type Entry struct {
	F     func() // what runs; set before Schedule
	at    time.Time
	index int // 1-based position in the heap, 0 when not scheduled
}

// New makes an empty wheel.
func New(clk clock.Clock) *Wheel { return &Wheel{clk: clk} }

// Schedule sets e to fire at the monotonic instant at, moving it if it was already scheduled.
func (w *Wheel) Schedule(e *Entry, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	e.at = at
	if e.index > 0 {
		heap.Fix(&w.heap, e.index-1)
	} else {
		heap.Push(&w.heap, e)
	}
	w.armLocked()
}

// Stop takes e back and reports whether it had not fired yet.
func (w *Wheel) Stop(e *Entry) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.index == 0 {
		return false
	}
	heap.Remove(&w.heap, e.index-1)
	return true
}

// Close drops all deadlines without firing them.
func (w *Wheel) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, e := range w.heap {
		e.index = 0
	}
	w.heap = nil
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

func (w *Wheel) armLocked() {
	if len(w.heap) == 0 {
		return
	}
	first := w.heap[0].at
	if w.timer != nil {
		if !first.Before(w.armed) {
			return
		}
		w.timer.Stop()
	}
	w.armed = first
	w.timer = w.clk.AfterFunc(max(first.Sub(w.clk.Mono()), 0), w.fire)
}

func (w *Wheel) fire() {
	now := w.clk.Mono()
	var due []*Entry
	w.mu.Lock()
	w.timer = nil
	for len(w.heap) > 0 && !w.heap[0].at.After(now) {
		due = append(due, heap.Pop(&w.heap).(*Entry))
	}
	w.armLocked()
	w.mu.Unlock()
	for _, e := range due {
		e.F()
	}
}

type entries []*Entry

func (h entries) Len() int           { return len(h) }
func (h entries) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h entries) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i+1, j+1 }
func (h *entries) Push(x any)        { e := x.(*Entry); *h = append(*h, e); e.index = len(*h) }
func (h *entries) Pop() any {
	e := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	e.index = 0
	return e
}

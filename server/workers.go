package server

import (
	"sync"
)

// workers runs what may wait (cold reads, fsync, big decompression) on a bounded number of goroutines, which exist only while there is work.
// The queue needs no bound of its own: a connection has at most one call in flight.
type workers struct {
	mu      sync.Mutex
	queue   []func() // guarded by mu
	running int      // guarded by mu
	limit   int
	wg      sync.WaitGroup
}

func newWorkers(limit int) *workers { return &workers{limit: limit} }

// submit runs f soon. Any goroutine may call; it does not block.
func (w *workers) submit(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, f)
	if w.running < w.limit {
		w.running++
		w.wg.Add(1)
		go w.run()
	}
}

func (w *workers) run() {
	defer w.wg.Done()
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.running--
			w.queue = nil
			w.mu.Unlock()
			return
		}
		f := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		w.mu.Unlock()
		f()
	}
}

// close waits until all work has been done; nothing may be submitted any more.
func (w *workers) close() { w.wg.Wait() }

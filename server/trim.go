package server

import (
	"runtime/debug"
	"time"

	"github.com/kaja-mq/kaja/internal/wheel"
)

// A request that is longer than what is pooled gets memory of its own. Go gives that back to the system only minutes after the last one: a
// broker that was asked for a few long things and is idle since would look as if it needed it. So once trimBytes of such memory are free, it
// is given back trimAfter later; a busy broker does it once in that time, which costs one run of the collector.
const (
	trimBytes = 16 << 20
	trimAfter = 2 * time.Second
)

// trim gives long requests' memory back to the system. The zero value is ready once start has been called.
type trim struct {
	net       *network
	entry     wheel.Entry
	scheduled chan struct{} // holds a token while the entry is scheduled
	free      func()        // gives all free memory back; replaced by tests
}

func (t *trim) start(n *network) {
	t.net, t.scheduled, t.free = n, make(chan struct{}, 1), debug.FreeOSMemory
	t.entry.F = func() {
		n.bufs.unpooled.Store(0)
		<-t.scheduled
		n.workers.submit(t.free)
	}
}

// look schedules a trim if there is enough to give back. Any goroutine may call.
func (t *trim) look() {
	if t.net.bufs.unpooled.Load() < trimBytes {
		return
	}
	select {
	case t.scheduled <- struct{}{}:
		t.net.wheel.Schedule(&t.entry, t.net.clock.Mono().Add(trimAfter))
	default:
	}
}

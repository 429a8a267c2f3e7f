package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/server/handler"
)

// requests answers calls; handler.Handler does.
type requests interface {
	Serve(c handler.Call)
}

// network is a broker's listeners and connections on an engine that several brokers may share.
type network struct {
	engine  *Engine
	serve   requests
	clock   clock.Clock
	wheel   *wheel.Wheel
	log     zerolog.Logger
	start   time.Time
	maxIdle time.Duration
	bufs    *buffers
	workers *workers
	mem     *memory
	limits  *limits
	nextID  atomic.Uint64
	timings *timings // nil: nobody measures
	strays  *strays  // nil: nobody looks after clients that do not arrive
	trim    trim

	mu        sync.Mutex
	listeners []*listener      // guarded by mu
	conns     map[uint64]*conn // guarded by mu
	closing   bool             // guarded by mu
	empty     chan struct{}    // closed when closing and the last connection has ended
}

// networkOptions are what a network needs; see the properties of the same names.
type networkOptions struct {
	Engine                *Engine
	Requests              requests
	Clock                 clock.Clock
	Wheel                 *wheel.Wheel
	Log                   zerolog.Logger
	MaxIdle               time.Duration // connections.max.idle.ms; not positive: never
	QueuedMaxRequestBytes int64         // not positive: no bound
	Limits                LimitConfig
	Timings               *timings // measures requests; nil does not
	// Advertised is what clients of a listener are told of this broker; nil looks after no strays. Lookup resolves names for them.
	Advertised func(listener string) (told, bool)
	Lookup     func(ctx context.Context, host string) ([]string, error)
}

func newNetwork(o networkOptions) *network {
	n := &network{
		engine:  o.Engine,
		serve:   o.Requests,
		clock:   o.Clock,
		wheel:   o.Wheel,
		log:     o.Log,
		start:   o.Clock.Mono(),
		maxIdle: o.MaxIdle,
		bufs:    &o.Engine.bufs,
		workers: o.Engine.workers,
		mem:     newMemory(o.QueuedMaxRequestBytes),
		limits:  newLimits(o.Clock, o.Limits),
		timings: o.Timings,
		conns:   map[uint64]*conn{},
		empty:   make(chan struct{}),
	}
	n.trim.start(n)
	if o.Advertised != nil {
		n.strays = newStrays(n, o.Log, o.Advertised, o.Lookup)
	}
	return n
}

// newConn makes a connection that is not registered yet.
func (n *network) newConn(l *listener, remoteHost, localHost string) *conn {
	c := &conn{id: n.nextID.Add(1), net: n, listener: l.name, maxFrame: l.maxFrame, remoteHost: remoteHost, localHost: localHost, localPort: l.port}
	c.idle.F = c.checkIdle
	return c
}

// opened registers a connection on its loop; false if the network is closing: it must be closed at once.
func (n *network) opened(c *conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return false
	}
	n.conns[c.id] = c
	c.touch()
	if n.maxIdle > 0 {
		n.wheel.Schedule(&c.idle, n.clock.Mono().Add(n.maxIdle))
	}
	return true
}

// closed is told by each connection when it has ended.
func (n *network) closed(c *conn) {
	n.limits.leave(c.listener, c.remoteHost)
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.conns[c.id]; !ok {
		return
	}
	delete(n.conns, c.id)
	if n.closing && len(n.conns) == 0 {
		close(n.empty)
	}
}

// connections is how many there are.
func (n *network) connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

// closeLongestIdle ends the connection that was silent for longest and is not of the protected listener, to make room.
func (n *network) closeLongestIdle(protected string) {
	var oldest *conn
	n.each(func(c *conn) {
		if c.listener != protected && !c.ended.Load() && (oldest == nil || c.lastActive.Load() < oldest.lastActive.Load()) {
			oldest = c
		}
	})
	if oldest == nil {
		return
	}
	oldest.tr.post(func() {
		oldest.fail("closed to make room for a broker's connection (max.connections)", nil)
		oldest.shut()
	})
}

// stopAccepting closes the listeners and waits for their goroutines.
func (n *network) stopAccepting() {
	n.mu.Lock()
	ls := n.listeners
	n.listeners = nil
	n.mu.Unlock()
	n.limits.close()
	for _, l := range ls {
		l.close()
	}
}

// drainTime is what requests in flight get at shutdown before their connections are closed under them.
const drainTime = 100 * time.Millisecond

// close stops listening, lets requests in flight finish, and ends all connections.
func (n *network) close() {
	n.stopAccepting()
	n.mu.Lock()
	if n.closing {
		n.mu.Unlock()
		<-n.empty
		return
	}
	n.closing = true
	if len(n.conns) == 0 {
		close(n.empty)
	}
	n.mu.Unlock()
	n.each(func(c *conn) { c.tr.post(c.drain) })
	late := n.clock.AfterFunc(drainTime, func() {
		n.each(func(c *conn) {
			c.tr.post(func() {
				c.fail("shutting down", nil)
				c.shut()
			})
		})
	})
	<-n.empty
	late.Stop()
}

func (n *network) each(f func(*conn)) {
	n.mu.Lock()
	all := make([]*conn, 0, len(n.conns))
	for _, c := range n.conns {
		all = append(all, c)
	}
	n.mu.Unlock()
	for _, c := range all {
		f(c)
	}
}

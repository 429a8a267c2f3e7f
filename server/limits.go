package server

import (
	"math"
	"sync"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
)

// LimitConfig bounds connections. The zero value of a field refuses all; use NoLimits as a start.
type LimitConfig struct {
	MaxConnections      int            // max.connections
	MaxPerIP            int            // max.connections.per.ip
	PerIPOverrides      map[string]int // max.connections.per.ip.overrides, by address
	CreationRate        float64        // max.connection.creation.rate, per second
	MaxPerListener      map[string]int // listener.name.<l>.max.connections, by listener name
	CreationPerListener map[string]float64
	// Protected is the listener by which brokers talk to each other: MaxConnections does not hold it back, others make room for it.
	// "" when it is the only listener.
	Protected string
}

// NoLimits are Kafka's defaults.
func NoLimits() LimitConfig {
	return LimitConfig{MaxConnections: math.MaxInt32, MaxPerIP: math.MaxInt32, CreationRate: math.MaxInt32}
}

// limits counts connections. As in Kafka an address over its limit is closed at once, while a broker or listener at its limit, or
// above its creation rate, does not accept until there is room.
type limits struct {
	clock clock.Clock
	mu    sync.Mutex
	cfg   LimitConfig    // guarded by mu
	total int            // guarded by mu
	perIP map[string]int // guarded by mu
	perL  map[string]int // guarded by mu
	rates map[string]*bucket
	wake  chan struct{} // guarded by mu; closed and replaced when something changes
	done  bool          // guarded by mu
}

// bucket lets through up to rate events a second, with a burst of one second.
type bucket struct {
	tokens float64
	at     time.Time
}

func newLimits(clk clock.Clock, cfg LimitConfig) *limits {
	return &limits{clock: clk, cfg: cfg, perIP: map[string]int{}, perL: map[string]int{}, rates: map[string]*bucket{}, wake: make(chan struct{})}
}

// set replaces the limits at once; connections that exist stay.
func (l *limits) set(cfg LimitConfig) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg = cfg
	l.signalLocked()
}

func (l *limits) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	l.signalLocked()
}

// closing is closed when something changes; at shutdown at the latest.
func (l *limits) closing() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		c := make(chan struct{})
		close(c)
		return c
	}
	return l.wake
}

func (l *limits) signalLocked() {
	close(l.wake)
	l.wake = make(chan struct{})
}

// admit waits until another connection may be accepted on the listener and counts it; false when the listener is closing. The
// caller then asks allowIP with the address and calls leave when the connection has ended.
func (l *limits) admit(listener string) bool {
	for {
		l.mu.Lock()
		if l.done {
			l.mu.Unlock()
			return false
		}
		wait, ok := l.admitLocked(listener)
		wake := l.wake
		l.mu.Unlock()
		if ok {
			return true
		}
		var timer clock.Timer
		due := make(chan struct{})
		if wait > 0 {
			timer = l.clock.AfterFunc(wait, func() { close(due) })
		}
		select {
		case <-wake:
		case <-due:
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

func (l *limits) admitLocked(listener string) (wait time.Duration, ok bool) {
	if l.total >= l.cfg.MaxConnections && listener != l.cfg.Protected {
		return 0, false
	}
	if n, limited := l.cfg.MaxPerListener[listener]; limited && l.perL[listener] >= n {
		return 0, false
	}
	rates := [2]struct {
		name string
		rate float64
	}{{"", l.cfg.CreationRate}, {listener, math.MaxInt32}}
	if r, limited := l.cfg.CreationPerListener[listener]; limited {
		rates[1].rate = r
	}
	for _, r := range rates {
		if w := l.fillLocked(r.name, r.rate); w > wait {
			wait = w
		}
	}
	if wait > 0 {
		return wait, false
	}
	for _, r := range rates {
		if b := l.rates[r.name]; b != nil {
			b.tokens--
		}
	}
	l.total++
	l.perL[listener]++
	return 0, true
}

// fillLocked adds what has accrued and tells how long until one more is allowed.
func (l *limits) fillLocked(name string, rate float64) time.Duration {
	if rate >= math.MaxInt32 {
		delete(l.rates, name)
		return 0
	}
	now := l.clock.Mono()
	b := l.rates[name]
	if b == nil {
		b = &bucket{tokens: math.Max(rate, 1), at: now}
		l.rates[name] = b
	}
	b.tokens = math.Min(b.tokens+now.Sub(b.at).Seconds()*rate, math.Max(rate, 1))
	b.at = now
	if b.tokens >= 1 {
		return 0
	}
	if rate <= 0 {
		return time.Second
	}
	return time.Duration((1 - b.tokens) / rate * float64(time.Second))
}

// excess tells whether there are more connections than max.connections allows, as one of the protected listener may cause, and which listener
// is not to pay for it.
func (l *limits) excess() (protected string, yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg.Protected, l.total > l.cfg.MaxConnections
}

// allowIP counts an admitted connection for its address, and says whether the address is within its limit.
func (l *limits) allowIP(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.cfg.MaxPerIP
	if n, ok := l.cfg.PerIPOverrides[host]; ok {
		limit = n
	}
	l.perIP[host]++
	return l.perIP[host] <= limit
}

// leave takes an admitted connection out of the counts.
func (l *limits) leave(listener, host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	l.perL[listener]--
	if l.perIP[host]--; l.perIP[host] <= 0 {
		delete(l.perIP, host)
	}
	l.signalLocked()
}

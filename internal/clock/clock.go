// Package clock gives time to everything in kaja: the wall clock that record time stamps, retention and expiry use, and a
// monotonic one for sessions, time-outs and waiting. Moving the wall clock expires no session.
//
// Owns: the notion of now. Invariants: I1 Mono never goes back. I2 a timer fires at most once, never before its time.
// Called by everybody; nothing in kaja calls time.Now, time.Sleep or time.AfterFunc itself.
// Goroutines: the system clock uses the runtime's timers; Manual runs due functions on the goroutine that advances it.
// Not here: periodic work (internal/exec), many deadlines (internal/wheel).
package clock

import (
	"sort"
	"sync"
	"time"
)

// Clock has two faces; see the package comment. All methods may be called from any goroutine.
type Clock interface {
	// Wall is the time of day, for time stamps and retention.
	Wall() time.Time
	// Mono is an instant on a scale that only moves forward, for deadlines.
	Mono() time.Time
	// AfterFunc runs f on a goroutine of the clock's choice once d has passed on the monotonic scale.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending AfterFunc.
type Timer interface {
	// Stop reports whether it prevented the function from running.
	Stop() bool
}

// System is the real clock.
func System() Clock { return system{} }

type system struct{}

func (system) Wall() time.Time { return time.Now().Round(0) }
func (system) Mono() time.Time { return time.Now() }
func (system) AfterFunc(d time.Duration, f func()) Timer {
	return time.AfterFunc(d, f)
}

// Manual is a clock that stands still until it is moved: for tests and simulation.
type Manual struct {
	mu     sync.Mutex
	wall   time.Time // guarded by mu
	mono   time.Time // guarded by mu
	timers []*manualTimer
	seq    int
}

type manualTimer struct {
	clk *Manual
	at  time.Time
	seq int
	f   func()
}

// NewManual starts both faces at t.
func NewManual(t time.Time) *Manual { return &Manual{wall: t, mono: t} }

// Wall implements Clock.
func (m *Manual) Wall() time.Time { m.mu.Lock(); defer m.mu.Unlock(); return m.wall }

// Mono implements Clock.
func (m *Manual) Mono() time.Time { m.mu.Lock(); defer m.mu.Unlock(); return m.mono }

// AfterFunc implements Clock; f runs inside Advance.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	t := &manualTimer{clk: m, at: m.mono.Add(d), seq: m.seq, f: f}
	m.timers = append(m.timers, t)
	return t
}

func (t *manualTimer) Stop() bool {
	t.clk.mu.Lock()
	defer t.clk.mu.Unlock()
	for i, o := range t.clk.timers {
		if o == t {
			t.clk.timers = append(t.clk.timers[:i], t.clk.timers[i+1:]...)
			return true
		}
	}
	return false
}

// SetWall moves only the wall clock, to any time.
func (m *Manual) SetWall(t time.Time) { m.mu.Lock(); m.wall = t; m.mu.Unlock() }

// Advance moves both faces by d and runs what falls due, in order of deadline, then of creation.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	end := m.mono.Add(d)
	for {
		sort.SliceStable(m.timers, func(i, j int) bool {
			a, b := m.timers[i], m.timers[j]
			return a.at.Before(b.at) || a.at.Equal(b.at) && a.seq < b.seq
		})
		if len(m.timers) == 0 || m.timers[0].at.After(end) {
			break
		}
		t := m.timers[0]
		m.timers = m.timers[1:]
		if t.at.After(m.mono) {
			m.wall = m.wall.Add(t.at.Sub(m.mono))
			m.mono = t.at
		}
		m.mu.Unlock()
		t.f()
		m.mu.Lock()
	}
	m.wall = m.wall.Add(end.Sub(m.mono))
	m.mono = end
	m.mu.Unlock()
}

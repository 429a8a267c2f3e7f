// Package exec runs steppable activities: a step does what is due now and says when it wants to be called again.
//
// Owns: the goroutine of each loop. Invariants: I1 a step never runs concurrently with itself. I2 a Wake during a step causes
// one more step. I3 after Close returns, no step runs.
// Called by every package with periodic work (retention, checkpoints, cleaner, fetchers). In the simulator the steps are called directly.
// Not here: rules; deadlines of single requests (internal/wheel).
package exec

import (
	"sync"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
)

// Step does the work due at now (monotonic) and returns when to be called next; the zero time means only when woken.
type Step func(now time.Time) (next time.Time)

// Loop is a running activity.
type Loop struct {
	clk  clock.Clock
	wake chan struct{} // capacity 1: a wake-up is a fact, not a count
	stop chan struct{}
	done chan struct{}
	once sync.Once
}

// Start runs step on a goroutine of its own until Close; the first step happens at once.
func Start(clk clock.Clock, step Step) *Loop {
	l := &Loop{clk: clk, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run(step)
	return l
}

func (l *Loop) run(step Step) {
	defer close(l.done)
	for {
		next := step(l.clk.Mono())
		var timer clock.Timer
		if !next.IsZero() {
			d := next.Sub(l.clk.Mono())
			if d <= 0 {
				select {
				case <-l.stop:
					return
				default:
					continue
				}
			}
			timer = l.clk.AfterFunc(d, l.Wake)
		}
		select {
		case <-l.stop:
			if timer != nil {
				timer.Stop()
			}
			return
		case <-l.wake:
			if timer != nil {
				timer.Stop()
			}
		}
	}
}

// Wake asks for a step soon. Any goroutine may call it; it never blocks.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close ends the loop and waits for a step in progress.
func (l *Loop) Close() {
	l.once.Do(func() { close(l.stop) })
	<-l.done
}

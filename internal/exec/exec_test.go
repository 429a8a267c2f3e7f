package exec

import (
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
)

func TestLoop(t *testing.T) {
	clk := clock.NewManual(time.Unix(0, 0))
	steps := make(chan time.Time)
	l := Start(clk, func(now time.Time) time.Time {
		steps <- now
		return now.Add(time.Second)
	})
	if got := <-steps; !got.Equal(time.Unix(0, 0)) {
		t.Fatalf("first step at %v", got)
	}
	l.Wake()
	if got := <-steps; !got.Equal(time.Unix(0, 0)) {
		t.Fatalf("woken step at %v", got)
	}
	done := make(chan struct{})
	go func() { // the timer is set after the step returns: advance until it has fired
		defer close(done)
		for {
			clk.Advance(time.Second)
			select {
			case got := <-steps:
				if !got.After(time.Unix(0, 0)) {
					t.Errorf("timed step at %v", got)
				}
				return
			default:
			}
		}
	}()
	<-done
	closed := make(chan struct{})
	go func() { l.Close(); l.Close(); close(closed) }()
	for {
		select {
		case <-steps:
		case <-closed:
			l.Wake() // after Close: nothing
			return
		}
	}
}

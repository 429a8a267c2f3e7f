package cli

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestInterruptible(t *testing.T) {
	signals := make(chan os.Signal, 1)
	p := &Process{Signals: signals}
	failed := errors.New("failed")
	if err := p.interruptible(func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a command's own error became %v", err)
	}
	signals <- syscall.SIGINT
	end := make(chan struct{})
	defer close(end)
	if err := p.interruptible(func() error { <-end; return nil }); !errors.Is(err, errInterrupted) {
		t.Errorf("an interrupted command: %v", err)
	}
}

func TestSpareProcessors(t *testing.T) {
	lengthen := func(_, _ []string) error { return nil }
	f := func(p *Process, more int) {
		t.Helper()
		before := runtime.GOMAXPROCS(0)
		defer runtime.GOMAXPROCS(before)
		if got := p.spareProcessors(); got != before {
			t.Errorf("%d loops for %d processors", got, before)
		}
		if got := runtime.GOMAXPROCS(0); got != before+more {
			t.Errorf("%d threads may run, want %d and %d", got, before, more)
		}
	}
	f(&Process{Lengthen: lengthen, Env: []string{"A=1"}}, spare)
	f(&Process{Lengthen: lengthen, Env: []string{"GOMAXPROCS=3"}}, 0)
	f(&Process{}, 0) // inside somebody else's process
}

package server

import (
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
)

func TestCreationRate(t *testing.T) {
	clk := clock.NewManual(time.Unix(1000, 0))
	cfg := NoLimits()
	cfg.CreationRate = 2
	l := newLimits(clk, cfg)
	try := func(want bool) {
		t.Helper()
		l.mu.Lock()
		_, ok := l.admitLocked("PLAINTEXT")
		l.mu.Unlock()
		if ok != want {
			t.Fatalf("admitted %v, want %v", ok, want)
		}
	}
	try(true)
	try(true)
	try(false)
	clk.Advance(500 * time.Millisecond)
	try(true)
	try(false)
	clk.Advance(10 * time.Second) // no more than a second's worth is saved
	try(true)
	try(true)
	try(false)
	l.set(NoLimits())
	try(true)
}

func TestLimitsCount(t *testing.T) {
	cfg := NoLimits()
	cfg.MaxConnections = 3
	cfg.MaxPerIP = 2
	cfg.PerIPOverrides = map[string]int{"10.0.0.9": 0}
	cfg.MaxPerListener = map[string]int{"B": 1}
	l := newLimits(clock.System(), cfg)
	admit := func(listener, ip string, want bool) {
		t.Helper()
		if !l.admit(listener) {
			t.Fatal("not admitted")
		}
		if got := l.allowIP(ip); got != want {
			t.Errorf("%s: %v, want %v", ip, got, want)
		}
	}
	admit("A", "10.0.0.1", true)
	admit("A", "10.0.0.1", true)
	admit("A", "10.0.0.1", false)
	l.leave("A", "10.0.0.1")
	admit("B", "10.0.0.9", false)
	l.mu.Lock()
	if _, ok := l.admitLocked("A"); ok {
		t.Error("a fourth connection was admitted")
	}
	l.mu.Unlock()
	l.leave("A", "10.0.0.1")
	l.mu.Lock()
	if _, ok := l.admitLocked("B"); ok {
		t.Error("a second connection was admitted on B")
	}
	l.mu.Unlock()
	admitted := make(chan bool)
	go func() { admitted <- l.admit("B") }()
	l.leave("B", "10.0.0.9")
	if !<-admitted {
		t.Error("not admitted after room was made")
	}
	go func() { admitted <- l.admit("B") }()
	l.close()
	if <-admitted {
		t.Error("admitted while closing")
	}
}

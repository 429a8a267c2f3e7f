package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// TestEndings shows that a closed terminal ends a broker cleanly, and that nohup keeps it.
func TestEndings(t *testing.T) {
	if got := endings(); !slices.Contains(got, os.Signal(syscall.SIGHUP)) && !signal.Ignored(syscall.SIGHUP) {
		t.Errorf("%v without SIGHUP", got)
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if got := endings(); slices.Contains(got, os.Signal(syscall.SIGHUP)) {
		t.Errorf("%v with SIGHUP, which is ignored", got)
	}
}

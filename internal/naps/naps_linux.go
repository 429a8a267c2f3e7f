package naps

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Lengthen makes the process's timer slack what env asks for, at least, by executing the program again with args and env; it does not return
// then. It returns nil when there is nothing to do, which is so the second time, and where the system does not let it: all works without. It errs when
// env asks for what it can't have.
func Lengthen(args, env []string) error {
	slack, err := wanted(env)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the slack is the thread's
	defer runtime.UnlockOSThread()
	before, ok := current()
	if !ok || before >= slack {
		return nil // set already, by us or by who started the process
	}
	program, ok := self()
	if !ok {
		return nil // nothing is lost but the saving
	}
	if unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) != nil {
		return nil // as above
	}
	// A thread with a real-time policy has no slack, whatever it sets and without an error: the successor would be the next predecessor, for ever.
	if now, ok := current(); ok && now >= slack {
		execute(program, args, env)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0) // it could be set a moment ago
	return nil
}

// current is the thread's slack.
func current() (time.Duration, bool) {
	n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	return time.Duration(n), err == nil
}

// self names the file that this process runs. There is none when it was deleted, replaced or hidden since: another program must not take over.
func self() (string, bool) {
	program, err := os.Executable()
	if err != nil {
		return "", false // no /proc
	}
	var named, running unix.Stat_t
	if unix.Stat(program, &named) != nil || unix.Stat("/proc/self/exe", &running) != nil {
		return "", false
	}
	return program, named.Dev == running.Dev && named.Ino == running.Ino
}

// execute returns only when it failed, with all as it was.
func execute(program string, args, env []string) {
	var files unix.Rlimit // Go raises the number at its start, and takes that back for the successor
	known := unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil
	_ = unix.Exec(program, args, env) // it returns only when it failed, and all works without
	if known {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &files) // it could be set a moment ago
	}
}

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
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || time.Duration(before) >= slack {
		return nil // set already, by us or by who started the process
	}
	program, err := os.Executable()
	if err != nil {
		return nil // nothing is lost but the saving
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
		return nil // as above
	}
	_ = unix.Exec(program, args, env) // it returns only with an error, and all works without
	return restore(before)
}

// restore gives the thread its slack back.
func restore(slack int) error {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) // it could be set a moment ago
	return nil
}

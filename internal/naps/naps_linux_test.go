package naps

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// asProgram makes this test binary the program that lengthens its naps.
	asProgram = "NAPS_TEST_PROGRAM"
	// before says what that program does first.
	before = "NAPS_TEST_BEFORE"
)

// TestProgram is what the others start: it tells its slack, its limit of open files and its process id before and after.
func TestProgram(t *testing.T) {
	if os.Getenv(asProgram) == "" {
		return // the others start it
	}
	runtime.LockOSThread() // a policy is the thread's
	defer runtime.UnlockOSThread()
	switch os.Getenv(before) {
	case "deleted":
		remove(t)
	case "replaced":
		name := remove(t)
		if err := os.WriteFile(name, []byte("#!/bin/sh\necho another program\n"), 0o700); err != nil { //nolint:gosec // it is to be executed
			t.Fatal(err)
		}
	case "real time":
		if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 1 /* SCHED_FIFO */, Priority: 1}, 0); err != nil {
			t.Logf("not allowed: %v", err)
			return
		}
	}
	t.Logf("pid=%d", os.Getpid())
	files := openFiles(t)
	if err := Lengthen(os.Args, os.Environ()); err != nil {
		t.Fatal(err)
	}
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	t.Logf("slack=%d %v", slack, err)
	if now := openFiles(t); now != files {
		t.Errorf("%d open files are allowed, before %d", now, files)
	}
}

// remove deletes the program that runs and returns its name.
func remove(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func openFiles(t *testing.T) uint64 {
	t.Helper()
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	return l.Cur
}

// run starts TestProgram and returns what it says and its process id.
func run(t *testing.T, slack, first string) (string, int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(name, program, 0o700) //nolint:gosec // it is to be executed
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // one that executes itself for ever
	defer cancel()
	// with fewer open files than are possible, as Go finds it nearly everywhere
	c := exec.CommandContext(ctx, "/bin/sh", "-c", `ulimit -S -n 256; exec "$0" "$@"`, name, "-test.run=^TestProgram$", "-test.v")
	c.Env = append(os.Environ(), asProgram+"=1", Variable+"="+slack, before+"="+first)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", first, err, out)
	}
	return string(out), c.Process.Pid
}

func TestLengthen(t *testing.T) {
	f := func(value string, want time.Duration) {
		t.Helper()
		out, pid := run(t, value, "")
		if w := "slack=" + strconv.Itoa(int(want)) + " <nil>"; !strings.Contains(out, w) {
			t.Errorf("%q: no %q in\n%s", value, w, out)
		}
		if w := "pid=" + strconv.Itoa(pid); !strings.Contains(out, w) {
			t.Errorf("%q: it is another process, no %q in\n%s", value, w, out)
		}
	}
	f("", Default)
	f("3ms", 3*time.Millisecond)
	f("0s", own(t))
}

func own(t *testing.T) time.Duration {
	t.Helper()
	own, ok := current()
	if !ok {
		t.Fatal("this system tells no slack")
	}
	return own
}

// TestLeftAlone shows that a program that cannot be executed again goes on as it is, and another is not executed in its place.
func TestLeftAlone(t *testing.T) {
	f := func(first string, slack time.Duration) {
		t.Helper()
		out, _ := run(t, "", first)
		if strings.Contains(out, "not allowed") {
			t.Logf("%q left out: %s", first, out)
			return
		}
		if n := strings.Count(out, "pid="); n != 1 {
			t.Errorf("%q: it ran %d times\n%s", first, n, out)
		}
		if w := "slack=" + strconv.Itoa(int(slack)) + " <nil>"; slack >= 0 && !strings.Contains(out, w) {
			t.Errorf("%q: no %q in\n%s", first, w, out)
		}
	}
	f("deleted", own(t))
	f("replaced", own(t))
	f("real time", -1) // older kernels keep a slack that has no effect, and execute twice
}

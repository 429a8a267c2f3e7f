package naps

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asProgram makes this test binary the program that lengthens its naps.
const asProgram = "NAPS_TEST_PROGRAM"

// TestProgram is what TestLengthen starts: it tells its slack and its process id before and after.
func TestProgram(t *testing.T) {
	if os.Getenv(asProgram) == "" {
		t.Skip("started by TestLengthen only")
	}
	t.Logf("pid=%d", os.Getpid())
	if err := Lengthen(os.Args, os.Environ()); err != nil {
		t.Fatal(err)
	}
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	t.Logf("slack=%d %v", slack, err)
}

func TestLengthen(t *testing.T) {
	f := func(value string, want time.Duration) {
		t.Helper()
		c := exec.Command(os.Args[0], "-test.run=^TestProgram$", "-test.v")
		c.Env = append(os.Environ(), asProgram+"=1", Variable+"="+value)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if w := "slack=" + strconv.Itoa(int(want)) + " <nil>"; !strings.Contains(string(out), w) {
			t.Errorf("%q: no %q in\n%s", value, w, out)
		}
		if w := "pid=" + strconv.Itoa(c.Process.Pid); !strings.Contains(string(out), w) {
			t.Errorf("%q: it is another process, no %q in\n%s", value, w, out)
		}
	}
	f("", Default)
	f("3ms", 3*time.Millisecond)
	own, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Skip("this system tells no slack:", err)
	}
	f("0s", time.Duration(own))
}

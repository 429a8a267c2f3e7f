package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// fakeBroker serves nothing.
type fakeBroker struct {
	done    chan struct{}
	err     error
	closed  int
	stall   chan struct{} // Close waits for it if set
	closing func()        // called by Close if set
}

func (b *fakeBroker) Done() <-chan struct{} { return b.done }
func (b *fakeBroker) Err() error            { return b.err }
func (b *fakeBroker) Close() error {
	b.closed++
	if b.closing != nil {
		b.closing()
	}
	if b.stall != nil {
		<-b.stall
	}
	return nil
}

// output keeps what is written, and delivers signals when a text comes by.
type output struct {
	bytes.Buffer
	when    string
	deliver []os.Signal
	signals chan<- os.Signal
}

func (o *output) Write(p []byte) (int, error) {
	if o.when != "" && bytes.Contains(p, []byte(o.when)) {
		for _, s := range o.deliver {
			o.signals <- s
		}
		o.deliver = nil
	}
	return o.Buffer.Write(p)
}

// ready is in the last line that a start logs.
const ready = "[KafkaServer id="

// signalWhen delivers signals once a text has been logged.
func (w *world) signalWhen(text string, signals ...os.Signal) {
	w.out.when, w.out.deliver, w.out.signals = text, signals, w.signals
}

type world struct {
	Process
	out      output
	errs     bytes.Buffer
	signals  chan os.Signal
	broker   *fakeBroker
	cfg      *config.Static
	clock    *clock.Manual
	startErr error
}

func newWorld(args ...string) *world {
	w := &world{signals: make(chan os.Signal, 2), broker: &fakeBroker{done: make(chan struct{})}}
	w.Process = Process{Args: append([]string{"kaja"}, args...), Stdout: &w.out, Stderr: &w.errs, FS: vfs.NewMem(), Signals: w.signals, TempDir: "/tmp"}
	w.clock = clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	w.Clock = w.clock
	w.start = func(_ *Process, cfg *config.Static, _ zerolog.Logger) (broker, error) {
		w.cfg = cfg
		if w.startErr != nil {
			return nil, w.startErr
		}
		return w.broker, nil
	}
	return w
}

func (w *world) run(t *testing.T, wantCode int, wantErr string) {
	t.Helper()
	code := Main(w.Process)
	got := w.errs.String()
	if code != wantCode || (wantErr == "") != (got == "") || !strings.Contains(got, wantErr) || strings.Count(got, "\n") > 1 {
		t.Errorf("%v: exit code %d, want %d; stderr %q, want %q", w.Args, code, wantCode, got, wantErr)
	}
}

func TestServeAnnouncesAndStops(t *testing.T) {
	w := newWorld("--override", "num.partitions=3", "--override", "node.id=5")
	w.signalWhen(ready, syscall.SIGTERM)
	w.run(t, ExitOK, "")
	if w.broker.closed != 1 || w.cfg.NodeID() != 5 || w.cfg.Int("num.partitions") != 3 {
		t.Errorf("closed %d times, config %v", w.broker.closed, w.cfg)
	}
	last := -1
	for _, want := range []string{`"message":"serving"`, "[BrokerLifecycleManager id=5] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.",
		"[KafkaRaftServer nodeId=5] Kafka Server started", "[KafkaServer id=5] started", `"message":"stopping"`, `"message":"stopped"`} {
		at := strings.Index(w.out.String(), want)
		if at <= last {
			t.Errorf("%q is missing or out of order in\n%s", want, w.out.String())
		}
		last = at
	}
}

func TestServeFile(t *testing.T) {
	w := newWorld("serve", "/etc/server.properties")
	if err := errors.Join(w.FS.MkdirAll("/etc"), w.FS.WriteFile("/etc/server.properties", []byte("process.roles=broker,controller\nnode.id=4\nlog.dirs=/d\nunknown.key=1\n"))); err != nil {
		t.Fatal(err)
	}
	w.signalWhen(ready, syscall.SIGINT)
	w.run(t, ExitOK, "")
	if w.cfg.NodeID() != 4 || !strings.Contains(w.out.String(), "unknown settings are ignored: unknown.key") {
		t.Errorf("config %v, log %s", w.cfg, w.out.String())
	}
}

func TestServeByKafkasName(t *testing.T) {
	w := newWorld()
	w.Args = []string{"/opt/kafka/bin/kafka-server-start.sh", "--override", "node.id=9"}
	w.signalWhen(ready, syscall.SIGTERM)
	w.run(t, ExitOK, "")
	if w.cfg.NodeID() != 9 {
		t.Errorf("node %d", w.cfg.NodeID())
	}
}

func TestEphemeralDirectoryGoes(t *testing.T) {
	w := newWorld("serve", "--ephemeral")
	w.signalWhen(ready, syscall.SIGTERM)
	w.run(t, ExitOK, "")
	dir := w.cfg.LogDirs()[0]
	if _, err := w.FS.Stat(dir); !strings.HasPrefix(dir, "/tmp/kaja-") || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestSecondSignalAborts(t *testing.T) {
	w := newWorld()
	w.broker.stall = make(chan struct{})
	defer close(w.broker.stall)
	w.signalWhen(ready, syscall.SIGTERM, syscall.SIGTERM) // at the same time: one
	w.broker.closing = func() {
		w.clock.Advance(sameSignal)
		w.signals <- syscall.SIGTERM
	}
	w.run(t, exitAbort, "stopped by a second signal")
}

// jumpingClock is later by a second each time it is asked.
type jumpingClock struct{ *clock.Manual }

func (c *jumpingClock) Mono() time.Time {
	c.Advance(time.Second)
	return c.Manual.Mono()
}

// TestSignalWhileStarting: the first is heeded once the start is done, the second ends the process.
func TestSignalWhileStarting(t *testing.T) {
	slow := func() (*world, chan struct{}) {
		w, goOn := newWorld(), make(chan struct{})
		w.start = func(_ *Process, cfg *config.Static, _ zerolog.Logger) (broker, error) {
			<-goOn
			return w.broker, nil
		}
		return w, goOn
	}
	w, goOn := slow()
	w.signals <- syscall.SIGTERM
	w.Clock = &jumpingClock{Manual: w.clock}
	w.signalWhen("will stop as soon as", syscall.SIGINT)
	w.run(t, exitAbort, "stopped by a second signal")
	close(goOn)

	w, goOn = slow()
	w.signals <- syscall.SIGTERM
	go close(goOn)
	w.run(t, ExitOK, "")
	if w.broker.closed != 1 {
		t.Errorf("closed %d times", w.broker.closed)
	}
}

func TestBrokerEndsByItself(t *testing.T) {
	w := newWorld()
	w.broker.err = fmt.Errorf("log directory /d failed and no other is left: %w", syscall.ENOSPC)
	close(w.broker.done)
	w.run(t, ExitError, "log directory /d failed and no other is left: no space left on device; the disk is full: make room and start again")
	if w.broker.closed != 1 {
		t.Errorf("closed %d times", w.broker.closed)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	start := func(err error, want string) {
		t.Helper()
		w := newWorld()
		w.startErr = err
		w.run(t, ExitError, want)
	}
	start(fmt.Errorf("listen on localhost:9092: %w", syscall.EADDRINUSE), "another program has the port: stop it, or set listeners to another one")
	start(fmt.Errorf("open /d: %w", vfs.ErrLocked), "another kaja or Kafka runs on this data")
	start(fmt.Errorf("open /d: %w", fs.ErrPermission), "run as the owner of the directory")
	start(errors.New("two\nlines"), "kaja: two lines")

	f := func(code int, want string, args ...string) {
		t.Helper()
		newWorld(args...).run(t, code, want)
	}
	f(ExitError, "cannot read the configuration: ", "nowhere.properties")
	f(ExitError, "Invalid value x for configuration num.partitions: Not a number of type INT (from --override)", "--override", "num.partitions=x")
	f(ExitUsage, "unknown flag: --nope", "--nope")
	f(ExitUsage, "unknown flag: --nope", "serve", "--nope")
	f(ExitUsage, "serve takes one server.properties", "serve", "a", "b")
	f(ExitUsage, "version takes no arguments", "version", "x")
}

func TestVersion(t *testing.T) {
	w := newWorld("version")
	w.run(t, ExitOK, "")
	if !strings.HasPrefix(w.out.String(), "kaja ") || !strings.Contains(w.out.String(), "Kafka 4.4.0") {
		t.Errorf("got %q", w.out.String())
	}
}

func TestCheck(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	f := func(code int, wantOut, wantErr string, args ...string) {
		t.Helper()
		w := newWorld(append([]string{"check"}, args...)...)
		w.FS = mem
		w.run(t, code, wantErr)
		if !strings.Contains(w.out.String(), wantOut) {
			t.Errorf("%v: stdout %q, want %q", args, w.out.String(), wantOut)
		}
	}
	f(ExitUsage, "", "check needs a data directory")
	f(ExitError, "", "cannot check /nowhere", "/nowhere")
	f(ExitOK, "no problems found\n", "", "/d")
	if err := mem.WriteFile("/d/recovery-point-offset-checkpoint", []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	f(ExitError, "/d/recovery-point-offset-checkpoint", "1 problem found", "/d")
	lock, err := mem.Lock("/d/.lock")
	if err != nil {
		t.Fatal(err)
	}
	f(ExitError, "", "another kaja or Kafka runs on this data", "/d")
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}

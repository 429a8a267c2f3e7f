package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// startLimit bounds a restart: recovery of what a round wrote takes far less.
const startLimit = 60 * time.Second

func main() {
	rounds := flag.Int("rounds", 50, "how often the broker is killed")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "random seed for the moments of the kills")
	addr := flag.String("addr", "127.0.0.1:29500", "where the broker listens")
	load := flag.Duration("load", 700*time.Millisecond, "load per round, at most twice that")
	logName := flag.String("log", "", "file for the broker's output (default: none)")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "killloop: give the broker's command after --")
		os.Exit(2)
	}
	out := io.Discard
	if *logName != "" {
		f, err := os.Create(*logName)
		if err != nil {
			fmt.Fprintln(os.Stderr, "killloop:", err)
			os.Exit(2)
		}
		defer f.Close()
		out = f
	}
	l := &loop{addr: *addr, command: flag.Args(), out: out, rnd: rand.New(rand.NewPCG(*seed, 0)), load: *load}
	fmt.Printf("seed %d\n", *seed)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { // ends with the process: the broker, in a process group of its own, must not outlive it
		<-signals
		l.kill(syscall.SIGKILL)
		os.Exit(130)
	}()
	err := l.run(*rounds)
	l.kill(syscall.SIGKILL)
	l.ledger.close()
	fmt.Printf("%d kills, %d records acknowledged, %d of them read again, %d topics made, %d configs set, slowest restart %v\n",
		l.kills, l.ledger.acked.Load(), l.ledger.checked, l.catalog.made, l.catalog.altered, l.slowest.Round(time.Millisecond))
	if err != nil {
		fmt.Printf("FAIL killloop: %v\n0 passed, 1 failed\n", err)
		os.Exit(1)
	}
	fmt.Println("1 passed, 0 failed")
}

// loop is the broker's process and what is known to be in it.
type loop struct {
	addr    string
	command []string
	out     io.Writer
	rnd     *rand.Rand
	load    time.Duration

	mu      sync.Mutex
	cmd     *exec.Cmd // guarded by mu
	kills   int
	slowest time.Duration
	ledger  ledger
	catalog catalog
}

func (l *loop) run(rounds int) error {
	if err := l.start(); err != nil {
		return err
	}
	if err := l.ledger.open(l.addr); err != nil {
		return err
	}
	if err := l.catalog.open(l.addr); err != nil {
		return err
	}
	for round := range rounds {
		load := l.load/2 + time.Duration(l.rnd.Int64N(int64(l.load)*3/2))
		ctx, cancel := context.WithTimeout(context.Background(), load)
		l.ledger.startWriters()
		l.catalog.change(ctx, l.rnd)
		<-ctx.Done()
		cancel()
		l.kill(syscall.SIGKILL)
		l.kills++
		if err := l.start(); err != nil {
			return fmt.Errorf("after kill %d: %w", round+1, err)
		}
		// The writers go on over the kill with what they had in flight, so that retries meet what the dead broker had kept.
		if err := l.ledger.stopWriters(); err != nil {
			return fmt.Errorf("after kill %d: %w", round+1, err)
		}
		if err := l.ledger.check(false); err != nil {
			return fmt.Errorf("after kill %d: %w", round+1, err)
		}
		if err := l.catalog.check(); err != nil {
			return fmt.Errorf("after kill %d: %w", round+1, err)
		}
	}
	// A clean stop and start, then everything from the beginning.
	l.kill(syscall.SIGTERM)
	if err := l.start(); err != nil {
		return fmt.Errorf("after the clean stop: %w", err)
	}
	if err := l.ledger.check(true); err != nil {
		return fmt.Errorf("after the clean stop: %w", err)
	}
	return l.catalog.check()
}

// start runs the broker and waits until it answers.
func (l *loop) start() error {
	begin := time.Now()
	cmd := exec.Command(l.command[0], l.command[1:]...)
	cmd.Stdout, cmd.Stderr = l.out, l.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a script that starts the broker dies with it
	l.mu.Lock()
	err := cmd.Start()
	if err == nil {
		l.cmd = cmd
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(l.addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	for time.Since(begin) < startLimit {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err = cl.Ping(ctx)
		<-pause(ctx, 20*time.Millisecond)
		cancel()
		if err == nil {
			l.slowest = max(l.slowest, time.Since(begin))
			return nil
		}
		if cmd.Process.Signal(syscall.Signal(0)) != nil {
			break
		}
	}
	return fmt.Errorf("the broker does not answer %v after its start: %w", time.Since(begin).Round(time.Millisecond), err)
}

// kill ends the broker and waits for its end.
func (l *loop) kill(sig syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cmd == nil {
		return
	}
	if err := syscall.Kill(-l.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		fmt.Println("kill:", err)
	}
	_ = l.cmd.Wait() // its exit code is that of the signal
	l.cmd = nil
}

// pause is closed after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) <-chan struct{} {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx.Done()
}

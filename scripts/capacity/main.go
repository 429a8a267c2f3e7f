package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topics        = 1000
	perTopic      = 10 // partitions in the end: 10,000 in all
	maxCreation   = 5 * time.Second
	maxStart      = 3 * time.Second
	maxRSS        = 150 << 20
	answerTimeout = 60 * time.Second
)

func main() {
	addr := flag.String("addr", "127.0.0.1:29510", "where the broker listens")
	soft := flag.Bool("soft", false, "print the figures without judging them")
	flag.Parse()
	b := &broker{addr: *addr, command: flag.Args()}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { // ends with the process: the broker, in a process group of its own, must not outlive it
		<-signals
		b.stop()
		os.Exit(130)
	}()
	passed, failed, err := b.measure(*soft)
	b.stop()
	if err != nil {
		fmt.Println("FAIL capacity:", err)
		failed++
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

type broker struct {
	addr    string
	command []string
	mu      sync.Mutex
	cmd     *exec.Cmd // guarded by mu
}

func (b *broker) measure(soft bool) (passed, failed int, err error) {
	judge := func(what, got string, ok bool) {
		verdict := "PASS"
		if ok || soft {
			passed++
		} else {
			verdict = "FAIL"
			failed++
		}
		fmt.Printf("%s %s: %s\n", verdict, what, got)
	}
	if _, err := b.start(); err != nil {
		return passed, failed, err
	}
	empty, err := b.rss()
	if err != nil {
		return passed, failed, err
	}
	fmt.Printf("resident without topics: %d MB\n", empty>>20)
	took, err := b.create()
	if err != nil {
		return passed, failed, err
	}
	judge("creation of 1,000 topics", took.Round(time.Millisecond).String(), took <= maxCreation)
	if err := b.grow(); err != nil {
		return passed, failed, err
	}
	rss, err := b.rss()
	if err != nil {
		return passed, failed, err
	}
	judge("resident with 10,000 partitions", fmt.Sprintf("%d MB", rss>>20), rss <= maxRSS)
	begin := time.Now()
	b.stop()
	fmt.Printf("clean stop: %v\n", time.Since(begin).Round(time.Millisecond))
	if took, err = b.start(); err != nil {
		return passed, failed, err
	}
	judge("start with 10,000 partitions", took.Round(time.Millisecond).String(), took <= maxStart)
	if rss, err = b.rss(); err != nil {
		return passed, failed, err
	}
	judge("resident after the restart", fmt.Sprintf("%d MB", rss>>20), rss <= maxRSS)
	return passed, failed, nil
}

// start returns how long it took until the broker listed every topic that it should have.
func (b *broker) start() (time.Duration, error) {
	begin := time.Now()
	cmd := exec.Command(b.command[0], b.command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.mu.Lock()
	err := cmd.Start()
	if err == nil {
		b.cmd = cmd
	}
	b.mu.Unlock()
	if err != nil {
		return 0, err
	}
	var last error
	for time.Since(begin) < answerTimeout {
		if last = b.with(func(ctx context.Context, adm *kadm.Client) error {
			_, err := adm.ListTopics(ctx)
			return err
		}); last == nil {
			return time.Since(begin), nil
		}
	}
	return 0, fmt.Errorf("the broker does not answer: %w", last)
}

func (b *broker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil {
		return
	}
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGTERM) // it may have ended by itself
	_ = b.cmd.Wait()                                      // its exit code is not judged here
	b.cmd = nil
}

func (b *broker) with(f func(context.Context, *kadm.Client) error) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	return f(ctx, kadm.NewClient(cl))
}

func names() []string {
	out := make([]string, topics)
	for i := range out {
		out[i] = fmt.Sprintf("capacity-%04d", i)
	}
	return out
}

// create makes the topics one request after the other, as programs do.
func (b *broker) create() (took time.Duration, err error) {
	err = b.with(func(ctx context.Context, adm *kadm.Client) error {
		begin := time.Now()
		for _, name := range names() {
			if _, err := adm.CreateTopic(ctx, 1, 1, nil, name); err != nil {
				return err
			}
		}
		took = time.Since(begin)
		return nil
	})
	return took, err
}

// grow gives each topic its partitions and writes one record to each.
func (b *broker) grow() error {
	err := b.with(func(ctx context.Context, adm *kadm.Client) error {
		rs, err := adm.UpdatePartitions(ctx, perTopic, names()...)
		if err != nil {
			return err
		}
		return rs.Error()
	})
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	var recs []*kgo.Record
	for _, name := range names() {
		for p := range int32(perTopic) {
			recs = append(recs, &kgo.Record{Topic: name, Partition: p, Value: []byte("one")})
		}
	}
	return cl.ProduceSync(ctx, recs...).FirstErr()
}

func (b *broker) rss() (int64, error) {
	b.mu.Lock()
	name := fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid)
	b.mu.Unlock()
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	_, after, ok := strings.Cut(string(text), "VmRSS:")
	if !ok {
		return 0, fmt.Errorf("no VmRSS in %s", name)
	}
	kb, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	return kb << 10, err
}

package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// partitions of the topic of a run.
const partitions = 3

func main() {
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "random seed of what writers do and when the broker is killed")
	length := flag.Duration("for", time.Minute, "how long writers write")
	writers := flag.Int("writers", 6, "transactional ids")
	pause := flag.Duration("kill-every", 700*time.Millisecond, "time between two kills, at most twice that; 0 never kills")
	addr := flag.String("addr", "127.0.0.1:29600", "where the broker listens")
	topic := flag.String("topic", "history", "topic, and prefix of transactional ids and groups; none of them may exist")
	logName := flag.String("log", "", "file for the broker's output (default: none)")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "history: give the broker's command after --")
		os.Exit(2)
	}
	out := io.Discard
	if *logName != "" {
		f, err := os.Create(*logName)
		if err != nil {
			fmt.Fprintln(os.Stderr, "history:", err)
			os.Exit(2)
		}
		defer f.Close()
		out = f
	}
	fmt.Printf("seed %d\n", *seed)
	h := &history{topic: *topic, ledger: newLedger(), broker: broker{addr: *addr, command: flag.Args(), out: out}, rnd: rand.New(rand.NewPCG(*seed, 0))}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { // ends with the process: the broker, in a process group of its own, must not outlive it
		<-signals
		h.broker.kill(syscall.SIGKILL)
		os.Exit(130)
	}()
	err := h.run(*length, *pause, *writers)
	h.broker.kill(syscall.SIGKILL)
	if err != nil {
		h.problem("%v", err)
	}
	h.report()
}

// history is one run.
type history struct {
	topic   string
	ledger  *ledger
	broker  broker
	rnd     *rand.Rand
	readers []*reader // of all, then of committed records
	stop    atomic.Bool
	written atomic.Bool
}

func (h *history) problem(format string, args ...any) { h.ledger.problem(format, args...) }

// broken: a problem was found, nothing else matters.
func (h *history) broken() bool {
	select {
	case <-h.ledger.broken:
		return true
	default:
		return false
	}
}

func (h *history) stopping() bool { return h.stop.Load() || h.broken() }

// quiet: nothing is written and nobody is killed any more.
func (h *history) quiet() bool { return h.written.Load() }

func (h *history) run(length, pause time.Duration, writers int) error {
	if err := h.broker.start(); err != nil {
		return err
	}
	if err := h.prepare(); err != nil {
		return err
	}
	var writing, reading sync.WaitGroup
	for i := range writers {
		w := &writer{h: h, name: fmt.Sprintf("%s-w%d", h.topic, i), rnd: h.random(), conn: conn{addr: h.broker.addr}}
		writing.Go(w.run)
	}
	p := &plain{h: h, name: h.topic + "-plain", rnd: h.random(), conn: conn{addr: h.broker.addr}}
	writing.Go(p.run)
	for i := range int32(2 * partitions) {
		r := &reader{h: h, conn: conn{addr: h.broker.addr}, partition: i % partitions, isolated: i >= partitions}
		h.readers = append(h.readers, r)
		reading.Go(r.run)
	}
	err := h.kill(length, pause)
	h.stop.Store(true)
	writing.Wait()
	h.written.Store(true)
	reading.Wait()
	if err == nil && !h.broken() {
		h.judge()
	}
	return err
}

func (h *history) random() *rand.Rand { return rand.New(rand.NewPCG(h.rnd.Uint64(), 0)) }

// spared is how many kills of four wait until a transaction has ended since the last one. The others come at any moment, in the middle of
// loading the logs too; were it all of them, a broker whose logs take longer to load than it lives would never answer again.
const spared = 3

// kill ends the broker and starts it again until the time is over.
func (h *history) kill(length, pause time.Duration) error {
	before := -1
	for end := time.Now().Add(length); time.Now().Before(end); {
		wait := time.Until(end)
		if pause > 0 {
			wait = min(wait, time.Duration(h.rnd.Int64N(int64(2*pause))))
		}
		select {
		case <-time.After(wait):
		case <-h.ledger.broken:
			return nil
		}
		if pause == 0 || h.ledger.progress() == before && h.rnd.IntN(4) < spared {
			continue
		}
		before = h.ledger.progress()
		h.broker.kill(syscall.SIGKILL)
		h.broker.kills++
		if err := h.broker.start(); err != nil {
			return fmt.Errorf("after kill %d: %w", h.broker.kills, err)
		}
	}
	return nil
}

// prepare makes the topic and has the broker make the internal ones.
func (h *history) prepare() error {
	c := conn{addr: h.broker.addr}
	defer c.close()
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 5, 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = h.topic, partitions, 1
	create.Topics = append(create.Topics, t)
	resp, err := c.do(create)
	if err != nil {
		return fmt.Errorf("create the topic: %w", err)
	}
	if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 {
		return fmt.Errorf("create the topic: %w", kerr.ErrorForCode(code))
	}
	for i := range int32(partitions) { // the leader of a new partition may not know of it yet
		r := &reader{h: h, conn: conn{addr: h.broker.addr}, partition: i}
		for begin := time.Now(); !r.ready() && time.Since(begin) < patience; {
			pause(10 * time.Millisecond)
		}
		r.conn.close()
	}
	for kind := range int8(2) {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKey, find.CoordinatorType = 2, "w0", kind
		_, e, _ := ask(h, &c, find, func(r kmsg.Response) int16 { return r.(*kmsg.FindCoordinatorResponse).ErrorCode })
		if e != nil {
			return fmt.Errorf("find a coordinator: %w", e)
		}
	}
	return nil
}

// pause lets others go on: what is waited for is a broker that comes back, or a client's next thought.
func pause(d time.Duration) { <-time.After(d) }

// report ends the process.
func (h *history) report() {
	l := h.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[outcome]int{}
	for _, t := range l.txns {
		counts[t.state]++
	}
	fmt.Printf("%d kills, %d records, %d transactions committed, %d aborted, %d unknown, %d batches sent again, %d times fenced, %d zombies\n",
		h.broker.kills, len(l.sent), counts[committed], counts[aborted], counts[either]+counts[open]+counts[committing]+counts[aborting], l.resent, l.fenced, l.zombies)
	for i, p := range l.problems {
		if i == 10 {
			fmt.Printf("… and %d more\n", len(l.problems)-i)
			break
		}
		fmt.Println("FAIL history:", p)
	}
	if len(l.problems) > 0 {
		fmt.Println("0 passed, 1 failed")
		os.Exit(1)
	}
	fmt.Println("1 passed, 0 failed")
}

// Package groups tests consumer groups with every client: three members, each a process of its own (groups/member says how they talk), of
// which one is killed, one joins later, one is stopped for a while and one leaves, while records come in all the time.
package groups

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

const (
	partitions = 6
	// patience bounds the wait for one step: a session of at most 45 s (Kafka's for the consumer protocol), a rebalance, a slow machine.
	patience = 100 * time.Second
	// enough records per member before the next thing happens to one
	enough = 60
)

// variants are the members' commands below the folder that MEMBERS names.
var variants = []string{
	"go kgo-classic", "go kgo-consumer", "go sarama", "go kafkago", "librdkafka classic", "librdkafka consumer", "java classic", "java consumer",
	"python kafka-python", "python aiokafka", "node",
}

func TestGroups(t *testing.T) {
	dir := os.Getenv("MEMBERS")
	if dir == "" {
		t.Fatal("MEMBERS is not set: run scripts/compat, which builds the members")
	}
	for _, v := range variants {
		t.Run(strings.ReplaceAll(v, " ", "-"), func(t *testing.T) {
			t.Parallel()
			takeOver(t, dir+"/"+v)
		})
	}
}

// takeOver is the story of one group.
func takeOver(t *testing.T, command string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(corpus.Bootstrap(t)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	topic := corpus.Topic(t, "group-"+strings.ReplaceAll(command[strings.LastIndex(command, "/")+1:], " ", "-"))
	if r, err := adm.CreateTopic(ctx, partitions, 1, nil, topic); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	defer func() { _, _ = adm.DeleteTopics(context.Background(), topic) }() // a leftover harms nobody
	g := newGroup(t, command, topic)
	defer g.end()

	one, two, three := g.start(), g.start(), g.start()
	g.owned("three members", one, two, three)
	feed := startFeed(ctx, t, cl, topic)
	defer feed.stop()
	watch := startWatch(ctx, t, adm, g)
	defer watch.stop()
	g.received(enough, one, two, three)

	one.kill()
	killed := time.Now()
	g.owned("the two that are left", two, three)
	t.Logf("taken over %v after kill -9", time.Since(killed).Round(time.Millisecond))
	four := g.start()
	g.owned("a newcomer and the two", two, three, four)
	g.received(enough, two, three, four)

	// A process that is stopped is missed as well; when it goes on, its commits are refused, and it joins again.
	three.pause()
	g.owned("the two that are not stopped", two, four)
	g.received(enough, two, four)
	three.resume()
	g.owned("the one that goes on and the two", two, three, four)
	g.received(enough, two, three, four)

	two.close()
	left := time.Now()
	g.owned("the two that stayed", three, four)
	if took := time.Since(left); took > 30*time.Second {
		t.Errorf("taken over %v after a member left", took)
	}
	ends := feed.stop()
	g.wait("all records", func() string { return g.lacks(ends) })
	g.wait("all committed", func() string { return watch.lacks(ends) })
	watch.stop()
	g.judge()

	three.close()
	four.close()
	ds, err := adm.DescribeGroups(ctx, topic)
	if strings.HasSuffix(command, "consumer") {
		cs, cerr := adm.DescribeConsumerGroups(ctx, topic)
		if c := cs[topic]; cerr != nil || c.Err != nil || c.State != "Empty" || len(c.Members) != 0 {
			t.Errorf("afterwards the group is %+v: %v", c, cerr)
		}
	} else if d := ds[topic]; err != nil || d.Err != nil || d.State != "Empty" || len(d.Members) != 0 {
		t.Errorf("afterwards the group is %+v: %v", d, err)
	}
	if rs, err := adm.DeleteGroups(ctx, topic); err != nil || rs[topic].Err != nil {
		t.Errorf("the empty group cannot be deleted: %v %v", err, rs[topic].Err)
	}
}

// loop is a goroutine that does something again and again until it is stopped.
type loop struct {
	quit, done chan struct{}
}

func startLoop(every time.Duration, do func()) loop {
	l := loop{make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(l.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-l.quit:
				return
			case <-tick.C:
				do()
			}
		}
	}()
	return l
}

func (l loop) stop() {
	select {
	case <-l.done:
	default:
		close(l.quit)
		<-l.done
	}
}

// feed produces two records a partition every 50 ms.
type feed struct {
	loop
	ends []int64
}

func startFeed(ctx context.Context, t *testing.T, cl *kgo.Client, topic string) *feed {
	f := &feed{ends: make([]int64, partitions)}
	f.loop = startLoop(50*time.Millisecond, func() {
		var recs []*kgo.Record
		for p := range int32(2 * partitions) {
			recs = append(recs, &kgo.Record{Topic: topic, Partition: p % partitions, Value: corpus.Value(topic, int(p))})
		}
		for _, r := range cl.ProduceSync(ctx, recs...) {
			if r.Err != nil {
				t.Errorf("produce: %v", r.Err)
				return
			}
			f.ends[r.Record.Partition] = r.Record.Offset + 1
		}
	})
	return f
}

// stop returns the partitions' ends.
func (f *feed) stop() []int64 {
	f.loop.stop()
	return f.ends
}

// watch asks for the committed offsets all the time and tells the group: what was committed must not be delivered
// again, and a commit never goes back.
type watch struct {
	loop
	g *group
}

func startWatch(ctx context.Context, t *testing.T, adm *kadm.Client, g *group) *watch {
	high := map[int32]int64{}
	return &watch{g: g, loop: startLoop(100*time.Millisecond, func() {
		os, err := adm.FetchOffsets(ctx, g.topic)
		now := time.Now().UnixMicro()
		if err != nil {
			t.Errorf("fetch offsets: %v", err)
			return
		}
		for p, o := range os[g.topic] {
			if o.At < high[p] {
				t.Errorf("partition %d: the committed offset went from %d back to %d", p, high[p], o.At)
			}
			high[p] = o.At
			g.commit(p, o.At, now)
		}
	})}
}

// lacks says which partitions are not committed to their ends.
func (w *watch) lacks(ends []int64) string {
	w.g.mu.Lock()
	defer w.g.mu.Unlock()
	for p, end := range ends {
		c := w.g.commits[int32(p)]
		if !slices.ContainsFunc(c, func(c event) bool { return c.offset == end }) {
			return "partition " + itoa(p) + " is not committed to " + itoa(int(end))
		}
	}
	return ""
}

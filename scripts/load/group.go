package main

import (
	"context"
	"errors"
	"flag"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// groupMode lets members of one group join at once and waits until every partition is assigned: whole clients, with their timers.
func groupMode(f *flag.FlagSet, o *options) func() (figures, error) {
	members := f.Int("members", 20, "members; the topic gets as many partitions")
	consumer := f.Bool("consumer", false, "the protocol of KIP-848")
	return func() (figures, error) {
		o.partitions = *members
		if _, err := o.prepare(nil); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if *consumer {
			//lint:ignore SA1029 the key is the one that the client looks for
			ctx = context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true)
		}
		g := &membership{owned: map[int32]int{}, want: *members, done: make(chan struct{})}
		got := figures{"members": *members}
		m := startMeter(o.pid)
		var clients []*kgo.Client
		defer func() {
			for _, c := range clients {
				c.Close()
			}
		}()
		for i := range *members {
			c, err := kgo.NewClient(kgo.SeedBrokers(o.addr), kgo.WithContext(ctx), kgo.ConsumerGroup(o.topic+"-group"), kgo.ConsumeTopics(o.topic),
				kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { g.assigned(i, p[o.topic]) }),
				kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { g.lost(i, p[o.topic]) }),
				kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { g.lost(i, p[o.topic]) }))
			if err != nil {
				return nil, err
			}
			clients = append(clients, c)
		}
		select {
		case <-g.done:
		case <-ctx.Done():
			return nil, errors.New("not every member has got a partition in two minutes")
		}
		m.stop(got)
		return got, nil
	}
}

// membership knows which member owns which partition.
type membership struct {
	want  int
	done  chan struct{}
	mu    sync.Mutex
	owned map[int32]int // guarded by mu
	ended bool          // guarded by mu
}

func (g *membership) assigned(member int, partitions []int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range partitions {
		g.owned[p] = member
	}
	owners := map[int]bool{}
	for _, m := range g.owned {
		owners[m] = true
	}
	if len(owners) == g.want && !g.ended {
		g.ended = true
		close(g.done)
	}
}

func (g *membership) lost(member int, partitions []int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range partitions {
		if g.owned[p] == member {
			delete(g.owned, p)
		}
	}
}

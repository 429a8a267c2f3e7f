package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// vocabulary is how many words there are.
const vocabulary = 40

// sentence is the value of record i of partition p: three words.
func sentence(p, i int) string {
	n := i*7 + p*3
	return fmt.Sprintf("w%d w%d w%d", n%vocabulary, (n/3)%vocabulary, (n/5)%vocabulary)
}

// feed writes count records to every partition of the topics, all topics alike. The producer is idempotent and tries until it is ended:
// a record goes in once, whatever happens to the broker meanwhile.
func feed(ctx context.Context, addr string, seconds, count int, topics []string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	there, err := kadm.NewClient(cl).ListTopics(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	done := kgo.AbortingFirstErrPromise(cl)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	steps := seconds*10 + 1
	for step, i := 1, 0; step <= steps; step++ {
		for ; i < count*step/steps; i++ {
			there.EachPartition(func(p kadm.PartitionDetail) {
				cl.Produce(ctx, &kgo.Record{Topic: p.Topic, Partition: p.Partition, Key: []byte(strconv.Itoa(i)), Value: []byte(sentence(int(p.Partition), i))}, done.Promise())
			})
		}
		if step < steps {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return done.Err()
}

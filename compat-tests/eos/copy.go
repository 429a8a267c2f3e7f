package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// route is what a copier reads and writes, and as whom.
type route struct {
	in, out, group, id string
	timeout            time.Duration // of a transaction
}

// batch bounds a transaction, abortOneIn is how often one is given up on purpose.
const (
	batch      = 40
	abortOneIn = 10
)

// copyGroup copies records to the partition of the same number until ctx ends. What it cannot go on after is an error: who started it
// starts it again.
func copyGroup(ctx context.Context, addr string, r route) error {
	s, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(addr), kgo.TransactionalID(r.id), kgo.TransactionTimeout(r.timeout),
		kgo.ConsumerGroup(r.group), kgo.ConsumeTopics(r.in), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		fs := s.PollRecords(ctx, batch)
		if ctx.Err() != nil || fs.IsClientClosed() {
			return nil
		}
		fs.EachError(func(t string, p int32, err error) { fmt.Printf("fetch %s/%d: %v\n", t, p, err) })
		if fs.NumRecords() == 0 {
			continue
		}
		if err := s.Begin(); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		sent := kgo.AbortingFirstErrPromise(s.Client())
		fs.EachRecord(func(rec *kgo.Record) {
			s.Produce(ctx, &kgo.Record{Topic: r.out, Partition: rec.Partition, Key: rec.Key, Value: rec.Value}, sent.Promise())
		})
		end := kgo.TryCommit
		if err := sent.Err(); err != nil {
			fmt.Println("produce:", err)
			end = kgo.TryAbort
		} else if rand.IntN(abortOneIn) == 0 {
			end = kgo.TryAbort
		}
		committed, err := s.End(ctx, end)
		if err != nil {
			return fmt.Errorf("end transaction: %w", err)
		}
		if end == kgo.TryCommit && !committed {
			fmt.Println("not committed: the group has been rebalanced")
		}
	}
}

package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// runKgo is a member by franz-go, with the cooperative-sticky protocol or with the broker's assignor.
func runKgo(ctx context.Context, s setting, serverSide bool) error {
	var mine owned
	opts := []kgo.Opt{
		kgo.SeedBrokers(s.bootstrap), kgo.ConsumerGroup(s.group), kgo.ConsumeTopics(s.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.FetchMaxWait(200 * 1e6),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { mine.change(nil, m[s.topic]) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { mine.change(m[s.topic], nil) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { mine.change(m[s.topic], nil) }),
	}
	if serverSide {
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	} else {
		opts = append(opts, kgo.SessionTimeout(session), kgo.HeartbeatInterval(heartbeat), kgo.Balancers(kgo.CooperativeStickyBalancer()))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		fs := cl.PollRecords(ctx, 20)
		next := map[int32]int64{}
		fs.EachRecord(func(r *kgo.Record) {
			sayGot(r.Partition, r.Offset)
			next[r.Partition] = r.Offset + 1
		})
		if len(next) > 0 {
			if err := cl.CommitUncommittedOffsets(context.Background()); err != nil {
				fmt.Println("commit:", err)
			} else {
				for p, n := range next {
					sayCommitted(p, n)
				}
			}
		}
		cl.AllowRebalance()
	}
	cl.CloseAllowingRebalance()
	return nil
}

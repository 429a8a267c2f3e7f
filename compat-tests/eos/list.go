package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// openLimit bounds how long a transaction may stay open after its client's end: its time-out, and how often the broker looks for such.
const openLimit = 40 * time.Second

// reader reads what is committed from the topic's start, with the markers: the last offset of a partition is seen, whatever it holds.
func reader(addr, topic string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(500*time.Millisecond))
}

// await reads until it has seen count records, or until ctx ends.
func await(ctx context.Context, addr, topic string, count int) error {
	cl, err := reader(addr, topic)
	if err != nil {
		return err
	}
	defer cl.Close()
	for seen := 0; seen < count; {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("%s has %d records, not %d", topic, seen, count)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				seen++
			}
		})
	}
	return nil
}

// list writes all committed records of a topic that nobody writes to any more. A transaction that stays open is an error.
func list(ctx context.Context, addr, topic string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 2*openLimit)
	defer cancel()
	cl, err := reader(addr, topic)
	if err != nil {
		return err
	}
	defer cl.Close()
	ends, err := settled(ctx, kadm.NewClient(cl), topic)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for len(ends) > 0 {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: the rest up to %v cannot be read", topic, ends)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				fmt.Fprintf(w, "%d\t%d\t%s\t%s\n", r.Partition, r.Offset, r.Key, r.Value)
			}
			if end, ok := ends[r.Partition]; ok && r.Offset+1 >= end {
				delete(ends, r.Partition)
			}
		})
	}
	return w.Flush()
}

// settled waits until no transaction is open, and returns the end of each partition that has records.
func settled(ctx context.Context, adm *kadm.Client, topic string) (map[int32]int64, error) {
	wait, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		high, err := adm.ListEndOffsets(ctx, topic)
		if err != nil {
			return nil, err
		}
		stable, err := adm.ListCommittedOffsets(ctx, topic)
		if err != nil {
			return nil, err
		}
		ends, open := map[int32]int64{}, ""
		high.Each(func(o kadm.ListedOffset) {
			if s, _ := stable.Lookup(topic, o.Partition); s.Offset != o.Offset {
				open += fmt.Sprintf(" %d (%d < %d)", o.Partition, s.Offset, o.Offset)
			}
			if o.Offset > 0 {
				ends[o.Partition] = o.Offset
			}
		})
		if open == "" {
			return ends, nil
		}
		select {
		case <-tick.C:
		case <-wait.Done():
			return nil, fmt.Errorf("%s: a transaction has stayed open in partition%s", topic, open)
		}
	}
}

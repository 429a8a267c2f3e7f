package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	ledgerTopic = "kill-ledger"
	partitions  = 6
	// inFlight bounds the records that a writer has sent and not seen acknowledged.
	inFlight = 400
	// callLimit bounds every wait for the broker.
	callLimit = 60 * time.Second
)

// entry is an acknowledged record.
type entry struct {
	offset int64
	seq    int
}

// writer writes numbered records to one partition. Even partitions are written idempotently, odd ones with acks=all only.
type writer struct {
	partition  int32
	idempotent bool
	cl         *kgo.Client
	next       int

	mu      sync.Mutex
	acked   []entry // guarded by mu; by order of acknowledgement
	err     error   // guarded by mu
	checked int     // how many of acked were read again
	end     int64   // the highest acknowledged offset + 1
}

// ledger is what was acknowledged, by partition.
type ledger struct {
	addr    string
	writers []*writer
	acked   atomic.Int64
	checked int
	stop    context.CancelFunc
	running sync.WaitGroup
}

// value is the record's bytes: its number, and a filling that depends on it, so that mixed-up bytes are seen.
func value(partition int32, seq int) []byte {
	return []byte(fmt.Sprintf("%d/%d/%s", partition, seq, strings.Repeat(string(rune('a'+seq%26)), seq%700)))
}

func (l *ledger) open(addr string) error {
	l.addr = addr
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	small := "1048576" // several segments a run
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, map[string]*string{"segment.bytes": &small}, ledgerTopic); err != nil {
		return err
	}
	for p := range int32(partitions) {
		w := &writer{partition: p, idempotent: p%2 == 0}
		opts := []kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(16 << 10), kgo.ProducerLinger(0),
			kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.UnknownTopicRetries(-1), kgo.MaxBufferedRecords(inFlight)}
		if !w.idempotent {
			opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
		}
		if p >= partitions/2 {
			opts = append(opts, kgo.ProducerBatchCompression(kgo.NoCompression()))
		}
		if w.cl, err = kgo.NewClient(opts...); err != nil {
			return err
		}
		l.writers = append(l.writers, w)
	}
	return nil
}

func (l *ledger) close() {
	for _, w := range l.writers {
		w.cl.Close()
	}
}

// startWriters lets every writer write until stopWriters.
func (l *ledger) startWriters() {
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	for _, w := range l.writers {
		l.running.Go(func() { w.write(ctx, &l.acked) })
	}
}

func (w *writer) write(ctx context.Context, count *atomic.Int64) {
	for ctx.Err() == nil {
		seq := w.next
		w.next++
		rec := &kgo.Record{Topic: ledgerTopic, Partition: w.partition, Value: value(w.partition, seq)}
		// The record is not bound to ctx: what was sent must be known to be there or not.
		w.cl.Produce(context.Background(), rec, func(r *kgo.Record, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				w.err = errors.Join(w.err, fmt.Errorf("partition %d, record %d: %w", w.partition, seq, err))
				return
			}
			w.acked = append(w.acked, entry{r.Offset, seq})
			w.end = max(w.end, r.Offset+1)
			count.Add(1)
		})
	}
}

// stopWriters ends the load and waits until every record was acknowledged: none may fail.
func (l *ledger) stopWriters() error {
	l.stop()
	l.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	for _, w := range l.writers {
		if err := w.cl.Flush(ctx); err != nil {
			return fmt.Errorf("partition %d: records are not acknowledged %v after the restart: %w", w.partition, callLimit, err)
		}
		w.mu.Lock()
		err := w.err
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// check reads what was acknowledged since the last check, or everything, and compares.
func (l *ledger) check(all bool) error {
	for _, w := range l.writers {
		n, err := l.checkPartition(w, all)
		if err != nil {
			return fmt.Errorf("partition %d: %w", w.partition, err)
		}
		l.checked += n
	}
	return nil
}

func (l *ledger) checkPartition(w *writer, all bool) (int, error) {
	w.mu.Lock()
	todo, end := w.acked[w.checked:], w.end
	w.checked = len(w.acked)
	if all {
		todo = w.acked
	}
	w.mu.Unlock()
	if len(todo) == 0 {
		return 0, nil
	}
	want := make(map[int64]int, len(todo))
	first := todo[0].offset
	for _, e := range todo {
		if before, ok := want[e.offset]; ok {
			return 0, fmt.Errorf("records %d and %d were both acknowledged at offset %d", before, e.seq, e.offset)
		}
		want[e.offset] = e.seq
		first = min(first, e.offset)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(l.addr), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{ledgerTopic: {w.partition: kgo.NewOffset().At(first)}}))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	next, last := first, -1
	for next < end {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return 0, fmt.Errorf("%d acknowledged records from offset %d on cannot be read, the log was read to %d of %d: %w", len(want), first, next, end, err)
		}
		for r := range fs.RecordsAll() {
			if r.Offset != next {
				return 0, fmt.Errorf("offset %d follows %d", r.Offset, next-1)
			}
			next++
			var p, seq int
			if _, err := fmt.Sscanf(string(r.Value), "%d/%d/", &p, &seq); err != nil || !bytes.Equal(r.Value, value(w.partition, seq)) {
				return 0, fmt.Errorf("offset %d holds other bytes than were written", r.Offset)
			}
			if s, ok := want[r.Offset]; ok && s != seq {
				return 0, fmt.Errorf("offset %d was acknowledged to record %d and holds record %d", r.Offset, s, seq)
			}
			if w.idempotent {
				if last >= 0 && seq != last+1 {
					return 0, fmt.Errorf("idempotent record %d follows record %d at offset %d", seq, last, r.Offset)
				}
				last = seq
			}
			delete(want, r.Offset)
		}
	}
	if len(want) > 0 {
		return 0, fmt.Errorf("%d acknowledged records are missing", len(want))
	}
	return len(todo), nil
}

package server

import (
	"fmt"
	"sync"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/replica"
	"github.com/kaja-mq/kaja/storage"
)

// internalLog is the log of an internal topic as a coordinator writes it (coordinator.PartitionWriter).
type internalLog struct {
	b     *Broker
	name  string
	codec func() batch.Codec
	// partitions are those that this broker has led, by number: *replica.Partition. One that was replaced refuses by its leader epoch.
	partitions sync.Map
	buffers    sync.Pool
}

var _ coordinator.PartitionWriter = (*internalLog)(nil)

// maxPooledBatch keeps one large write from being held forever.
const maxPooledBatch = 64 << 10

func (l *internalLog) partition(n int32) (*replica.Partition, error) {
	if p, ok := l.partitions.Load(n); ok {
		return p.(*replica.Partition), nil
	}
	return nil, fmt.Errorf("%s-%d: %w", l.name, n, coordinator.ErrNotCoordinator)
}

// Write implements coordinator.PartitionWriter.
func (l *internalLog) Write(partition, leaderEpoch int32, recs []coordinator.Record, txn *coordinator.Txn, nowMs int64) (coordinator.Written, error) {
	o := batch.PlainOptions(0, leaderEpoch)
	if l.name == offsetsTopic {
		o.BaseSequence = 0 // as Kafka's group coordinator writes it; nobody looks at it
	}
	o.Codec = l.codec()
	o.Level = o.Codec.Level()
	if txn != nil {
		o.ProducerID, o.ProducerEpoch, o.Transactional = txn.ProducerID, txn.ProducerEpoch, true
	}
	buf, _ := l.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	bld := batch.NewBuilder((*buf)[:0], o)
	for i, r := range recs {
		bld.Append(int64(i), nowMs, r.Key, r.Value)
	}
	data, err := bld.Finish()
	if err != nil {
		return coordinator.Written{}, fmt.Errorf("build a batch of %s: %w", l.name, err)
	}
	ao := replica.AppendOptions{LeaderEpoch: leaderEpoch, Verified: txn == nil || txn.Guard == 0}
	if txn != nil {
		ao.Guard, ao.Producer = txn.Guard, txn.ProducerID
	}
	w, err := l.append(partition, data, ao)
	if cap(data) <= maxPooledBatch {
		*buf = data
		l.buffers.Put(buf)
	}
	return w, err
}

// WriteMarker implements coordinator.PartitionWriter.
func (l *internalLog) WriteMarker(partition, leaderEpoch int32, txn coordinator.Txn, commit bool, coordinatorEpoch int32) (coordinator.Written, error) {
	data := batch.AppendMarker(nil, txn.ProducerID, txn.ProducerEpoch, batch.Marker{Commit: commit, CoordinatorEpoch: coordinatorEpoch, Timestamp: l.b.o.Clock.Wall().UnixMilli()})
	return l.append(partition, data, replica.AppendOptions{LeaderEpoch: leaderEpoch, Verified: true, TransactionVersion: txn.MarkerVersion})
}

func (l *internalLog) append(partition int32, data []byte, o replica.AppendOptions) (coordinator.Written, error) {
	p, err := l.partition(partition)
	if err != nil {
		return coordinator.Written{}, err
	}
	wakes := &replica.Wakes{}
	o.Acks, o.Origin, o.Wakes = -1, replica.OriginCoordinator, wakes
	r, err := p.Append(data, o)
	if err != nil {
		return coordinator.Written{}, fmt.Errorf("append to %s-%d: %w", l.name, partition, err)
	}
	w := coordinator.Written{NextOffset: r.NextOffset, Committed: !r.Pending}
	w.After = func(committed func(error)) {
		wakes.Fire()
		if r.Pending {
			p.Await(&replica.AckWaiter{Acks: -1, NextOffset: r.NextOffset, Done: committed})
		}
	}
	return w, nil
}

// Load implements coordinator.PartitionWriter. It reads the log itself: what is not committed yet will be, or takes the leadership with it.
func (l *internalLog) Load(partition int32, each func(coordinator.LoadedBatch) error) error {
	p, err := l.partition(partition)
	if err != nil {
		return err
	}
	log := l.b.store.Get(p.TopicID(), partition)
	if log == nil {
		return fmt.Errorf("load %s-%d: it has no log here", l.name, partition)
	}
	ld := loader{each: each, size: int(l.b.settings.Load().Int("offsets.load.buffer.size"))}
	at, end := log.LogStartOffset(), log.LogEndOffset()
	for at < end {
		next, err := ld.read(log, at, end)
		if err != nil {
			return fmt.Errorf("load %s-%d at offset %d: %w", l.name, partition, at, err)
		}
		if next <= at {
			break // what is left was removed by the cleaner
		}
		at = next
	}
	return nil
}

// loader reads an internal topic's partition batch by batch.
type loader struct {
	each func(coordinator.LoadedBatch) error
	size int // bytes of one read
	buf  []byte
	recs []coordinator.Record
}

func (l *loader) read(log *storage.Log, at, end int64) (next int64, err error) {
	r, err := log.Read(storage.ReadOptions{Offset: at, MaxBytes: l.size, UpTo: end, MinOne: true})
	if err != nil || r.Range == nil {
		return at, err
	}
	defer r.Range.Release()
	if n := r.Range.Len(); cap(l.buf) < n {
		l.buf = make([]byte, n)
	}
	l.buf = l.buf[:r.Range.Len()]
	if _, err := r.Range.ReadAt(l.buf, 0); err != nil {
		return at, err
	}
	next = at
	for rest := l.buf; len(rest) > 0; {
		b, after, err := batch.Next(rest)
		if err != nil {
			if next > at {
				return next, nil // the last batch is cut off
			}
			return at, err
		}
		if err := l.batch(b); err != nil {
			return at, err
		}
		next, rest = b.NextOffset(), after
	}
	return next, nil
}

func (l *loader) batch(b batch.Batch) error {
	lb := coordinator.LoadedBatch{}
	if b.IsTransactional() {
		lb.Txn = &coordinator.Txn{ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch()}
	}
	if b.IsControl() {
		if lb.Txn == nil {
			return nil
		}
		m, found, err := batch.MarkerOf(b)
		if err != nil || !found {
			return err
		}
		lb.Marker, lb.Commit = true, m.Commit
		return l.each(lb)
	}
	var r batch.Reader
	if err := r.Reset(b, batch.NoLimit); err != nil {
		return err
	}
	defer r.Close()
	l.recs = l.recs[:0]
	compressed := b.Codec() != batch.None
	var rec batch.Record
	for r.Next(&rec) {
		c := coordinator.Record{Key: rec.Key, Value: rec.Value, Offset: rec.Offset}
		if compressed { // the reader's window moves
			c.Key = append([]byte(nil), c.Key...)
			if c.Value != nil {
				c.Value = append([]byte{}, c.Value...)
			}
		}
		l.recs = append(l.recs, c)
	}
	if r.Err() != nil {
		return r.Err()
	}
	lb.Records = l.recs
	return l.each(lb)
}

package txn

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// Settings are the properties of Kafka that the machine obeys, read anew for each event.
type Settings interface {
	// Int gives a broker property (transaction.max.timeout.ms …).
	Int(name string) int64
}

// Outbox makes the handles by which the machine asks for something to be done once its records are committed.
type Outbox interface {
	// Markers sees to it that the markers of e get in, and then calls Shard.Complete.
	Markers(e Ending) coordinator.Handle
	// FreshID gets a new producer id and hands it to Shard.Expire.
	FreshID(transactionalID string) coordinator.Handle
}

// Ending is a decided transaction whose markers must be written.
type Ending struct {
	TransactionalID string
	coordinator.Txn
	Commit bool
	// CoordinatorEpoch is the leader epoch of the machine's partition.
	CoordinatorEpoch int32
	Partitions       []Partition
}

// Deps are what a shard is made with.
type Deps struct {
	// Epoch is the leader epoch that it coordinates under.
	Epoch    int32
	Settings Settings
	// Level is the finalized level of the feature transaction.version.
	Level  func() int16
	Outbox Outbox
}

// Outcome is what a call for a transactional id gets.
type Outcome struct {
	// ProducerID and ProducerEpoch are -1 with an error.
	ProducerID    int64
	ProducerEpoch int16
	// Err is nil for success.
	Err *kerr.Error
}

func refused(err *kerr.Error) Outcome { return Outcome{noProducerID, noProducerEpoch, err} }

// Answer puts an outcome into the response of the API that was called.
type Answer func(Outcome) kmsg.Response

// Shard is the machine of one partition of __transaction_state.
type Shard struct {
	d    Deps
	txns map[string]*transaction
	// open are the ids with a transaction in state Ongoing.
	open map[string]bool
	// aborting and expiring: the timer is set.
	aborting, expiring bool
}

var _ coordinator.Machine = (*Shard)(nil)

// New makes an empty shard.
func New(d Deps) *Shard {
	return &Shard{d: d, txns: map[string]*transaction{}, open: map[string]bool{}}
}

// Apply implements coordinator.Machine. Records of a later Kafka, and broken ones, are skipped.
func (s *Shard) Apply(rec coordinator.Record) {
	id, value, ok := decode(rec)
	if !ok {
		return
	}
	if value == nil {
		delete(s.txns, id)
		delete(s.open, id)
		return
	}
	t := s.txns[id]
	if t == nil {
		t = &transaction{id: id, lastEpoch: noProducerEpoch}
		s.txns[id] = t
	}
	t.set(value)
	if t.state == Ongoing {
		s.open[id] = true
	} else {
		delete(s.open, id)
	}
}

// ApplyTxn implements coordinator.Machine. Nothing on this topic belongs to a transaction.
func (s *Shard) ApplyTxn(coordinator.Txn, coordinator.Record) {}

// EndTxn implements coordinator.Machine.
func (s *Shard) EndTxn(coordinator.Now, coordinator.Txn, bool) coordinator.Effects {
	return coordinator.Effects{}
}

// Loaded implements coordinator.Machine: transactions that were decided are brought to their end.
func (s *Shard) Loaded(now coordinator.Now) (e coordinator.Effects) {
	for _, id := range slices.Sorted(maps.Keys(s.txns)) {
		t := s.txns[id]
		switch {
		case t.state.decided():
			s.send(&e, t)
		case t.state == Ongoing:
			open := max(0, now.WallMs()-t.startMs)
			t.began = now.Mono.Add(-time.Duration(open) * time.Millisecond)
		}
	}
	s.arm(&e, now)
	return e
}

// Dropped implements coordinator.Machine.
func (s *Shard) Dropped() (out []coordinator.Handle) {
	for _, id := range slices.Sorted(maps.Keys(s.txns)) {
		for _, w := range s.txns[id].waiting {
			out = append(out, w.handle)
		}
		s.txns[id].waiting = nil
	}
	return out
}

// send asks for the markers of a decided transaction once that is committed.
func (s *Shard) send(e *coordinator.Effects, t *transaction) {
	e.Replies = append(e.Replies, coordinator.Reply{To: s.d.Outbox.Markers(Ending{
		TransactionalID:  t.id,
		Txn:              coordinator.Txn{ProducerID: t.producerID, ProducerEpoch: t.epoch, MarkerVersion: t.version},
		Commit:           t.state == PrepareCommit,
		CoordinatorEpoch: s.d.Epoch,
		Partitions:       t.partitions,
	})})
}

// write adds the record that makes next the state of its id.
func (s *Shard) write(e *coordinator.Effects, now coordinator.Now, next *transaction) {
	e.Records = append(e.Records, recordOf(next, s.d.Level()))
	s.arm(e, now)
}

func reply(e *coordinator.Effects, h coordinator.Handle, answer Answer, o Outcome) {
	e.Replies = append(e.Replies, coordinator.Reply{To: h, Response: answer(o)})
}

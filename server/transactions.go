package server

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
	"github.com/kaja-mq/kaja/coordinator/txn"
	"github.com/kaja-mq/kaja/internal/planted"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/replica"
	"github.com/kaja-mq/kaja/server/handler"
)

// txnStateTopic is the internal topic of transactions.
const txnStateTopic = "__transaction_state"

// transactions is the transaction coordinator: the runtime of the machines on __transaction_state, and the sender of their markers.
type transactions struct {
	*coordinator.Runtime[*txn.Shard]
	b      *Broker
	groups *coordinator.Runtime[*group.Shard]
	log    *internalLog // of __transaction_state
	logger zerolog.Logger
	// ids hands out producer ids; set once the broker has a handler.
	ids atomic.Pointer[handler.ProducerIDs]
}

var _ handler.TxnCoordinator = (*transactions)(nil)

func newTransactions(b *Broker, groups *coordinator.Runtime[*group.Shard]) *transactions {
	t := &transactions{b: b, groups: groups, logger: b.component("txn-coordinator")}
	t.log = &internalLog{b: b, name: txnStateTopic, codec: func() batch.Codec { return batch.None }}
	t.Runtime = coordinator.New(coordinator.Options[*txn.Shard]{
		Topic: txnStateTopic,
		New: func(partition, epoch int32) *txn.Shard {
			return txn.New(txn.Deps{Epoch: epoch, Settings: settingsView{b}, Level: t.level, Outbox: txnOutbox{t, partition}})
		},
		Writer: t.log,
		Clock:  b.o.Clock,
		Wheel:  b.wheel,
		Log:    t.logger,
		Go:     b.engine.workers.submit,
	})
	return t
}

// level is the finalized level of transaction.version.
func (t *transactions) level() int16 {
	level, _ := t.b.newest.Load().Feature("transaction.version")
	return level
}

// role makes this broker the coordinator of what it leads.
func (t *transactions) role(p *replica.Partition, r replica.Role) {
	if r != replica.RoleLeader {
		t.Resign(p.Index())
		return
	}
	t.log.partitions.Store(p.Index(), p)
	_, epoch := p.Leader()
	t.Elect(p.Index(), epoch)
}

// WriteMarker implements handler.TxnCoordinator.
func (t *transactions) WriteMarker(m handler.TxnMarker, done func(error)) {
	topic := t.b.newest.Load().Topic(m.Topic)
	if topic == nil || topic.Partition(m.Partition.Partition) == nil {
		done(kerr.UnknownTopicOrPartition)
		return
	}
	if m.Topic == offsetsTopic {
		t.groups.Marker(m.Partition.Partition, m.Txn, m.Commit, m.CoordinatorEpoch, done)
		return
	}
	p := t.b.replicas.Partition(topic.ID, m.Partition.Partition)
	if p == nil {
		done(kerr.NotLeaderForPartition)
		return
	}
	marker := batch.Marker{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch, Timestamp: t.b.o.Clock.Wall().UnixMilli()}
	data := batch.AppendMarker(nil, m.ProducerID, m.ProducerEpoch, marker)
	r, err := p.Append(data, replica.AppendOptions{Acks: -1, Origin: replica.OriginCoordinator, LeaderEpoch: -1, Verified: true, TransactionVersion: m.MarkerVersion})
	switch {
	case err != nil:
		done(err)
	case r.Pending:
		p.Await(&replica.AckWaiter{Acks: -1, NextOffset: r.NextOffset, Done: done})
	default:
		done(nil)
	}
}

// txnOutbox does what the machine of a partition of __transaction_state asks for.
type txnOutbox struct {
	t         *transactions
	partition int32
}

// Markers implements txn.Outbox.
func (o txnOutbox) Markers(e txn.Ending) coordinator.Handle {
	return &markerSender{t: o.t, partition: o.partition, ending: e, left: e.Partitions}
}

// FreshID implements txn.Outbox.
func (o txnOutbox) FreshID(transactionalID string) coordinator.Handle {
	return freshID{o, transactionalID}
}

// freshID gets a producer id for a transaction that has timed out. A failure is mended at the next look at what has.
type freshID struct {
	o               txnOutbox
	transactionalID string
}

// Complete implements coordinator.Handle.
func (f freshID) Complete(kmsg.Response) {
	ids := f.o.t.ids.Load()
	if ids == nil {
		return
	}
	ids.Wait(func(id int64, err error) {
		if err != nil {
			return
		}
		_ = f.o.t.Submit(f.o.partition, func(s *txn.Shard, now coordinator.Now) coordinator.Effects {
			return s.Expire(now, f.transactionalID, id)
		}) // a shard that is lost or loads again looks at what has timed out by itself
	})
}

// Fail implements coordinator.Handle.
func (f freshID) Fail(error) {}

// markerSender writes the markers of one ending, again and again until all are in, and then tells the machine. It starts when the decision is
// committed, and gives up when the machine does not wait for it any more: what loads the partition anew sends all markers again.
type markerSender struct {
	t         *transactions
	partition int32 // of __transaction_state
	ending    txn.Ending

	retry  wheel.Entry
	mu     sync.Mutex
	left   []txn.Partition // guarded by mu
	open   int             // guarded by mu: markers of this round that have not been answered, and 1 while the round is started
	rounds int             // guarded by mu
	fenced int             // guarded by mu: how many of left are at partitions that have seen a later coordinator
}

// A round waits after one that failed: first as long as Kafka's clients before a retry (retry.backoff.ms), then twice as long each time up to
// their longest back-off (retry.backoff.max.ms).
const (
	markerRetryBackoff    = 100 * time.Millisecond
	markerRetryBackoffMax = time.Second

	// markerFencedBackoff is for partitions that have heard from a coordinator with a later epoch. Mostly that one sees to the transaction, and
	// this one will learn that it is none any more. If it was a marker by hand (kafka-transactions abort --coordinator-epoch), the partition
	// takes no other until it is deleted: Kafka then leaves the transaction alone until its coordinator moves or starts again.
	markerFencedBackoff = time.Minute
)

// markerBackoff is how long to wait after a number of rounds; fenced: nothing but fenced markers is left.
func markerBackoff(rounds int, fenced bool) time.Duration {
	if fenced {
		return markerFencedBackoff
	}
	return min(markerRetryBackoff<<min(rounds, 5)>>1, markerRetryBackoffMax)
}

// Complete implements coordinator.Handle: the decision is committed.
func (m *markerSender) Complete(kmsg.Response) { m.round() }

// Fail implements coordinator.Handle: the decision is not, or its shard is lost.
func (m *markerSender) Fail(error) {}

func (m *markerSender) producer() txn.Producer {
	return txn.Producer{TransactionalID: m.ending.TransactionalID, ProducerID: m.ending.ProducerID, ProducerEpoch: m.ending.ProducerEpoch}
}

// round tries all markers that are left.
func (m *markerSender) round() {
	m.mu.Lock()
	list := m.left
	m.left, m.open, m.fenced = nil, len(list)+1, 0
	m.mu.Unlock()
	for i, p := range list {
		if i > 0 && planted.Is("marker") {
			m.ended(nil)
			continue
		}
		marker := handler.TxnMarker{Partition: p, Txn: m.ending.Txn, Commit: m.ending.Commit, CoordinatorEpoch: m.ending.CoordinatorEpoch}
		m.t.WriteMarker(marker, func(err error) { m.answered(p, err) })
	}
	m.ended(nil)
}

// answered takes the outcome of one marker.
func (m *markerSender) answered(p txn.Partition, err error) {
	switch {
	case err == nil:
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		// Deleted: there is nothing left to end.
	case errors.Is(err, kerr.InvalidProducerEpoch):
		// The partition has seen a later epoch of the producer, so that its transaction was ended there by somebody else.
		m.log(m.t.logger.Warn(), p).Err(err).Msg("marker is outdated at a partition")
	case errors.Is(err, kerr.TransactionCoordinatorFenced):
		m.log(m.t.logger.Warn(), p).Err(err).Dur("again_in", markerFencedBackoff).Msg("marker is refused by a partition that has seen a later coordinator")
		m.mu.Lock()
		m.fenced++
		m.mu.Unlock()
		m.ended(&p)
		return
	default:
		m.log(m.t.logger.Debug(), p).Err(err).Msg("marker cannot be written yet")
		m.ended(&p)
		return
	}
	m.ended(nil)
}

func (m *markerSender) log(e *zerolog.Event, p txn.Partition) *zerolog.Event {
	return e.Str("txn_id", m.ending.TransactionalID).Int64("producer_id", m.ending.ProducerID).Int16("producer_epoch", m.ending.ProducerEpoch).
		Str("topic", p.Topic).Int32("partition", p.Partition)
}

// ended counts an answer; again is what must be tried once more. The last answer of a round decides what comes next.
func (m *markerSender) ended(again *txn.Partition) {
	m.mu.Lock()
	if again != nil {
		m.left = append(m.left, *again)
	}
	m.open--
	last, left := m.open == 0, len(m.left)
	if last {
		m.rounds++
	}
	first := m.rounds == 1
	backoff := markerBackoff(m.rounds, m.fenced == left)
	m.mu.Unlock()
	switch {
	case !last:
	case left == 0:
		_ = m.submit(func(s *txn.Shard, now coordinator.Now) coordinator.Effects { return s.Complete(now, m.producer()) })
	default:
		if first {
			_ = m.submit(func(s *txn.Shard, _ coordinator.Now) coordinator.Effects { return s.Delayed(m.producer()) })
		}
		m.retry.F = m.again
		m.t.b.wheel.Schedule(&m.retry, m.t.b.o.Clock.Mono().Add(backoff))
	}
}

// submit runs a step at the machine. One that is lost or loads again sends the markers anew by itself.
func (m *markerSender) submit(step func(s *txn.Shard, now coordinator.Now) coordinator.Effects) error {
	return m.t.Submit(m.partition, step)
}

// again starts the next round on a worker if the machine still waits for it.
func (m *markerSender) again() {
	waits := false
	err := m.submit(func(s *txn.Shard, _ coordinator.Now) coordinator.Effects {
		waits = s.Ending(m.producer())
		return coordinator.Effects{}
	})
	if err == nil && waits {
		m.t.b.engine.workers.submit(m.round)
	}
}

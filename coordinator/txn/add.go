package txn

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
)

// Producer is who calls for a transactional id.
type Producer struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
}

// AddPartitions puts partitions into the producer's transaction, which it opens if none is. version is the transaction version that the
// call belongs to: 2 if a produce or an offset commit adds them by itself.
func (s *Shard) AddPartitions(now coordinator.Now, p Producer, list []Partition, version int16) (e coordinator.Effects, err *kerr.Error) {
	t := s.txns[p.TransactionalID]
	switch {
	case t == nil:
		return e, kerr.InvalidProducerIDMapping
	case t.state.decided():
		return e, kerr.ConcurrentTransactions // first: the end may bring a new producer id
	case t.producerID != p.ProducerID:
		return e, kerr.InvalidProducerIDMapping
	case !t.at(p.ProducerEpoch):
		return e, kerr.ProducerFenced
	case t.state == Ongoing && t.has(list):
		return e, nil
	case !s.writable(version):
		return e, kerr.UnsupportedVersion
	}
	next := *t
	next.state, next.partitions, next.updateMs, next.version = Ongoing, t.with(list), now.WallMs(), version
	next.prevProducerID = t.producerID
	if t.state != Ongoing {
		next.startMs, t.began = next.updateMs, now.Mono
		s.open[t.id] = true // for arm; Apply will say so too
	}
	s.write(&e, now, &next)
	return e, nil
}

// Verify tells for each partition whether it is in the producer's open transaction: nil, or why a write must not go on.
func (s *Shard) Verify(p Producer, list []Partition) []*kerr.Error {
	t := s.txns[p.TransactionalID]
	errs := make([]*kerr.Error, len(list))
	all := func(err *kerr.Error) []*kerr.Error {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	switch {
	case t == nil || t.producerID != p.ProducerID:
		return all(kerr.InvalidProducerIDMapping)
	case !t.at(p.ProducerEpoch):
		return all(kerr.ProducerFenced)
	case t.state.decided():
		return all(kerr.ConcurrentTransactions)
	}
	for i, q := range list {
		if !t.hasOne(q) {
			errs[i] = kerr.TransactionAbortable
		}
	}
	return errs
}

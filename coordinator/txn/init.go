package txn

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
)

// InitRequest is what InitProducerId asks of a transactional id that is not empty.
type InitRequest struct {
	TransactionalID string
	TimeoutMs       int32
	// ProducerID and ProducerEpoch are what the producer has and wants to go on with (KIP-360); -1 without.
	ProducerID    int64
	ProducerEpoch int16
}

// recovers tells whether the producer named what it has.
func (r InitRequest) recovers() bool { return r.ProducerID != noProducerID }

// InitProducerID gives the id's producer a new epoch, which fences the one before; an open transaction is aborted first, and the client
// must come back. It needs a new producer id for an id not seen before, and when the epochs of the old one are used up: with fresh = -1 it
// then does nothing and says so.
func (s *Shard) InitProducerID(now coordinator.Now, h coordinator.Handle, answer Answer, r InitRequest, fresh int64) (e coordinator.Effects, needsID bool) {
	if limit := s.d.Settings.Int("transaction.max.timeout.ms"); r.TimeoutMs <= 0 || int64(r.TimeoutMs) > limit {
		reply(&e, h, answer, refused(kerr.InvalidTransactionTimeout))
		return e, false
	}
	t := s.txns[r.TransactionalID]
	if t == nil {
		if fresh == noProducerID {
			return e, true
		}
		t = &transaction{
			id: strings.Clone(r.TransactionalID), state: Empty, producerID: fresh, prevProducerID: noProducerID, nextProducerID: noProducerID,
			epoch: noProducerEpoch, lastEpoch: noProducerEpoch, startMs: -1,
		}
		s.txns[t.id] = t
	}
	switch {
	case t.state.decided():
		reply(&e, h, answer, refused(kerr.ConcurrentTransactions))
		return e, false
	case r.recovers() && !t.mayRecover(r):
		reply(&e, h, answer, refused(kerr.ProducerFenced))
		return e, false
	case t.state == Ongoing:
		if needsID := s.fence(&e, now, t, fresh); needsID {
			return coordinator.Effects{}, true
		}
		reply(&e, h, answer, refused(kerr.ConcurrentTransactions))
		return e, false
	}
	next, err, needsID := t.initialized(now, r, fresh)
	switch {
	case needsID:
		return e, true
	case err != nil:
		reply(&e, h, answer, refused(err))
		return e, false
	}
	t.lastEpoch = next.lastEpoch
	s.write(&e, now, &next)
	reply(&e, h, answer, Outcome{ProducerID: next.producerID, ProducerEpoch: next.epoch})
	return e, false
}

// mayRecover: the producer has the current id, or the one before with its epochs used up, which may be a retry; the epoch is looked at
// later. Where there is no epoch yet the producer recovers from the loss of its id.
func (t *transaction) mayRecover(r InitRequest) bool {
	return t.epoch == noProducerEpoch || r.ProducerID == t.producerID || r.ProducerID == t.prevProducerID && exhausted(r.ProducerEpoch)
}

// initialized is the id with its next epoch (TransactionMetadata.prepareIncrementProducerEpoch, prepareProducerIdRotation).
func (t *transaction) initialized(now coordinator.Now, r InitRequest, fresh int64) (next transaction, err *kerr.Error, needsID bool) {
	next = *t
	next.state, next.timeoutMs, next.partitions, next.startMs, next.updateMs = Empty, r.TimeoutMs, nil, -1, now.WallMs()
	next.prevProducerID = t.producerID
	switch {
	case exhausted(t.epoch) && (!r.recovers() || r.ProducerEpoch == t.epoch):
		if fresh == noProducerID {
			return next, nil, true
		}
		next.producerID, next.epoch, next.lastEpoch = fresh, 0, noProducerEpoch
		if r.recovers() {
			next.lastEpoch = t.epoch
		}
	case exhausted(t.epoch):
		return next, kerr.UnknownServerError, false // an illegal state to Kafka, retry or not
	case !r.recovers():
		next.epoch, next.lastEpoch = t.epoch+1, noProducerEpoch
	case t.epoch == noProducerEpoch || r.ProducerEpoch == t.epoch:
		next.epoch, next.lastEpoch = t.epoch+1, t.epoch
	case r.ProducerEpoch == t.lastEpoch: // a retry: whoever came after would have set it to -1
	default:
		return next, kerr.ProducerFenced, false
	}
	return next, nil, false
}

package txn

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
)

// EndRequest is what EndTxn asks.
type EndRequest struct {
	Producer
	Commit bool
	// Version is the transaction version that the client speaks: 2 from EndTxn v5 on.
	Version int16
}

// epochBump: the end of a transaction raises the epoch.
const epochBump int16 = 2

// End decides on the producer's transaction. The call is answered when the markers are in, or when it turns out that they take longer
// (Delayed). With fresh = -1 it does nothing and says so if it needs a new producer id, which is when the epochs of this one are used up.
func (s *Shard) End(now coordinator.Now, h coordinator.Handle, answer Answer, r EndRequest, fresh int64) (e coordinator.Effects, needsID bool) {
	t := s.txns[r.TransactionalID]
	if t == nil {
		reply(&e, h, answer, refused(kerr.InvalidProducerIDMapping))
		return e, false
	}
	judge := t.judge
	if r.Version >= epochBump {
		judge = t.judgeBumping
	}
	switch v, err := judge(r); {
	case err != nil:
		reply(&e, h, answer, refused(err))
		return e, false
	case v == repeated:
		reply(&e, h, answer, Outcome{ProducerID: t.producerID, ProducerEpoch: t.epoch})
		return e, false
	case !s.writable(r.Version):
		reply(&e, h, answer, refused(kerr.UnsupportedVersion))
		return e, false
	default:
		d := decision{commit: r.Commit, version: r.Version, fresh: fresh, nothingAdded: v == abortNothing}
		next, needsID := t.decided(now, d)
		if needsID {
			return e, true
		}
		final := next.completed(now)
		t.waiting = append(t.waiting, waitingEnd{h, answer, Outcome{ProducerID: final.producerID, ProducerEpoch: final.epoch}})
		s.decide(&e, now, t, next)
		return e, false
	}
}

// verdict is what becomes of an EndTxn that is not refused.
type verdict int

const (
	endOngoing   verdict = iota
	abortNothing         // transaction version 2: no partition was added, or what was to be added never came
	repeated             // it was done before
)

// judge is TransactionCoordinator.endTransactionWithTV1.
func (t *transaction) judge(r EndRequest) (verdict, *kerr.Error) {
	switch {
	case t.producerID != r.ProducerID:
		return 0, kerr.InvalidProducerIDMapping
	case !t.at(r.ProducerEpoch):
		return 0, kerr.ProducerFenced
	case t.state.decided():
		return 0, kerr.ConcurrentTransactions
	case t.state == Ongoing:
		return endOngoing, nil
	case t.state == CompleteCommit && r.Commit, t.state == CompleteAbort && !r.Commit:
		return repeated, nil
	}
	return 0, kerr.InvalidTxnState
}

// judgeBumping is TransactionCoordinator.endTransaction: a retry comes with the epoch before the bump, or with the last one of the producer
// id before. One with the current epoch is the end of the next transaction.
func (t *transaction) judgeBumping(r EndRequest) (verdict, *kerr.Error) {
	overflown := t.prevProducerID == r.ProducerID && r.ProducerEpoch == maxEpoch-1 && t.epoch == 0
	retry := overflown || int32(t.epoch) == int32(r.ProducerEpoch)+1
	current := t.at(r.ProducerEpoch)
	completed := t.state == CompleteCommit || t.state == CompleteAbort
	switch {
	case t.state.decided():
		return 0, kerr.ConcurrentTransactions // first: the end may bring a new producer id
	case t.producerID != r.ProducerID && !overflown:
		return 0, kerr.InvalidProducerIDMapping
	case !current && !(completed && retry):
		return 0, kerr.ProducerFenced
	case t.state == Ongoing:
		return endOngoing, nil
	case retry && r.Commit == (t.state == CompleteCommit):
		return repeated, nil
	case !retry && !r.Commit:
		return abortNothing, nil
	}
	return 0, kerr.InvalidTxnState
}

// decision is how a transaction is to end.
type decision struct {
	commit       bool
	version      int16
	fresh        int64
	nothingAdded bool
}

// decided is the id once the decision is made (TransactionMetadata.prepareAbortOrCommit).
func (t *transaction) decided(now coordinator.Now, d decision) (next transaction, needsID bool) {
	next = *t
	next.state, next.updateMs, next.version = PrepareAbort, now.WallMs(), d.version
	next.prevProducerID, next.nextProducerID = t.producerID, noProducerID
	if d.commit {
		next.state = PrepareCommit
	}
	if d.nothingAdded {
		next.startMs = next.updateMs
	}
	if d.version >= epochBump {
		if exhausted(t.epoch) {
			if d.fresh == noProducerID {
				return next, true
			}
			next.nextProducerID = d.fresh
		}
		next.lastEpoch = t.epoch
		if t.epoch < maxEpoch {
			next.epoch = t.epoch + 1
		}
	}
	return next, false
}

// completed is the id once the markers are in (TransactionMetadata.prepareComplete).
func (t *transaction) completed(now coordinator.Now) (next transaction) {
	next = *t
	next.state, next.updateMs, next.partitions = CompleteAbort, now.WallMs(), nil
	next.prevProducerID, next.nextProducerID = t.producerID, noProducerID
	if t.state == PrepareCommit {
		next.state = CompleteCommit
	}
	if t.version >= epochBump && t.nextProducerID != noProducerID {
		next.producerID, next.epoch = t.nextProducerID, 0
	}
	return next
}

// decide writes the decision and asks for the markers.
func (s *Shard) decide(e *coordinator.Effects, now coordinator.Now, t *transaction, next transaction) {
	t.lastEpoch = next.lastEpoch
	s.write(e, now, &next)
	s.send(e, &next)
}

// fence aborts an open transaction under an epoch that its producer does not have.
func (s *Shard) fence(e *coordinator.Effects, now coordinator.Now, t *transaction, fresh int64) (needsID bool) {
	d := decision{version: s.d.Level(), fresh: fresh}
	if d.version < epochBump {
		d.version = 0
	}
	next, needsID := t.decided(now, d)
	if needsID {
		return true
	}
	if d.version < epochBump {
		next.lastEpoch = noProducerEpoch
		if t.epoch < maxEpoch {
			next.epoch = t.epoch + 1
		}
	}
	s.decide(e, now, t, next)
	return false
}

// Complete hears that the markers of an ending are in. It may come late, and twice.
func (s *Shard) Complete(now coordinator.Now, p Producer) (e coordinator.Effects) {
	t := s.ending(p)
	if t == nil {
		return e
	}
	next := t.completed(now)
	s.write(&e, now, &next)
	s.answerWaiting(&e, t)
	return e
}

// Delayed hears that not all markers of an ending could be written at the first try: who waits is answered. The decision stands.
func (s *Shard) Delayed(p Producer) (e coordinator.Effects) {
	if t := s.ending(p); t != nil {
		s.answerWaiting(&e, t)
	}
	return e
}

// Ending tells whether the decision still waits for its markers.
func (s *Shard) Ending(p Producer) bool { return s.ending(p) != nil }

// ending finds a decided transaction by the producer id and epoch of its markers.
func (s *Shard) ending(p Producer) *transaction {
	t := s.txns[p.TransactionalID]
	if t == nil || !t.state.decided() || t.producerID != p.ProducerID || t.epoch != p.ProducerEpoch {
		return nil
	}
	return t
}

func (s *Shard) answerWaiting(e *coordinator.Effects, t *transaction) {
	for _, w := range t.waiting {
		reply(e, w.handle, w.answer, w.outcome)
	}
	t.waiting = nil
}

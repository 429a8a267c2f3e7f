package storage

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// verification is the question, asked of the transaction coordinator, whether a partition is part of a producer's transaction
// (KIP-890). The batches that arrive meanwhile must not start above the lowest sequence seen.
type verification struct {
	guard             uint64
	timestamp         int64 // ms, when it was asked first
	lowestSequence    int32
	epoch             int16
	supportsEpochBump bool
}

// startVerification notes that a transactional batch of the producer waits for the coordinator's word, and gives the guard that
// its append must show to verified. Guard 0: the transaction is open here already and nothing has to be asked. A batch of an epoch that the
// log has seen the end of is refused before anybody is asked (UnifiedLog.maybeStartTransactionVerification): a marker has fenced its producer.
func (p *producers) startVerification(id int64, epoch int16, seq int32, supportsEpochBump bool, nowMs int64) (guard uint64, err error) {
	if e := p.entries[id]; e != nil && epoch < e.epoch {
		return 0, fmt.Errorf("epoch %d of producer %d has been followed by %d: %w", epoch, id, e.epoch, kerr.InvalidProducerEpoch)
	}
	if p.hasOngoingTxn(id, epoch) {
		return 0, nil
	}
	v := p.verifications[id]
	if v == nil {
		p.lastGuard++
		v = &verification{guard: p.lastGuard, timestamp: nowMs, lowestSequence: seq, epoch: epoch, supportsEpochBump: supportsEpochBump}
		if p.verifications == nil {
			p.verifications = map[int64]*verification{}
		}
		p.verifications[id] = v
	}
	switch {
	case epoch == v.epoch && seq < v.lowestSequence:
		v.lowestSequence = seq
	case epoch > v.epoch:
		v.epoch, v.lowestSequence = epoch, seq
	}
	return v.guard, nil
}

// verified says whether the guard is that of the verification under way: an answer that comes after the transaction has ended
// must not let a late batch in.
func (p *producers) verified(id int64, guard uint64) bool {
	v := p.verifications[id]
	return v != nil && guard != 0 && v.guard == guard
}

// finishVerification ends the question when a transactional batch comes. A marker of the epoch before a bump leaves it: the
// producer may be verifying its next transaction.
func (p *producers) finishVerification(b batch.Batch) {
	if !b.IsTransactional() {
		return
	}
	v := p.verifications[b.ProducerID()]
	if v != nil && v.supportsEpochBump && b.IsControl() && b.ProducerEpoch() == v.epoch {
		return
	}
	delete(p.verifications, b.ProducerID())
}

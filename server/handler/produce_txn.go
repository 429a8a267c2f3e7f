package handler

import (
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TxnVerifier asks the coordinator of a transactional id whether partitions are in its open transaction (KIP-890), and with Add
// puts them into it (Produce from v12).
type TxnVerifier interface {
	// Verify calls done once, with one error per partition, nil where a write may go on; perhaps before it returns.
	Verify(v TxnVerification, done func(errs []error))
}

// TxnVerification is one question to a TxnVerifier.
type TxnVerification struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Partitions      []TxnPartition
	Add             bool
}

// TxnPartition is a partition of a transaction.
type TxnPartition struct {
	Topic     string
	ID        [16]byte
	Partition int32
}

// produceTransactional verifies what has to be before it appends: partitions where the producer's transaction is open already are not
// asked for. Verification may take a round trip, so the request is decoded anew from its parked frame.
func (h *Handler) produceTransactional(c Call, pc *produceCall) {
	v, asked, err := pc.toVerify()
	switch {
	case err != nil:
		pc.failAll(err)
		h.produced(c, pc)
		return
	case len(asked) == 0:
		h.appendAll(c, pc)
		return
	}
	v.TransactionalID = strings.Clone(pc.transactionalID)
	v.Add = pc.version >= 12
	if h.Data.Txn == nil {
		h.verified(c, pc, asked, make([]error, len(asked)), kerr.CoordinatorNotAvailable)
		return
	}
	guards := make([]uint64, len(asked))
	for n, i := range asked {
		guards[n] = pc.parts[i].guard
	}
	c.Park()
	if err := pc.read(c.Header().Version, c.Body()); err != nil {
		c.Close("undecodable request: " + err.Error()) // it was decodable before
		return
	}
	h.resolveProduce(pc)
	for n, i := range asked {
		pc.parts[i].guard, pc.parts[i].producer = guards[n], v.ProducerID
	}
	h.Data.Txn.Verify(v, func(errs []error) { h.verified(c, pc, asked, errs, nil) })
}

// toVerify lists the transactional partitions without an open transaction of the batch's producer; asked are their parts.
func (pc *produceCall) toVerify() (v TxnVerification, asked []int, err error) {
	v.ProducerID, v.ProducerEpoch = -1, -1
	for i := range pc.parts {
		p := &pc.parts[i]
		if p.err != nil || p.skip {
			continue
		}
		b, _, err := nextBatch(p.records)
		if err != nil || !b.transactional() {
			continue
		}
		id, epoch := b.producer()
		if id < 0 {
			continue // the log decides
		}
		if v.ProducerID >= 0 && (id != v.ProducerID || epoch != v.ProducerEpoch) {
			return v, nil, &recordsError{kerr.InvalidProducerIDMapping, "Transactional records contained more than one producer ID"}
		}
		v.ProducerID, v.ProducerEpoch = id, epoch
		p.guard, p.err = p.replica.StartVerification(id, epoch, b.baseSequence(), pc.version >= 12)
		if p.err != nil || p.guard == 0 {
			continue
		}
		p.producer = id
		asked = append(asked, i)
		v.Partitions = append(v.Partitions, TxnPartition{Topic: p.replica.Topic(), ID: p.replica.TopicID(), Partition: p.partition})
	}
	return v, asked, nil
}

// verified goes on with a transactional produce: errs belong to the parts asked, all fails them together.
func (h *Handler) verified(c Call, pc *produceCall, asked []int, errs []error, all error) {
	for n, i := range asked {
		err := errs[n]
		if all != nil {
			err = all
		}
		if err != nil && pc.parts[i].err == nil {
			pc.parts[i].err = verificationError(err, pc.version)
		}
	}
	h.appendAll(c, pc)
}

// verificationError is what a client sees of a failed verification: what older clients would not retry becomes NOT_ENOUGH_REPLICAS
// (ReplicaManager.handleProduceAppend).
func verificationError(err error, version int16) error {
	var k *kerr.Error
	if !errors.As(err, &k) {
		return err
	}
	switch k {
	case kerr.ProducerFenced:
		return kerr.InvalidProducerEpoch
	case kerr.TransactionAbortable:
		if version >= 11 {
			return err
		}
		return &recordsError{kerr.InvalidTxnState, "Partition was not added to the transaction"}
	case kerr.InvalidTxnState:
		return &recordsError{err, "Partition was not added to the transaction"}
	case kerr.ConcurrentTransactions:
		if version >= 12 {
			return err
		}
	case kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator:
	default:
		return err
	}
	return &recordsError{kerr.NotEnoughReplicas, "Unable to verify the partition has been added to the transaction. Underlying error: " + k.Message}
}

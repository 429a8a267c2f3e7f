package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/txn"
)

// This file is what the APIs of transactions have in common: from a transactional id to its shard, from an outcome to an answer.

// TxnCoordinator runs steps on the shards of __transaction_state that this broker leads, and writes markers.
type TxnCoordinator interface {
	// Submit runs step on the partition's machine, on the calling goroutine; an error says that it did not run.
	Submit(partition int32, step func(s *txn.Shard, now coordinator.Now) coordinator.Effects) error
	// Partitions are those that this broker leads.
	Partitions() []int32
	// WriteMarker appends a marker to a partition that this broker leads and calls done once, when it is committed or was refused.
	WriteMarker(m TxnMarker, done func(error))
}

// TxnMarker is the marker of one partition.
type TxnMarker struct {
	txn.Partition
	coordinator.Txn
	Commit           bool
	CoordinatorEpoch int32
}

// txnStep is one call at the machine of its transactional id. With fresh = -1 it may say that it needs a new producer id, and is run again.
type txnStep func(s *txn.Shard, now coordinator.Now, h coordinator.Handle, fresh int64) (e coordinator.Effects, needsID bool)

// coordinatedTxn runs step at the coordinator of the id and answers the call with what comes of it, now or later.
func (h *Handler) coordinatedTxn(c Call, transactionalID string, fail func(*kerr.Error) kmsg.Response, step txnStep) {
	g := &coordinatedCall{answer: c.Reply, fail: fail}
	h.submitTxn(transactionalID, g, step, -1)
	g.settle(c.Park)
}

// submitTxn runs step with g as its handle, with a new producer id if it needs one.
func (h *Handler) submitTxn(transactionalID string, g coordinator.Handle, step txnStep, fresh int64) {
	needsID := false
	err := h.Txns.Submit(h.txnPartition(transactionalID), func(s *txn.Shard, now coordinator.Now) (e coordinator.Effects) {
		e, needsID = step(s, now, g, fresh)
		return e
	})
	switch {
	case err != nil:
		g.Fail(err)
	case needsID:
		h.Data.ProducerIDs.Wait(func(id int64, err error) {
			if err != nil {
				g.Fail(kerr.CoordinatorLoadInProgress) // no block could be had: RPCProducerIdManager's answer
				return
			}
			h.submitTxn(transactionalID, g, step, id)
		})
	}
}

// txnPartition is the partition of __transaction_state that a transactional id lives on.
func (h *Handler) txnPartition(transactionalID string) int32 {
	n := int32(h.Config().Int("transaction.state.log.num.partitions"))
	if t := h.Images().Topic(txnStateTopic); t != nil {
		n = int32(len(t.Partitions))
	}
	return coordinator.PartitionFor(transactionalID, n)
}

// fencedCode: requests before a version know a fenced producer by an older code.
func fencedCode(err *kerr.Error, version, since int16) int16 {
	switch {
	case err == nil:
		return 0
	case err == kerr.ProducerFenced && version < since:
		return kerr.InvalidProducerEpoch.Code
	}
	return err.Code
}

// txnResult is the handle of a step whose outcome its caller keeps: then hears when it counts, or that it does not.
type txnResult struct{ then func(err error) }

// Complete implements coordinator.Handle.
func (r txnResult) Complete(kmsg.Response) { r.then(nil) }

// Fail implements coordinator.Handle.
func (r txnResult) Fail(err error) { r.then(err) }

// addPartitions puts partitions into a transaction; done hears nil or the code to answer.
func (h *Handler) addPartitions(p txn.Producer, list []txn.Partition, version int16, done func(*kerr.Error)) {
	var refused *kerr.Error
	r := txnResult{func(err error) {
		if err != nil {
			refused = coordinatorError(err)
		}
		done(refused)
	}}
	err := h.Txns.Submit(h.txnPartition(p.TransactionalID), func(s *txn.Shard, now coordinator.Now) (e coordinator.Effects) {
		e, refused = s.AddPartitions(now, p, list, version)
		e.Replies = append(e.Replies, coordinator.Reply{To: r})
		return e
	})
	if err != nil {
		r.Fail(err)
	}
}

// verifyPartitions asks whether partitions are in a transaction; done hears nil or a code for each.
func (h *Handler) verifyPartitions(p txn.Producer, list []txn.Partition, done func([]*kerr.Error)) {
	var errs []*kerr.Error
	r := txnResult{func(err error) {
		if err != nil {
			errs = sameError(coordinatorError(err), len(list))
		}
		done(errs)
	}}
	err := h.Txns.Submit(h.txnPartition(p.TransactionalID), func(s *txn.Shard, _ coordinator.Now) coordinator.Effects {
		errs = s.Verify(p, list)
		return coordinator.Effects{Replies: []coordinator.Reply{{To: r}}}
	})
	if err != nil {
		r.Fail(err)
	}
}

func sameError(err *kerr.Error, n int) []*kerr.Error {
	errs := make([]*kerr.Error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// txnVerifier is the handler as the verifier of transactional writes: the coordinator is this broker.
type txnVerifier struct{ h *Handler }

// implicitVersion is the transaction version of clients that do not add partitions themselves.
const implicitVersion = 2

// Verify implements TxnVerifier.
func (t txnVerifier) Verify(v TxnVerification, done func(errs []error)) {
	p := txn.Producer{TransactionalID: v.TransactionalID, ProducerID: v.ProducerID, ProducerEpoch: v.ProducerEpoch}
	list := make([]txn.Partition, len(v.Partitions))
	for i, q := range v.Partitions {
		list[i] = txn.Partition{Topic: q.Topic, Partition: q.Partition}
	}
	tell := func(errs []*kerr.Error) {
		out := make([]error, len(list))
		for i, err := range errs {
			if err != nil {
				out[i] = err
			}
		}
		done(out)
	}
	switch {
	case v.Add:
		t.h.addPartitions(p, list, implicitVersion, func(err *kerr.Error) { tell(sameError(err, len(list))) })
	case !t.h.Config().Bool("transaction.partition.verification.enable"):
		tell(make([]*kerr.Error, len(list)))
	default:
		t.h.verifyPartitions(p, list, tell)
	}
}

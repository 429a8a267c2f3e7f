package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/txn"
)

// DescribeTransactions (key 65), version 0 (KIP-664).
//
// Seen on Apache 4.4: an id without a state is TRANSACTIONAL_ID_NOT_FOUND with all else 0. Deviations: partitions come sorted.
func (h *Handler) describeTransactions(c Call) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	if !decode(c, req) {
		return
	}
	g := newGathered(c, len(req.TransactionalIDs), func(parts []any) kmsg.Response {
		resp := kmsg.NewPtrDescribeTransactionsResponse()
		for _, p := range parts {
			resp.TransactionStates = append(resp.TransactionStates, p.(kmsg.DescribeTransactionsResponseTransactionState))
		}
		return resp
	})
	for i, id := range req.TransactionalIDs {
		h.describeTransaction(id, func(r kmsg.DescribeTransactionsResponseTransactionState) { g.put(i, r) })
	}
	g.settle(c)
}

func (h *Handler) describeTransaction(id string, done func(kmsg.DescribeTransactionsResponseTransactionState)) {
	r := kmsg.NewDescribeTransactionsResponseTransactionState()
	r.TransactionalID = id
	if id == "" {
		r.ErrorCode = kerr.InvalidRequest.Code
		done(r)
		return
	}
	hd := txnResult{func(err error) {
		if err != nil {
			r = kmsg.NewDescribeTransactionsResponseTransactionState()
			r.TransactionalID, r.ErrorCode = id, coordinatorError(err).Code
		}
		done(r)
	}}
	err := h.Txns.Submit(h.txnPartition(id), func(s *txn.Shard, _ coordinator.Now) coordinator.Effects {
		d, found := s.Describe(id)
		if found {
			describeTxn(&r, d)
		} else {
			r.ErrorCode = kerr.TransactionalIDNotFound.Code
		}
		return coordinator.Effects{Replies: []coordinator.Reply{{To: hd}}}
	})
	if err != nil {
		hd.Fail(err)
	}
}

func describeTxn(r *kmsg.DescribeTransactionsResponseTransactionState, d txn.Description) {
	r.State, r.TimeoutMillis, r.StartTimestamp = d.State.String(), d.TimeoutMs, d.StartMs
	r.ProducerID, r.ProducerEpoch = d.ProducerID, d.ProducerEpoch
	for _, p := range d.Partitions {
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != p.Topic {
			t := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			t.Topic = p.Topic
			r.Topics = append(r.Topics, t)
		}
		t := &r.Topics[len(r.Topics)-1]
		t.Partitions = append(t.Partitions, p.Partition)
	}
}

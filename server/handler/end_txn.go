package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/txn"
)

// EndTxn (key 26), versions 0 to 5.
//
//	v1 throttle  v2 PRODUCER_FENCED  v3 flexible  v4 TRANSACTION_ABORTABLE (KIP-890)  v5 the epoch is raised and answered (KIP-890)
//
// Seen on Apache 4.4: to v5 a retry is known by its old epoch, and aborting nothing is a transaction of its own; before v5 a retry is
// known by the state. Deviations: the answer waits for the markers if they can be written at once, so that the next transaction does
// not meet CONCURRENT_TRANSACTIONS.
func (h *Handler) endTxn(c Call) {
	req := kmsg.NewPtrEndTxnRequest()
	if !decode(c, req) {
		return
	}
	answer := func(o txn.Outcome) kmsg.Response {
		resp := kmsg.NewPtrEndTxnResponse()
		resp.Version, resp.ErrorCode = req.Version, fencedCode(o.Err, req.Version, 2)
		resp.ProducerID, resp.ProducerEpoch = o.ProducerID, o.ProducerEpoch
		return resp
	}
	fail := func(err *kerr.Error) kmsg.Response {
		return answer(txn.Outcome{ProducerID: -1, ProducerEpoch: -1, Err: err})
	}
	if req.TransactionalID == "" {
		c.Reply(fail(kerr.InvalidRequest))
		return
	}
	r := txn.EndRequest{Producer: txn.Producer{TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch}, Commit: req.Commit}
	if req.Version >= 5 {
		r.Version = implicitVersion
	}
	h.coordinatedTxn(c, req.TransactionalID, fail, func(s *txn.Shard, now coordinator.Now, hd coordinator.Handle, fresh int64) (coordinator.Effects, bool) {
		return s.End(now, hd, answer, r, fresh)
	})
}

package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator/txn"
)

// AddOffsetsToTxn (key 25), versions 0 to 4.
//
//	v1 throttle  v2 PRODUCER_FENCED  v3 flexible  v4 TRANSACTION_ABORTABLE (KIP-890)
//
// Adds the partition of __consumer_offsets where the group lives. Seen on Apache 4.4: the group's id is not looked at, even an empty one is
// one. Deviations: none.
func (h *Handler) addOffsetsToTxn(c Call) {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	if !decode(c, req) {
		return
	}
	g := &coordinatedCall{answer: c.Reply}
	done := func(err *kerr.Error) {
		resp := kmsg.NewPtrAddOffsetsToTxnResponse()
		resp.Version, resp.ErrorCode = req.Version, fencedCode(err, req.Version, 2)
		g.Complete(resp)
	}
	if req.TransactionalID == "" {
		done(kerr.InvalidRequest)
	} else {
		p := txn.Producer{TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch}
		h.addPartitions(p, []txn.Partition{{Topic: offsetsTopic, Partition: h.groupPartition(req.Group)}}, 0, done)
	}
	g.settle(c.Park)
}

package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator/txn"
)

// AddPartitionsToTxn (key 24), versions 0 to 5.
//
//	v1 throttle  v2 PRODUCER_FENCED  v3 flexible  v4 several transactions, verify only, for brokers (KIP-890)  v5 TRANSACTION_ABORTABLE
//
// Seen on Apache 4.4: one partition that does not exist fails all of its transaction, the others with OPERATION_NOT_ATTEMPTED, before the id is looked
// at; to clients, which speak versions below 4, internal topics are forbidden. Deviations: a request of v4 without a transaction is answered; one that names
// an id twice gets an answer for each.
func (h *Handler) addPartitionsToTxn(c Call) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	if !decode(c, req) {
		return
	}
	list := req.Transactions
	if req.Version < 4 {
		list = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch}}
		for _, t := range req.Topics {
			list[0].Topics = append(list[0].Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: t.Topic, Partitions: t.Partitions})
		}
	}
	g := newGathered(c, len(list), func(parts []any) kmsg.Response { return addPartitionsResponse(req.Version, parts) })
	for i := range list {
		h.addToTxn(&list[i], req.Version, func(r kmsg.AddPartitionsToTxnResponseTransaction) { g.put(i, r) })
	}
	g.settle(c)
}

// addToTxn does what is asked for one transaction.
func (h *Handler) addToTxn(t *kmsg.AddPartitionsToTxnRequestTransaction, version int16, done func(kmsg.AddPartitionsToTxnResponseTransaction)) {
	img := h.Images()
	var list []txn.Partition
	var errs []*kerr.Error
	missing := false // something cannot be added
	for _, rt := range t.Topics {
		it := img.Topic(rt.Topic)
		for _, p := range rt.Partitions {
			var err *kerr.Error
			switch {
			case version < 4 && isInternalTopic(rt.Topic):
				err, missing = kerr.TopicAuthorizationFailed, true
			case it == nil || it.Partition(p) == nil:
				err, missing = kerr.UnknownTopicOrPartition, true
			}
			list, errs = append(list, txn.Partition{Topic: rt.Topic, Partition: p}), append(errs, err)
		}
	}
	tell := func(errs []*kerr.Error) { done(addPartitionsResult(t, version, errs)) }
	producer := txn.Producer{TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch}
	switch {
	case missing:
		for i := range errs {
			if errs[i] == nil {
				errs[i] = kerr.OperationNotAttempted
			}
		}
		tell(errs)
	case t.TransactionalID == "":
		tell(sameError(kerr.InvalidRequest, len(list)))
	case t.VerifyOnly:
		h.verifyPartitions(producer, list, tell)
	default:
		protocol := int16(0)
		if version >= 4 {
			protocol = implicitVersion
		}
		h.addPartitions(producer, list, protocol, func(err *kerr.Error) { tell(sameError(err, len(list))) })
	}
}

// addPartitionsResult is a transaction's part of the response; errs are in the order of the request.
func addPartitionsResult(t *kmsg.AddPartitionsToTxnRequestTransaction, version int16, errs []*kerr.Error) kmsg.AddPartitionsToTxnResponseTransaction {
	r := kmsg.NewAddPartitionsToTxnResponseTransaction()
	r.TransactionalID = t.TransactionalID
	for _, rt := range t.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
		topic.Topic = rt.Topic
		for _, p := range rt.Partitions {
			rp := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			rp.Partition, rp.ErrorCode = p, fencedCode(errs[0], version, 2)
			topic.Partitions = append(topic.Partitions, rp)
			errs = errs[1:]
		}
		r.Topics = append(r.Topics, topic)
	}
	return r
}

func addPartitionsResponse(version int16, parts []any) kmsg.Response {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	resp.Version = version
	for _, part := range parts {
		r := part.(kmsg.AddPartitionsToTxnResponseTransaction)
		if version >= 4 {
			resp.Transactions = append(resp.Transactions, r)
			continue
		}
		for _, rt := range r.Topics {
			topic := kmsg.NewAddPartitionsToTxnResponseTopic()
			topic.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				p := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, rp.ErrorCode
				topic.Partitions = append(topic.Partitions, p)
			}
			resp.Topics = append(resp.Topics, topic)
		}
	}
	return resp
}

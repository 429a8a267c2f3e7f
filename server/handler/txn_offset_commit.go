package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// TxnOffsetCommit (key 28), versions 0 to 6.
//
//	v1 throttle  v2 leader epoch  v3 flexible, member (KIP-447)  v4 TRANSACTION_ABORTABLE (KIP-890)  v5 adds itself to the transaction (KIP-890)
//	v6 topic ids
//
// Seen on Apache 4.4: unknown topics and partitions are refused one by one, the rest is committed, and a topic without partitions is not answered; then the group's id is looked at, the transaction is
// verified, the member comes last. Deviations: none.
func (h *Handler) txnOffsetCommit(c Call) {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	if !decode(c, req) {
		return
	}
	oc := h.splitTxnCommit(req)
	switch {
	case len(oc.accepted.Topics) == 0:
		c.Reply(oc.response(nil))
		return
	case req.Group == "":
		c.Reply(oc.refuse(kerr.InvalidGroupID))
		return
	}
	g := &coordinatedCall{answer: func(r kmsg.Response) { c.Reply(oc.response(r.(*kmsg.TxnOffsetCommitResponse))) }, fail: oc.failure}
	h.commitInTxn(oc, g)
	g.settle(c.Park)
}

// txnCommit is a TxnOffsetCommit on its way.
type txnCommit struct {
	req *kmsg.TxnOffsetCommitRequest
	// accepted is the request without what was refused, which has a code in refused.
	accepted *kmsg.TxnOffsetCommitRequest
	refused  []map[int32]*kerr.Error // by topic of the request
}

// splitTxnCommit resolves topics and sorts out those that do not exist.
func (h *Handler) splitTxnCommit(req *kmsg.TxnOffsetCommitRequest) *txnCommit {
	accepted := *req
	accepted.Topics = nil
	oc := &txnCommit{req: req, accepted: &accepted, refused: make([]map[int32]*kerr.Error, len(req.Topics))}
	img := h.Images()
	for i, rt := range req.Topics {
		t, missing := img.Topic(rt.Topic), kerr.UnknownTopicOrPartition
		if req.Version >= 6 {
			t, missing = img.TopicByID(rt.TopicID), kerr.UnknownTopicID
		}
		oc.refused[i] = map[int32]*kerr.Error{}
		ok := rt
		ok.Partitions = nil
		for _, p := range rt.Partitions {
			switch {
			case t == nil:
				oc.refused[i][p.Partition] = missing
			case t.Partition(p.Partition) == nil:
				oc.refused[i][p.Partition] = kerr.UnknownTopicOrPartition
			default:
				ok.Topic, ok.TopicID = t.Name, t.ID
				ok.Partitions = append(ok.Partitions, p)
			}
		}
		if len(ok.Partitions) > 0 {
			accepted.Topics = append(accepted.Topics, ok)
		}
	}
	return oc
}

// response joins the coordinator's answer, in the order of what was accepted, with what was refused: that comes first, and then all of a
// topic stands together, as Kafka's response builder has it.
func (oc *txnCommit) response(r *kmsg.TxnOffsetCommitResponse) *kmsg.TxnOffsetCommitResponse {
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	resp.Version = oc.req.Version
	at := map[commitTopic]int{}
	topic := func(t *kmsg.TxnOffsetCommitRequestTopic, together bool) *kmsg.TxnOffsetCommitResponseTopic {
		k := commitTopic{name: t.Topic}
		if resp.Version >= 6 {
			k = commitTopic{id: t.TopicID}
		}
		i, ok := at[k]
		if !ok || !together {
			i = len(resp.Topics)
			at[k] = i
			rt := kmsg.NewTxnOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			resp.Topics = append(resp.Topics, rt)
		}
		return &resp.Topics[i]
	}
	for i := range oc.req.Topics {
		for _, p := range oc.req.Topics[i].Partitions {
			if err, ok := oc.refused[i][p.Partition]; ok {
				rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, err.Code
				to := topic(&oc.req.Topics[i], true)
				to.Partitions = append(to.Partitions, rp)
			}
		}
	}
	if r == nil {
		return resp
	}
	together := len(resp.Topics) > 0
	for i := range r.Topics {
		to := topic(&oc.accepted.Topics[i], together)
		to.Partitions = append(to.Partitions, r.Topics[i].Partitions...)
	}
	return resp
}

// failure is the coordinator's answer when all that was accepted failed.
func (oc *txnCommit) failure(err *kerr.Error) kmsg.Response {
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	for _, rt := range oc.accepted.Topics {
		topic := kmsg.NewTxnOffsetCommitResponseTopic()
		for _, p := range rt.Partitions {
			rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, err.Code
			topic.Partitions = append(topic.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func (oc *txnCommit) refuse(err *kerr.Error) *kmsg.TxnOffsetCommitResponse {
	return oc.response(oc.failure(err).(*kmsg.TxnOffsetCommitResponse))
}

// implicitCommit is the first version that adds the group's partition to the transaction by itself.
const implicitCommit = 5

// commitInTxn verifies that the group's partition of __consumer_offsets is in the transaction, and commits.
func (h *Handler) commitInTxn(oc *txnCommit, g *coordinatedCall) {
	req := oc.accepted
	partition := h.groupPartition(req.Group)
	replica, err := h.replicaOf(h.Images(), offsetsTopic, partition)
	if err != nil {
		g.Fail(coordinator.ErrNotCoordinator)
		return
	}
	start := func() (uint64, error) {
		return replica.StartVerification(req.ProducerID, req.ProducerEpoch, -1, req.Version >= implicitCommit)
	}
	guard, err := start()
	if err != nil {
		g.Fail(err)
		return
	}
	commit := func() {
		h.submit(req.Group, g, func(s *group.Shard, now coordinator.Now, hd coordinator.Handle) coordinator.Effects {
			// A marker that came since has ended the transaction; no other comes while the shard is held.
			if open, err := start(); guard == 0 && (open != 0 || err != nil) {
				return coordinator.Effects{Replies: []coordinator.Reply{{To: hd, Response: oc.failure(kerr.InvalidTxnState)}}}
			}
			e := s.TxnOffsetCommit(now, hd, req)
			if e.Txn != nil {
				e.Txn.Guard = guard
			}
			return e
		})
	}
	if guard == 0 {
		commit()
		return
	}
	v := TxnVerification{
		TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Add: req.Version >= implicitCommit,
		Partitions: []TxnPartition{{Topic: offsetsTopic, ID: replica.TopicID(), Partition: partition}},
	}
	h.Data.Txn.Verify(v, func(errs []error) {
		if errs[0] != nil {
			g.Fail(commitVerificationError(errs[0], req.Version))
			return
		}
		commit()
	})
}

// commitVerificationError is what a client sees of a failed verification (AddPartitionsToTxnManager).
func commitVerificationError(err error, version int16) error {
	switch err {
	case kerr.ProducerFenced:
		return kerr.InvalidProducerEpoch
	case kerr.TransactionAbortable:
		if version < 4 {
			return kerr.InvalidTxnState
		}
	case kerr.NetworkException:
		return kerr.CoordinatorLoadInProgress // clients retry it without looking for the coordinator
	}
	return err
}

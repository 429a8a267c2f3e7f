package handler

import (
	"errors"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/txn"
)

// ListTransactions (key 66), versions 0 to 2 (KIP-664).
//
//	v1 minimal duration (KIP-994)  v2 pattern of the id
//
// Seen on Apache 4.4: names of states that do not exist are told and match nothing; an id that has had no transaction is older than any duration;
// the pattern must match the whole id; while a partition is loading there is COORDINATOR_LOAD_IN_PROGRESS and nothing else. Deviations: none.
func (h *Handler) listTransactions(c Call) {
	req := kmsg.NewPtrListTransactionsRequest()
	if !decode(c, req) {
		return
	}
	filter, unknown, err := txnFilter(req)
	if err != nil {
		resp := kmsg.NewPtrListTransactionsResponse()
		resp.Version, resp.ErrorCode = req.Version, err.Code
		c.Reply(resp)
		return
	}
	partitions := h.Txns.Partitions()
	g := newGathered(c, len(partitions), func(parts []any) kmsg.Response {
		resp := kmsg.NewPtrListTransactionsResponse()
		resp.Version, resp.UnknownStateFilters = req.Version, unknown
		for _, p := range parts {
			if err, ok := p.(error); ok {
				resp = kmsg.NewPtrListTransactionsResponse()
				resp.Version, resp.ErrorCode = req.Version, coordinatorError(err).Code
				return resp
			}
			for _, d := range p.([]txn.Description) {
				s := kmsg.NewListTransactionsResponseTransactionState()
				s.TransactionalID, s.ProducerID, s.TransactionState = d.TransactionalID, d.ProducerID, d.State.String()
				resp.TransactionStates = append(resp.TransactionStates, s)
			}
		}
		return resp
	})
	for i, p := range partitions {
		h.listShard(p, filter, func(part any) { g.put(i, part) })
	}
	g.settle(c)
}

// listShard hands over the descriptions of a partition, or an error.
func (h *Handler) listShard(partition int32, f txn.Filter, done func(any)) {
	var list []txn.Description
	hd := txnResult{func(err error) {
		switch {
		case err == nil, errors.Is(err, coordinator.ErrNotCoordinator):
			done(list) // lost meanwhile: another broker lists them
		default:
			done(err)
		}
	}}
	err := h.Txns.Submit(partition, func(s *txn.Shard, now coordinator.Now) coordinator.Effects {
		list = s.List(now, f)
		return coordinator.Effects{Replies: []coordinator.Reply{{To: hd}}}
	})
	if err != nil {
		hd.Fail(err)
	}
}

func txnFilter(req *kmsg.ListTransactionsRequest) (f txn.Filter, unknown []string, err *kerr.Error) {
	f = txn.Filter{ProducerIDs: req.ProducerIDFilters, AnyState: len(req.StateFilters) == 0, MinDurationMs: -1}
	if req.Version >= 1 {
		f.MinDurationMs = req.DurationFilterMillis
	}
	for _, name := range req.StateFilters {
		if s, ok := txn.StateOf(name); ok {
			f.States = append(f.States, s)
		} else if !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if p := req.TransactionalIDPattern; p != nil && *p != "" {
		_, bad := regexp.Compile(*p)
		whole, worse := regexp.Compile("^(?:" + *p + ")$")
		if bad != nil || worse != nil {
			return f, nil, kerr.InvalidRegularExpression
		}
		f.Pattern = whole
	}
	return f, unknown, nil
}

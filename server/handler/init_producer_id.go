package handler

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/txn"
)

// InitProducerId (key 22), versions 0 to 5.
//
//	v1 same  v2 flexible  v3 producer id and epoch to go on with (KIP-360)  v4 PRODUCER_FENCED  v5 same
//
// Seen on Apache 4.4: without a transactional id every request gets a new id with epoch 0, whatever id it names; an id without an epoch or
// the other way round is INVALID_REQUEST, an empty transactional id too. With a transactional id the transaction coordinator decides: an open
// transaction is aborted and the answer is CONCURRENT_TRANSACTIONS, upon which the client comes back. Two-phase commit is v6, which is not
// served. Deviations: that answer waits for the abort's markers if they can be written at once.
func (h *Handler) initProducerID(c Call) {
	req := kmsg.NewInitProducerIDRequest()
	if !decode(c, &req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case (req.ProducerID == -1) != (req.ProducerEpoch == -1), req.TransactionalID != nil && *req.TransactionalID == "":
		resp.ErrorCode = kerr.InvalidRequest.Code
		c.Reply(resp)
	case req.TransactionalID != nil:
		h.initTransactional(c, &req)
	default:
		h.newProducerID(c, resp)
	}
}

func (h *Handler) initTransactional(c Call, req *kmsg.InitProducerIDRequest) {
	answer := func(o txn.Outcome) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ProducerID, resp.ProducerEpoch, resp.ErrorCode = o.ProducerID, o.ProducerEpoch, fencedCode(o.Err, req.Version, 4)
		return resp
	}
	fail := func(err *kerr.Error) kmsg.Response {
		return answer(txn.Outcome{ProducerID: -1, ProducerEpoch: -1, Err: err})
	}
	r := txn.InitRequest{TransactionalID: *req.TransactionalID, TimeoutMs: req.TransactionTimeoutMillis, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch}
	h.coordinatedTxn(c, r.TransactionalID, fail, func(s *txn.Shard, now coordinator.Now, hd coordinator.Handle, fresh int64) (coordinator.Effects, bool) {
		return s.InitProducerID(now, hd, answer, r, fresh)
	})
}

func (h *Handler) newProducerID(c Call, resp *kmsg.InitProducerIDResponse) {
	answer := func(id int64, err error) {
		if err != nil {
			resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code // no block could be had: RPCProducerIdManager's answer
		} else {
			resp.ProducerID, resp.ProducerEpoch = id, 0
		}
		c.Reply(resp)
	}
	if id, ok := h.Data.ProducerIDs.Next(); ok {
		answer(id, nil)
		return
	}
	c.Park()
	h.Data.ProducerIDs.Wait(answer)
}

// ProducerIDs hands out producer ids from blocks that the controller gives to this broker.
type ProducerIDs struct {
	allocate func(done func(first int64, count int32, err error))

	mu      sync.Mutex
	next    int64                     // guarded by mu
	end     int64                     // guarded by mu; exclusive
	ahead   [2]int64                  // guarded by mu; the block after this one, empty if equal
	size    int64                     // guarded by mu; of the current block
	asking  bool                      // guarded by mu; a block is on its way
	waiting []func(id int64, e error) // guarded by mu
}

// prefetchShare: the next block is asked for when less than a tenth of this one is left (RPCProducerIdManager.PID_PREFETCH_THRESHOLD).
const prefetchShare = 10

// NewProducerIDs makes one without a block. allocate must call done once and may do so at once.
func NewProducerIDs(allocate func(done func(first int64, count int32, err error))) *ProducerIDs {
	return &ProducerIDs{allocate: allocate}
}

// Next is an id if one is at hand.
func (p *ProducerIDs) Next() (id int64, ok bool) {
	p.mu.Lock()
	id, ok = p.takeLocked()
	ask := p.wantsLocked()
	p.mu.Unlock()
	if ask {
		p.allocate(p.got)
	}
	return id, ok
}

// Wait calls done once with an id, or with the error of getting a block.
func (p *ProducerIDs) Wait(done func(id int64, err error)) {
	p.mu.Lock()
	id, ok := p.takeLocked()
	if !ok {
		p.waiting = append(p.waiting, done)
	}
	ask := p.wantsLocked()
	p.mu.Unlock()
	if ask {
		p.allocate(p.got)
	}
	if ok {
		done(id, nil)
	}
}

func (p *ProducerIDs) takeLocked() (int64, bool) {
	if p.next == p.end && p.ahead[0] < p.ahead[1] {
		p.next, p.end = p.ahead[0], p.ahead[1]
		p.size, p.ahead = p.end-p.next, [2]int64{}
	}
	if p.next == p.end {
		return -1, false
	}
	p.next++
	return p.next - 1, true
}

// wantsLocked tells whether a block must be asked for, and notes that it is.
func (p *ProducerIDs) wantsLocked() bool {
	low := p.ahead[0] == p.ahead[1] && (p.end-p.next)*prefetchShare <= p.size && p.size > 0
	if p.asking || !low && len(p.waiting) == 0 {
		return false
	}
	p.asking = true
	return true
}

// got takes a block in and serves who waits.
func (p *ProducerIDs) got(first int64, count int32, err error) {
	type served struct {
		done func(int64, error)
		id   int64
	}
	var out []served
	p.mu.Lock()
	p.asking = false
	if err == nil && count > 0 {
		p.ahead = [2]int64{first, first + int64(count)}
	}
	for len(p.waiting) > 0 {
		id, ok := p.takeLocked()
		if !ok && err == nil {
			break
		}
		out = append(out, served{p.waiting[0], id})
		p.waiting = p.waiting[1:]
	}
	ask := err == nil && p.wantsLocked() // after an error the next caller asks again
	p.mu.Unlock()
	for _, s := range out {
		if s.id >= 0 {
			s.done(s.id, nil)
		} else {
			s.done(-1, err)
		}
	}
	if ask {
		p.allocate(p.got)
	}
}

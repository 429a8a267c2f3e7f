package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// writer is one transactional id.
type writer struct {
	h      *history
	name   string
	rnd    *rand.Rand
	conn   conn
	txns   int
	values int

	p        instance
	previous []batch // of the newest transaction
	// offset of the group after the last commit, and the other that it may be.
	offset, or int64
}

// instance is a producer with the writer's id.
type instance struct {
	id    int64
	epoch int16
	seqs  map[int32]int32
	// bumping speaks transaction version 2.
	bumping bool
}

// batch is what was sent and acknowledged.
type batch struct {
	partition int32
	bytes     []byte
	values    []string
	base      int64
	bumping   bool
}

// transactionTimeout is longer than a run's pauses: none shall time out.
const transactionTimeout = 120_000

func (w *writer) run() {
	defer w.conn.close()
	w.offset, w.or = -1, -1
	w.init(&w.p)
	for !w.h.stopping() {
		w.transaction()
		if w.rnd.IntN(8) == 0 {
			w.init(&w.p)
		}
	}
	w.init(&w.p) // whatever is open ends
	w.checkGroup()
}

// ask sends a request until it is answered with a code that is not the broker's restart; lost tells whether an answer may have been lost.
func (w *writer) ask(req kmsg.Request, code func(kmsg.Response) int16) (resp kmsg.Response, err *kerr.Error, lost bool) {
	return ask(w.h, &w.conn, req, code)
}

// over is what calls get when a problem was found and all end; it is no problem itself.
var over = &kerr.Error{Message: "OVER", Code: -2}

// patience is how long a writer goes on trying.
const patience = 40 * time.Second

func ask(h *history, c *conn, req kmsg.Request, code func(kmsg.Response) int16) (resp kmsg.Response, err *kerr.Error, lost bool) {
	for begin := time.Now(); ; pause(5 * time.Millisecond) {
		resp, e := c.do(req)
		switch {
		case h.broken():
			return nil, over, true
		case e != nil && !errors.Is(e, errGone):
			h.problem("%s: %v", kmsg.NameForKey(req.Key()), e)
			return nil, over, true
		case e != nil:
			lost = true
		default:
			err, _ = kerr.ErrorForCode(code(resp)).(*kerr.Error)
			switch err {
			case kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.NotEnoughReplicas, kerr.UnstableOffsetCommit:
			default:
				return resp, err, lost
			}
		}
		if time.Since(begin) > patience {
			h.problem("%s v%d is not answered within %v; last: %v %v", kmsg.NameForKey(req.Key()), req.GetVersion(), patience, e, err)
			return nil, over, true
		}
	}
}

// init starts a new instance, which fences all before it.
func (w *writer) init(p *instance) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, &w.name, transactionTimeout
	resp, err, _ := w.ask(req, func(r kmsg.Response) int16 { return r.(*kmsg.InitProducerIDResponse).ErrorCode })
	if err != nil {
		w.h.problem("%s: InitProducerId: %v", w.name, err)
		return
	}
	r := resp.(*kmsg.InitProducerIDResponse)
	*p = instance{id: r.ProducerID, epoch: r.ProducerEpoch, seqs: map[int32]int32{}, bumping: w.rnd.IntN(2) == 0}
}

// transaction is one whole transaction.
func (w *writer) transaction() {
	w.txns++
	t := w.h.ledger.begin(w.name, w.txns)
	added := map[int32]bool{}
	var batches []batch
	for range 1 + w.rnd.IntN(4) {
		b, ok := w.produce(t, &w.p, added, false)
		if !ok {
			return
		}
		batches = append(batches, b)
		if w.rnd.IntN(6) == 0 {
			w.resend(batches[w.rnd.IntN(len(batches))], &w.p)
		}
	}
	if w.rnd.IntN(3) == 0 && !w.commitOffset(t) {
		return
	}
	switch w.rnd.IntN(12) {
	case 0:
		w.fence(t)
		return
	case 1:
		w.race(t)
		return
	}
	w.end(t, w.rnd.IntN(3) > 0)
	if len(w.previous) > 0 && w.rnd.IntN(6) == 0 {
		late := w.previous[len(w.previous)-1]
		w.resendLate(late)
		if !late.bumping {
			w.init(&w.p) // Kafka, too, then takes the producer's next batch for one that is out of order (seen on 4.4)
			batches = nil
		}
	}
	w.previous = batches
}

// produce sends a batch to a random partition and waits for its acknowledgement. A zombie's is refused.
func (w *writer) produce(t *transaction, p *instance, added map[int32]bool, zombie bool) (batch, bool) {
	partition := w.rnd.Int32N(partitions)
	n := 1 + w.rnd.IntN(3)
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%s.%d", w.name, w.values+i)
	}
	w.h.ledger.send(sent{txn: t, writer: w.name, number: w.values, partition: partition, zombie: zombie}, values)
	w.values += n
	if !p.bumping && !added[partition] {
		if err := w.addPartition(p, partition); err != nil && !zombie {
			w.h.problem("%s: AddPartitionsToTxn: %v", w.name, err)
			return batch{}, false
		}
		added[partition] = true
	}
	b := batch{partition: partition, values: values, bumping: p.bumping}
	b.bytes = encode(producer{p.id, p.epoch, p.seqs[partition], true}, values, time.Now().UnixMilli())
	base, err := w.sendBatch(b, w.name)
	switch {
	case zombie && err == nil:
		w.h.problem("%s: records of a fenced producer (epoch %d) were accepted at partition %d offset %d", w.name, p.epoch, partition, base)
		return b, false
	case zombie:
		return b, false
	case err != nil:
		w.h.problem("%s: Produce of %v: %v", w.name, values, err)
		return b, false
	}
	p.seqs[partition] += int32(n)
	b.base = base
	w.h.ledger.acked(t, values, base)
	return b, true
}

func (w *writer) sendBatch(b batch, transactionalID string) (int64, *kerr.Error) {
	return sendBatch(w.h, &w.conn, b, &transactionalID)
}

func sendBatch(h *history, c *conn, b batch, transactionalID *string) (int64, *kerr.Error) {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis, req.TransactionID = 9, -1, 5000, transactionalID
	if b.bumping {
		req.Version = 12
	}
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = h.topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = b.partition, append([]byte(nil), b.bytes...)
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err, _ := ask(h, c, req, func(r kmsg.Response) int16 { return r.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode })
	if err != nil {
		return -1, err
	}
	return resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset, nil
}

func (w *writer) addPartition(p *instance, partition int32) *kerr.Error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, w.name, p.id, p.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: w.h.topic, Partitions: []int32{partition}}}
	_, err, _ := w.ask(req, func(r kmsg.Response) int16 {
		return r.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode
	})
	return err
}

// resend sends a batch of the open transaction once more: it must be known.
func (w *writer) resend(b batch, _ *instance) {
	base, err := w.sendBatch(b, w.name)
	if err != nil || base != b.base {
		w.h.problem("%s: %v was sent again and is not known: offset %d, was %d, %v", w.name, b.values, base, b.base, err)
	}
	w.h.ledger.count(&w.h.ledger.resent)
}

// resendLate sends a batch of a transaction that has ended, as a slow network would: it must not get in again.
func (w *writer) resendLate(b batch) {
	base, err := w.sendBatch(b, w.name)
	if err == nil && base != b.base {
		w.h.problem("%s: %v, whose transaction has ended, got in again at offset %d, was %d", w.name, b.values, base, b.base)
	}
	w.h.ledger.count(&w.h.ledger.resent)
}

// fence starts a second instance in the middle of the transaction, and then does what the first must not be able to any more.
func (w *writer) fence(t *transaction) {
	w.h.ledger.count(&w.h.ledger.fenced)
	old := w.p
	w.h.ledger.becomes(t, aborting)
	w.init(&w.p)
	w.h.ledger.becomes(t, aborted)
	w.txns++
	next := w.h.ledger.begin(w.name, w.txns)
	added := map[int32]bool{}
	b, ok := w.produce(next, &w.p, added, false)
	if !ok {
		return
	}
	w.zombie(&old)
	if w.rnd.IntN(2) == 0 {
		w.resendLate(b) // still open: the same as any duplicate
	}
	w.end(next, true)
}

// zombie is the fenced instance going on.
func (w *writer) zombie(old *instance) {
	w.h.ledger.count(&w.h.ledger.zombies)
	w.produce(nil, old, map[int32]bool{}, true)
	_, err, _ := w.endOnce(old, true)
	if !fences(err, *old, w.p) {
		w.h.problem("%s: EndTxn of a fenced producer (epoch %d): %v", w.name, old.epoch, err)
	}
}

// fences tells whether err is how an instance learns that fresh has taken its place. Where the epochs of its producer id were used up it is
// the id that does not fit any more (seen on Kafka 4.4).
func fences(err *kerr.Error, old, fresh instance) bool {
	return err == kerr.ProducerFenced || err == kerr.InvalidProducerEpoch || err == kerr.InvalidProducerIDMapping && fresh.id != old.id
}

// race starts a second instance while the first commits: one of them wins.
func (w *writer) race(t *transaction) {
	w.h.ledger.becomes(t, committing)
	old, fresh := w.p, instance{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		other := writer{h: w.h, name: w.name, rnd: rand.New(rand.NewPCG(w.rnd.Uint64(), 0)), conn: conn{addr: w.conn.addr}}
		defer other.conn.close()
		other.init(&fresh)
	}()
	_, err, lost := w.endOnce(&old, true)
	<-done
	switch {
	case err == nil:
		w.ended(t, committed)
	case lost:
		w.ended(t, either)
	case err == kerr.InvalidTxnState || fences(err, old, fresh):
		w.ended(t, aborted)
	default:
		w.h.problem("%s: EndTxn beside a new instance: %v", w.name, err)
	}
	w.p = fresh
}

// end commits or aborts.
func (w *writer) end(t *transaction, commit bool) {
	doing, done := aborting, aborted
	if commit {
		doing, done = committing, committed
	}
	w.h.ledger.becomes(t, doing)
	r, err, _ := w.endOnce(&w.p, commit)
	if err != nil {
		w.h.problem("%s: EndTxn(%v) of %v with epoch %d, version 2 %v: %v", w.name, commit, t, w.p.epoch, w.p.bumping, err)
		return
	}
	w.ended(t, done)
	if w.p.bumping {
		w.p.id, w.p.epoch, w.p.seqs = r.ProducerID, r.ProducerEpoch, map[int32]int32{}
	}
}

func (w *writer) endOnce(p *instance, commit bool) (*kmsg.EndTxnResponse, *kerr.Error, bool) {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 3, w.name, p.id, p.epoch, commit
	if p.bumping {
		req.Version = 5
	}
	resp, err, lost := w.ask(req, func(r kmsg.Response) int16 { return r.(*kmsg.EndTxnResponse).ErrorCode })
	r, _ := resp.(*kmsg.EndTxnResponse)
	return r, err, lost
}

// ended notes what has become of a transaction, and of the offset in it.
func (w *writer) ended(t *transaction, o outcome) {
	w.h.ledger.becomes(t, o)
	switch {
	case t.offset < 0:
	case o == committed:
		w.offset, w.or = t.offset, t.offset
	case o == either:
		w.or = t.offset
	}
	if w.rnd.IntN(10) == 0 {
		w.checkGroup()
	}
}

// commitOffset commits an offset of the writer's group in the transaction.
func (w *writer) commitOffset(t *transaction) bool {
	if !w.p.bumping {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.Version, add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = 3, w.name, w.p.id, w.p.epoch, w.name
		if _, err, _ := w.ask(add, func(r kmsg.Response) int16 { return r.(*kmsg.AddOffsetsToTxnResponse).ErrorCode }); err != nil {
			w.h.problem("%s: AddOffsetsToTxn: %v", w.name, err)
			return false
		}
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = 3, w.name, w.name, w.p.id, w.p.epoch
	if w.p.bumping {
		req.Version = 5
	}
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = w.h.topic
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rp.Offset = int64(t.number)
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	if _, err, _ := w.ask(req, func(r kmsg.Response) int16 {
		return r.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
	}); err != nil {
		w.h.problem("%s: TxnOffsetCommit: %v", w.name, err)
		return false
	}
	t.offset = rp.Offset
	return true
}

// checkGroup compares the group's offset with the last that was committed.
func (w *writer) checkGroup() {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group, req.RequireStable = 7, w.name, true
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: w.h.topic, Partitions: []int32{0}}}
	resp, err, _ := w.ask(req, func(r kmsg.Response) int16 {
		f := r.(*kmsg.OffsetFetchResponse)
		if f.ErrorCode != 0 {
			return f.ErrorCode
		}
		return f.Topics[0].Partitions[0].ErrorCode
	})
	if err != nil {
		w.h.problem("%s: OffsetFetch: %v", w.name, err)
		return
	}
	if got := resp.(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset; got != w.offset && got != w.or {
		w.h.problem("%s: the group's offset is %d, committed was %d", w.name, got, w.offset)
	} else {
		w.offset, w.or = got, got
	}
}

// plain writes without transactions: idempotent, one partition after the other.
type plain struct {
	h    *history
	name string
	rnd  *rand.Rand
	conn conn
}

func (w *plain) run() {
	defer w.conn.close()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = 4
	resp, err, _ := ask(w.h, &w.conn, req, func(r kmsg.Response) int16 { return r.(*kmsg.InitProducerIDResponse).ErrorCode })
	if err != nil {
		w.h.problem("%s: InitProducerId: %v", w.name, err)
		return
	}
	id := resp.(*kmsg.InitProducerIDResponse).ProducerID
	seqs := map[int32]int32{}
	for n := 0; !w.h.stopping(); n++ {
		partition := w.rnd.Int32N(partitions)
		values := []string{fmt.Sprintf("%s.%d", w.name, n)}
		w.h.ledger.send(sent{writer: w.name, number: n, partition: partition}, values)
		b := batch{partition: partition, values: values, bytes: encode(producer{id: id, seq: seqs[partition]}, values, time.Now().UnixMilli())}
		base, err := sendBatch(w.h, &w.conn, b, nil)
		if err != nil {
			w.h.problem("%s: Produce of %v: %v", w.name, values, err)
			return
		}
		seqs[partition]++
		w.h.ledger.acked(nil, values, base)
		if w.rnd.IntN(10) == 0 {
			if again, err := sendBatch(w.h, &w.conn, b, nil); err != nil || again != base {
				w.h.problem("%s: %v was sent again and is not known: offset %d, was %d, %v", w.name, values, again, base, err)
			}
		}
		pause(time.Duration(w.rnd.IntN(8)) * time.Millisecond)
	}
}

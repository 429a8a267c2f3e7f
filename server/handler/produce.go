package handler

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/replica"
)

// Produce (key 0), versions 3 to 13; 0 to 2 are advertised and not served.
//
//	v3 transactional id  v5 log start offset  v7 zstd  v8 record errors (KIP-467)  v9 flexible  v10 current leader (KIP-951)
//	v12 transactions add their partitions implicitly (KIP-890)  v13 topic ids
//
// Seen on Apache 4.4: records that cannot be cut into batches fail all partitions with CORRUPT_MESSAGE and a message; a log start offset
// comes with errors that the log found, not with those before it (no partition, too large, corrupt); a message only with record
// errors; bytes after the batch that are no whole batch are dropped; a duplicate is answered with the first append's offset and its batch's time; a partition named twice is answered once, with
// its error or the later outcome; acks=0 is not answered, and an error then closes the connection.
//
// The request stays in the frame: records are validated, patched and written from there, and a call that only waits for acks keeps
// no slice of it.

// produceOutcome is what a partition's answer will be.
type produceOutcome struct {
	replica *replica.Partition
	skip    bool // named again later in the request
	err     error
	// guard and producer are a verification that the coordinator has been asked to confirm; 0 none.
	guard    uint64
	producer int64
	// logged: the log was asked, so that an error comes with its start offset.
	logged bool
	replica.AppendResult
}

// produceCall is a Produce on its way; pooled.
type produceCall struct {
	produceRequest
	resp kmsg.ProduceResponse
}

// producePool keeps calls for reuse.
type producePool struct{ p sync.Pool }

func (p *producePool) get() *produceCall {
	if pc, ok := p.p.Get().(*produceCall); ok {
		return pc
	}
	return new(produceCall)
}

// maxPooledParts bounds what a pooled call keeps; a larger one is left to the collector.
const maxPooledParts = 1024

func (p *producePool) put(pc *produceCall) {
	if cap(pc.parts) > maxPooledParts {
		return
	}
	clear(pc.parts)
	clear(pc.topics)
	p.p.Put(pc)
}

func (h *Handler) produce(c Call) {
	pc := h.Data.produces.get()
	if err := pc.read(c.Header().Version, c.Body()); err != nil {
		h.Data.produces.put(pc)
		c.Close("undecodable request: " + err.Error())
		return
	}
	transactional, err := pc.hasTransactional()
	if err == nil && transactional && !pc.transactional {
		err = kerr.TransactionalIDAuthorizationFailed
	}
	if err != nil {
		pc.failAll(err)
		h.produced(c, pc)
		return
	}
	h.resolveProduce(pc)
	if pc.acks < -1 || pc.acks > 1 {
		pc.failRest(kerr.InvalidRequiredAcks)
	}
	if transactional && pc.open() {
		h.produceTransactional(c, pc)
		return
	}
	h.appendAll(c, pc)
}

func (pc *produceCall) failAll(err error) {
	for i := range pc.parts {
		pc.parts[i].err = err
	}
}

// failRest fails the partitions that have not failed yet.
func (pc *produceCall) failRest(err error) {
	for i := range pc.parts {
		if p := &pc.parts[i]; p.err == nil {
			p.err = err
		}
	}
}

// open tells whether some partition has not failed.
func (pc *produceCall) open() bool {
	for i := range pc.parts {
		if pc.parts[i].err == nil && !pc.parts[i].skip {
			return true
		}
	}
	return false
}

// resolveProduce finds the replicas and refuses what Kafka refuses before it asks the log.
func (h *Handler) resolveProduce(pc *produceCall) {
	img := h.Images()
	for i := range pc.topics {
		t, end := &pc.topics[i], len(pc.parts)
		if i+1 < len(pc.topics) {
			end = pc.topics[i+1].from
		}
		var mt *metadata.Topic
		if pc.version >= 13 {
			mt = img.TopicByID(t.id)
		} else {
			mt = img.Topic(t.name)
		}
		for j := t.from; j < end; j++ {
			p := &pc.parts[j]
			switch {
			case mt == nil && pc.version >= 13:
				p.err = kerr.UnknownTopicID
			case mt == nil || mt.Partition(p.partition) == nil:
				p.err = kerr.UnknownTopicOrPartition
			default:
				p.records, p.err = oneBatch(pc.version, p.records)
			}
			if p.err == nil {
				if p.replica = h.Data.Replicas.Partition(mt.ID, p.partition); p.replica == nil {
					p.err = kerr.NotLeaderForPartition
				}
			}
		}
		if mt != nil {
			t.name, t.id = mt.Name, mt.ID // the image's name outlives the frame
		}
	}
	pc.skipRepeated()
}

// maxScanned is up to how many partitions a repeated one is looked for by comparing each with each.
const maxScanned = 32

// skipRepeated leaves one of those that name the same partition: one that was refused already, else the last, as Kafka's maps do.
func (pc *produceCall) skipRepeated() {
	if len(pc.parts) < 2 {
		return
	}
	if len(pc.parts) <= maxScanned {
		for i := range pc.parts {
			for j := 0; j < i; j++ {
				if pc.samePartition(i, j) {
					pc.keepOne(j, i)
				}
			}
		}
		return
	}
	type named struct {
		topicPartition
		id [16]byte
	}
	kept := make(map[named]int, len(pc.parts))
	for i := range pc.parts {
		t := &pc.topics[pc.parts[i].topic]
		k := named{topicPartition{t.name, pc.parts[i].partition}, t.id}
		if j, ok := kept[k]; ok && pc.keepOne(j, i) == j {
			continue
		}
		kept[k] = i
	}
}

func (pc *produceCall) samePartition(i, j int) bool {
	a, b := &pc.parts[i], &pc.parts[j]
	if a.partition != b.partition || a.skip || b.skip {
		return false
	}
	s, t := &pc.topics[a.topic], &pc.topics[b.topic]
	return a.topic == b.topic || s.name == t.name && s.id == t.id
}

// keepOne drops one of two parts that name the same partition, and returns the index of the other.
func (pc *produceCall) keepOne(earlier, later int) int {
	if pc.parts[earlier].err != nil {
		pc.parts[later].skip = true
		return earlier
	}
	pc.parts[earlier].skip = true
	return later
}

// appendAll appends what is left to append and answers, at once or when the acks are there.
func (h *Handler) appendAll(c Call, pc *produceCall) {
	internal := c.Header().ClientID != nil && *c.Header().ClientID == adminClientID
	pending := 0
	for i := range pc.parts {
		p := &pc.parts[i]
		switch {
		case p.err != nil || p.skip:
		case !internal && isInternalTopic(p.replica.Topic()):
			p.err = kerr.InvalidTopicException
		default:
			p.AppendResult, p.err = p.replica.Append(p.records, replica.AppendOptions{Acks: pc.acks, Version: pc.version, LeaderEpoch: -1,
				Verified: p.guard == 0, Guard: p.guard, Producer: p.producer})
			p.logged = true
			if p.Pending {
				pending++
			}
		}
		p.records = nil
	}
	if pending == 0 {
		h.produced(c, pc)
		return
	}
	h.parkProduce(c, pc)
}

// adminClientID is the client id that may write to internal topics: AdminUtils.ADMIN_CLIENT_ID.
const adminClientID = "__admin_client"

// parkedProduce is a Produce that waits for acks. The last part to be done answers.
type parkedProduce struct {
	h     *Handler
	c     Call
	pc    *produceCall
	left  atomic.Int32 // parts that wait, plus one while they are being parked
	entry wheel.Entry
	waits []producePartWait
}

type producePartWait struct {
	replica.AckWaiter
	part *producePart
}

func (h *Handler) parkProduce(c Call, pc *produceCall) {
	for i := range pc.topics { // names that the image does not have alias the frame
		pc.topics[i].name = strings.Clone(pc.topics[i].name)
	}
	pc.transactionalID = ""
	w := &parkedProduce{h: h, c: c, pc: pc}
	for i := range pc.parts {
		p := &pc.parts[i]
		if p.err != nil || p.skip || !p.Pending {
			continue
		}
		w.waits = append(w.waits, producePartWait{part: p, AckWaiter: replica.AckWaiter{Acks: pc.acks, NextOffset: p.NextOffset}})
	}
	w.left.Store(int32(len(w.waits)) + 1)
	c.Park()
	w.entry.F = w.expire
	h.Wheel.Schedule(&w.entry, h.Clock.Mono().Add(time.Duration(max(pc.timeoutMs, 0))*time.Millisecond))
	for i := range w.waits {
		x := &w.waits[i]
		x.Done = func(err error) {
			x.part.err = err
			w.done()
		}
		x.part.replica.Await(&x.AckWaiter)
	}
	w.done()
}

func (w *parkedProduce) done() {
	if w.left.Add(-1) == 0 {
		w.h.Wheel.Stop(&w.entry)
		w.h.produced(w.c, w.pc)
	}
}

// expire answers what is not acknowledged with REQUEST_TIMED_OUT; it stays appended.
func (w *parkedProduce) expire() {
	for i := range w.waits {
		x := &w.waits[i]
		if x.part.replica.Forget(&x.AckWaiter) {
			x.part.err = kerr.RequestTimedOut
			w.done()
		}
	}
}

// produced answers a call whose parts are all decided.
func (h *Handler) produced(c Call, pc *produceCall) {
	h.countProduce(pc)
	if pc.acks == 0 {
		h.produceUnanswered(c, pc)
	} else {
		h.encodeProduce(c, pc)
		c.Reply(&pc.resp)
	}
	h.Data.produces.put(pc)
}

// produceUnanswered ends an acks=0 call: an error can only be told by closing the connection, which makes the client look again.
func (h *Handler) produceUnanswered(c Call, pc *produceCall) {
	for i := range pc.parts {
		if err := pc.parts[i].err; err != nil {
			c.Close("produce with acks=0 failed: " + err.Error())
			return
		}
	}
	c.NoReply()
}

// encodeProduce fills the call's response, whose memory is used again.
func (h *Handler) encodeProduce(c Call, pc *produceCall) {
	r := &pc.resp
	topics := r.Topics
	*r = kmsg.ProduceResponse{Version: pc.version}
	r.Topics = topics[:0]
	for i := range pc.topics {
		t := &pc.topics[i]
		n := len(r.Topics)
		if n < cap(topics) {
			r.Topics = r.Topics[:n+1]
		} else {
			r.Topics = append(r.Topics, kmsg.ProduceResponseTopic{})
		}
		rt := &r.Topics[n]
		rt.Topic, rt.TopicID, rt.Partitions = t.name, t.id, rt.Partitions[:0]
		end := len(pc.parts)
		if i+1 < len(pc.topics) {
			end = pc.topics[i+1].from
		}
		for j := t.from; j < end; j++ {
			if !pc.parts[j].skip {
				rt.Partitions = append(rt.Partitions, h.producePart(c, r, &pc.parts[j]))
			}
		}
		if len(rt.Partitions) == 0 {
			r.Topics = r.Topics[:n] // a topic without partitions is not answered
		}
	}
}

func (h *Handler) producePart(c Call, r *kmsg.ProduceResponse, p *producePart) kmsg.ProduceResponseTopicPartition {
	out := kmsg.NewProduceResponseTopicPartition()
	out.Partition = p.partition
	out.BaseOffset, out.LogAppendTime, out.LogStartOffset = -1, -1, -1
	if p.NextOffset > 0 {
		out.BaseOffset, out.LogAppendTime, out.LogStartOffset = p.BaseOffset, p.LogAppendTime, p.LogStartOffset
	}
	if p.err == nil {
		return out
	}
	var known *kerr.Error
	if errors.As(p.err, &known) {
		out.ErrorCode = known.Code // a batch that cannot be decompressed is UNKNOWN_SERVER_ERROR, and the client's fault
	} else {
		out.ErrorCode = h.code(p.err, c)
	}
	if p.NextOffset == 0 && p.logged && startsKnown(out.ErrorCode) {
		out.LogStartOffset = p.replica.LogStartOffset()
	}
	var refused *replica.InvalidRecordsError
	var told *recordsError
	switch {
	case errors.As(p.err, &refused) && len(refused.Records) > 0:
		out.ErrorMessage = &refused.Message
		for i := range refused.Records {
			e := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			e.RelativeOffset = refused.Records[i].Index
			e.ErrorMessage = &refused.Records[i].Message
			out.ErrorRecords = append(out.ErrorRecords, e)
		}
	case errors.As(p.err, &told):
		out.ErrorMessage = &told.message
	}
	if r.Version >= 10 && out.ErrorCode == kerr.NotLeaderForPartition.Code && p.topic >= 0 {
		h.produceLeader(c, r, p, &out)
	}
	return out
}

// startsKnown tells whether Kafka gives the log start offset with an error: not with those that it expects (ReplicaManager.appendToLocalLog).
func startsKnown(code int16) bool {
	switch code {
	case kerr.UnknownTopicOrPartition.Code, kerr.NotLeaderForPartition.Code, kerr.MessageTooLarge.Code, kerr.RecordListTooLarge.Code,
		kerr.CorruptMessage.Code, kerr.KafkaStorageError.Code, kerr.UnknownTopicID.Code:
		return false
	}
	return true
}

// produceLeader tells a client that asked the wrong broker which one leads (KIP-951).
func (h *Handler) produceLeader(c Call, r *kmsg.ProduceResponse, p *producePart, out *kmsg.ProduceResponseTopicPartition) {
	img := h.Images()
	t := img.TopicByID(r.Topics[p.topic].TopicID)
	leader, epoch := h.leaderOf(img, t, p.partition)
	out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = leader, epoch
	for _, b := range r.Brokers {
		if b.NodeID == leader {
			return
		}
	}
	if b := img.Broker(leader); b != nil && !b.Fenced {
		v := h.viewpoint(c.Conn())
		if e, ok := v.endpoint(b); ok {
			n := kmsg.NewProduceResponseBroker()
			n.NodeID, n.Host, n.Port, n.Rack = leader, e.Host, int32(e.Port), b.Rack
			r.Brokers = append(r.Brokers, n)
		}
	}
}

// leaderOf is a partition's leader and epoch, (-1, -1) if unknown.
func (h *Handler) leaderOf(img *metadata.Image, t *metadata.Topic, partition int32) (leader, epoch int32) {
	if t == nil {
		return -1, -1
	}
	if p := h.Data.Replicas.Partition(t.ID, partition); p != nil && !p.Removed() {
		return p.Leader()
	}
	if mp := t.Partition(partition); mp != nil {
		return mp.Leader, mp.LeaderEpoch
	}
	return -1, -1
}

package handler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
	"github.com/kaja-mq/kaja/coordinator/txn"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/replica"
)

// txnNode is a dataNode with one shard for all transactional ids and one for all groups; what they write is kept at once.
type txnNode struct {
	*dataNode
	shard *txn.Shard
	err   error // instead of running a step
	hold  bool  // markers
	held  []txn.Ending
}

func newTxnNode(t *testing.T) *txnNode {
	n := &txnNode{dataNode: newDataNode(t)}
	n.topic(offsetsTopic, 1, 1)
	settings := defaultSettings{n.h.Config()}
	n.shard = txn.New(txn.Deps{Settings: settings, Level: func() int16 { return 2 }, Outbox: nodeOutbox{n}})
	g := &heldGroups{shard: group.New(group.Deps{Topics: imageTopics{n.img}, Settings: settings})}
	g.shard.Loaded(coordinator.Now{})
	n.h.Groups, n.h.Txns, n.h.Data.Txn = g, n, txnVerifier{n.h}
	return n
}

func (n *txnNode) Partitions() []int32 { return []int32{0} }

func (n *txnNode) Submit(_ int32, step func(*txn.Shard, coordinator.Now) coordinator.Effects) error {
	if n.err != nil {
		return n.err
	}
	e := step(n.shard, coordinator.Now{Wall: n.clk.Wall(), Mono: n.clk.Mono()})
	for _, r := range e.Records {
		n.shard.Apply(r)
	}
	for _, r := range e.Replies {
		r.To.Complete(r.Response)
	}
	return nil
}

func (n *txnNode) WriteMarker(m TxnMarker, done func(error)) {
	p := n.replica(m.Topic, m.Partition.Partition)
	if p == nil {
		done(kerr.NotLeaderForPartition)
		return
	}
	data := batch.AppendMarker(nil, m.ProducerID, m.ProducerEpoch, batch.Marker{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch})
	_, err := p.Append(data, replica.AppendOptions{Acks: -1, Origin: replica.OriginCoordinator, LeaderEpoch: -1, Verified: true, TransactionVersion: m.MarkerVersion})
	done(err)
}

type nodeOutbox struct{ n *txnNode }

func (o nodeOutbox) Markers(e txn.Ending) coordinator.Handle { return nodeMarkers{o.n, e} }
func (o nodeOutbox) FreshID(string) coordinator.Handle       { return nil }

type nodeMarkers struct {
	n *txnNode
	e txn.Ending
}

func (m nodeMarkers) Fail(error) {}
func (m nodeMarkers) Complete(kmsg.Response) {
	if m.n.hold {
		m.n.held = append(m.n.held, m.e)
		return
	}
	for _, p := range m.e.Partitions {
		m.n.WriteMarker(TxnMarker{Partition: p, Txn: m.e.Txn, Commit: m.e.Commit}, func(err error) {
			if err != nil {
				m.n.Error(err)
			}
		})
	}
	p := txn.Producer{TransactionalID: m.e.TransactionalID, ProducerID: m.e.ProducerID, ProducerEpoch: m.e.ProducerEpoch}
	_ = m.n.Submit(0, func(s *txn.Shard, now coordinator.Now) coordinator.Effects { return s.Complete(now, p) })
}

func (n *txnNode) init(id string) (int64, int16) {
	n.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, 60_000
	r := answerOf[*kmsg.InitProducerIDResponse](n, n.send(req, 5), req)
	if r.ErrorCode != 0 {
		n.Fatalf("InitProducerId: %d", r.ErrorCode)
	}
	return r.ProducerID, r.ProducerEpoch
}

func (n *txnNode) end(id string, pid int64, epoch int16, commit bool, version int16) (code int16, newEpoch int16) {
	n.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = id, pid, epoch, commit
	r := answerOf[*kmsg.EndTxnResponse](n, n.send(req, version), req)
	return r.ErrorCode, r.ProducerEpoch
}

func (n *txnNode) produceIn(id string, pid int64, epoch int16, seq int32, version int16) int16 {
	n.Helper()
	return n.producedIn(id, pid, epoch, seq, version).ErrorCode
}

func (n *txnNode) producedIn(id string, pid int64, epoch int16, seq int32, version int16) kmsg.ProduceResponseTopicPartition {
	n.Helper()
	req := produceReq("a", 0, plainBatch(n, 1, func(o *batch.Options) {
		o.Transactional, o.ProducerID, o.ProducerEpoch, o.BaseSequence = true, pid, epoch, seq
	}))
	req.TransactionID = &id
	r := answerOf[*kmsg.ProduceResponse](n, n.send(req, version), req)
	return r.Topics[0].Partitions[0]
}

// Records of two producers in one transactional request are refused as a whole, with the reason.
func TestProduceOfTwoProducersInTransaction(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	n.add("x", pid, epoch, 3, false, 0, 1)
	req := produceReq("a", 0, nil)
	req.TransactionID = kmsg.StringPtr("x")
	for p := range int32(2) {
		rp := req.Topics[0].Partitions[0]
		rp.Partition = p
		rp.Records = plainBatch(t, 1, func(o *batch.Options) {
			o.Transactional, o.ProducerID, o.ProducerEpoch, o.BaseSequence = true, pid, epoch+int16(p), 0
		})
		req.Topics[0].Partitions = append(req.Topics[0].Partitions[:p], rp)
	}
	r := answerOf[*kmsg.ProduceResponse](t, n.send(req, 9), req)
	for _, p := range r.Topics[0].Partitions {
		if p.ErrorCode != kerr.InvalidProducerIDMapping.Code || p.ErrorMessage == nil || *p.ErrorMessage == "" {
			t.Errorf("partition %d: %+v", p.Partition, p)
		}
	}
}

func (n *txnNode) add(id string, pid int64, epoch int16, version int16, verify bool, partitions ...int32) string {
	n.Helper()
	return n.addOf(id, pid, epoch, version, verify, "a", partitions...)
}

func (n *txnNode) addOf(id string, pid int64, epoch int16, version int16, verify bool, topic string, partitions ...int32) string {
	n.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, pid, epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: partitions}}
	tx := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: id, ProducerID: pid, ProducerEpoch: epoch, VerifyOnly: verify}
	tx.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: partitions}}
	req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{tx}
	r := answerOf[*kmsg.AddPartitionsToTxnResponse](n, n.send(req, version), req)
	var out []string
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			out = append(out, fmt.Sprintf("%d:%d", p.Partition, p.ErrorCode))
		}
	}
	for _, x := range r.Transactions {
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				out = append(out, fmt.Sprintf("%d:%d", p.Partition, p.ErrorCode))
			}
		}
	}
	return strings.Join(out, " ")
}

func (n *txnNode) lso(topic string, partition int32) string {
	p := n.replica(topic, partition)
	return fmt.Sprintf("%d of %d", p.LastStableOffset(), p.HighWatermark())
}

// A fenced producer is told by the code that its version knows.
func TestFencedCodes(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	n.init("x")
	const old, fenced = 47, 90
	for v := range int16(6) {
		want := int16(fenced)
		if v < 2 {
			want = old
		}
		if code, _ := n.end("x", pid, epoch, true, v); code != want {
			t.Errorf("EndTxn v%d: %d, want %d", v, code, want)
		}
		if got := n.add("x", pid, epoch, v, false, 0); got != fmt.Sprintf("0:%d", want) {
			t.Errorf("AddPartitionsToTxn v%d: %s, want %d", v, got, want)
		}
		if v <= 4 {
			req := kmsg.NewPtrAddOffsetsToTxnRequest()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = "x", pid, epoch, "g"
			if r := answerOf[*kmsg.AddOffsetsToTxnResponse](t, n.send(req, v), req); r.ErrorCode != want {
				t.Errorf("AddOffsetsToTxn v%d: %d, want %d", v, r.ErrorCode, want)
			}
		}
		if v >= 3 {
			id := "x"
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &id, 60_000, pid, epoch
			want := int16(fenced)
			if v < 4 {
				want = old
			}
			if r := answerOf[*kmsg.InitProducerIDResponse](t, n.send(req, v), req); r.ErrorCode != want {
				t.Errorf("InitProducerId v%d: %d, want %d", v, r.ErrorCode, want)
			}
		}
	}
	for _, v := range []int16{3, 9, 11, 12} {
		if code := n.produceIn("x", pid, epoch, 0, v); code != old {
			t.Errorf("Produce v%d: %d, want %d", v, code, old)
		}
	}
}

// Produce adds its partition from v12 on; before, one that was not added is refused.
func TestProduceInTransaction(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	for v, want := range map[int16]int16{3: 48, 10: 48, 11: kerr.TransactionAbortable.Code} {
		if code := n.produceIn("x", pid, epoch, 0, v); code != want {
			t.Errorf("Produce v%d without the partition: %d, want %d", v, code, want)
		}
	}
	if got := n.lso("a", 0); got != "0 of 0" {
		t.Fatalf("LSO %s after refused writes", got)
	}
	if code := n.produceIn("x", pid, epoch, 0, 12); code != 0 {
		t.Fatalf("Produce v12: %d", code)
	}
	if got := n.lso("a", 0); got != "0 of 1" {
		t.Errorf("LSO %s in the transaction, want 0 of 1", got)
	}
	code, next := n.end("x", pid, epoch, true, 5)
	if code != 0 || next != epoch+1 {
		t.Errorf("EndTxn: %d, epoch %d", code, next)
	}
	if got := n.lso("a", 0); got != "2 of 2" {
		t.Errorf("LSO %s after it, want 2 of 2", got)
	}
	if code := n.produceIn("x", pid, epoch, 1, 12); code != 47 {
		t.Errorf("Produce with the epoch of the ended transaction: %d, want 47", code)
	}
	if r := n.producedIn("x", pid, epoch, 1, 12); r.LogStartOffset != -1 {
		t.Errorf("refused before the log was asked, with log start %d", r.LogStartOffset)
	}
	// The older way, and the coordinator away.
	pid, epoch = n.init("y")
	if got := n.add("y", pid, epoch, 3, false, 0); got != "0:0" {
		t.Fatalf("AddPartitionsToTxn: %s", got)
	}
	n.err = coordinator.ErrLoading
	if code := n.produceIn("y", pid, epoch, 0, 9); code != kerr.NotEnoughReplicas.Code {
		t.Errorf("Produce while the coordinator loads: %d", code)
	}
	n.err = nil
	if code := n.produceIn("y", pid, epoch, 0, 9); code != 0 {
		t.Errorf("Produce v9: %d", code)
	}
	if code, _ := n.end("y", pid, epoch, false, 3); code != 0 {
		t.Errorf("EndTxn: %d", code)
	}
	if got := n.lso("a", 0); got != "4 of 4" {
		t.Errorf("LSO %s at the end, want 4 of 4", got)
	}
}

func TestAddPartitionsToTxn(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	f := func(id string, pid int64, version int16, verify bool, want string, partitions ...int32) {
		t.Helper()
		if got := n.add(id, pid, epoch, version, verify, partitions...); got != want {
			t.Errorf("%q %d v%d verify %v %v: %s, want %s", id, pid, version, verify, partitions, got, want)
		}
	}
	f("x", pid, 3, false, "0:55 9:3", 0, 9)
	f("", pid, 3, false, "0:42", 0)
	internal := n.addOf("x", pid, epoch, 3, false, offsetsTopic, 0)
	if want := fmt.Sprintf("0:%d", kerr.TopicAuthorizationFailed.Code); internal != want {
		t.Errorf("an internal topic from a client: %s, want %s", internal, want)
	}
	f("x", pid+1, 4, false, "0:49", 0)
	f("y", pid, 5, false, "0:49", 0)
	f("x", pid, 5, true, fmt.Sprintf("0:%d", kerr.TransactionAbortable.Code), 0)
	f("x", pid, 5, false, "0:0", 0)
	f("x", pid, 5, true, fmt.Sprintf("0:0 1:%d", kerr.TransactionAbortable.Code), 0, 1)
	n.err = coordinator.ErrNotCoordinator
	f("x", pid, 4, false, "0:16", 0)
	f("x", pid, 4, true, "0:16", 0)
}

func (n *txnNode) commitOffsets(pid int64, epoch int16, version int16, change func(*kmsg.TxnOffsetCommitRequest)) string {
	n.Helper()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = "x", "g", pid, epoch
	for _, name := range []string{"a", "z"} {
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		rt.Topic, rt.TopicID = name, topicIDOf(name)
		for p := range int32(3) {
			rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset = p, 7
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	if change != nil {
		change(req)
	}
	r := answerOf[*kmsg.TxnOffsetCommitResponse](n, n.send(req, version), req)
	var out []string
	for _, t := range r.Topics {
		if len(t.Partitions) == 0 {
			out = append(out, t.Topic+" without partitions")
		}
		for _, p := range t.Partitions {
			out = append(out, fmt.Sprint(p.ErrorCode))
		}
	}
	return strings.Join(out, " ")
}

// What does not exist is refused by itself; the rest is verified, and then the group has its say.
func TestTxnOffsetCommit(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	f := func(what string, epoch, version int16, change func(*kmsg.TxnOffsetCommitRequest), want string) {
		t.Helper()
		if got := n.commitOffsets(pid, epoch, version, change); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	f("not added, v3", epoch, 3, nil, "3 48 48 3 3 3")
	f("not added, v4", epoch, 4, nil, "3 120 120 3 3 3")
	f("fenced", epoch+1, 3, nil, "3 47 47 3 3 3")
	f("fenced, adding", epoch+1, 5, nil, "3 47 47 3 3 3")
	f("a topic without partitions", epoch, 3, func(r *kmsg.TxnOffsetCommitRequest) { r.Topics[0].Partitions = nil }, "3 3 3")
	f("nothing left", epoch, 3, func(r *kmsg.TxnOffsetCommitRequest) { r.Topics = r.Topics[1:] }, "3 3 3")
	f("no group", epoch, 3, func(r *kmsg.TxnOffsetCommitRequest) { r.Group = "" }, "3 24 24 3 3 3")
	f("topic ids, adding", epoch, 6, nil, "3 0 0 100 100 100")
	f("now it is open", epoch, 3, nil, "3 0 0 3 3 3")
	f("a stranger", epoch, 6, func(r *kmsg.TxnOffsetCommitRequest) { r.MemberID, r.Generation = "m", 4 }, "3 25 25 100 100 100")
	n.err = coordinator.ErrNotAvailable
	f("coordinator away", epoch+5, 3, nil, "3 15 15 3 3 3")
}

func TestWriteTxnMarkers(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	if code := n.produceIn("x", pid, epoch, 0, 12); code != 0 {
		t.Fatal(code)
	}
	f := func(topic string, partition int32, epoch int16, version int16, want int16) {
		t.Helper()
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.TransactionVersion = pid, epoch, 2
		m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: topic, Partitions: []int32{partition}}}
		req.Markers = append(req.Markers, m)
		r := answerOf[*kmsg.WriteTxnMarkersResponse](t, n.send(req, version), req)
		p := r.Markers[0].Topics[0].Partitions[0]
		if r.Markers[0].ProducerID != pid || p.Partition != partition || p.ErrorCode != want {
			t.Errorf("marker of %s-%d epoch %d v%d: %+v, want code %d", topic, partition, epoch, version, r.Markers, want)
		}
	}
	f("a", 7, epoch, 1, 3)
	f("z", 0, epoch, 1, 3)
	f("other", 0, epoch, 1, 3)
	f("a", 0, epoch, 2, 47) // version 2 demands a raised epoch
	f("a", 0, epoch+1, 2, 0)
	f("a", 0, epoch+1, 2, 0)
	f("a", 0, epoch, 1, 47)
	f("a", 0, -1, 1, -1) // no marker can be made of it
	pid = -1
	f("a", 0, 0, 1, -1)
	if got := n.lso("a", 0); got != "3 of 3" {
		t.Errorf("LSO %s, want 3 of 3", got)
	}
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	if r := answerOf[*kmsg.WriteTxnMarkersResponse](t, n.send(req, 1), req); len(r.Markers) != 0 {
		t.Errorf("no markers: %+v", r)
	}
}

func TestDescribeTransactions(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	n.add("x", pid, epoch, 3, false, 1, 0)
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{"x", "", "y"}
	r := answerOf[*kmsg.DescribeTransactionsResponse](t, n.send(req, 0), req)
	x := r.TransactionStates[0]
	if x.State != "Ongoing" || x.ProducerID != pid || x.StartTimestamp != n.clk.Wall().UnixMilli() || len(x.Topics) != 1 || !slices.Equal(x.Topics[0].Partitions, []int32{0, 1}) {
		t.Errorf("x: %+v", x)
	}
	if r.TransactionStates[1].ErrorCode != kerr.InvalidRequest.Code || r.TransactionStates[2].ErrorCode != kerr.TransactionalIDNotFound.Code {
		t.Errorf("others: %+v", r.TransactionStates[1:])
	}
	n.err = coordinator.ErrLoading
	r = answerOf[*kmsg.DescribeTransactionsResponse](t, n.send(req, 0), req)
	if r.TransactionStates[0].ErrorCode != kerr.CoordinatorLoadInProgress.Code || r.TransactionStates[0].TransactionalID != "x" {
		t.Errorf("while loading: %+v", r.TransactionStates[0])
	}
}

func TestListTransactions(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("open")
	n.add("open", pid, epoch, 3, false, 0)
	idle, _ := n.init("idle")
	f := func(version int16, change func(*kmsg.ListTransactionsRequest), want string) {
		t.Helper()
		req := kmsg.NewPtrListTransactionsRequest()
		if change != nil {
			change(req)
		}
		r := answerOf[*kmsg.ListTransactionsResponse](t, n.send(req, version), req)
		got := fmt.Sprint(r.ErrorCode, r.UnknownStateFilters)
		for _, s := range r.TransactionStates {
			got += fmt.Sprintf(" %s:%s", s.TransactionalID, s.TransactionState)
		}
		if got != want {
			t.Errorf("v%d: %s, want %s", version, got, want)
		}
	}
	f(0, nil, "0 [] idle:Empty open:Ongoing")
	f(0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Ongoing", "Odd"} }, "0 [Odd] open:Ongoing")
	f(0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Odd", "odd", "Odd"} }, "0 [Odd odd]")
	f(1, func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{idle} }, "0 [] idle:Empty")
	f(1, func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 0 }, "0 [] idle:Empty")
	f(2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = kmsg.StringPtr("o|op.n") }, "0 [] open:Ongoing")
	f(2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = kmsg.StringPtr("pen") }, "0 []")
	f(2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = kmsg.StringPtr("(") }, fmt.Sprint(kerr.InvalidRegularExpression.Code, " []"))
	n.err = coordinator.ErrNotCoordinator
	f(2, nil, "0 []")
	n.err = coordinator.ErrLoading
	f(2, nil, "14 []")
}

// EndTxn waits for the markers; the next call meets what it is told until then.
func TestEndTxnWaits(t *testing.T) {
	n := newTxnNode(t)
	pid, epoch := n.init("x")
	if code := n.produceIn("x", pid, epoch, 0, 12); code != 0 {
		t.Fatal(code)
	}
	n.hold = true
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = "x", pid, epoch, true
	c := n.send(req, 5)
	if c.answered != 0 || !c.parked {
		t.Fatalf("answered %d times, parked %v", c.answered, c.parked)
	}
	if code := n.produceIn("x", pid, epoch+1, 0, 12); code != kerr.ConcurrentTransactions.Code {
		t.Errorf("Produce before the markers are in: %d", code)
	}
	n.hold = false
	nodeMarkers{n, n.held[0]}.Complete(nil)
	if r := answerOf[*kmsg.EndTxnResponse](t, c, req); r.ErrorCode != 0 || r.ProducerEpoch != epoch+1 {
		t.Errorf("EndTxn: %+v", r)
	}
	if code := n.produceIn("x", pid, epoch+1, 0, 12); code != 0 {
		t.Errorf("Produce in the next transaction: %d", code)
	}
}

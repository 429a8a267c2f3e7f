package handler

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/replica"
	"github.com/kaja-mq/kaja/storage"
)

// dataNode is a handler with real partitions on a memory disk: broker 1 of 1 and 2, topics a and b with two partitions each, led by broker 1;
// topic other is led by broker 2 and has no replica here.
type dataNode struct {
	testing.TB
	h   *Handler
	clk *clock.Manual
	img *metadata.Image
	cfg storage.LogConfig
	off int64
}

func topicIDOf(name string) [16]byte { return [16]byte{0: 0x20, 15: name[0]} }

func newDataNode(t testing.TB, change ...func(*storage.LogConfig)) *dataNode {
	t.Helper()
	n := &dataNode{TB: t, clk: clock.NewManual(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)), img: metadata.Empty()}
	n.cfg = storage.LogConfig{
		CleanupDelete: true, CompressionType: "producer", FileDeleteDelayMs: 60_000, FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64,
		IndexIntervalBytes: 4096, MaxMessageBytes: 1 << 20, MaxDecompressedMessageBytes: 64 << 20, MinInsyncReplicas: 1,
		MessageTimestampAfterMaxMs: 3_600_000, MessageTimestampBeforeMaxMs: math.MaxInt64, RetentionBytes: -1, RetentionMs: -1,
		SegmentBytes: 1 << 30, SegmentIndexBytes: 10 << 20, SegmentMs: math.MaxInt64, ProducerIDExpirationMs: 86400_000,
	}
	for _, f := range change {
		f(&n.cfg)
	}
	store, err := storage.Open(storage.Options{FS: vfs.NewMem(), Clock: n.clk, Log: zerolog.Nop(), Dirs: []string{"/data"}, NodeID: 1, RecoveryThreads: 1,
		Defaults: func() storage.LogConfig { return n.cfg }})
	if err != nil {
		t.Fatal(err)
	}
	static, _, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	settings := config.Broker(static, nil, nil)
	w := wheel.New(n.clk)
	parts := replica.New(replica.Options{NodeID: 1, Store: replica.StoreOf(store), Clock: n.clk, Wheel: w, Log: zerolog.Nop()})
	next := int64(100)
	data := NewDataPlane(parts, func() int { return 1000 }, func(done func(int64, int32, error)) { next += 10; done(next-10, 10, nil) })
	n.h = New(Handler{NodeID: 1, Images: func() *metadata.Image { return n.img }, Config: func() *config.Resolver { return settings }, Data: data, Clock: n.clk,
		Wheel: w, Log: zerolog.Nop()})
	t.Cleanup(func() {
		parts.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	n.apply(brokerRecord(1, false), brokerRecord(2, false))
	n.topic("a", 1, 1)
	n.topic("b", 1, 1)
	n.topic("other", 2)
	return n
}

// apply changes the image and the partitions with it.
func (n *dataNode) apply(recs ...record.Message) {
	n.Helper()
	n.off += int64(len(recs))
	img, d, err := n.img.Apply(recs, n.off, 1)
	if err != nil {
		n.Fatal(err)
	}
	n.h.Data.Replicas.ApplyDelta(img, d)
	n.img = img
}

// topic makes a topic with a partition for each leader, which is its only replica.
func (n *dataNode) topic(name string, leaders ...int32) {
	n.Helper()
	recs := []record.Message{&record.TopicRecord{Name: name, TopicID: topicIDOf(name)}}
	for i, l := range leaders {
		recs = append(recs, &record.PartitionRecord{PartitionID: int32(i), TopicID: topicIDOf(name), Replicas: []int32{l}, ISR: []int32{l}, Leader: l})
	}
	n.apply(recs...)
}

func (n *dataNode) replica(topic string, partition int32) *replica.Partition {
	return n.h.Data.Replicas.Partition(topicIDOf(topic), partition)
}

// dataCall is a call that behaves as the server's: Park moves the body and overwrites the old one, responses become bytes at once.
type dataCall struct {
	testCall
	conn *dataConn
	out  []byte
}

// dataConn is a connection that can end.
type dataConn struct {
	testConn
	id     uint64
	ended  bool
	onEnd  []func()
	listen int // how often OnClose was called
}

func (c *dataConn) ID() uint64   { return c.id }
func (c *dataConn) Closed() bool { return c.ended }
func (c *dataConn) OnClose(f func()) {
	c.onEnd = append(c.onEnd, f)
	c.listen++
}
func (c *dataConn) end() {
	c.ended = true
	for _, f := range c.onEnd {
		f()
	}
}

func (c *dataCall) Conn() Conn { return c.conn }

func (c *dataCall) Park() {
	if c.parked {
		return
	}
	c.parked = true
	old := c.body
	c.body = bytes.Clone(old)
	for i := range old {
		old[i] = 0xee
	}
}

func (c *dataCall) Offload(f func()) {
	c.Park()
	f()
}

func (c *dataCall) Reply(resp kmsg.Response) {
	c.answered++
	c.out = resp.AppendTo(nil)
}

func (c *dataCall) ReplySplice(s *protocol.Splice) {
	c.answered++
	c.out = spliced(s)
	s.Release()
}

// spliced is a response's bytes.
func spliced(s *protocol.Splice) []byte {
	var out []byte
	for _, p := range s.Pieces {
		if p.File == nil {
			out = append(out, p.Bytes...)
			continue
		}
		b := make([]byte, p.File.Len())
		if _, err := p.File.ReadAt(b, 0); err != nil {
			panic(err) // of a memory disk
		}
		out = append(out, b...)
	}
	return out
}

// send starts a call on a connection of its own.
func (n *dataNode) send(req kmsg.Request, version int16) *dataCall {
	return n.sendOn(&dataConn{id: 7}, req, version)
}

func (n *dataNode) sendOn(conn *dataConn, req kmsg.Request, version int16) *dataCall {
	req.SetVersion(version)
	c := &dataCall{testCall: *callOf(req), conn: conn}
	n.h.Serve(c)
	return c
}

// answer decodes what the call was answered; it must have been, once.
func answerOf[R kmsg.Response](t testing.TB, c *dataCall, req kmsg.Request) R {
	t.Helper()
	if c.answered != 1 || c.closed != "" || c.none {
		t.Fatalf("key %d version %d: answered %d times, closed %q, none %v", c.header.Key, c.header.Version, c.answered, c.closed, c.none)
	}
	r := req.ResponseKind()
	r.SetVersion(c.header.Version)
	if err := r.ReadFrom(c.out); err != nil {
		t.Fatalf("key %d version %d: response: %v", c.header.Key, c.header.Version, err)
	}
	if again := r.AppendTo(nil); !bytes.Equal(again, c.out) {
		t.Errorf("key %d version %d: response is not canonical:\ngot  %x\nwant %x", c.header.Key, c.header.Version, c.out, again)
	}
	return r.(R)
}

// plainBatch is a batch of count records "v".
func plainBatch(t testing.TB, count int, change ...func(*batch.Options)) []byte {
	t.Helper()
	o := batch.PlainOptions(0, -1)
	for _, f := range change {
		f(&o)
	}
	b := batch.NewBuilder(nil, o)
	for i := range count {
		b.Append(int64(i), int64(1000+i), nil, []byte("v"))
	}
	out, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// produceReq has one partition of one topic.
func produceReq(topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 1000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = topic, topicIDOf(topic)
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, records
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// fetchReq wants "topic/partition@offset" each.
func fetchReq(wants ...string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, 500, 1, 50<<20, -1
	for _, want := range wants {
		topic, partition, offset := parseWant(want)
		if k := len(req.Topics); k == 0 || req.Topics[k-1].Topic != topic {
			rt := kmsg.NewFetchRequestTopic()
			rt.Topic, rt.TopicID = topic, topicIDOf(topic)
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = partition, offset, 1<<20
		rt := &req.Topics[len(req.Topics)-1]
		rt.Partitions = append(rt.Partitions, rp)
	}
	return req
}

func parseWant(s string) (topic string, partition int32, offset int64) {
	topic, s, _ = strings.Cut(s, "/")
	if _, err := fmt.Sscanf(s, "%d@%d", &partition, &offset); err != nil && !strings.Contains(s, "@") {
		fmt.Sscan(s, &partition)
	}
	return topic, partition, offset
}

// told is a fetch response in short: "topic/partition code hw bytes".
func told(r *kmsg.FetchResponse) string {
	var out []string
	if r.ErrorCode != 0 {
		out = append(out, fmt.Sprint("error ", r.ErrorCode))
	}
	for _, t := range r.Topics {
		name := t.Topic
		if r.Version >= 13 {
			name = string(t.TopicID[15:])
		}
		for _, p := range t.Partitions {
			out = append(out, fmt.Sprintf("%s/%d code=%d hw=%d bytes=%d", name, p.Partition, p.ErrorCode, p.HighWatermark, len(p.RecordBatches)))
		}
	}
	return strings.Join(out, ", ")
}

func eq[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %v\nwant %v", what, got, want)
	}
}

// mustProduce appends and returns the base offset.
func (n *dataNode) mustProduce(topic string, partition int32, records []byte) int64 {
	n.Helper()
	req := produceReq(topic, partition, records)
	p := answerOf[*kmsg.ProduceResponse](n, n.send(req, 9), req).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		n.Fatalf("produce: code %d", p.ErrorCode)
	}
	return p.BaseOffset
}

func TestProducerIDs(t *testing.T) {
	type asked struct{ done func(int64, int32, error) }
	var asks []asked
	ids := NewProducerIDs(func(done func(int64, int32, error)) { asks = append(asks, asked{done}) })
	_, ok := ids.Next()
	eq(t, "id without a block", ok, false)
	var got []string
	wait := func() { ids.Wait(func(id int64, err error) { got = append(got, fmt.Sprint(id, " ", err)) }) }
	wait()
	wait()
	eq(t, "blocks asked for", len(asks), 1)
	asks[0].done(0, 0, errors.New("no controller"))
	eq(t, "all that wait hear of the error", fmt.Sprint(got), "[-1 no controller -1 no controller]")
	eq(t, "blocks asked for after an error", len(asks), 1)
	got = nil
	wait()
	asks[1].done(1000, 20, nil)
	eq(t, "first id", fmt.Sprint(got), "[1000 <nil>]")
	for i := range int64(17) {
		id, ok := ids.Next()
		eq(t, "next id", fmt.Sprint(id, ok), fmt.Sprint(1001+i, true))
	}
	eq(t, "with a tenth left the next block is asked for", len(asks), 3)
	for i := range int64(2) {
		id, _ := ids.Next()
		eq(t, "last ids of the block", id, 1018+i)
	}
	_, ok = ids.Next()
	eq(t, "exhausted", ok, false)
	asks[2].done(5000, 20, nil)
	id, _ := ids.Next()
	eq(t, "next block", id, 5000)
}

// assignment is a partition's with broker 2 as a second replica and another ISR.
func assignment(p *replica.Partition, isr []int32) replica.Assignment {
	return replica.Assignment{Topic: p.Topic(), ID: p.TopicID(), Partition: p.Index(), Replicas: []int32{1, 2}, ISR: isr, Leader: 1}
}

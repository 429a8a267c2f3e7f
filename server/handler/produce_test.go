package handler

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/storage"
)

func TestProduceEveryVersion(t *testing.T) {
	n := newDataNode(t)
	for v := int16(3); v <= 13; v++ {
		req := produceReq("a", 0, plainBatch(t, 2))
		r := answerOf[*kmsg.ProduceResponse](t, n.send(req, v), req)
		p := r.Topics[0].Partitions[0]
		eq(t, fmt.Sprint("v", v), fmt.Sprint(p.ErrorCode, p.BaseOffset, p.LogAppendTime), fmt.Sprint(0, int64(v-3)*2, -1))
	}
}

func TestProduceRefusals(t *testing.T) {
	n := newDataNode(t)
	f := func(what string, req *kmsg.ProduceRequest, version int16, want string) {
		t.Helper()
		var got string
		for _, rt := range answerOf[*kmsg.ProduceResponse](t, n.send(req, version), req).Topics {
			for _, p := range rt.Partitions {
				got += fmt.Sprintf("%d:%d start=%d message=%v; ", p.Partition, p.ErrorCode, p.LogStartOffset, p.ErrorMessage != nil)
			}
		}
		eq(t, what, got, want)
	}
	with := func(change func(*kmsg.ProduceRequest)) *kmsg.ProduceRequest {
		req := produceReq("a", 0, plainBatch(t, 1))
		change(req)
		return req
	}
	add := func(partition int32, records []byte) func(*kmsg.ProduceRequest) {
		return func(r *kmsg.ProduceRequest) {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = partition, records
			r.Topics[0].Partitions = append(r.Topics[0].Partitions, p)
		}
	}
	magic := func(m byte) []byte {
		b := plainBatch(t, 1)
		b[batchMagicAt] = m
		return b
	}
	f("unknown topic", produceReq("none", 0, plainBatch(t, 1)), 9, "0:3 start=-1 message=false; ")
	f("unknown id", produceReq("none", 0, plainBatch(t, 1)), 13, "0:100 start=-1 message=false; ")
	f("unknown partition", produceReq("a", 5, plainBatch(t, 1)), 13, "5:3 start=-1 message=false; ")
	f("another broker's", produceReq("other", 0, plainBatch(t, 1)), 9, "0:6 start=-1 message=false; ")
	f("acks", with(func(r *kmsg.ProduceRequest) { r.Acks = 2 }), 9, "0:21 start=-1 message=false; ")
	f("no records", produceReq("a", 0, nil), 9, "0:87 start=-1 message=false; ")
	f("empty records", produceReq("a", 0, []byte{}), 9, "0:87 start=-1 message=false; ")
	f("magic 1 beside a good one", with(add(1, magic(1))), 9, "0:0 start=0 message=false; 1:87 start=-1 message=false; ")
	f("magic 3 spoils all", with(add(1, magic(3))), 9, "0:2 start=-1 message=true; 1:2 start=-1 message=true; ")
	f("two batches", produceReq("a", 0, append(plainBatch(t, 1), plainBatch(t, 1)...)), 9, "0:87 start=-1 message=false; ")
	f("a part of a second batch", produceReq("a", 0, append(plainBatch(t, 1), plainBatch(t, 1)[:40]...)), 9, "0:0 start=0 message=false; ")
	f("named twice", with(add(0, plainBatch(t, 3))), 9, "0:0 start=0 message=false; ")
	f("named twice, once badly", with(add(0, magic(1))), 9, "0:87 start=-1 message=false; ")
	eq(t, "end offset", n.replica("a", 0).LogEndOffset(), 5)
	transactional := func(o *batch.Options) { o.Transactional, o.ProducerID, o.ProducerEpoch, o.BaseSequence = true, 5, 0, 0 }
	f("transactional without id", produceReq("a", 0, plainBatch(t, 1, transactional)), 9, "0:53 start=-1 message=false; ")
	f("transactional without coordinator", with(func(r *kmsg.ProduceRequest) {
		r.TransactionID = kmsg.StringPtr("x")
		r.Topics[0].Partitions[0].Records = plainBatch(t, 1, transactional)
	}), 9, "0:19 start=-1 message=true; ")
	bad := plainBatch(t, 1)
	bad[len(bad)-1] ^= 1
	f("bad crc", produceReq("a", 0, bad), 9, "0:2 start=-1 message=false; ")
	late := plainBatch(t, 1)
	binary.BigEndian.PutUint32(late[batchAttributesAt+2:], 7) // last offset delta
	batch.Batch(late).RenewCRC()
	f("count and offsets do not match", produceReq("a", 0, late), 9, "0:87 start=0 message=false; ")
}

func TestProduceTellsWhoLeads(t *testing.T) {
	n := newDataNode(t)
	req := produceReq("other", 0, plainBatch(t, 1))
	r := answerOf[*kmsg.ProduceResponse](t, n.send(req, 10), req)
	p := r.Topics[0].Partitions[0]
	eq(t, "code", p.ErrorCode, kerr.NotLeaderForPartition.Code)
	eq(t, "leader", fmt.Sprint(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch), "2 0")
	if len(r.Brokers) != 1 || r.Brokers[0].NodeID != 2 || r.Brokers[0].Port == 0 {
		t.Errorf("brokers %+v", r.Brokers)
	}
}

func TestProduceWithoutAnswer(t *testing.T) {
	n := newDataNode(t)
	req := produceReq("a", 0, plainBatch(t, 1))
	req.Acks = 0
	c := n.send(req, 9)
	eq(t, "no answer", fmt.Sprint(c.none, c.answered, c.closed), "true 1")
	req = produceReq("a", 77, plainBatch(t, 1))
	req.Acks = 0
	c = n.send(req, 9)
	eq(t, "closed", c.closed != "" && !c.none, true)
}

// A produce that waits for its acks answers when they come, or with REQUEST_TIMED_OUT, once; and it keeps nothing of its frame.
func TestProduceWaitsForFollowers(t *testing.T) {
	n := newDataNode(t)
	n.topic("c", 1)
	lead := func(isr ...int32) {
		a := n.replica("c", 0)
		n.h.Data.Replicas.Assign(assignment(a, isr))
	}
	lead(1, 2)
	req := produceReq("c", 0, plainBatch(t, 2))
	c := n.send(req, 9)
	eq(t, "waits", c.answered, 0)
	n.clk.Advance(999 * time.Millisecond)
	eq(t, "still waits", c.answered, 0)
	n.clk.Advance(time.Millisecond)
	p := answerOf[*kmsg.ProduceResponse](t, c, req).Topics[0]
	eq(t, "timed out", fmt.Sprint(p.Topic, p.Partitions[0].ErrorCode, p.Partitions[0].BaseOffset), "c7 0")

	c = n.send(req2(t, "c"), 9)
	eq(t, "waits", c.answered, 0)
	lead(1)
	eq(t, "answered once the ISR has it", answerOf[*kmsg.ProduceResponse](t, c, req).Topics[0].Partitions[0].ErrorCode, 0)
	n.clk.Advance(time.Minute)
	eq(t, "once", c.answered, 1)
}

func req2(t testing.TB, topic string) *kmsg.ProduceRequest {
	return produceReq(topic, 0, plainBatch(t, 2))
}

// A flush that is demanded holds the answer back whatever the acks.
func TestProduceWaitsForFlush(t *testing.T) {
	n := newDataNode(t, func(c *storage.LogConfig) { c.FlushMessages = 1 })
	for _, acks := range []int16{1, -1} {
		req := produceReq("a", 0, plainBatch(t, 1))
		req.Acks = acks
		done := make(chan struct{})
		req.SetVersion(9)
		c := &chanCall{dataCall{testCall: *callOf(req), conn: &dataConn{id: 9}}, done}
		n.h.Serve(c)
		<-done
		eq(t, fmt.Sprint("acks ", acks), answerOf[*kmsg.ProduceResponse](t, &c.dataCall, req).Topics[0].Partitions[0].ErrorCode, 0)
	}
	eq(t, "high watermark", n.replica("a", 0).HighWatermark(), 2)
}

// chanCall is answered on another goroutine.
type chanCall struct {
	dataCall
	done chan struct{}
}

func (c *chanCall) Reply(r kmsg.Response) {
	c.dataCall.Reply(r)
	close(c.done)
}

func TestUndecodableProduceCloses(t *testing.T) {
	n := newDataNode(t)
	req := produceReq("a", 0, plainBatch(t, 1))
	req.SetVersion(9)
	whole := callOf(req).body
	for cut := range len(whole) {
		c := &dataCall{testCall: *callOf(req), conn: &dataConn{id: 1}}
		c.body = whole[:cut:cut]
		n.h.Serve(c)
		if c.closed == "" || c.answered != 1 {
			t.Fatalf("cut at %d of %d: answered %d times, closed %q", cut, len(whole), c.answered, c.closed)
		}
	}
}

// What a request says of its lengths is not believed before the bytes are there.
func FuzzProduceRequest(f *testing.F) {
	for v := int16(3); v <= 13; v += 5 {
		req := kmsg.NewPtrProduceRequest()
		req.SetVersion(v)
		f.Add(v, req.AppendTo(nil))
		req.Topics = append(req.Topics, kmsg.ProduceRequestTopic{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1, Records: make([]byte, 70)}}})
		f.Add(v, req.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 3 || version > 13 {
			return
		}
		var q produceRequest
		err := q.read(version, body)
		var want kmsg.ProduceRequest
		want.SetVersion(version)
		if err != nil || want.ReadFrom(body) != nil {
			return
		}
		n := 0
		for i, rt := range want.Topics {
			if q.topics[i].name != rt.Topic || q.topics[i].id != rt.TopicID {
				t.Fatalf("topic %d: got %q, want %q", i, q.topics[i].name, rt.Topic)
			}
			for _, rp := range rt.Partitions {
				if p := q.parts[n]; p.partition != rp.Partition || string(p.records) != string(rp.Records) || int(p.topic) != i {
					t.Fatalf("partition %d: got %+v, want %+v", n, p, rp)
				}
				n++
			}
		}
		if n != len(q.parts) || q.acks != want.Acks || q.timeoutMs != want.TimeoutMillis {
			t.Fatalf("got %+v, want %+v", q, want)
		}
		_, _ = q.hasTransactional()
		for i := range q.parts {
			_, _ = oneBatch(version, q.parts[i].records)
		}
	})
}

// quietCall drops what it is answered, as a server would that has written it.
type quietCall struct {
	dataCall
	bytes int
	buf   []byte
}

func (c *quietCall) Reply(r kmsg.Response) {
	c.buf = r.AppendTo(c.buf[:0])
	c.bytes += len(c.buf)
}

// Allocations of a warm produce: the one that storage's log makes for what it remembers of the batch.
func TestProduceAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("pools forget on purpose in race builds")
	}
	n := newDataNode(t)
	body := produceReq("a", 0, plainBatch(t, 10))
	body.SetVersion(9)
	c := &quietCall{dataCall: dataCall{testCall: *callOf(body), conn: &dataConn{id: 1}}}
	frame := append([]byte(nil), c.body...)
	got := testing.AllocsPerRun(200, func() {
		copy(c.body, frame)
		n.h.produce(c)
	})
	if got > 2 {
		t.Errorf("%v allocations per produce, want at most 2", got)
	}
}

// BenchmarkReadProduce is the decoding of a request of 100 partitions.
func BenchmarkReadProduce(b *testing.B) {
	req := produceReq("a", 0, plainBatch(b, 1))
	req.SetVersion(9)
	for i := range int32(99) {
		p := req.Topics[0].Partitions[0]
		p.Partition = i + 1
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	body := callOf(req).body
	var q produceRequest
	b.ReportAllocs()
	for b.Loop() {
		if err := q.read(9, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProduce(b *testing.B) {
	for _, count := range []int{1, 100} {
		b.Run(fmt.Sprint(count, " records"), func(b *testing.B) {
			n := newDataNode(b)
			req := produceReq("a", 0, plainBatch(b, count))
			req.SetVersion(9)
			c := &quietCall{dataCall: dataCall{testCall: *callOf(req), conn: &dataConn{id: 1}}}
			frame := append([]byte(nil), c.body...)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				copy(c.body, frame)
				n.h.produce(c)
			}
		})
	}
}

// TestProduceNoPartitions: a topic without partitions is left out of the answer.
func TestProduceNoPartitions(t *testing.T) {
	n := newDataNode(t)
	req := produceReq("a", 0, plainBatch(t, 1))
	empty := kmsg.NewProduceRequestTopic()
	empty.Topic = "a"
	req.Topics = append([]kmsg.ProduceRequestTopic{empty}, req.Topics...)
	r := answerOf[*kmsg.ProduceResponse](t, n.send(req, 9), req)
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("answered %+v", r.Topics)
	}
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// produceVersion names topics by id; the answer for one partition has its error code at a fixed place.
const produceVersion = 13

// batchShape is what a batch is made of.
type batchShape struct {
	bytes        int // of the batch before compression; one record at least
	record       int // of a value
	compressible int // percent of a value that is text said again and again
	codec        string
	firstKey     int // keys are k<firstKey>, k<firstKey+1> …; negative: none
}

const text = "the quick brown fox jumps over the lazy dog 0123456789 "

// build makes a batch whose offsets start at 0, as clients send it.
func (s batchShape) build() (data []byte, records int, err error) {
	codec := batch.None
	if s.codec != "none" {
		var ok bool
		if codec, ok = batch.CodecOf(s.codec); !ok {
			return nil, 0, fmt.Errorf("unknown codec %q", s.codec)
		}
	}
	o := batch.PlainOptions(0, -1)
	o.Codec, o.Level = codec, codec.Level()
	w := batch.NewBuilder(nil, o)
	random := rand.NewChaCha8([32]byte{byte(s.firstKey), byte(s.firstKey >> 8), byte(s.firstKey >> 16)})
	now := time.Now().UnixMilli()
	for records == 0 || w.Size()+s.record+20 <= s.bytes {
		v := make([]byte, s.record)
		cut := s.record * s.compressible / 100
		for i := range cut {
			v[i] = text[i%len(text)]
		}
		_, _ = random.Read(v[cut:]) // never fails
		var key []byte
		if s.firstKey >= 0 {
			key = fmt.Appendf(nil, "k%d", s.firstKey+records)
		}
		w.Append(int64(records), now, key, v)
		records++
	}
	data, err = w.Finish()
	return data, records, err
}

// produceFrame is a request with one batch for one partition.
func produceFrame(id [16]byte, partition int32, acks int16, data []byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 30_000
	t := kmsg.NewProduceRequestTopic()
	t.TopicID = id
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, data
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return encode(req, produceVersion)
}

// produced checks the answer to produceFrame: correlation id, tags, one topic with its id, one partition, its number, its error code.
func produced(b []byte) (baseOffset int64, err error) {
	const head = 4 + 1 + 1 + 16 + 1 + 4
	if len(b) < head+2+8 {
		return 0, errors.New("produce: short answer")
	}
	code := int16(b[head])<<8 | int16(b[head+1])
	for _, x := range b[head+2 : head+10] {
		baseOffset = baseOffset<<8 | int64(x)
	}
	return baseOffset, coded("produce", code)
}

// settleTries is how often a request is sent that finds no leader yet: a minute, which a busy Kafka needs for 1,000 partitions.
const settleTries = 1200

// settle sends a request until it is taken: a broker may refuse for a moment a partition that it has just announced.
func settle(w *wire, frame []byte) error {
	for try := 0; ; try++ {
		b, err := w.send(frame)
		if err != nil {
			return err
		}
		_, err = produced(b)
		if err == nil || try == settleTries || !errors.Is(err, kerr.NotLeaderForPartition) && !errors.Is(err, kerr.UnknownTopicID) && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// produceMode keeps requests outstanding on every connection until enough bytes are acknowledged.
func produceMode(f *flag.FlagSet, o *options) func() (figures, error) {
	shape := batchShape{firstKey: -1}
	f.IntVar(&shape.bytes, "batch", 64<<10, "bytes of a batch before compression")
	f.IntVar(&shape.record, "record", 1<<10, "bytes of a value")
	f.StringVar(&shape.codec, "codec", "none", "none, gzip, snappy, lz4 or zstd")
	f.IntVar(&shape.compressible, "compressible", 60, "percent of a value that compresses (with a codec)")
	acks := f.Int("acks", 1, "0, 1 or -1")
	mib := f.Int("mib", 256, "MiB to send")
	inflight := f.Int("inflight", 5, "requests outstanding per connection")
	return func() (figures, error) {
		id, err := o.prepare(nil)
		if err != nil {
			return nil, err
		}
		if shape.codec == "none" {
			shape.compressible = 0
		}
		data, records, err := shape.build()
		if err != nil {
			return nil, err
		}
		ws, err := dialAll(o.addr, o.conns)
		if err != nil {
			return nil, err
		}
		frames := make([][]byte, o.partitions)
		for p := range frames {
			if err := settle(ws[p%len(ws)], produceFrame(id, int32(p), 1, data)); err != nil {
				return nil, err
			}
			frames[p] = produceFrame(id, int32(p), int16(*acks), data)
		}
		got := figures{"batch": len(data), "records": records, "acks": *acks, "partitions": o.partitions, "conns": o.conns, "codec": shape.codec}
		total := max(1, *mib<<20/len(data))
		s := &sender{frames: frames, inflight: *inflight, silent: *acks == 0}
		s.left.Store(int64(total))
		m := startMeter(o.pid)
		if err := together(ws, s.run); err != nil {
			return nil, err
		}
		if s.silent { // the last answer tells that everything before it has been handled
			if err := together(ws, func(_ int, w *wire) error { return settle(w, produceFrame(id, 0, 1, data)) }); err != nil {
				return nil, err
			}
		}
		cpu := m.stop(got)
		got.perRequest(cpu, total)
		got.perGiB(cpu, int64(total)*int64(len(data)))
		got.latencies(s.lat)
		return got, nil
	}
}

// sender sends frames in turn over several connections until left is used up.
type sender struct {
	frames   [][]byte
	inflight int
	silent   bool // acks=0
	left     atomic.Int64

	mu  sync.Mutex
	lat []time.Duration // guarded by mu
}

func (s *sender) run(i int, w *wire) error {
	if s.silent {
		return s.write(i, w, nil)
	}
	slots := make(chan time.Time, s.inflight) // the oldest request outstanding comes first
	written := make(chan error, 1)
	go func() {
		written <- s.write(i, w, slots)
		close(slots)
	}()
	var lat []time.Duration
	for begin := range slots {
		b, err := w.next()
		if err == nil {
			_, err = produced(b)
		}
		if err != nil {
			w.Close() // ends the writer
			for range slots {
			}
			return errors.Join(err, <-written)
		}
		lat = append(lat, time.Since(begin))
	}
	s.mu.Lock()
	s.lat = append(s.lat, lat...)
	s.mu.Unlock()
	return <-written
}

func (s *sender) write(i int, w *wire, slots chan time.Time) error {
	for p := i; s.left.Add(-1) >= 0; p++ {
		if slots != nil {
			slots <- time.Now()
		}
		if _, err := w.Write(s.frames[p%len(s.frames)]); err != nil {
			return err
		}
	}
	return nil
}

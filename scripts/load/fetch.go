package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchVersion names topics by id.
const fetchVersion = 13

// fetchAsk is what a fetch of one partition asks for.
type fetchAsk struct {
	id                  [16]byte
	partition           int32
	offset              int64
	maxBytes            int32
	minBytes, maxWaitMs int32
}

func (a fetchAsk) frame() []byte {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis, req.SessionEpoch = max(a.maxBytes, 50<<20), a.minBytes, a.maxWaitMs, -1
	t := kmsg.NewFetchRequestTopic()
	t.TopicID = a.id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = a.partition, a.offset, a.maxBytes, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return encode(req, fetchVersion)
}

var errShortFetch = errors.New("fetch: short answer")

// fetched finds the records of a one-partition answer.
func fetched(b []byte) (records []byte, err error) {
	// correlation id 4, tags 1, throttle 4, error 2, session 4, topics 1, id 16, partitions 1, number 4, error 2, hw lso start 24
	const head = 4 + 1 + 4
	if len(b) < head+2+4+1+16+1+4+2+24 {
		return nil, errShortFetch
	}
	if err := coded("fetch", int16(binary.BigEndian.Uint16(b[head:]))); err != nil {
		return nil, err
	}
	b = b[head+2+4:]
	if b[0] != 2 {
		return nil, nil // no topic: nothing has arrived
	}
	b = b[1+16:]
	if b[0] != 2 {
		return nil, nil
	}
	b = b[1+4:]
	if err := coded("fetch", int16(binary.BigEndian.Uint16(b))); err != nil {
		return nil, err
	}
	aborted, b := uvarint(b[2+24:])
	if aborted > 1 {
		return nil, errors.New("fetch: aborted transactions in a load without any")
	}
	if len(b) < 5 {
		return nil, errShortFetch
	}
	n, b := uvarint(b[4:]) // after the preferred replica
	if n == 0 {
		return nil, nil
	}
	if uint64(len(b)) < n-1 {
		return nil, errShortFetch
	}
	return b[:n-1], nil
}

// hop steps over whole batches by their headers, and returns the offset after the last one.
func hop(b []byte, from int64, verify bool) (next int64, err error) {
	const header = 61
	next = from
	for len(b) >= header {
		n := int(binary.BigEndian.Uint32(b[8:])) + 12
		if n > len(b) {
			break
		}
		first := int64(binary.BigEndian.Uint64(b))
		if verify {
			if first > next {
				return 0, fmt.Errorf("fetch: offset %d asked for, %d came", next, first)
			}
			if crc32.Checksum(b[21:n], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[17:]) {
				return 0, fmt.Errorf("fetch: the batch at offset %d has a bad CRC", first)
			}
		}
		next = first + int64(binary.BigEndian.Uint32(b[23:])) + 1
		b = b[n:]
	}
	return next, nil
}

// fetchMode reads partitions from their start again and again until enough bytes came. A connection reads the partitions p with
// p mod conns = its number; with -same all read all.
func fetchMode(f *flag.FlagSet, o *options) func() (figures, error) {
	maxBytes := f.Int("max", 1<<20, "max.partition.fetch.bytes")
	mib := f.Int("mib", 512, "MiB to read")
	same := f.Bool("same", false, "every connection reads every partition")
	verify := f.Bool("verify", false, "check CRC and order of what comes (costs the generator CPU)")
	return func() (figures, error) {
		id, err := o.prepare(nil)
		if err != nil {
			return nil, err
		}
		ws, err := dialAll(o.addr, o.conns)
		if err != nil {
			return nil, err
		}
		got := figures{"max": *maxBytes, "partitions": o.partitions, "conns": o.conns}
		r := &reader{ask: fetchAsk{id: id, maxBytes: int32(*maxBytes), minBytes: 1, maxWaitMs: 100}, partitions: o.partitions, conns: o.conns, same: *same, verify: *verify,
			target: int64(*mib) << 20}
		m := startMeter(o.pid)
		if err := together(ws, r.run); err != nil {
			return nil, err
		}
		cpu := m.stop(got)
		got.perRequest(cpu, int(r.requests.Load()))
		got.perGiB(cpu, r.bytes.Load())
		return got, nil
	}
}

type reader struct {
	ask               fetchAsk
	partitions, conns int
	same, verify      bool
	target            int64
	bytes, requests   atomic.Int64
}

func (r *reader) run(i int, w *wire) error {
	first, step := i%r.partitions, r.conns
	if r.same {
		first, step = 0, 1
	}
	offsets := make([]int64, r.partitions)
	frames := map[[2]int64][]byte{} // requests are the same in every pass
	for p := first; r.bytes.Load() < r.target; {
		key := [2]int64{int64(p), offsets[p]}
		frame := frames[key]
		if frame == nil {
			a := r.ask
			a.partition, a.offset = int32(p), offsets[p]
			frame = a.frame()
			frames[key] = frame
		}
		b, err := w.send(frame)
		if err != nil {
			return err
		}
		records, err := fetched(b)
		if err != nil {
			return err
		}
		next, err := hop(records, offsets[p], r.verify)
		switch {
		case err != nil:
			return err
		case next > offsets[p]:
			offsets[p] = next
		case offsets[p] == 0:
			return errors.New("the topic is empty")
		default:
			offsets[p] = 0
		}
		r.requests.Add(1)
		r.bytes.Add(int64(len(records)))
		if p += step; p >= r.partitions {
			p = first
		}
	}
	return nil
}

package handler

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/protocol"
)

// fetchBroker is a node whose address goes with an answer (KIP-951).
type fetchBroker struct {
	id   int32
	host string
	port int32
	rack *string
}

// fetchResponse is a Fetch response before it is bytes. Its records are file ranges and never pass through here.
type fetchResponse struct {
	version   int16
	code      int16
	sessionID int32
	entries   []fetchEntry
	brokers   []fetchBroker
	codes     errorCodes
	splices   *protocol.SplicePool
}

// errorCodes turns errors into codes, and logs those that have none of their own.
type errorCodes interface {
	code(err error) int16
}

// fetchPartitionOverhead is about the bytes of a partition without records, for the first guess of the buffer.
const fetchPartitionOverhead = 64

// spliceWriter writes header pieces between file ranges, in the memory of the Splice.
type spliceWriter struct {
	b        []byte
	from     int // where the bytes begin that are no piece yet
	flexible bool
	s        *protocol.Splice
}

func (w *spliceWriter) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *spliceWriter) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *spliceWriter) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }
func (w *spliceWriter) uvarint(v int) { w.b = binary.AppendUvarint(w.b, uint64(v)) }

// length is that of an array or bytes; -1 is null.
func (w *spliceWriter) length(n int) {
	if w.flexible {
		w.uvarint(n + 1)
	} else {
		w.int32(int32(n))
	}
}

func (w *spliceWriter) string(s string) {
	if w.flexible {
		w.uvarint(len(s) + 1)
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

// tags says how many tagged fields follow.
func (w *spliceWriter) tags(n int) {
	if w.flexible {
		w.uvarint(n)
	}
}

// records writes their length and notes where they go; none is zero bytes and never null, which librdkafka does not survive.
func (w *spliceWriter) records(r protocol.FileRange) {
	if r == nil || r.Len() == 0 {
		w.length(0)
		if r != nil {
			r.Release()
		}
		return
	}
	w.length(r.Len())
	w.cut()
	w.s.Pieces = append(w.s.Pieces, protocol.Piece{File: r})
}

// cut makes a piece of the bytes since the last one. Should b move later, the piece keeps the memory that it is in.
func (w *spliceWriter) cut() {
	if w.from < len(w.b) {
		w.s.Pieces = append(w.s.Pieces, protocol.Piece{Bytes: w.b[w.from:len(w.b):len(w.b)]})
		w.from = len(w.b)
	}
}

// encode writes the response; the ranges of the entries go over to it.
func (r *fetchResponse) encode() *protocol.Splice {
	n := 32
	for i := range r.entries {
		if !r.entries[i].skip {
			n += fetchPartitionOverhead + len(r.entries[i].topic)
		}
	}
	w := &spliceWriter{s: r.splices.Get(), flexible: r.version >= 12}
	w.b = slices.Grow(w.s.Buf, n)
	w.int32(0) // throttle time: the server's to set
	if r.version >= 7 {
		w.int16(r.code)
		w.int32(r.sessionID)
	}
	w.length(r.topicCount())
	for i := 0; i < len(r.entries); {
		if r.entries[i].skip {
			i++
			continue
		}
		i = r.topic(w, i)
	}
	r.nodes(w)
	w.cut()
	w.s.Buf = w.b
	return w.s
}

// next is the index of the first entry from i on that is in the response.
func (r *fetchResponse) next(i int) int {
	for i < len(r.entries) && r.entries[i].skip {
		i++
	}
	return i
}

// sameTopic tells whether two entries share a topic in the response; only neighbours are joined, as in Kafka.
func sameTopic(a, b *fetchEntry) bool { return a.id == b.id && a.topic == b.topic }

func (r *fetchResponse) topicCount() int {
	n, prev := 0, -1
	for i := r.next(0); i < len(r.entries); i = r.next(i + 1) {
		if prev < 0 || !sameTopic(&r.entries[prev], &r.entries[i]) {
			n++
		}
		prev = i
	}
	return n
}

// topic writes the topic that begins at entry i and returns the index after its last partition.
func (r *fetchResponse) topic(w *spliceWriter, i int) int {
	head, n, end := &r.entries[i], 0, i
	for j := i; j < len(r.entries) && sameTopic(head, &r.entries[j]); j = r.next(j + 1) {
		n, end = n+1, j+1
	}
	if r.version >= 13 {
		w.b = append(w.b, head.id[:]...)
	} else {
		w.string(head.topic)
	}
	w.length(n)
	for j := i; j < end; j++ {
		if !r.entries[j].skip {
			r.partition(w, &r.entries[j])
		}
	}
	w.tags(0)
	return end
}

func (r *fetchResponse) partition(w *spliceWriter, e *fetchEntry) {
	w.int32(e.partition)
	code := int16(0)
	if e.err != nil {
		code = r.codes.code(e.err)
	}
	w.int16(code)
	w.int64(e.res.HighWatermark)
	w.int64(e.res.LastStableOffset)
	if r.version >= 5 {
		w.int64(e.res.LogStartOffset)
	}
	if e.aborted {
		w.length(len(e.res.Aborted))
		for _, a := range e.res.Aborted {
			w.int64(a.ProducerID)
			w.int64(a.FirstOffset)
			w.tags(0)
		}
	} else {
		w.length(-1)
	}
	if r.version >= 11 {
		w.int32(-1) // preferred read replica
	}
	w.records(e.res.Range)
	e.res.Range = nil
	r.partitionTags(w, e, code)
}

// partitionTags writes tag 0, where the reader's log diverges (v12), and tag 1, who leads (v16, to those who asked the wrong broker).
func (r *fetchResponse) partitionTags(w *spliceWriter, e *fetchEntry, code int16) {
	if !w.flexible {
		return
	}
	leader := r.version >= 16 && tellsLeader(code)
	n := 0
	if e.res.Diverges {
		n++
	}
	if leader {
		n++
	}
	w.tags(n)
	if e.res.Diverges {
		w.uvarint(0)
		w.uvarint(4 + 8 + 1)
		w.int32(e.res.DivergingEpoch)
		w.int64(e.res.DivergingOffset)
		w.tags(0)
	}
	if leader {
		w.uvarint(1)
		w.uvarint(4 + 4 + 1)
		w.int32(e.leader)
		w.int32(e.leaderAt)
		w.tags(0)
	}
}

// tellsLeader: these errors come with the current leader.
func tellsLeader(code int16) bool {
	return code == kerr.NotLeaderForPartition.Code || code == kerr.FencedLeaderEpoch.Code
}

// nodes ends the response: tag 0 from v16, the addresses of the leaders named above.
func (r *fetchResponse) nodes(w *spliceWriter) {
	if !w.flexible {
		return
	}
	if r.version < 16 || len(r.brokers) == 0 {
		w.tags(0)
		return
	}
	in := spliceWriter{flexible: true}
	in.length(len(r.brokers))
	for _, b := range r.brokers {
		in.int32(b.id)
		in.string(b.host)
		in.int32(b.port)
		if b.rack == nil {
			in.uvarint(0)
		} else {
			in.string(*b.rack)
		}
		in.tags(0)
	}
	w.tags(1)
	w.uvarint(0)
	w.uvarint(len(in.b))
	w.b = append(w.b, in.b...)
}

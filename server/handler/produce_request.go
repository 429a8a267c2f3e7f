package handler

import (
	"encoding/binary"
	"errors"
	"unsafe"
)

// errShort is a request that ends before its fields do, or whose lengths cannot be.
var errShort = errors.New("request is shorter than its fields say")

// errNull is null for what may not be null.
var errNull = errors.New("null where the protocol has none")

// wireReader takes primitive fields off a request body without copying; after an error everything is zero.
type wireReader struct {
	b        []byte
	flexible bool
	err      error
}

func (r *wireReader) fail() { r.b, r.err = nil, errShort }

func (r *wireReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *wireReader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *wireReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *wireReader) uvarint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<31 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// length is the length of a string (width 2) or of bytes and arrays (width 4); -1 is null.
func (r *wireReader) length(width int) int {
	switch {
	case r.flexible:
		return r.uvarint() - 1
	case width == 2:
		return int(r.int16())
	default:
		return int(r.int32())
	}
}

// string aliases the request; ok is false for null.
func (r *wireReader) string() (s string, ok bool) {
	n := r.length(2)
	if n < 0 {
		return "", false
	}
	if b := r.take(n); n > 0 && b != nil {
		return unsafe.String(&b[0], n), true
	}
	return "", true
}

// array is the length of an array that may not be null.
func (r *wireReader) array() int {
	n := r.length(4)
	if n < 0 && r.err == nil {
		r.err = errNull
	}
	return n
}

// name is a string that may not be null.
func (r *wireReader) name() string {
	s, ok := r.string()
	if !ok && r.err == nil {
		r.err = errNull
	}
	return s
}

// bytes aliases the request; nil is null.
func (r *wireReader) bytes() []byte {
	n := r.length(4)
	if n < 0 {
		return nil
	}
	return r.take(n)
}

// tags skips tagged fields.
func (r *wireReader) tags() {
	if !r.flexible {
		return
	}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.uvarint()
		r.take(r.uvarint())
	}
}

// produceTopic is a topic of a Produce request.
type produceTopic struct {
	name string // aliases the request, or is the image's
	id   [16]byte
	from int // its first partition in produceRequest.parts
}

// producePart is a partition of a Produce request with what became of it.
type producePart struct {
	topic     int32
	partition int32
	records   []byte // aliases the request
	produceOutcome
}

// produceRequest is a Produce request in memory that is used again: nothing is allocated for a request no larger than an earlier one.
type produceRequest struct {
	version         int16
	acks            int16
	timeoutMs       int32
	transactional   bool // has a transactional id
	transactionalID string
	topics          []produceTopic
	parts           []producePart
}

// read decodes a body (versions 3 to 13). Nothing is allocated on the word of an array's length.
func (q *produceRequest) read(version int16, body []byte) error {
	q.version, q.topics, q.parts = version, q.topics[:0], q.parts[:0]
	r := wireReader{b: body, flexible: version >= 9}
	q.transactionalID, q.transactional = r.string()
	q.acks, q.timeoutMs = r.int16(), r.int32()
	for n := r.array(); n > 0 && r.err == nil; n-- {
		t := produceTopic{from: len(q.parts)}
		if version >= 13 {
			copy(t.id[:], r.take(16))
		} else {
			t.name = r.name()
		}
		for m := r.array(); m > 0 && r.err == nil; m-- {
			q.parts = append(q.parts, producePart{topic: int32(len(q.topics)), partition: r.int32(), records: r.bytes()})
			r.tags()
		}
		r.tags()
		q.topics = append(q.topics, t)
	}
	r.tags()
	return r.err
}

package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A record, all integers zigzag varints but the attributes:
//
//	length, attributes int8, timestampDelta, offsetDelta, keyLength, key, valueLength, value, headerCount, headers…
//	a header: keyLength, key, valueLength, value; a length below zero is null (a header's key cannot be).

// ErrInvalidRecord is a batch whose records cannot be what its header says: Kafka's INVALID_RECORD.
var ErrInvalidRecord = errors.New("invalid record")

// ErrDecompress is a batch whose records cannot be decompressed: Kafka answers UNKNOWN_SERVER_ERROR.
var ErrDecompress = errors.New("cannot decompress records")

// Record is one record in place. Its slices are valid until the Reader's next call.
type Record struct {
	Attributes     int8
	OffsetDelta    int32
	TimestampDelta int64
	Offset         int64  // base offset + delta
	Timestamp      int64  // ms; the batch's max timestamp under LogAppendTime
	Key            []byte // nil is null
	Value          []byte // nil is null
	HeaderCount    int32
	RawHeaders     []byte // encoded, without the count
	Size           int    // bytes of the record, its length field included
}

// Headers yields key and value (nil is null) of each header.
func (r *Record) Headers(yield func(key, value []byte) bool) {
	b := r.RawHeaders
	for range r.HeaderCount {
		var k, v []byte
		var ok bool
		if k, b, ok = cutBytes(b); !ok {
			return
		}
		if v, b, ok = cutBytes(b); !ok {
			return
		}
		if !yield(k, v) {
			return
		}
	}
}

// NoLimit is for Reader.Reset where the batch was validated before.
const NoLimit = 1<<31 - 9

// readerChunk is how many bytes a compressed batch is decompressed by, and what a Reader holds of it but for larger records.
const readerChunk = 16 << 10

// Reader iterates over the records of a batch without allocating: in place when uncompressed, else decompressing piece by piece
// into a pooled buffer that grows to the largest record. The zero value is ready for Reset. Not safe for concurrent use.
type Reader struct {
	window  []byte // not parsed yet
	src     decoder
	store   *readBuffer // what window points into when src is set
	maxBody int
	left    int32
	err     error
	srcErr  error // how src ended; told when the bytes before it do not suffice

	baseOffset, baseTimestamp, maxTimestamp int64
	appendTime                              bool
}

// Reset starts over with another batch, whose records may have at most maxRecordBytes each when they are compressed
// (max.decompressed.message.bytes; Kafka bounds the records, not their sum). Close it when done.
func (r *Reader) Reset(b Batch, maxRecordBytes int) error {
	r.Close()
	*r = Reader{
		window: b.Records(), maxBody: maxRecordBytes, left: b.Count(),
		baseOffset: b.BaseOffset(), baseTimestamp: b.BaseTimestamp(), maxTimestamp: b.MaxTimestamp(), appendTime: b.IsLogAppendTime(),
	}
	if r.left < 0 {
		r.err = fmt.Errorf("%w: invalid record count %d in magic v%d batch", ErrInvalidRecord, r.left, b.Magic())
		return r.err
	}
	c := b.Codec()
	if c == None || r.left == 0 {
		return nil
	}
	src, err := newDecoder(c, r.window)
	if err != nil {
		r.err = fmt.Errorf("%w: %w", ErrDecompress, err)
		return r.err
	}
	r.src, r.store = src, pools.buffer()
	r.window = r.store.b[:0]
	return nil
}

// Close gives pooled memory back; the last record's slices are no longer valid.
func (r *Reader) Close() {
	if r.src != nil {
		r.src.release()
		pools.putBuffer(r.store)
		r.src, r.store, r.window = nil, nil, nil
	}
}

// Err is why Next returned false, nil at the regular end.
func (r *Reader) Err() error { return r.err }

// Next reads the next record into rec. After the last one it demands that nothing remains.
func (r *Reader) Next(rec *Record) bool {
	if r.err != nil || r.left == 0 {
		return false
	}
	body, size, ok := r.cut()
	if !ok {
		return false
	}
	if r.err = parseRecord(body, rec); r.err != nil {
		return false
	}
	rec.Size = size
	rec.Offset = r.baseOffset + int64(rec.OffsetDelta)
	rec.Timestamp = r.baseTimestamp + rec.TimestampDelta
	if r.appendTime {
		rec.Timestamp = r.maxTimestamp
	}
	r.left--
	if r.left == 0 && r.remains() {
		r.err = fmt.Errorf("%w: incorrect declared batch size, records still remaining in file", ErrInvalidRecord)
		return false
	}
	return r.err == nil
}

// cut takes the next record's body off the window.
func (r *Reader) cut() (body []byte, size int, ok bool) {
	if r.src != nil && len(r.window) < binary.MaxVarintLen64 {
		r.fill(binary.MaxVarintLen64)
	}
	l, n := binary.Varint(r.window)
	if n == 0 && r.broken() {
		return nil, 0, false
	}
	if n <= 0 || l != int64(int32(l)) {
		return nil, 0, r.fail("incorrect declared batch size, premature EOF reached")
	}
	if l < 0 {
		return nil, 0, r.fail("record size %d is negative", l)
	}
	if r.src != nil && l > int64(r.maxBody) {
		return nil, 0, r.fail("record size %d exceeds the configured maximum record size of %d", l, r.maxBody)
	}
	if r.src != nil && int64(len(r.window)) < l+int64(n) {
		if r.fill(int(l) + n); int64(len(r.window)) < l+int64(n) && r.broken() {
			return nil, 0, false
		}
	}
	if int64(len(r.window)-n) < l {
		return nil, 0, r.fail("expected %d bytes in record payload, but only %d remain", l, len(r.window)-n)
	}
	body = r.window[n : n+int(l)]
	r.window = r.window[n+int(l):]
	return body, n + int(l), true
}

func (r *Reader) fail(format string, args ...any) bool {
	r.err = fmt.Errorf("%w: %s", ErrInvalidRecord, fmt.Sprintf(format, args...))
	return false
}

// fill decompresses until the window has want bytes or the stream ends. The buffer doubles as the bytes arrive: a length alone
// allocates nothing.
func (r *Reader) fill(want int) {
	have := copy(r.store.b, r.window)
	for have < want && r.srcErr == nil {
		if have == len(r.store.b) {
			grown := make([]byte, 2*have)
			copy(grown, r.store.b)
			r.store.b = grown
		}
		var n int
		n, r.srcErr = r.src.Read(r.store.b[have:])
		have += n
	}
	r.window = r.store.b[:have]
}

// broken says whether the stream ended in an error, which is then the Reader's.
func (r *Reader) broken() bool {
	if r.srcErr == nil || errors.Is(r.srcErr, io.EOF) && !errors.Is(r.srcErr, io.ErrUnexpectedEOF) {
		return false
	}
	r.err = fmt.Errorf("%w: %w", ErrDecompress, r.srcErr)
	return true
}

// remains says whether anything follows the last record. The buffer is left alone: the record's slices point into it.
func (r *Reader) remains() bool {
	if len(r.window) > 0 || r.src == nil {
		return len(r.window) > 0
	}
	for r.srcErr == nil {
		n, err := r.src.Read(r.store.probe[:])
		if n > 0 {
			return true
		}
		r.srcErr = err
	}
	r.broken() // sets err
	return false
}

// parseRecord reads a body, which must be used up exactly.
func parseRecord(b []byte, rec *Record) error {
	whole := len(b)
	if whole == 0 {
		return errStructure
	}
	rec.Attributes = int8(b[0])
	b = b[1:]
	var ok bool
	var offsetDelta, headers int64
	if rec.TimestampDelta, b, ok = cutVarint(b); !ok {
		return errStructure
	}
	if offsetDelta, b, ok = cutVarint(b); !ok || offsetDelta != int64(int32(offsetDelta)) {
		return errStructure
	}
	rec.OffsetDelta = int32(offsetDelta)
	if rec.Key, b, ok = cutBytes(b); !ok {
		return errStructure
	}
	if rec.Value, b, ok = cutBytes(b); !ok {
		return errStructure
	}
	if headers, b, ok = cutVarint(b); !ok || headers < 0 || headers > int64(len(b)) {
		return errHeaders
	}
	rec.HeaderCount, rec.RawHeaders = int32(headers), b
	for range headers {
		var k []byte
		if k, b, ok = cutBytes(b); !ok || k == nil {
			return errHeaders
		}
		if _, b, ok = cutBytes(b); !ok {
			return errHeaders
		}
	}
	if len(b) != 0 {
		return errSize
	}
	return nil
}

var (
	errStructure = fmt.Errorf("%w: found invalid record structure", ErrInvalidRecord)
	errHeaders   = fmt.Errorf("%w: found invalid record headers", ErrInvalidRecord)
	errSize      = fmt.Errorf("%w: record size is not that of its fields", ErrInvalidRecord)
)

func cutVarint(b []byte) (int64, []byte, bool) {
	if len(b) > 0 && b[0] < 0x80 { // most are this short
		u := b[0]
		return int64(u>>1) ^ -int64(u&1), b[1:], true
	}
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// cutBytes takes length and bytes; a negative length is nil, an empty one not.
func cutBytes(b []byte) (v, rest []byte, ok bool) {
	l, b, ok := cutVarint(b)
	switch {
	case !ok || l > int64(len(b)):
		return nil, nil, false
	case l < 0:
		return nil, b, true
	}
	return b[:l:l], b[l:], true
}

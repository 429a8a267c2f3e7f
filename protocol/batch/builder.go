package batch

import (
	"encoding/binary"
	"fmt"
)

// Options are the header of a batch to build.
type Options struct {
	BaseOffset    int64
	LeaderEpoch   int32
	ProducerID    int64 // NoProducerID for none; NewBuilder does not guess
	ProducerEpoch int16
	BaseSequence  int32
	Codec         Codec
	Level         int32 // Codec.Level() for the default
	Transactional bool
	Control       bool
	// LogAppendTime makes AppendTimeMs the time of all records; what they had themselves stays in them, as with Kafka.
	LogAppendTime bool
	AppendTimeMs  int64
	// DeleteHorizonMs, if HasDeleteHorizon, takes the base timestamp's place (KIP-534).
	HasDeleteHorizon bool
	DeleteHorizonMs  int64
}

// PlainOptions are those of a batch without a producer.
func PlainOptions(baseOffset int64, leaderEpoch int32) Options {
	return Options{BaseOffset: baseOffset, LeaderEpoch: leaderEpoch, ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch, BaseSequence: NoSequence}
}

// Header is a record header to build; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Builder makes one batch behind what dst holds. Offsets must ascend. Not safe for concurrent use.
type Builder struct {
	opts       Options
	buf        []byte
	start      int // of the batch in buf
	count      int32
	lastOffset int64
	baseTs     int64
	maxTs      int64
}

// NewBuilder starts a batch behind dst.
func NewBuilder(dst []byte, o Options) *Builder {
	b := &Builder{opts: o, buf: dst, start: len(dst), lastOffset: o.BaseOffset - 1, maxTs: NoTimestamp}
	var header [HeaderSize]byte
	b.buf = append(b.buf, header[:]...)
	return b
}

// Append adds a record; nil key or value is null. The timestamp is in ms.
func (b *Builder) Append(offset, timestamp int64, key, value []byte, headers ...Header) {
	size := 0
	for _, h := range headers {
		size += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	b.begin(offset, timestamp, key, value, int32(len(headers)), size)
	for _, h := range headers {
		b.buf = binary.AppendVarint(b.buf, int64(len(h.Key)))
		b.buf = append(b.buf, h.Key...)
		b.buf = appendBytes(b.buf, h.Value)
	}
}

// AppendRecord adds a record read by a Reader at another offset, keeping its time.
func (b *Builder) AppendRecord(offset int64, r *Record) {
	b.begin(offset, r.Timestamp, r.Key, r.Value, r.HeaderCount, len(r.RawHeaders))
	b.buf = append(b.buf, r.RawHeaders...)
}

// begin writes a record up to its header count.
func (b *Builder) begin(offset, timestamp int64, key, value []byte, headerCount int32, headersSize int) {
	if b.count == 0 {
		b.baseTs = timestamp
		if b.opts.HasDeleteHorizon {
			b.baseTs = b.opts.DeleteHorizonMs
		}
	}
	tsDelta, offDelta := timestamp-b.baseTs, offset-b.opts.BaseOffset
	size := 1 + varintSize(tsDelta) + varintSize(offDelta) + bytesSize(key) + bytesSize(value) + varintSize(int64(headerCount)) + headersSize
	b.buf = binary.AppendVarint(b.buf, int64(size))
	b.buf = append(b.buf, 0)
	b.buf = binary.AppendVarint(b.buf, tsDelta)
	b.buf = binary.AppendVarint(b.buf, offDelta)
	b.buf = appendBytes(b.buf, key)
	b.buf = appendBytes(b.buf, value)
	b.buf = binary.AppendVarint(b.buf, int64(headerCount))
	b.count++
	b.lastOffset = offset
	b.maxTs = max(b.maxTs, timestamp)
}

// Count is the number of records so far.
func (b *Builder) Count() int32 { return b.count }

// Size is the number of bytes so far, before compression.
func (b *Builder) Size() int { return len(b.buf) - b.start }

// SetLastOffset makes the batch end at offset, above its last record: what was there was compacted.
func (b *Builder) SetLastOffset(offset int64) { b.lastOffset = offset }

// Finish compresses, writes header and CRC and gives dst with the batch behind it.
func (b *Builder) Finish() ([]byte, error) {
	if b.opts.Codec != None {
		records := b.buf[b.start+HeaderSize:]
		packed, err := Compress(make([]byte, 0, len(records)/2+64), records, b.opts.Codec, b.opts.Level)
		if err != nil {
			return b.buf[:b.start], fmt.Errorf("build batch: %w", err)
		}
		b.buf = append(b.buf[:b.start+HeaderSize], packed...)
	}
	b.writeHeader()
	return b.buf, nil
}

func (b *Builder) finishUncompressed() []byte {
	b.writeHeader()
	return b.buf
}

func (b *Builder) writeHeader() {
	h := Batch(b.buf[b.start:])
	o := &b.opts
	attrs := int16(o.Codec) & AttrCodecMask
	for _, f := range [...]struct {
		on  bool
		bit int16
	}{
		{o.LogAppendTime, AttrLogAppendTime}, {o.Transactional, AttrTransactional},
		{o.Control, AttrControl}, {o.HasDeleteHorizon, AttrDeleteHorizon},
	} {
		if f.on {
			attrs |= f.bit
		}
	}
	h.SetBaseOffset(o.BaseOffset)
	h.SetLength(int32(len(h) - Overhead))
	h.SetLeaderEpoch(o.LeaderEpoch)
	h.SetMagic(Magic)
	h.SetAttributes(attrs)
	h.SetLastOffsetDelta(int32(b.lastOffset - o.BaseOffset))
	h.SetBaseTimestamp(b.baseTs)
	h.SetMaxTimestampField(b.maxTs)
	if o.LogAppendTime {
		h.SetMaxTimestampField(o.AppendTimeMs)
	}
	h.SetProducer(o.ProducerID, o.ProducerEpoch, o.BaseSequence)
	h.SetCount(b.count)
	h.RenewCRC()
}

// AppendEmpty appends what the cleaner leaves of a batch whose records are all gone but whose producer state must stay: its header
// with no records.
func AppendEmpty(dst []byte, b Batch) []byte {
	start := len(dst)
	dst = append(dst, b[:HeaderSize]...)
	e := Batch(dst[start:])
	e.SetLength(HeaderSize - Overhead)
	e.SetMagic(Magic)
	e.SetAttributes(b.Attributes() & (AttrLogAppendTime | AttrTransactional | AttrControl))
	e.SetBaseTimestamp(NoTimestamp)
	e.SetCount(0)
	e.RenewCRC()
	return dst
}

func appendBytes(dst, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(v)))
	return append(dst, v...)
}

func bytesSize(v []byte) int {
	if v == nil {
		return 1
	}
	return varintSize(int64(len(v))) + len(v)
}

func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for u >= 0x80 {
		u >>= 7
		n++
	}
	return n
}

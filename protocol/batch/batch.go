package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// A v2 batch, all integers big endian:
//
//	 0  baseOffset            int64
//	 8  batchLength           int32   bytes after this field
//	12  partitionLeaderEpoch  int32
//	16  magic                 int8    2
//	17  crc                   uint32  CRC-32C of everything from attributes on
//	21  attributes            int16
//	23  lastOffsetDelta       int32
//	27  baseTimestamp         int64   ms; the delete horizon if attribute bit 6 is set
//	35  maxTimestamp          int64   ms
//	43  producerId            int64   -1 none
//	51  producerEpoch         int16
//	53  baseSequence          int32
//	57  recordsCount          int32
//	61  records
const (
	offBaseOffset      = 0
	offLength          = 8
	offLeaderEpoch     = 12
	offMagic           = 16
	offCRC             = 17
	offAttributes      = 21
	offLastOffsetDelta = 23
	offBaseTimestamp   = 27
	offMaxTimestamp    = 35
	offProducerID      = 43
	offProducerEpoch   = 51
	offBaseSequence    = 53
	offCount           = 57

	// HeaderSize is the number of bytes of a batch before its records.
	HeaderSize = 61
	// Overhead is the number of bytes before those that batchLength counts: base offset and the length itself.
	Overhead = 12
	// Magic is the only message format that is stored.
	Magic = 2
)

// Attribute bits.
const (
	AttrCodecMask     = 0x07 // bits 0-2: the codec
	AttrLogAppendTime = 1 << 3
	AttrTransactional = 1 << 4
	AttrControl       = 1 << 5
	AttrDeleteHorizon = 1 << 6 // KIP-534: baseTimestamp holds the delete horizon
	attrKnown         = 0x7f   // the bits above have no meaning and are dropped where Kafka writes attributes anew
)

// Values that say "none".
const (
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
	NoTimestamp     int64 = -1
	NoLeaderEpoch   int32 = -1
	maxSequence     int64 = 1 << 31 // sequences run from 0 to 2^31-1 and wrap
)

// castagnoli is the polynomial of every CRC of a batch.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one whole v2 batch in place, header and records. The accessors need len ≥ HeaderSize, which Next guarantees where Magic
// is 2; of what it cuts off with an older magic only the first 17 bytes may be asked for.
type Batch []byte

// BaseOffset is the offset of the first record.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[offBaseOffset:])) }

// Length is the batchLength field: the size of the batch without its first 12 bytes.
func (b Batch) Length() int32 { return int32(binary.BigEndian.Uint32(b[offLength:])) }

// LeaderEpoch is the partition leader epoch; outside the CRC.
func (b Batch) LeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[offLeaderEpoch:])) }

// Magic is the message format version.
func (b Batch) Magic() int8 { return int8(b[offMagic]) }

// CRC is the stored checksum.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[offCRC:]) }

// Attributes are the raw attribute bits.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[offAttributes:])) }

// LastOffsetDelta is the last record's offset minus the base offset.
func (b Batch) LastOffsetDelta() int32 {
	return int32(binary.BigEndian.Uint32(b[offLastOffsetDelta:]))
}

// BaseTimestamp is what the records' timestamp deltas are added to, in ms.
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[offBaseTimestamp:])) }

// MaxTimestamp is the largest timestamp in the batch, or the append time, in ms.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[offMaxTimestamp:])) }

// ProducerID is the idempotent producer, -1 none.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[offProducerID:])) }

// ProducerEpoch is the producer's epoch, -1 none.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[offProducerEpoch:])) }

// BaseSequence is the sequence number of the first record, -1 none.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[offBaseSequence:])) }

// Count is the number of records.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[offCount:])) }

// Records are the bytes after the header, compressed if the codec says so.
func (b Batch) Records() []byte { return b[HeaderSize:] }

// Size is the number of bytes of the whole batch as its header has it.
func (b Batch) Size() int { return int(b.Length()) + Overhead }

// LastOffset is the offset of the last record (that the batch once had, if it was compacted).
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// NextOffset is the offset after the batch.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

// LastSequence is the sequence of the last record, with the wrap at 2^31; -1 without sequences.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base == NoSequence {
		return NoSequence
	}
	return AddSequence(base, b.LastOffsetDelta())
}

// AddSequence adds to a sequence number, with the wrap from 2^31-1 to 0.
func AddSequence(seq, delta int32) int32 {
	return int32((int64(seq) + int64(delta)) % maxSequence)
}

// Codec is how the records are compressed; values above Zstd do not exist and are refused by Check.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & AttrCodecMask) }

// IsTransactional says whether the batch belongs to a transaction (its markers included).
func (b Batch) IsTransactional() bool { return b.Attributes()&AttrTransactional != 0 }

// IsControl says whether the records are control records.
func (b Batch) IsControl() bool { return b.Attributes()&AttrControl != 0 }

// IsLogAppendTime says whether the records' time is MaxTimestamp.
func (b Batch) IsLogAppendTime() bool { return b.Attributes()&AttrLogAppendTime != 0 }

// HasProducerID says whether an idempotent producer wrote the batch.
func (b Batch) HasProducerID() bool { return b.ProducerID() > NoProducerID }

// DeleteHorizon is the time in ms from which the cleaner may drop tombstones and markers of the batch, if it was set (KIP-534).
func (b Batch) DeleteHorizon() (int64, bool) {
	if b.Attributes()&AttrDeleteHorizon == 0 {
		return NoTimestamp, false
	}
	return b.BaseTimestamp(), true
}

// SetBaseOffset sets the offset of the first record; outside the CRC.
func (b Batch) SetBaseOffset(v int64) { binary.BigEndian.PutUint64(b[offBaseOffset:], uint64(v)) }

// SetLastOffset moves the batch so that its last offset is v; outside the CRC.
func (b Batch) SetLastOffset(v int64) { b.SetBaseOffset(v - int64(b.LastOffsetDelta())) }

// SetLeaderEpoch sets the partition leader epoch; outside the CRC.
func (b Batch) SetLeaderEpoch(v int32) { binary.BigEndian.PutUint32(b[offLeaderEpoch:], uint32(v)) }

// SetLength sets the batchLength field.
func (b Batch) SetLength(v int32) { binary.BigEndian.PutUint32(b[offLength:], uint32(v)) }

// SetMagic sets the format version.
func (b Batch) SetMagic(v int8) { b[offMagic] = byte(v) }

// SetCRC sets the stored checksum; RenewCRC computes it.
func (b Batch) SetCRC(v uint32) { binary.BigEndian.PutUint32(b[offCRC:], v) }

// SetAttributes sets all attribute bits; the CRC must be renewed.
func (b Batch) SetAttributes(v int16) { binary.BigEndian.PutUint16(b[offAttributes:], uint16(v)) }

// SetLastOffsetDelta sets the field; the CRC must be renewed.
func (b Batch) SetLastOffsetDelta(v int32) {
	binary.BigEndian.PutUint32(b[offLastOffsetDelta:], uint32(v))
}

// SetBaseTimestamp sets the field; the CRC must be renewed.
func (b Batch) SetBaseTimestamp(v int64) {
	binary.BigEndian.PutUint64(b[offBaseTimestamp:], uint64(v))
}

// SetMaxTimestampField sets the field alone; the CRC must be renewed.
func (b Batch) SetMaxTimestampField(v int64) {
	binary.BigEndian.PutUint64(b[offMaxTimestamp:], uint64(v))
}

// SetProducer sets producer id, epoch and base sequence; the CRC must be renewed.
func (b Batch) SetProducer(id int64, epoch int16, seq int32) {
	binary.BigEndian.PutUint64(b[offProducerID:], uint64(id))
	binary.BigEndian.PutUint16(b[offProducerEpoch:], uint16(epoch))
	binary.BigEndian.PutUint32(b[offBaseSequence:], uint32(seq))
}

// SetCount sets the number of records; the CRC must be renewed.
func (b Batch) SetCount(v int32) { binary.BigEndian.PutUint32(b[offCount:], uint32(v)) }

// SetMaxTimestamp sets timestamp type and maximum as a broker does on append, and renews the CRC if that changed anything.
func (b Batch) SetMaxTimestamp(logAppendTime bool, v int64) {
	if b.IsLogAppendTime() == logAppendTime && b.MaxTimestamp() == v {
		return
	}
	attrs := b.Attributes() & (attrKnown &^ AttrLogAppendTime)
	if logAppendTime {
		attrs |= AttrLogAppendTime
	}
	b.SetAttributes(attrs)
	b.SetMaxTimestampField(v)
	b.RenewCRC()
}

// ComputeCRC is the checksum that the batch should have.
func (b Batch) ComputeCRC() uint32 { return crc32.Checksum(b[offAttributes:], castagnoli) }

// ValidCRC says whether the stored checksum is right.
func (b Batch) ValidCRC() bool { return b.CRC() == b.ComputeCRC() }

// RenewCRC stores the right checksum.
func (b Batch) RenewCRC() { b.SetCRC(b.ComputeCRC()) }

package handler

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Layout of what every batch and old message begins with: offset int64, size int32, then for magic 2 leader epoch int32, magic int8;
// CRC int32, attributes int16 … producer id at 43. A look at it decides what Kafka refuses before it looks into the log.
const (
	batchSizeAt       = 8
	batchOverhead     = 12 // what size does not count
	batchMinSize      = 14 // LegacyRecord.RECORD_OVERHEAD_V0
	batchMagicAt      = 16
	batchMagic        = 2
	batchAttributesAt = 21
	batchProducerAt   = 43
	batchHeaderSize   = 61

	attrCodecMask     = 7
	attrTransactional = 1 << 4
	codecZstd         = 4
)

// batchView is the first bytes of a batch.
type batchView []byte

func (b batchView) magic() int8 { return int8(b[batchMagicAt]) }

func (b batchView) attributes() int16 {
	if b.magic() < batchMagic {
		return 0
	}
	return int16(binary.BigEndian.Uint16(b[batchAttributesAt:]))
}

func (b batchView) transactional() bool { return b.attributes()&attrTransactional != 0 }

// producer is the batch's producer id and epoch.
func (b batchView) producer() (id int64, epoch int16) {
	if len(b) < batchHeaderSize {
		return -1, -1
	}
	return int64(binary.BigEndian.Uint64(b[batchProducerAt:])), int16(binary.BigEndian.Uint16(b[batchProducerAt+8:]))
}

// baseSequence is the batch's first sequence number.
func (b batchView) baseSequence() int32 {
	if len(b) < batchHeaderSize {
		return -1
	}
	return int32(binary.BigEndian.Uint32(b[batchProducerAt+10:]))
}

// nextBatch cuts the first whole batch off records; nil when only a part of one is left (ByteBufferLogInputStream.nextBatch).
func nextBatch(records []byte) (b batchView, rest []byte, err error) {
	if len(records) < batchOverhead {
		return nil, nil, nil
	}
	size := int32(binary.BigEndian.Uint32(records[batchSizeAt:]))
	if size < batchMinSize {
		return nil, nil, &recordsError{kerr.CorruptMessage, fmt.Sprintf("Record size %d is less than the minimum record overhead (%d)", size, batchMinSize)}
	}
	if len(records) <= batchMagicAt {
		return nil, nil, nil
	}
	if magic := int8(records[batchMagicAt]); magic < 0 || magic > batchMagic {
		return nil, nil, &recordsError{kerr.CorruptMessage, fmt.Sprintf("Invalid magic found in record: %d", magic)}
	}
	n := int(size) + batchOverhead
	if len(records) < n {
		return nil, nil, nil
	}
	return batchView(records[:n]), records[n:], nil
}

// recordsError is a code with a message that goes to the client.
type recordsError struct {
	err     error
	message string
}

func (e *recordsError) Error() string { return e.message }
func (e *recordsError) Unwrap() error { return e.err }

// hasTransactional looks for a transactional batch in the request. Records that cannot be cut into batches fail the request as a whole:
// Kafka 4.4 looks through all partitions for the answer before it treats any of them (seen with magic 3).
func (q *produceRequest) hasTransactional() (bool, error) {
	for i := range q.parts {
		for rest := q.parts[i].records; len(rest) > 0; {
			b, next, err := nextBatch(rest)
			if err != nil {
				return false, err
			}
			if b == nil {
				break
			}
			if b.transactional() {
				return true, nil
			}
			rest = next
		}
	}
	return false, nil
}

// oneBatch is ProduceRequest.validateRecords: exactly one batch of magic 2, and zstd only from version 7. It returns the batch without
// what is behind it, which may be a part of another (seen on Apache 4.4: dropped without an error).
func oneBatch(version int16, records []byte) (batchView, error) {
	b, rest, err := nextBatch(records)
	switch {
	case err != nil:
		return nil, err
	case b == nil || b.magic() != batchMagic:
		return nil, kerr.InvalidRecord
	case version < 7 && b.attributes()&attrCodecMask == codecZstd:
		return nil, kerr.UnsupportedCompressionType
	}
	second, _, err := nextBatch(rest)
	switch {
	case err != nil:
		return nil, err
	case second != nil:
		return nil, kerr.InvalidRecord
	}
	return b, nil
}

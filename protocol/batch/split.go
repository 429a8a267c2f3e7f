package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrTruncated is a blob that ends within a batch.
var ErrTruncated = errors.New("records end within a batch")

// minLength is the smallest batchLength that Kafka accepts before it looks at the magic: that of a v0 message.
const minLength = 14

// A CorruptError is a batch whose bytes cannot be what they claim.
type CorruptError struct{ Reason string }

// Error implements error.
func (e *CorruptError) Error() string { return e.Reason }

func corruptf(format string, args ...any) error {
	return &CorruptError{Reason: fmt.Sprintf(format, args...)}
}

// Next cuts the first batch off a blob. At a clean end the batch is nil and err is nil; ErrTruncated when the blob ends within
// a batch (what is left is no batch and may be dropped, as Kafka does); *CorruptError for lengths and magics that cannot be.
// It does not look at the CRC. No allocation on success.
func Next(blob []byte) (b Batch, rest []byte, err error) {
	if len(blob) == 0 {
		return nil, nil, nil
	}
	if len(blob) <= offMagic {
		// Kafka needs offset, length and magic to look at a batch at all.
		if len(blob) >= Overhead {
			if l := int32(binary.BigEndian.Uint32(blob[offLength:])); l < minLength {
				return nil, blob, corruptf("Record size %d is less than the minimum record overhead (%d)", l, minLength)
			}
		}
		return nil, blob, ErrTruncated
	}
	l := int32(binary.BigEndian.Uint32(blob[offLength:]))
	if l < minLength {
		return nil, blob, corruptf("Record size %d is less than the minimum record overhead (%d)", l, minLength)
	}
	m := int8(blob[offMagic])
	if m < 0 || m > Magic {
		return nil, blob, corruptf("Invalid magic found in record: %d", m)
	}
	size := int64(l) + Overhead
	if size > int64(len(blob)) {
		return nil, blob, ErrTruncated
	}
	if m == Magic && size < HeaderSize {
		return nil, blob, corruptf("Record batch is corrupted (the size %d is smaller than the minimum allowed overhead %d)", size, HeaderSize)
	}
	return Batch(blob[:size:size]), blob[size:], nil
}

// All yields the whole batches of a blob up to its end, its truncated tail or its first corrupt batch; use Next to tell these
// apart, and where a magic below 2 may come.
func All(blob []byte) func(yield func(Batch) bool) {
	return func(yield func(Batch) bool) {
		for {
			b, rest, err := Next(blob)
			if err != nil || b == nil || !yield(b) {
				return
			}
			blob = rest
		}
	}
}

// WholeSize is the number of bytes of the whole batches at the start of a blob.
func WholeSize(blob []byte) int {
	left := blob
	for {
		b, rest, err := Next(left)
		if err != nil || b == nil {
			return len(blob) - len(left)
		}
		left = rest
	}
}

package batch

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// zstdProduceVersion is the first Produce version in which zstd may come.
const zstdProduceVersion = 7

// FirstIsTransactional looks at the first batch of a partition's records, as Kafka does for all partitions of a Produce request
// before anything else. A *CorruptError fails the whole request: each partition gets CORRUPT_MESSAGE with the reason as its
// message.
func FirstIsTransactional(records []byte) (bool, error) {
	b, _, err := Next(records)
	if _, corrupt := err.(*CorruptError); corrupt {
		return false, err
	}
	return len(b) >= HeaderSize && b.IsTransactional(), nil
}

// CheckProduce is what Kafka demands of a partition's records before it appends them: exactly one batch, of magic 2, and no zstd
// below version 7. Errors wrap a *kerr.Error; such a partition's log start offset is answered as -1, its message as null.
func CheckProduce(records []byte, version int16) error {
	b, rest, err := Next(records)
	if _, corrupt := err.(*CorruptError); corrupt {
		return fmt.Errorf("%w: %w", kerr.CorruptMessage, err)
	}
	if b == nil {
		return fmt.Errorf("%w: a produce request must have a record batch per partition", kerr.InvalidRecord)
	}
	if b.Magic() != Magic {
		return fmt.Errorf("%w: a produce request may only contain record batches with magic 2, not %d", kerr.InvalidRecord, b.Magic())
	}
	if version < zstdProduceVersion && b.Codec() == Zstd {
		return fmt.Errorf("%w: zstd needs produce version %d", kerr.UnsupportedCompressionType, zstdProduceVersion)
	}
	switch second, _, err := Next(rest); {
	case err != nil:
		if _, corrupt := err.(*CorruptError); corrupt {
			return fmt.Errorf("%w: %w", kerr.CorruptMessage, err)
		}
	case second != nil:
		return fmt.Errorf("%w: a produce request may only contain one record batch per partition", kerr.InvalidRecord)
	}
	return nil
}

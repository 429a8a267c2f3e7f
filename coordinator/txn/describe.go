package txn

import (
	"maps"
	"regexp"
	"slices"

	"github.com/kaja-mq/kaja/coordinator"
)

// Description is a transactional id as DescribeTransactions and ListTransactions tell of it.
type Description struct {
	TransactionalID string
	State           State
	TimeoutMs       int32
	StartMs         int64 // -1 before the first transaction
	ProducerID      int64
	ProducerEpoch   int16
	Partitions      []Partition // sorted; read only
}

// Describe finds a transactional id.
func (s *Shard) Describe(transactionalID string) (Description, bool) {
	t := s.txns[transactionalID]
	if t == nil {
		return Description{}, false
	}
	return t.description(), true
}

func (t *transaction) description() Description {
	return Description{t.id, t.state, t.timeoutMs, t.startMs, t.producerID, t.epoch, t.partitions}
}

// Filter chooses transactional ids; the zero value of a field but MinDurationMs lets all through.
type Filter struct {
	ProducerIDs []int64
	// AnyState is false when only States count.
	AnyState bool
	States   []State
	// MinDurationMs lets through what began longer ago; negative does not care. An id without a transaction counts as very old, as in Kafka.
	MinDurationMs int64
	// Pattern must match the whole id.
	Pattern *regexp.Regexp
}

func (f Filter) takes(t *transaction, now coordinator.Now) bool {
	return (len(f.ProducerIDs) == 0 || slices.Contains(f.ProducerIDs, t.producerID)) &&
		(f.AnyState || slices.Contains(f.States, t.state)) &&
		(f.MinDurationMs < 0 || now.WallMs()-t.startMs > f.MinDurationMs) &&
		(f.Pattern == nil || f.Pattern.MatchString(t.id))
}

// List finds the transactional ids that pass, sorted.
func (s *Shard) List(now coordinator.Now, f Filter) (out []Description) {
	for _, id := range slices.Sorted(maps.Keys(s.txns)) {
		if t := s.txns[id]; f.takes(t, now) {
			out = append(out, t.description())
		}
	}
	return out
}

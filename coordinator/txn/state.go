package txn

import (
	"cmp"
	"slices"
	"time"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/internal/planted"
)

// State of a transaction; the numbers are those of the log.
type State int8

// States of org.apache.kafka.coordinator.transaction.TransactionState.
const (
	Empty State = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead              // never written
	PrepareEpochFence // never written: fencing and the decision to abort are one record
)

// String is the name that DescribeTransactions and ListTransactions show.
func (s State) String() string {
	switch s {
	case Empty:
		return "Empty"
	case Ongoing:
		return "Ongoing"
	case PrepareCommit:
		return "PrepareCommit"
	case PrepareAbort:
		return "PrepareAbort"
	case CompleteCommit:
		return "CompleteCommit"
	case CompleteAbort:
		return "CompleteAbort"
	case Dead:
		return "Dead"
	case PrepareEpochFence:
		return "PrepareEpochFence"
	}
	return "Unknown"
}

// StateOf finds a state by its name.
func StateOf(name string) (State, bool) {
	for s := Empty; s <= PrepareEpochFence; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// decided: the outcome is in the log and the markers are on their way.
func (s State) decided() bool { return s == PrepareCommit || s == PrepareAbort }

// finished: no transaction is open, the id may expire.
func (s State) finished() bool { return s == Empty || s == CompleteCommit || s == CompleteAbort }

// No producer id and epoch.
const (
	noProducerID    int64 = -1
	noProducerEpoch int16 = -1
)

// maxEpoch is the last epoch of a producer id. It is never given to a client: at the one before, a new id is taken instead.
const maxEpoch int16 = 1<<15 - 1

// exhausted is TransactionMetadata.isEpochExhausted.
func exhausted(epoch int16) bool { return epoch >= maxEpoch-1 }

// Partition is a partition in a transaction, by its topic's name as in the log.
type Partition struct {
	Topic     string
	Partition int32
}

func comparePartitions(a, b Partition) int {
	if c := cmp.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return cmp.Compare(a.Partition, b.Partition)
}

// transaction is a transactional id and its newest transaction.
type transaction struct {
	id             string
	producerID     int64
	prevProducerID int64 // the one before producerID, or the same
	nextProducerID int64 // the one that the end of the transaction brings; -1 none
	epoch          int16
	timeoutMs      int32
	state          State
	partitions     []Partition // sorted
	startMs        int64       // -1 when there has been no transaction
	updateMs       int64
	version        int16 // of the transaction protocol, as the client used it last

	// lastEpoch is the epoch before, by which a retry of InitProducerId is known (KIP-360); -1 after a start.
	lastEpoch int16
	// began is when the open transaction began.
	began time.Time
	// waiting are EndTxn calls that are answered when the markers are in.
	waiting []waitingEnd
}

type waitingEnd struct {
	handle  coordinator.Handle
	answer  Answer
	outcome Outcome
}

// at tells whether the epoch is the current one: any other is that of a fenced producer.
func (t *transaction) at(epoch int16) bool { return t.epoch == epoch || planted.Is("epoch") }

// has tells whether all the partitions are in the transaction.
func (t *transaction) has(list []Partition) bool {
	for _, p := range list {
		if !t.hasOne(p) {
			return false
		}
	}
	return true
}

func (t *transaction) hasOne(p Partition) bool {
	_, found := slices.BinarySearchFunc(t.partitions, p, comparePartitions)
	return found
}

// with are the transaction's partitions and list, sorted.
func (t *transaction) with(list []Partition) []Partition {
	out := slices.Concat(t.partitions, list)
	slices.SortFunc(out, comparePartitions)
	return slices.Compact(out)
}

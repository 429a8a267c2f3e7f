package coordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Now is the instant at which a machine is asked: Mono for sessions and time-outs, Wall for what is written into records.
type Now struct {
	Wall time.Time
	Mono time.Time
}

// WallMs is the wall clock in milliseconds, as records carry it.
func (n Now) WallMs() int64 { return n.Wall.UnixMilli() }

// Record is one record of an internal topic; a nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
	// Offset is where it lies in the log: set by the runtime when it is applied.
	Offset int64
}

// Txn marks records that belong to a producer's transaction (TxnOffsetCommit): they count only once the transaction commits.
type Txn struct {
	ProducerID    int64
	ProducerEpoch int16
	// MarkerVersion is the transaction version under which its marker is written (KIP-890); 0 otherwise.
	MarkerVersion int16
	// Guard is the verification that the transaction's coordinator has confirmed for this partition
	// (replica.Partition.StartVerification): the write is refused if the transaction has ended since. 0: whoever submits vouches for it.
	Guard uint64
}

// Handle is a call waiting for its answer. Machines keep handles of parked calls and never look inside; a test gives them numbers.
// The runtime calls exactly one of the methods, once, without a lock.
type Handle interface {
	// Complete answers with what the machine decided.
	Complete(resp kmsg.Response)
	// Fail answers that the machine's decision did not become part of the log, or that the shard is lost: err is one of this package's
	// errors, or what the log said. The handle knows how its API tells that.
	Fail(err error)
}

// Reply answers a call once the records of the same Effects, and all before them, are committed.
type Reply struct {
	To       Handle
	Response kmsg.Response
}

// TimerChange sets the timer Key to fire at the monotonic instant At, or cancels it when At is zero.
type TimerChange struct {
	Key string
	At  time.Time
}

// Effects is all that a machine can do to the world.
type Effects struct {
	Records []Record
	// Txn, when set, makes Records part of that transaction.
	Txn *Txn
	// Clean says that the step has changed nothing that its records will not: if they are refused the machine is as it was, and goes on.
	// Without it a refused write drops the machine, and it is loaded again.
	Clean bool
	// Loose says that Records have nothing to do with each other (deletions): they may be written in several batches.
	Loose bool
	// Replies fail instead (Handle.Fail) when the records, or some written before them, are not committed.
	Replies []Reply
	Timers  []TimerChange
}

// Machine is the state of one internal partition: hard state changes only in Apply, ApplyTxn and EndTxn.
type Machine interface {
	// Apply folds a committed-or-to-be-committed record; the same code serves and loads.
	Apply(rec Record)
	// ApplyTxn folds a record of an open transaction of the producer; it stays pending until EndTxn.
	ApplyTxn(txn Txn, rec Record)
	// EndTxn commits or aborts what is pending for the producer. It is also called while loading; its effects are then dropped. It must
	// not return records.
	EndTxn(now Now, txn Txn, commit bool) Effects
	// Loaded is called once after the whole partition was applied; it sets timers of what is alive.
	Loaded(now Now) Effects
	// Fire is called when a timer is due; it may come late, and for something that is gone.
	Fire(now Now, key string) Effects
	// Dropped is called when the shard is lost (leadership gone, append failed): it gives up every parked call; they are failed.
	Dropped() []Handle
}

// PartitionWriter is the log of an internal topic as the runtime needs it; server wires it to replica partitions.
type PartitionWriter interface {
	// Write appends the records as one batch under the leader epoch.
	Write(partition int32, leaderEpoch int32, recs []Record, txn *Txn, nowMs int64) (Written, error)
	// WriteMarker appends the control batch that ends a producer's transaction.
	WriteMarker(partition int32, leaderEpoch int32, txn Txn, commit bool, coordinatorEpoch int32) (Written, error)
	// Load reads the partition from its start to its current end, in order. A marker comes as Marker with Commit set.
	Load(partition int32, each func(LoadedBatch) error) error
}

// Written is an append that was done.
type Written struct {
	// NextOffset is the offset after the last record.
	NextOffset int64
	// Committed says that the records are committed already.
	Committed bool
	// After is run by the runtime once it holds no lock: it wakes who waited for the records. Unless Committed it arranges that committed
	// runs, without a lock held, when the records are committed or known to be lost. nil if there is nothing to do.
	After func(committed func(err error))
}

// LoadedBatch is a batch read while loading.
type LoadedBatch struct {
	Records []Record // alias the read buffer: clone what is kept
	Txn     *Txn     // set for transactional batches and markers
	Marker  bool
	Commit  bool
}

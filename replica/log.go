package replica

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/storage"
)

// What the callers of a partition see of its log, under the names they use: they need not know storage.
type (
	TopicID             = storage.TopicID
	AbortedTxn          = storage.AbortedTxn
	ProducerState       = storage.ProducerState
	TimestampOffset     = storage.TimestampOffset
	RecordError         = storage.RecordError
	InvalidRecordsError = storage.InvalidRecordsError
	LogConfig           = storage.LogConfig
	Origin              = storage.Origin
)

// Origins of an append; see storage.
const (
	OriginClient      = storage.OriginClient
	OriginCoordinator = storage.OriginCoordinator
	OriginReplication = storage.OriginReplication
)

// Log is what a partition needs of its log; *storage.Log is one.
type Log interface {
	Key() storage.PartitionKey
	Append(batches []byte, o storage.AppendOptions) (storage.AppendResult, error)
	Read(o storage.ReadOptions) (storage.ReadResult, error)
	LogStartOffset() int64
	LogEndOffset() int64
	CheckpointedHW() int64
	LatestEpoch() (int32, bool)
	AssignEpoch(epoch int32) error
	EndOffsetForEpoch(epoch int32) (foundEpoch int32, endOffset int64)
	EpochForOffset(offset int64) int32
	OffsetForTimestamp(ts int64, upTo int64) (storage.TimestampOffset, error)
	MaxTimestamp(upTo int64) (storage.TimestampOffset, error)
	FirstUnstableOffset() (int64, bool)
	OnHighWatermark(hw int64)
	StartVerification(pid int64, epoch int16, sequence int32, supportsEpochBump bool) (guard uint64, err error)
	VerificationHolds(pid int64, guard uint64) bool
	AbortedTxnsIn(r protocol.FileRange, from int64) ([]storage.AbortedTxn, error)
	Producers() []storage.ProducerState
	DeleteRecordsTo(offset int64) error
	NeedsFlush(after storage.AppendResult) bool
	FlushGroup(upTo int64, done func(error)) bool
	BytesBetween(from, to int64) int64
	Size() int64
	Dir() string
	Config() storage.LogConfig
}

var _ Log = (*storage.Log)(nil)

// Store makes and finds logs; StoreOf makes one of a storage.Manager.
type Store interface {
	// Get is the log of a partition, nil if there is none.
	Get(id TopicID, partition int32) Log
	// Create makes or finds it; dir "" leaves the choice to the store.
	Create(key storage.PartitionKey, dir string) (Log, error)
	Delete(key storage.PartitionKey) error
	Dirs() []storage.DirInfo
	MoveDir(key storage.PartitionKey, dir string) error
	FutureLag(key storage.PartitionKey) (dir string, lag int64, ok bool)
}

// StoreOf is the log directories of this broker as replica uses them.
func StoreOf(m *storage.Manager) Store { return store{m} }

type store struct{ *storage.Manager }

func (s store) Get(id TopicID, partition int32) Log {
	if l := s.Manager.Get(id, partition); l != nil {
		return l
	}
	return nil
}

func (s store) Create(key storage.PartitionKey, dir string) (Log, error) {
	l, err := s.Manager.Create(key, dir)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// clientError gives an error of the log the code that Kafka answers with; errors that have one stay as they are.
func clientError(err error) error {
	var k *kerr.Error
	switch {
	case err == nil, errors.As(err, &k):
		return err
	case errors.Is(err, storage.ErrOffsetOutOfRange):
		return fmt.Errorf("%w: %w", kerr.OffsetOutOfRange, err)
	case errors.Is(err, storage.ErrLogDirOffline):
		return fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
	case errors.Is(err, storage.ErrLogClosed):
		return fmt.Errorf("%w: %w", kerr.NotLeaderForPartition, err) // between deletion or move and the next metadata
	default:
		return err
	}
}

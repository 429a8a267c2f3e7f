package storage

import (
	"errors"

	"github.com/kaja-mq/kaja/protocol"
)

// TopicID is a topic's identity; the zero value is none.
type TopicID = [16]byte

// Errors that callers tell apart; each wraps facts where there are some.
var (
	// ErrOffsetOutOfRange is a read below the log start or past the end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrLogDirOffline is any operation on a log whose directory has failed.
	ErrLogDirOffline = errors.New("log directory is offline")
	// ErrLogClosed is any operation on a log that was closed or deleted.
	ErrLogClosed = errors.New("log is closed")
)

// Origin is who appends.
type Origin uint8

// Origins of an append: they decide what is validated and who assigns offsets.
const (
	OriginClient      Origin = iota // offsets assigned, everything validated
	OriginCoordinator               // internal topics: offsets assigned, control batches and any producer state allowed
	OriginReplication               // offsets and epochs as given by the leader
)

// AppendOptions go with one Append.
type AppendOptions struct {
	Origin      Origin
	LeaderEpoch int32
	// Version is the Produce version, for rules that depend on it (zstd from 7).
	Version int16
	// Verified says that the transaction of a transactional batch was verified (or needs no verification).
	Verified bool
	// TransactionVersion is that of the markers appended (WriteTxnMarkers): from 2 on a marker's epoch must be above the producer's.
	TransactionVersion int16
}

// AppendResult tells what an append did.
type AppendResult struct {
	BaseOffset     int64 // of the first record; of the first append if Duplicate
	LastOffset     int64
	LogAppendTime  int64 // ms, -1 under CreateTime
	LogStartOffset int64
	Duplicate      bool
	Rolled         bool
}

// RecordError names one bad record of a refused batch.
type RecordError struct {
	Index   int32
	Message string
}

// InvalidRecordsError is a refused append: the code, the message for the client and the records that were bad.
type InvalidRecordsError struct {
	Err     error // a *kerr.Error
	Message string
	Records []RecordError
}

// Error implements error.
func (e *InvalidRecordsError) Error() string { return e.Err.Error() + ": " + e.Message }

// Unwrap gives the *kerr.Error.
func (e *InvalidRecordsError) Unwrap() error { return e.Err }

// ReadOptions bound one Read.
type ReadOptions struct {
	Offset   int64
	MaxBytes int
	// UpTo is the exclusive bound on offsets (HW or LSO); whole batches below it are returned.
	UpTo int64
	// MinOne returns the first batch whole even if it exceeds MaxBytes.
	MinOne bool
}

// ReadResult is positions, not bytes. The caller releases Range (nil when there is nothing).
type ReadResult struct {
	Range                protocol.FileRange
	Truncated            bool // more was there than MaxBytes allowed
	FirstBatchIncomplete bool // the range ends within its first batch, as MaxBytes is smaller
}

// AbortedTxn is an entry of the aborted index.
type AbortedTxn struct {
	ProducerID                                int64
	FirstOffset, LastOffset, LastStableOffset int64
}

// TimestampOffset answers a look-up by time.
type TimestampOffset struct {
	Timestamp   int64 // ms, -1 none
	Offset      int64 // -1 none
	LeaderEpoch int32 // -1 unknown
}

// ProducerState is what DescribeProducers tells.
type ProducerState struct {
	ProducerID            int64
	ProducerEpoch         int16
	LastSequence          int32
	LastTimestamp         int64
	CoordinatorEpoch      int32
	CurrentTxnStartOffset int64 // -1 none
}

// LogConfig is a topic's effective settings for its logs: every storage property of Kafka under its own name.
type LogConfig struct {
	CleanupDelete, CleanupCompact                bool
	CompressionType                              string // producer, uncompressed, gzip, snappy, lz4, zstd
	CompressionGzipLevel                         int32
	CompressionLz4Level                          int32
	CompressionZstdLevel                         int32
	DeleteRetentionMs, FileDeleteDelayMs         int64
	FlushMessages, FlushMs                       int64
	IndexIntervalBytes                           int32
	MaxCompactionLagMs, MinCompactionLagMs       int64
	MaxMessageBytes, MaxDecompressedMessageBytes int32
	MessageTimestampAfterMaxMs                   int64
	MessageTimestampBeforeMaxMs                  int64
	MessageTimestampLogAppendTime                bool
	MinCleanableDirtyRatio                       float64
	MinInsyncReplicas                            int32
	RetentionBytes, RetentionMs                  int64
	SegmentBytes, SegmentIndexBytes              int32
	SegmentMs, SegmentJitterMs                   int64
	UncleanLeaderElectionEnable                  bool
	ProducerIDExpirationMs                       int64 // broker-wide: producer.id.expiration.ms
}

// PartitionKey names a log: the id decides, the name is its directory.
type PartitionKey struct {
	Topic     string
	ID        TopicID
	Partition int32
}

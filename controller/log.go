package controller

import "errors"

// ErrNoSnapshot is what Log.ReadSnapshot returns when there is none with that id.
var ErrNoSnapshot = errors.New("no such metadata snapshot")

// Control record types of the metadata log, as Kafka numbers them in a control record's key.
const (
	ControlLeaderChange   int16 = 2
	ControlSnapshotHeader int16 = 3
	ControlSnapshotFooter int16 = 4
	ControlKRaftVersion   int16 = 5
	ControlKRaftVoters    int16 = 6
)

// NotControl marks an ordinary batch, whose values are metadata records.
const NotControl int16 = -1

// LogBatch is one record batch of __cluster_metadata-0: the records of one command, or one control record.
type LogBatch struct {
	BaseOffset  int64
	Epoch       int32 // partition leader epoch = raft term
	TimestampMs int64 // create time of all its records
	// Control is the control record type, NotControl for metadata records.
	Control int16
	// Values are the records' values in order: record i has offset BaseOffset + i. Framed ApiMessages, or the control record's body.
	Values [][]byte
}

// NextOffset is the offset after the batch.
func (b *LogBatch) NextOffset() int64 { return b.BaseOffset + int64(len(b.Values)) }

// QuorumState is what the quorum-state file keeps: raft's HardState but for the commit index, which a new leader finds again.
type QuorumState struct {
	LeaderID    int32 // -1 unknown
	LeaderEpoch int32
	VotedID     int32 // -1 none
	// VotedDirectoryID is the voted node's metadata directory; only with DataVersion 1.
	VotedDirectoryID [16]byte
	// Voters is empty with DataVersion 1, where they are in the log.
	Voters []int32
	// DataVersion is the file's: 0 with static voters (kraft.version 0), 1 with voters in the log.
	DataVersion int16
}

// SnapshotID names a snapshot: the image before EndOffset, whose last record has Epoch. The file is <EndOffset>-<Epoch>.checkpoint.
type SnapshotID struct {
	EndOffset int64
	Epoch     int32
}

// SnapshotInfo is a snapshot on disk.
type SnapshotInfo struct {
	SnapshotID
	SizeBytes int64
	// LastTimestampMs is the time of the last record that it contains, from its header; -1 unknown.
	LastTimestampMs int64
}

// Log is the metadata log on disk. It is used by one goroutine at a time. An error of a write or sync is final: the controller stops.
type Log interface {
	// State is the last state saved, ok false when there is none.
	State() (s QuorumState, ok bool, err error)
	// SaveState replaces the state and is durable when it returns.
	SaveState(s QuorumState) error
	// StartOffset is the first offset in the log, EndOffset the one after the last.
	StartOffset() int64
	EndOffset() int64
	// EpochOf is the epoch of the record at offset, ok false when the log does not have it.
	EpochOf(offset int64) (epoch int32, ok bool)
	// Append writes batches at EndOffset. They survive a crash once Sync has returned.
	Append(batches []LogBatch) error
	Sync() error
	// Truncate drops everything at and after offset, durably.
	Truncate(offset int64) error
	// Read returns whole batches from the one that holds offset, at least one if there is one, and not much more than maxBytes.
	Read(offset int64, maxBytes int) ([]LogBatch, error)
	// SizeBytes is the size of all segments.
	SizeBytes() int64
	// Snapshots lists what can be read, oldest first.
	Snapshots() []SnapshotInfo
	// ReadBootstrap calls batch for each batch of bootstrap.checkpoint, which older formatters wrote; nothing when there is none.
	ReadBootstrap(batch func(LogBatch) error) error
	// ReadSnapshot calls batch for each batch, without header and footer: ErrNoSnapshot.
	ReadSnapshot(id SnapshotID, batch func(LogBatch) error) error
	// WriteSnapshot makes the snapshot from the batches that next yields until it reports false (BaseOffset and Epoch are set by
	// WriteSnapshot); durable and visible when it returns. lastTimestampMs is the time of the last record that it contains.
	WriteSnapshot(id SnapshotID, lastTimestampMs int64, next func() (LogBatch, bool)) error
	// Prune drops snapshots before keep and log segments that lie before it.
	Prune(keep SnapshotID) error
	Close() error
}

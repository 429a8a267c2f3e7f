package storage

// Log is one partition's log.
type Log struct{ key PartitionKey }

// Key tells which partition it is.
func (l *Log) Key() PartitionKey { return l.key }

// Append validates and writes batches, which it may patch in place.
func (l *Log) Append(batches []byte, o AppendOptions) (AppendResult, error) {
	return AppendResult{}, ErrLogClosed
}

// Read finds what to read.
func (l *Log) Read(o ReadOptions) (ReadResult, error) { return ReadResult{}, ErrLogClosed }

// LogStartOffset is the first readable offset.
func (l *Log) LogStartOffset() int64 { return 0 }

// LogEndOffset is the next offset to be given.
func (l *Log) LogEndOffset() int64 { return 0 }

// CheckpointedHW is the high watermark found in replication-offset-checkpoint at load, 0 if none.
func (l *Log) CheckpointedHW() int64 { return 0 }

// LatestEpoch is the leader epoch of the log's end.
func (l *Log) LatestEpoch() (int32, bool) { return 0, false }

// AssignEpoch notes that a leader's epoch starts at the log's end.
func (l *Log) AssignEpoch(epoch int32) error { return nil }

// EndOffsetForEpoch answers OffsetForLeaderEpoch: -1, -1 when unknown.
func (l *Log) EndOffsetForEpoch(epoch int32) (foundEpoch int32, endOffset int64) { return -1, -1 }

// EpochForOffset is the leader epoch that wrote the offset, -1 unknown.
func (l *Log) EpochForOffset(offset int64) int32 { return -1 }

// OffsetForTimestamp finds the first record below upTo with a timestamp of at least ts.
func (l *Log) OffsetForTimestamp(ts int64, upTo int64) (TimestampOffset, error) {
	return TimestampOffset{}, ErrLogClosed
}

// MaxTimestamp finds the record with the largest timestamp below upTo.
func (l *Log) MaxTimestamp(upTo int64) (TimestampOffset, error) {
	return TimestampOffset{}, ErrLogClosed
}

// FirstUnstableOffset is the first offset of the earliest open transaction.
func (l *Log) FirstUnstableOffset() (int64, bool) { return 0, false }

// AbortedTxns lists the aborted transactions that a read of [from, to) must know.
func (l *Log) AbortedTxns(from, to int64) ([]AbortedTxn, error) { return nil, nil }

// Producers lists the producers known, by id.
func (l *Log) Producers() []ProducerState { return nil }

// ProducerEntry is one producer's state.
func (l *Log) ProducerEntry(pid int64) (ProducerState, bool) { return ProducerState{}, false }

// DeleteRecordsTo moves the log start.
func (l *Log) DeleteRecordsTo(offset int64) error { return ErrLogClosed }

// TruncateTo drops offset and everything after it.
func (l *Log) TruncateTo(offset int64) error { return ErrLogClosed }

// TruncateFullyAndStartAt empties the log.
func (l *Log) TruncateFullyAndStartAt(offset int64) error { return ErrLogClosed }

// Flush syncs everything.
func (l *Log) Flush() error { return ErrLogClosed }

// NeedsFlush tells whether flush.messages demands a flush now.
func (l *Log) NeedsFlush(after AppendResult) bool { return false }

// FlushGroup calls done once everything below upTo is synced, on another goroutine; false: it is already, done is not called.
func (l *Log) FlushGroup(upTo int64, done func(error)) bool { return false }

// BytesBetween estimates the bytes of [from, to).
func (l *Log) BytesBetween(from, to int64) int64 { return 0 }

// Size is the bytes of all segments.
func (l *Log) Size() int64 { return 0 }

// Dir is the log directory (one of log.dirs) that holds it.
func (l *Log) Dir() string { return "" }

// Config is the effective configuration.
func (l *Log) Config() LogConfig { return LogConfig{} }

// OpenStandalone opens (makes, recovers) a log that no Manager owns: __cluster_metadata-0.
func OpenStandalone(o StandaloneOptions) (*Log, error) { return nil, ErrLogClosed }

// DeletePrefix drops whole segments that end at or below offset and makes offset the log start (a snapshot covers what is below).
func (l *Log) DeletePrefix(offset int64) error { return ErrLogClosed }

// Close closes a standalone log; flush says whether it is synced.
func (l *Log) Close() error { return ErrLogClosed }

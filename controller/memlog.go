package controller

import (
	"fmt"
	"slices"
)

// MemLog is a Log in memory, for tests and for simulations that do not look at disks. Failures are injected through Fail.
type MemLog struct {
	// Fail, if set, is asked before each operation that changes something; an error fails the operation and changes nothing.
	Fail func(op string) error

	state     QuorumState
	hasState  bool
	start     int64
	batches   []LogBatch
	snapshots []memSnapshot
	synced    int // batches that Sync covers
	Syncs     int // how often Sync was called
}

type memSnapshot struct {
	info    SnapshotInfo
	batches []LogBatch
}

// NewMemLog returns an empty log.
func NewMemLog() *MemLog { return &MemLog{} }

// Crash returns the log as a restart finds it after a power cut: without what was not synced.
func (l *MemLog) Crash() *MemLog {
	c := &MemLog{state: l.state, hasState: l.hasState, start: l.start, snapshots: slices.Clone(l.snapshots)}
	c.batches = slices.Clone(l.batches[:l.synced])
	c.synced = l.synced
	return c
}

func (l *MemLog) fail(op string) error {
	if l.Fail == nil {
		return nil
	}
	return l.Fail(op)
}

// State implements Log.
func (l *MemLog) State() (QuorumState, bool, error) { return l.state, l.hasState, nil }

// SaveState implements Log.
func (l *MemLog) SaveState(s QuorumState) error {
	if err := l.fail("SaveState"); err != nil {
		return err
	}
	l.state, l.hasState = s, true
	return nil
}

// StartOffset implements Log.
func (l *MemLog) StartOffset() int64 { return l.start }

// EndOffset implements Log.
func (l *MemLog) EndOffset() int64 {
	if n := len(l.batches); n > 0 {
		return l.batches[n-1].NextOffset()
	}
	return l.start
}

// find gives the batch that holds offset.
func (l *MemLog) find(offset int64) (int, bool) {
	i, ok := slices.BinarySearchFunc(l.batches, offset, func(b LogBatch, o int64) int {
		switch {
		case b.NextOffset() <= o:
			return -1
		case b.BaseOffset > o:
			return 1
		}
		return 0
	})
	return i, ok
}

// EpochOf implements Log.
func (l *MemLog) EpochOf(offset int64) (int32, bool) {
	i, ok := l.find(offset)
	if !ok {
		return 0, false
	}
	return l.batches[i].Epoch, true
}

// Append implements Log.
func (l *MemLog) Append(batches []LogBatch) error {
	if err := l.fail("Append"); err != nil {
		return err
	}
	for _, b := range batches {
		if b.BaseOffset != l.EndOffset() {
			return fmt.Errorf("batch at offset %d does not follow the log's end %d", b.BaseOffset, l.EndOffset())
		}
		l.batches = append(l.batches, b)
	}
	return nil
}

// Sync implements Log.
func (l *MemLog) Sync() error {
	if err := l.fail("Sync"); err != nil {
		return err
	}
	l.Syncs++
	l.synced = len(l.batches)
	return nil
}

// Truncate implements Log.
func (l *MemLog) Truncate(offset int64) error {
	if err := l.fail("Truncate"); err != nil {
		return err
	}
	i, _ := l.find(offset)
	l.batches = l.batches[:i]
	l.synced = min(l.synced, i)
	return nil
}

// Read implements Log; it takes no notice of the size.
func (l *MemLog) Read(offset int64, _ int) ([]LogBatch, error) {
	i, ok := l.find(offset)
	if !ok {
		return nil, nil
	}
	return l.batches[i:], nil
}

// SizeBytes implements Log.
func (l *MemLog) SizeBytes() (n int64) {
	for i := range l.batches {
		n += sizeOfBatch(&l.batches[i])
	}
	return n
}

func sizeOfBatch(b *LogBatch) (n int64) {
	for _, v := range b.Values {
		n += int64(len(v))
	}
	return n
}

// Snapshots implements Log.
func (l *MemLog) Snapshots() []SnapshotInfo {
	var out []SnapshotInfo
	for _, s := range l.snapshots {
		out = append(out, s.info)
	}
	return out
}

// ReadBootstrap implements Log: there is none.
func (l *MemLog) ReadBootstrap(func(LogBatch) error) error { return nil }

// ReadSnapshot implements Log.
func (l *MemLog) ReadSnapshot(id SnapshotID, batch func(LogBatch) error) error {
	for _, s := range l.snapshots {
		if s.info.SnapshotID != id {
			continue
		}
		for _, b := range s.batches {
			if err := batch(b); err != nil {
				return err
			}
		}
		return nil
	}
	return ErrNoSnapshot
}

// WriteSnapshot implements Log.
func (l *MemLog) WriteSnapshot(id SnapshotID, lastTimestampMs int64, next func() (LogBatch, bool)) error {
	if err := l.fail("WriteSnapshot"); err != nil {
		return err
	}
	s := memSnapshot{info: SnapshotInfo{SnapshotID: id, LastTimestampMs: lastTimestampMs}}
	for b, ok := next(); ok; b, ok = next() {
		s.info.SizeBytes += sizeOfBatch(&b)
		s.batches = append(s.batches, b)
	}
	l.snapshots = append(l.snapshots, s)
	return nil
}

// Prune implements Log.
func (l *MemLog) Prune(keep SnapshotID) error {
	if err := l.fail("Prune"); err != nil {
		return err
	}
	l.snapshots = slices.DeleteFunc(l.snapshots, func(s memSnapshot) bool { return s.info.EndOffset < keep.EndOffset })
	i, _ := l.find(keep.EndOffset)
	l.batches = slices.Clone(l.batches[i:])
	l.synced = max(l.synced-i, 0)
	l.start = keep.EndOffset
	return nil
}

// Close implements Log.
func (l *MemLog) Close() error { return nil }

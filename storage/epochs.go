package storage

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// epochEntry says that a leader epoch's first record has (or will have) that offset.
type epochEntry struct {
	epoch int32
	start int64
}

// epochs is Kafka's LeaderEpochFileCache: which leader epoch starts where. Guarded by the log mutex.
// The file is rewritten when an epoch got its first record, not when it was assigned: a start of many partitions that all get
// a new epoch writes nothing, and an epoch without records says nothing that a restart must know.
type epochs struct {
	fs      vfs.FS
	path    string
	entries []epochEntry // epoch and start ascending
	dirty   bool         // the file does not say the same
	loose   bool         // the file was written without a sync
}

// loadEpochs reads the file; a missing one is empty.
func loadEpochs(fs vfs.FS, dir string) (*epochs, error) {
	e := &epochs{fs: fs, path: join(dir, epochCheckpointFile)}
	data, err := fs.ReadFile(e.path)
	if isNotExist(err) {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	lines, err := checkpointLines(e.path, data)
	if err != nil {
		return e, err
	}
	for i, l := range lines {
		f := strings.Fields(l)
		if len(f) != 2 {
			return e, &CorruptFileError{e.path, i + 3, fmt.Sprintf("%d fields, not 2", len(f))}
		}
		ep, err1 := strconv.ParseInt(f[0], 10, 32)
		off, err2 := strconv.ParseInt(f[1], 10, 64)
		if err1 != nil || err2 != nil {
			return e, &CorruptFileError{e.path, i + 3, "not a number"}
		}
		e.assign(int32(ep), off)
	}
	e.dirty = false
	return e, nil
}

// assign notes the start of an epoch. An entry that starts at or after it, or has a higher epoch, was overtaken and goes; an epoch
// that is the latest already keeps its start.
func (e *epochs) assign(epoch int32, start int64) {
	if epoch < 0 {
		return
	}
	if n := len(e.entries); n > 0 && e.entries[n-1].epoch == epoch && e.entries[n-1].start <= start {
		return
	}
	n := len(e.entries)
	for n > 0 && (e.entries[n-1].epoch >= epoch || e.entries[n-1].start >= start) {
		n--
	}
	e.entries = append(e.entries[:n], epochEntry{epoch, start})
	e.dirty = true
}

func (e *epochs) latest() (int32, bool) {
	if n := len(e.entries); n > 0 {
		return e.entries[n-1].epoch, true
	}
	return -1, false
}

// endOffsetFor answers OffsetForLeaderEpoch: the largest known epoch not above the asked one, and where it ends; -1, -1 for an epoch
// that is higher than all known ones. An epoch below all known ones ends where the first known one starts.
func (e *epochs) endOffsetFor(epoch int32, logEnd int64) (int32, int64) {
	if epoch == -1 || len(e.entries) == 0 { // below -1 it is an epoch like others
		return -1, -1
	}
	i := sort.Search(len(e.entries), func(i int) bool { return e.entries[i].epoch > epoch })
	if i == len(e.entries) {
		if e.entries[i-1].epoch == epoch {
			return epoch, logEnd
		}
		return -1, -1
	}
	if i == 0 {
		return epoch, e.entries[0].start
	}
	return e.entries[i-1].epoch, e.entries[i].start
}

// at is the epoch that wrote offset, -1 unknown.
func (e *epochs) at(offset int64) int32 {
	i := sort.Search(len(e.entries), func(i int) bool { return e.entries[i].start > offset })
	if i == 0 {
		return -1
	}
	return e.entries[i-1].epoch
}

// truncateFromEnd forgets epochs that start at or after offset.
func (e *epochs) truncateFromEnd(offset int64) {
	n := len(e.entries)
	for n > 0 && e.entries[n-1].start >= offset {
		n--
	}
	if n < len(e.entries) {
		e.entries, e.dirty = e.entries[:n], true
	}
}

// truncateFromStart makes the entry that holds offset start there and forgets those before it.
func (e *epochs) truncateFromStart(offset int64) {
	i := sort.Search(len(e.entries), func(i int) bool { return e.entries[i].start > offset })
	if i == 0 || i == 1 && e.entries[0].start == offset {
		return
	}
	e.entries = append([]epochEntry(nil), e.entries[i-1:]...)
	if e.entries[0].start < offset {
		e.entries[0].start = offset
	}
	e.dirty = true
}

func (e *epochs) clear() {
	if len(e.entries) > 0 {
		e.entries, e.dirty = nil, true
	}
}

// write replaces the file if it does not say the same; sync makes sure that it is durable.
func (e *epochs) write(sync bool) error {
	if !e.dirty && e.loose && sync {
		if err := syncFileAt(e.fs, e.path); err != nil {
			return fmt.Errorf("sync leader epochs: %w", err)
		}
		e.loose = false
	}
	if !e.dirty {
		return nil
	}
	b := fmt.Appendf(nil, "%d\n%d\n", checkpointVersion, len(e.entries))
	for _, x := range e.entries {
		b = fmt.Appendf(b, "%d %d\n", x.epoch, x.start)
	}
	if err := replaceFileUnsynced(e.fs, e.path, b, sync); err != nil {
		return fmt.Errorf("write leader epochs: %w", err)
	}
	e.dirty, e.loose = false, !sync
	return nil
}

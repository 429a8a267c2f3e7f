package storage

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kaja-mq/kaja/internal/cache"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// segment is a stretch of a log in files of its own, from its base offset to the next one's. It is opened when needed and closed
// again when too many are open; what it says about itself is read lazily.
type segment struct {
	base      int64
	size      atomic.Int64 // bytes of whole batches in the .log file
	createdMs int64        // when the segment was made or found by this process, wall clock ms
	touched   atomic.Int64 // when it was last written or read, monotonic ms of the log's clock
	removed   atomic.Bool  // its files carry .deleted
	flushed   atomic.Bool  // inactive, and all its files were synced by this process
	cut       atomic.Bool  // it was shortened by a truncation
	replaced  atomic.Bool  // a cleaned one has its place; another file may have its name by now
	files     atomic.Pointer[segmentFiles]

	mu          sync.Mutex // guards opening, and what follows
	firstLoaded bool
	firstTs     int64 // max timestamp of the first batch, -1 none
	maxLoaded   bool
	maxTs       indexEntry // largest timestamp and the last offset of its batch, -1 none
	txn         *txnIndex  // nil until needed
}

// errSegmentGone is a segment that was deleted for good, or replaced, between a reader's look at the list and its opening.
var errSegmentGone = errors.New("segment was deleted")

func newSegment(base, size, nowMs int64) *segment {
	s := &segment{base: base, createdMs: nowMs, firstTs: -1, maxTs: indexEntry{-1, -1}}
	s.size.Store(size)
	return s
}

// segmentFiles are the open files of a segment. The indexes are opened with the first look-up that needs them.
type segmentFiles struct {
	cache.Handle
	s    *segment
	log  vfs.File
	mu   sync.Mutex
	idx  vfs.File // guarded by mu until set
	tidx vfs.File // guarded by mu until set
	idxN int      // entries in idx when it was opened
	tixN int
	near hints
}

// Evicted implements cache.Resource.
func (f *segmentFiles) Evicted() { f.s.files.CompareAndSwap(f, nil) }

// Release implements cache.Resource: a close that fails loses nothing, as everything that had to be durable was synced before.
func (f *segmentFiles) Release() {
	_ = f.closeAll() // see above
}

func (f *segmentFiles) closeAll() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.log.Close()
	if f.idx != nil {
		err = errors.Join(err, f.idx.Close())
	}
	if f.tidx != nil {
		err = errors.Join(err, f.tidx.Close())
	}
	return err
}

// path is where a file of the segment lies.
func (l *Log) path(s *segment, suffix string) string {
	if s.removed.Load() {
		suffix += deletedSuffix
	}
	return join(*l.dir.Load(), segmentName(s.base, suffix))
}

// open gives the segment's files with a reference that the caller gives back by Done.
func (l *Log) open(s *segment) (*segmentFiles, error) {
	for {
		if f := s.files.Load(); f != nil && f.TryAcquire() {
			return f, nil
		}
		f, err := l.openSlow(s)
		if f != nil || err != nil {
			return f, err
		}
	}
}

func (l *Log) openSlow(s *segment) (*segmentFiles, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files.Load(); f != nil {
		if f.TryAcquire() {
			return f, nil
		}
		s.files.CompareAndSwap(f, nil) // closing
	}
	if l.closed.Load() {
		return nil, ErrLogClosed
	}
	if s.replaced.Load() {
		return nil, errSegmentGone
	}
	file, err := l.env.fs.Open(l.path(s, logSuffix))
	if isNotExist(err) && s.removed.Load() {
		return nil, errSegmentGone
	}
	if err != nil {
		return nil, fmt.Errorf("open segment %d: %w", s.base, err)
	}
	f := &segmentFiles{s: s, log: file}
	s.files.Store(f)
	l.env.handles.Add(&f.Handle, f)
	return f, nil
}

// indexes opens the index files of f, and makes missing or broken ones again from the log.
func (l *Log) indexes(f *segmentFiles) error {
	f.mu.Lock()
	there := f.idx != nil
	f.mu.Unlock()
	if there {
		return nil
	}
	f.s.mu.Lock() // nobody renames the files meanwhile
	defer f.s.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idx != nil {
		return nil
	}
	if f.s.replaced.Load() {
		return errSegmentGone
	}
	idx, n, wrong1, err := l.openIndex(f.s, offsetIndexKind(), indexSuffix)
	if err != nil {
		return err
	}
	tidx, tn, wrong2, err := l.openIndex(f.s, timeIndexKind(), timeIndexSuffix)
	if err != nil {
		return errors.Join(err, closeIf(idx))
	}
	broken := wrong1+wrong2 != ""
	if !broken {
		if wrong1, wrong2, err = misplaced(f, idx, n, tidx, tn); err != nil {
			return errors.Join(err, idx.Close(), tidx.Close())
		}
	}
	if wrong1+wrong2 != "" {
		l.env.log.Warn().Str("dir", *l.dir.Load()).Int64("segment", f.s.base).Str("index", wrong1).Str("timeindex", wrong2).
			Msg("index is missing or broken, rebuilding it from the log")
		newN, newTn, err := l.rebuildIndexes(f.s, f.log)
		switch {
		case err != nil && !broken && isCorrupt(err): // the log is damaged, not its index, which leads around the damage
			f.idx, f.tidx, f.idxN, f.tixN = idx, tidx, n, tn
			return nil
		case err != nil:
			return errors.Join(err, closeIf(idx), closeIf(tidx))
		}
		n, tn = newN, newTn
		if err := errors.Join(closeIf(idx), closeIf(tidx)); err != nil {
			return err
		}
		if idx, err = l.env.fs.Open(l.path(f.s, indexSuffix)); err != nil {
			return err
		}
		if tidx, err = l.env.fs.Open(l.path(f.s, timeIndexSuffix)); err != nil {
			return errors.Join(err, idx.Close())
		}
	}
	f.idx, f.tidx, f.idxN, f.tixN = idx, tidx, n, tn
	return nil
}

func (l *Log) openIndex(s *segment, k indexKind, suffix string) (file vfs.File, n int, wrong string, err error) {
	file, err = l.env.fs.Open(l.path(s, suffix))
	if isNotExist(err) {
		if s.removed.Load() {
			return nil, 0, "", errSegmentGone
		}
		if s.size.Load() > 0 {
			return nil, 0, "missing", nil
		}
		file, err = l.env.fs.Create(l.path(s, suffix))
	}
	if err != nil {
		return nil, 0, "", fmt.Errorf("open index of segment %d: %w", s.base, err)
	}
	n, wrong, err = checkIndexFile(k, file, s.base, s.size.Load())
	if err != nil {
		return nil, 0, "", errors.Join(fmt.Errorf("check index of segment %d: %w", s.base, err), file.Close())
	}
	return file, n, wrong, nil
}

// misplaced says what is wrong with the last entries of well-formed index files: that of the offset index must lead to the
// batch that ends with its offset (or, as older Kafkas wrote it, to the first of those appended with it), that of the time index to a batch with
// its timestamp. Kafka does not look.
func misplaced(f *segmentFiles, idx vfs.File, n int, tidx vfs.File, tn int) (wrong, wrongTime string, err error) {
	base, size := f.s.base, f.s.size.Load()
	if n > 0 {
		e, err := offsetIndexKind().entryAt(idx, base, n-1)
		if err != nil {
			return "", "", err
		}
		b, found, err := batchFrom(f.log, e.val, size, e.key)
		if err != nil {
			return "", "", err
		}
		if !found || b.LastOffset() != e.key || b.BaseOffset() < base {
			return fmt.Sprintf("no batch from position %d on ends with offset %d", e.val, e.key), "", nil
		}
	}
	if tn == 0 {
		return "", "", nil
	}
	e, err := timeIndexKind().entryAt(tidx, base, tn-1)
	if err != nil {
		return "", "", err
	}
	near, _, err := offsetIndexKind().floor(idx, base, n, e.val)
	if err != nil {
		return "", "", err
	}
	b, found, err := batchFrom(f.log, max(near.val, 0), size, e.val)
	if err != nil {
		return "", "", err
	}
	if !found || b.BaseOffset() > e.val || b.MaxTimestamp() != e.key {
		wrongTime = fmt.Sprintf("no batch at offset %d has the largest timestamp %d", e.val, e.key)
	}
	return "", wrongTime, nil
}

// batchFrom is the header of the first batch from position on that does not end below offset; not found where the bytes are no batch.
func batchFrom(f vfs.File, position, size, offset int64) (h batch.Batch, found bool, err error) {
	r := newBatchReader(f, position, size, headersOnly)
	defer r.close()
	for r.next() {
		if r.batch.LastOffset() >= offset {
			return append(h, r.batch[:batch.HeaderSize]...), true, nil
		}
	}
	if r.err != nil && !isCorrupt(r.err) {
		return nil, false, r.err
	}
	return nil, false, nil
}

func closeIf(f vfs.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// rebuildIndexes writes both index files of a segment anew from its batch headers.
func (l *Log) rebuildIndexes(s *segment, file vfs.File) (n, tn int, err error) {
	w := newIndexWriter(s.base, l.cfg.Load().IndexIntervalBytes)
	r := newBatchReader(file, 0, s.size.Load(), headersOnly)
	defer r.close()
	for r.next() {
		w.batch(r.batch.LastOffset(), r.batch.MaxTimestamp(), r.position, r.size)
	}
	if r.err != nil {
		return 0, 0, fmt.Errorf("rebuild index of segment %d: %w", s.base, r.err)
	}
	return w.write(l.env.fs, l.path(s, indexSuffix), l.path(s, timeIndexSuffix))
}

// indexWriter builds both indexes of a segment in memory, with the rule of LogSegment.append.
type indexWriter struct {
	base     int64
	interval int64
	since    int64 // bytes since the last entry
	maxTs    indexEntry
	idx, tix []byte
	lastTs   int64 // of the last time index entry
}

func newIndexWriter(base int64, interval int32) *indexWriter {
	return &indexWriter{base: base, interval: int64(interval), maxTs: indexEntry{-1, -1}, lastTs: -1}
}

func (w *indexWriter) batch(lastOffset, maxTs, position int64, size int) {
	if maxTs > w.maxTs.key {
		w.maxTs = indexEntry{maxTs, lastOffset}
	}
	if w.since > w.interval {
		w.idx = appendIndexEntry(w.idx, w.base, indexEntry{lastOffset, position})
		w.timeEntry()
		w.since = 0
	}
	w.since += int64(size)
}

func (w *indexWriter) timeEntry() {
	if w.maxTs.key > w.lastTs {
		w.tix = appendTimeIndexEntry(w.tix, w.base, w.maxTs)
		w.lastTs = w.maxTs.key
	}
}

// write replaces the files; the largest timestamp gets its entry, as with a complete segment.
func (w *indexWriter) write(fs vfs.FS, idxPath, tixPath string) (n, tn int, err error) {
	w.timeEntry()
	if err := replaceFileUnsynced(fs, idxPath, w.idx, true); err != nil {
		return 0, 0, fmt.Errorf("write index: %w", err)
	}
	if err := replaceFileUnsynced(fs, tixPath, w.tix, true); err != nil {
		return 0, 0, fmt.Errorf("write time index: %w", err)
	}
	return len(w.idx) / indexEntrySize, len(w.tix) / timeIndexEntrySize, nil
}

// txnIndex gives the segment's index of aborted transactions.
func (l *Log) txnIndex(s *segment) (*txnIndex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.txn != nil {
		return s.txn, nil
	}
	x, err := openTxnIndex(l.env.fs, l.path(s, txnIndexSuffix), s.base)
	if err != nil {
		return nil, err
	}
	s.txn = x
	return x, nil
}

// deletionOrder says when the .log of a segment is renamed for deletion.
type deletionOrder uint8

const (
	logFirst deletionOrder = iota // a crash in between leaves indexes without a log, which a start removes
	logLast                       // a crash in between leaves a log, which the end of a swap removes
)

// renameDeleted gives all files of the segment the suffix .deleted; missing ones are none.
func (l *Log) renameDeleted(s *segment, order deletionOrder) error {
	suffixes := []string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix}
	if order == logLast {
		slices.Reverse(suffixes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, suffix := range suffixes {
		p := join(*l.dir.Load(), segmentName(s.base, suffix))
		if err := l.env.fs.Rename(p, p+deletedSuffix); err != nil && !isNotExist(err) {
			return fmt.Errorf("rename segment %d for deletion: %w", s.base, err)
		}
	}
	s.removed.Store(true)
	if s.txn != nil {
		s.txn.moveTo(l.path(s, txnIndexSuffix))
	}
	return nil
}

// removeFiles deletes what renameDeleted and retireSnapshot left.
func (l *Log) removeFiles(s *segment) error {
	l.drop(s)
	for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix, snapshotSuffix} {
		if err := l.env.fs.Remove(join(*l.dir.Load(), segmentName(s.base, suffix+deletedSuffix))); err != nil && !isNotExist(err) {
			return fmt.Errorf("delete segment %d: %w", s.base, err)
		}
	}
	return nil
}

// drop closes the segment's files, as soon as no reader holds them.
func (l *Log) drop(s *segment) {
	if f := s.files.Load(); f != nil {
		l.env.handles.Drop(&f.Handle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.txn != nil {
		_ = s.txn.close() // its entries were synced where they had to be
		s.txn = nil
	}
}

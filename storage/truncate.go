package storage

import (
	"fmt"
	"path"
)

// TruncateTo drops offset and everything after it; nothing happens when the log ends before. Producer state and epochs follow.
func (l *Log) TruncateTo(offset int64) error {
	if offset < l.active().base {
		resume := l.stopCleaning()
		defer l.lowerCleanPoint()
		defer resume()
	}
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset >= l.end.Load() {
		return nil
	}
	if offset < 0 {
		return fmt.Errorf("truncate %s to offset %d: %w", l.name(), offset, ErrOffsetOutOfRange)
	}
	if segs := l.segments(); segs[0].base > offset {
		return l.failDir(l.truncateFully(offset))
	}
	return l.failDir(l.truncateTo(offset))
}

// TruncateFullyAndStartAt empties the log; it goes on at offset.
func (l *Log) TruncateFullyAndStartAt(offset int64) error {
	resume := l.stopCleaning()
	defer l.lowerCleanPoint()
	defer resume()
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return l.failDir(l.truncateFully(offset))
}

func (l *Log) truncateTo(offset int64) error {
	if err := l.activate(); err != nil {
		return err
	}
	segs := l.segments()
	keep := floorSegment(segs, offset) + 1
	if err := l.dropSegments(segs[keep:], keep); err != nil {
		return err
	}
	s := segs[keep-1]
	end, err := l.cutSegment(s, offset)
	if err != nil {
		return err
	}
	return l.afterTruncation(end)
}

// cutSegment shortens the log's last segment so that it ends before the batch that holds offset, makes it the active one, and gives
// the log's new end: lower than offset when that lay within a batch, as batches are not cut.
func (l *Log) cutSegment(s *segment, offset int64) (end int64, err error) {
	f, err := l.open(s)
	if err != nil {
		return 0, err
	}
	defer f.Done()
	p, found, err := l.locate(f, offset, s.size.Load())
	if err != nil {
		return 0, err
	}
	size := s.size.Load()
	if found {
		size, offset = p.position, min(offset, p.base)
	}
	if err := f.log.Truncate(size); err != nil {
		return 0, fmt.Errorf("truncate segment %d of %s: %w", s.base, l.name(), err)
	}
	s.size.Store(size)
	s.flushed.Store(false)
	s.cut.Store(true)
	l.act = nil
	l.tail.Store(nil)
	s.mu.Lock()
	s.maxLoaded, s.maxTs = false, indexEntry{-1, -1}
	s.firstLoaded = s.firstLoaded && size > 0
	if !s.firstLoaded {
		s.firstTs = -1
	}
	s.mu.Unlock()
	// The indexes are made anew rather than cut: entries of the cut tail may be anywhere in a time index. Whoever reads now keeps
	// the old ones.
	l.drop(s)
	_, _, err = l.rebuildIndexes(s, f.log)
	return offset, err
}

// afterTruncation brings everything derived from the log in line with its new end.
func (l *Log) afterTruncation(offset int64) error {
	l.epoch++
	l.changed = true
	l.dirSynced = false
	l.end.Store(offset)
	l.recovery.Store(min(l.recovery.Load(), offset))
	l.start.Store(min(l.start.Load(), offset))
	if hw := l.hwNow.Load(); hw > offset {
		l.hwNow.Store(offset)
	}
	e, err := l.epochsLocked()
	if err != nil {
		return err
	}
	e.truncateFromEnd(offset)
	if err := e.write(true); err != nil {
		return err
	}
	for _, s := range l.segments() {
		x, err := l.txnIndex(s)
		if err != nil {
			return err
		}
		if err := x.truncateTo(offset); err != nil {
			return err
		}
	}
	if l.producers != nil {
		if err := l.reloadProducers(); err != nil {
			return err
		}
	}
	return l.activate()
}

func (l *Log) truncateFully(offset int64) error {
	segs := l.segments()
	if err := l.needProducers(); err != nil {
		return err
	}
	e, err := l.epochsLocked()
	if err != nil {
		return err
	}
	for _, s := range segs {
		if err := l.removeNow(s); err != nil {
			return err
		}
	}
	s, err := l.createSegment(offset)
	if err != nil {
		return err
	}
	l.setSegments([]*segment{s})
	l.startTail(s, offset)
	l.epoch++
	l.changed = true
	l.dirSynced = false
	l.end.Store(offset)
	l.start.Store(offset)
	l.recovery.Store(offset)
	if l.hwNow.Load() > offset {
		l.hwNow.Store(offset)
	}
	e.clear()
	if err := e.write(true); err != nil {
		return err
	}
	if err := l.producers.truncateFully(offset); err != nil {
		return err
	}
	l.updateUnstable()
	return nil
}

// dropSegments removes the given segments at once, and their snapshots; keep is how many stay. The newest goes first, so that a
// crash in between leaves a log without a hole.
func (l *Log) dropSegments(segs []*segment, keep int) error {
	if len(segs) == 0 {
		return nil
	}
	l.setSegments(append([]*segment(nil), l.segments()[:keep]...))
	for i := len(segs) - 1; i >= 0; i-- {
		if err := l.removeNow(segs[i]); err != nil {
			return err
		}
	}
	return nil
}

// removeNow deletes a segment's files; readers that hold it go on reading.
func (l *Log) removeNow(s *segment) error {
	if err := l.renameDeleted(s, logFirst); err != nil {
		return err
	}
	if l.producers != nil {
		if err := l.producers.deleteSnapshot(s.base); err != nil {
			return err
		}
	}
	return l.removeFiles(s)
}

// setPath tells the log that its directory was renamed; callers hold mu.
func (l *Log) setPath(dir string) {
	l.dir.Store(&dir)
	if l.producers != nil {
		l.producers.setDir(dir)
	}
	if l.epochs != nil {
		l.epochs.path = path.Join(dir, epochCheckpointFile)
	}
	for _, s := range l.segments() {
		s.mu.Lock()
		if s.txn != nil {
			s.txn.moveTo(l.path(s, txnIndexSuffix))
		}
		s.mu.Unlock()
	}
}

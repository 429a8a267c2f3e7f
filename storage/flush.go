package storage

import (
	"errors"
	"fmt"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// flushWaiter waits until everything below upTo is durable.
type flushWaiter struct {
	upTo int64
	done func(error)
}

// NeedsFlush tells whether flush.messages demands that the records appended so far be durable before they are acknowledged.
func (l *Log) NeedsFlush(after AppendResult) bool {
	if after.Duplicate {
		return l.recovery.Load() <= after.LastOffset && l.cfg.Load().FlushMessages <= 1
	}
	return l.end.Load()-l.recovery.Load() >= l.cfg.Load().FlushMessages
}

// FlushGroup calls done once everything below upTo is durable: on a goroutine of the log, without locks, with the error that took the
// directory offline if there was one. All that wait when a sync starts are served by it. false: it is durable already, done is not called.
func (l *Log) FlushGroup(upTo int64, done func(error)) bool {
	if l.recovery.Load() >= upTo {
		return false
	}
	l.enqueueFlush(flushWaiter{upTo, done})
	return true
}

// flushLater makes everything below upTo durable some time soon: after a roll.
func (l *Log) flushLater(upTo int64) {
	l.enqueueFlush(flushWaiter{upTo, nil})
}

func (l *Log) enqueueFlush(w flushWaiter) {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	l.waiting = append(l.waiting, w)
	if !l.running {
		l.running = true
		l.env.wg.Add(1)
		go l.flushLoop()
	}
}

// flushLoop serves waiters until there are none; joined by the Manager's Close (or the standalone log's).
func (l *Log) flushLoop() {
	defer l.env.wg.Done()
	var spare []flushWaiter
	for {
		l.flushMu.Lock()
		batch := l.waiting
		l.waiting = spare[:0]
		if len(batch) == 0 {
			l.running = false
			l.flushMu.Unlock()
			return
		}
		l.flushMu.Unlock()
		var upTo int64
		for _, w := range batch {
			upTo = max(upTo, w.upTo)
		}
		err := l.flushTo(upTo)
		for i, w := range batch {
			if w.done != nil {
				w.done(err)
			}
			batch[i] = flushWaiter{}
		}
		spare = batch
	}
}

// Flush makes everything durable.
func (l *Log) Flush() error { return l.flushTo(l.end.Load()) }

// flushPlan is what one flush has to sync.
type flushPlan struct {
	upTo   int64
	epoch  int64
	files  []*segmentFiles // with a reference each
	ended  []int64         // the base of the segment after files[i], -1 for the active one: with a complete segment its indexes are synced too
	dir    bool
	born   bool
	path   string
	active bool
}

// flushTo syncs the segments that hold something in [recovery point, upTo): the .log of the active one, all files of complete ones.
// Indexes of the active segment are rebuilt by recovery anyway. New directory entries are synced once.
func (l *Log) flushTo(upTo int64) error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	p, err := l.planFlush(upTo)
	if p != nil {
		if err == nil {
			err = l.runFlush(p)
		}
		for _, f := range p.files {
			f.Done()
		}
	}
	if err == nil && p != nil {
		l.mu.Lock()
		l.finishFlush(p)
		l.mu.Unlock()
	}
	if err != nil && !errors.Is(err, ErrLogDirOffline) {
		err = l.failDir(err)
	}
	l.tellFailure()
	return err
}

func (l *Log) planFlush(upTo int64) (*flushPlan, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	from := l.recovery.Load()
	upTo = min(upTo, l.end.Load())
	if from >= upTo {
		return nil, nil
	}
	segs := l.segments()
	p := &flushPlan{upTo: upTo, epoch: l.epoch, dir: !l.dirSynced, born: !l.born, path: *l.dir.Load()}
	for i := max(floorSegment(segs, from), 0); i < len(segs) && segs[i].base < upTo; i++ {
		s := segs[i]
		if s.flushed.Load() {
			continue
		}
		f, err := l.open(s)
		if err != nil {
			return p, err
		}
		p.files = append(p.files, f)
		if i == len(segs)-1 {
			p.ended = append(p.ended, -1)
			p.active = true
			continue
		}
		p.ended = append(p.ended, segs[i+1].base)
		if err := l.indexes(f); err != nil {
			return p, err
		}
	}
	if p.active {
		p.upTo = l.end.Load() // what is in the file is synced with it
	}
	return p, nil
}

func (l *Log) runFlush(p *flushPlan) error {
	for i, f := range p.files {
		if err := f.log.Sync(); err != nil {
			return fmt.Errorf("flush segment %d of %s: %w", f.s.base, l.name(), err)
		}
		if p.ended[i] < 0 {
			continue
		}
		snapshot := join(p.path, segmentName(p.ended[i], snapshotSuffix))
		if err := errors.Join(f.idx.Sync(), f.tidx.Sync(), l.flushTxn(f.s), syncFileAt(l.env.fs, snapshot)); err != nil {
			return fmt.Errorf("flush indexes of segment %d of %s: %w", f.s.base, l.name(), err)
		}
	}
	if p.born {
		if err := syncFileAt(l.env.fs, join(p.path, partitionMetadataFile)); err != nil {
			return fmt.Errorf("flush %s of %s: %w", partitionMetadataFile, l.name(), err)
		}
	}
	if p.dir || p.born {
		if err := l.env.fs.SyncDir(p.path); err != nil {
			return fmt.Errorf("flush directory of %s: %w", l.name(), err)
		}
	}
	if p.born {
		if err := l.env.fs.SyncDir(l.where.Load().path); err != nil {
			return fmt.Errorf("flush log directory: %w", err)
		}
	}
	return nil
}

// syncIndexes makes a segment's indexes durable; mu is held.
func (l *Log) syncIndexes(s *segment) error {
	f, err := l.open(s)
	if err != nil {
		return err
	}
	defer f.Done()
	if err := l.indexes(f); err != nil {
		return err
	}
	s.mu.Lock()
	x := s.txn
	s.mu.Unlock()
	err = errors.Join(f.idx.Sync(), f.tidx.Sync())
	if x != nil {
		err = errors.Join(err, x.flush())
	}
	if err != nil {
		return fmt.Errorf("flush indexes of segment %d of %s: %w", s.base, l.name(), err)
	}
	return nil
}

func (l *Log) flushTxn(s *segment) error {
	s.mu.Lock()
	x := s.txn
	s.mu.Unlock()
	if x == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return x.flush()
}

// finishFlush publishes what is durable now.
func (l *Log) finishFlush(p *flushPlan) {
	for i, f := range p.files {
		if p.ended[i] >= 0 {
			f.s.flushed.Store(true)
		}
	}
	if p.epoch != l.epoch {
		return
	}
	if p.upTo > l.recovery.Load() {
		l.recovery.Store(p.upTo)
	}
	l.lastFlushMs = l.env.monoMs()
	if p.dir && len(p.files) > 0 && p.files[len(p.files)-1].s == l.active() {
		l.dirSynced = true
	}
	l.born = l.born || p.born
}

// syncFileAt syncs a file by name; a missing one is nothing to sync.
func syncFileAt(fs vfs.FS, name string) error {
	f, err := fs.Open(name)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// flushIfDue flushes when flush.ms have passed since the last time.
func (l *Log) flushIfDue(nowMs int64) error {
	l.mu.Lock()
	due := l.recovery.Load() < l.end.Load() && nowMs-l.lastFlushMs >= l.cfg.Load().FlushMs
	l.mu.Unlock()
	if !due {
		return nil
	}
	return l.Flush()
}

package storage

import (
	"errors"
	"fmt"
	"time"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// How cleaned segments take their place. Each line is durable before the next one begins, so that a start finds out how far it went:
//
//	write  X.{log,index,timeindex,txnindex}.cleaned
//	rename X.{index,timeindex,txnindex}.cleaned → .swap
//	rename X.log.cleaned → .swap                                       from here on the swap will be done
//	rename the old segments' files → .deleted, each .log last          as long as one has its .log, X.* are old files
//	rename X.{index,timeindex,txnindex}.swap → final
//	rename X.log.swap → final
//
// A start undoes what has a .log.cleaned, and completes what has a .log.swap (finishSwaps).

// cleanSyncBytes is after how many bytes the output is synced: one sync of a whole segment at the end would keep a stop waiting.
const cleanSyncBytes = 32 << 20

// cleanedSegment is the output for a group of segments.
type cleanedSegment struct {
	l         *Log
	base      int64
	file      vfs.File
	position  int64 // of the next batch
	written   int64 // bytes in the file
	synced    int64 // of them durable
	idx       *indexWriter
	txns      []AbortedTxn
	firstTs   int64
	batches   int64
	swapNamed bool
}

func (l *Log) cleanedPath(base int64, suffix, extra string) string {
	return join(*l.dir.Load(), segmentName(base, suffix+extra))
}

// newCleaned makes the output file of a group.
func (l *Log) newCleaned(base int64) (*cleanedSegment, error) {
	f, err := l.env.fs.Create(l.cleanedPath(base, logSuffix, cleanedSuffix))
	if err != nil {
		return nil, fmt.Errorf("create cleaned segment %d of %s: %w", base, l.name(), err)
	}
	return &cleanedSegment{l: l, base: base, file: f, idx: newIndexWriter(base, l.cfg.Load().IndexIntervalBytes), firstTs: -1}, nil
}

// note indexes a batch that will be written next.
func (c *cleanedSegment) note(b batch.Batch) {
	if c.batches == 0 {
		c.firstTs = b.MaxTimestamp()
	}
	c.batches++
	c.idx.batch(b.LastOffset(), b.MaxTimestamp(), c.position, len(b))
	c.position += int64(len(b))
}

func (c *cleanedSegment) noteTxn(t AbortedTxn) { c.txns = append(c.txns, t) }

func (c *cleanedSegment) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if _, err := c.file.WriteAt(data, c.written); err != nil {
		return fmt.Errorf("write cleaned segment %d of %s: %w", c.base, c.l.name(), err)
	}
	c.written += int64(len(data))
	if c.written-c.synced < cleanSyncBytes {
		return nil
	}
	if err := c.file.Sync(); err != nil {
		return fmt.Errorf("flush cleaned segment %d of %s: %w", c.base, c.l.name(), err)
	}
	c.synced = c.written
	return nil
}

// finish makes all files durable; the segment is as old as the last one of its group, for retention where there are no timestamps.
func (c *cleanedSegment) finish(last *segment) error {
	fs, l := c.l.env.fs, c.l
	c.idx.timeEntry()
	err := c.file.Sync()
	if err == nil {
		err = writeSynced(fs, l.cleanedPath(c.base, indexSuffix, cleanedSuffix), c.idx.idx)
	}
	if err == nil {
		err = writeSynced(fs, l.cleanedPath(c.base, timeIndexSuffix, cleanedSuffix), c.idx.tix)
	}
	if err == nil && len(c.txns) > 0 {
		var raw []byte
		for _, t := range c.txns {
			raw = appendTxnEntry(raw, t)
		}
		err = writeSynced(fs, l.cleanedPath(c.base, txnIndexSuffix, cleanedSuffix), raw)
	}
	if err == nil {
		var modified time.Time
		if modified, err = modTime(fs, l.path(last, logSuffix)); err == nil {
			err = setModTime(fs, l.cleanedPath(c.base, logSuffix, cleanedSuffix), modified)
		}
	}
	if err == nil {
		err = fs.SyncDir(*l.dir.Load())
	}
	if err != nil {
		return fmt.Errorf("finish cleaned segment %d of %s: %w", c.base, l.name(), err)
	}
	return nil
}

func writeSynced(fs vfs.FS, name string, data []byte) error {
	f, err := fs.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func modTime(fs vfs.FS, name string) (time.Time, error) {
	st, err := fs.Stat(name)
	if err != nil {
		return time.Time{}, err
	}
	return st.ModTime(), nil
}

func setModTime(fs vfs.FS, name string, t time.Time) error {
	if s, ok := fs.(vfs.ModTimeSetter); ok && !t.IsZero() {
		return s.SetModTime(name, t)
	}
	return nil
}

func (c *cleanedSegment) close() error {
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	return f.Close()
}

// discard removes the files, as long as they are not part of the log.
func (c *cleanedSegment) discard() error {
	err := c.close()
	if c.swapNamed {
		return err // the next start completes the swap
	}
	for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix} {
		if rerr := c.l.env.fs.Remove(c.l.cleanedPath(c.base, suffix, cleanedSuffix)); rerr != nil && !isNotExist(rerr) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// swapIn puts a finished segment in the place of its group. Nobody truncates, flushes or moves the log meanwhile (syncMu), and
// retention keeps away (swapping); appends go on.
func (l *Log) swapIn(c *cleanedSegment, group []*segment) error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.mu.Lock()
	if err := l.swappable(group); err != nil {
		l.mu.Unlock()
		return err
	}
	l.swapping = true
	l.mu.Unlock()
	s, err := l.renameSwap(c, group)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swapping = false
	if err != nil {
		return fmt.Errorf("swap in cleaned segment %d of %s: %w", c.base, l.name(), err)
	}
	return l.replaceSegments(s, group)
}

// swappable says whether a group is as it was when the pass read it.
func (l *Log) swappable(group []*segment) error {
	if err := l.usable(); err != nil {
		return err
	}
	segs := l.segments()
	i := floorSegment(segs, group[0].base)
	if i < 0 || i+len(group) >= len(segs) { // the active segment is never one of them
		return errCleaningAborted
	}
	for j, s := range group {
		if segs[i+j] != s || s.cut.Load() {
			return errCleaningAborted
		}
	}
	return nil
}

// renameSwap does the steps on the disk.
func (l *Log) renameSwap(c *cleanedSegment, group []*segment) (*segment, error) {
	fs, dir := l.env.fs, *l.dir.Load()
	indexes := []string{indexSuffix, timeIndexSuffix, txnIndexSuffix}
	rename := func(from, to string, suffixes ...string) error {
		for _, suffix := range suffixes {
			err := fs.Rename(l.cleanedPath(c.base, suffix, from), l.cleanedPath(c.base, suffix, to))
			if err != nil && !(isNotExist(err) && suffix == txnIndexSuffix) {
				return err
			}
		}
		return fs.SyncDir(dir)
	}
	if err := c.close(); err != nil {
		return nil, err
	}
	if err := rename(cleanedSuffix, swapSuffix, indexes...); err != nil {
		return nil, err
	}
	c.swapNamed = true
	if err := rename(cleanedSuffix, swapSuffix, logSuffix); err != nil {
		return nil, err
	}
	for _, s := range group {
		if err := l.renameDeleted(s, logLast); err != nil {
			return nil, err
		}
	}
	if err := fs.SyncDir(dir); err != nil {
		return nil, err
	}
	if err := rename(swapSuffix, "", indexes...); err != nil {
		return nil, err
	}
	if err := rename(swapSuffix, "", logSuffix); err != nil {
		return nil, err
	}
	s := newSegment(c.base, c.written, l.env.nowMs())
	s.touched.Store(l.env.monoMs())
	s.flushed.Store(true)
	s.firstLoaded, s.firstTs = c.batches > 0, c.firstTs
	s.maxLoaded, s.maxTs = true, c.idx.maxTs
	return s, nil
}

// replaceSegments publishes the new segment; mu is held. The old files go after file.delete.delay.ms, with the producer snapshots of
// segments that are no more.
func (l *Log) replaceSegments(s *segment, group []*segment) error {
	old := l.segments()
	i := floorSegment(old, group[0].base)
	segs := make([]*segment, 0, len(old)-len(group)+1)
	segs = append(append(append(segs, old[:i]...), s), old[i+len(group):]...)
	l.setSegments(segs)
	l.changed = true
	at := l.env.monoMs() + l.cfg.Load().FileDeleteDelayMs
	for _, g := range group {
		l.retired = append(l.retired, retired{g, at})
		g.mu.Lock()
		g.replaced.Store(true) // whoever has not opened it looks at the new list
		g.mu.Unlock()
	}
	l.hasRetired.Store(true)
	if l.env.wake != nil {
		l.env.wake()
	}
	for _, g := range group[1:] {
		if err := l.retireSnapshot(g.base); err != nil {
			return err
		}
	}
	return nil
}

// retireSnapshot gives the producer snapshot that belongs to a retired segment, if there is one, the suffix .deleted; mu is held.
func (l *Log) retireSnapshot(base int64) error {
	if l.producers != nil {
		return l.producers.retireSnapshot(base)
	}
	p := join(*l.dir.Load(), segmentName(base, snapshotSuffix))
	if err := l.env.fs.Rename(p, p+deletedSuffix); err != nil && !isNotExist(err) {
		return fmt.Errorf("rename producer snapshot for deletion: %w", err)
	}
	return nil
}

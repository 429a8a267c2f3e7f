package storage

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// Append validates batches, which it may patch in place, and writes them with one write; nothing of them is kept. Errors:
// *InvalidRecordsError, errors that wrap a *kerr.Error, ErrLogDirOffline, ErrLogClosed. After an error the log is as it was before.
func (l *Log) Append(batches []byte, o AppendOptions) (AppendResult, error) {
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return AppendResult{}, err
	}
	if err := l.activate(); err != nil {
		return AppendResult{}, l.failDir(err)
	}
	res := AppendResult{BaseOffset: -1, LastOffset: -1, LogAppendTime: -1, LogStartOffset: l.start.Load()}
	cfg, end := l.cfg.Load(), l.end.Load()
	v, err := validateAndAssign(batches, o, cfg, assignment{Name: l.label, NextOffset: end, WallMs: l.env.nowMs()})
	if err != nil {
		return res, err
	}
	if v.Count == 0 {
		return res, nil
	}
	if o.Origin == OriginReplication && v.FirstOffset < end {
		return res, fmt.Errorf("append of offset %d to %s, whose end is %d: %w", v.FirstOffset, l.name(), end, kerr.OffsetOutOfRange)
	}
	dup, found, err := l.producers.analyze(v.Records, producerCheck{Origin: o.Origin, Verified: o.Verified, TransactionVersion: o.TransactionVersion})
	if err != nil {
		return res, err
	}
	if found {
		res.BaseOffset, res.LastOffset, res.LogAppendTime, res.Duplicate = dup.firstOffset(), dup.lastOffset, dup.timestamp, true
		return res, nil
	}
	if l.shouldRoll(&v, cfg) {
		if err := l.roll(v.FirstOffset); err != nil {
			return res, l.failDir(err)
		}
		res.Rolled = true
	}
	if err := l.write(&v, cfg); err != nil {
		return res, l.failDir(err)
	}
	res.BaseOffset, res.LastOffset, res.LogAppendTime = v.FirstOffset, v.LastOffset, v.LogAppendTime
	return res, nil
}

// write puts validated batches at the end: bytes, then what is derived from them. An error leaves the bytes as they were.
func (l *Log) write(v *validated, cfg *LogConfig) error {
	s := l.active()
	f, err := l.open(s)
	if err != nil {
		return err
	}
	defer f.Done()
	epochs, err := l.epochsLocked()
	if err != nil {
		return err
	}
	txn, err := l.txnIndexIfAborting(s)
	if err != nil {
		return err
	}
	at := s.size.Load()
	if _, err := f.log.WriteAt(v.Records, at); err != nil {
		return errors.Join(fmt.Errorf("append to %s at %d: %w", l.name(), at, err), f.log.Truncate(at))
	}
	l.changed = true
	s.touched.Store(l.env.monoMs())
	t := l.tail.Load()
	t.mu.Lock()
	l.noteBatches(t, s, v, cfg, at, epochs)
	full := len(t.idx) >= indexPendingMax*indexEntrySize || len(t.tix) >= indexPendingMax*timeIndexEntrySize
	t.mu.Unlock()
	l.end.Store(v.LastOffset + 1)
	// What follows can fail, but not take the records back: they are written, and every start derives the rest from them again.
	if err := l.producers.apply(v.LastOffset, txn); err != nil {
		return err
	}
	l.updateUnstable()
	if full {
		if err := l.writeIndexes(f); err != nil {
			return err
		}
	}
	if epochs.dirty {
		if err := epochs.write(false); err != nil {
			return err
		}
	}
	return nil
}

// noteBatches brings indexes, ring and end up to date under tail.mu.
func (l *Log) noteBatches(t *tail, s *segment, v *validated, cfg *LogConfig, at int64, epochs *epochs) {
	for b := range batch.All(v.Records) {
		last, ts := b.LastOffset(), b.MaxTimestamp()
		if invariant.Enabled {
			invariant.Check(b.BaseOffset() >= t.end, "offset %d after end %d in %s", b.BaseOffset(), t.end, l.name())
		}
		if !s.firstLoaded {
			s.mu.Lock()
			s.firstTs, s.firstLoaded = ts, true
			s.mu.Unlock()
		}
		if ts > s.maxTs.key {
			s.mu.Lock()
			s.maxTs = indexEntry{ts, last}
			s.mu.Unlock()
		}
		if l.act.since > int64(cfg.IndexIntervalBytes) {
			t.idx = appendIndexEntry(t.idx, s.base, indexEntry{last, at})
			t.timeEntry(s)
			l.act.since = 0
		}
		epochs.assign(b.LeaderEpoch(), b.BaseOffset())
		t.ring[t.n%recentBatches] = recent{base: b.BaseOffset(), last: last, position: at}
		t.n++
		at += int64(len(b))
		l.act.since += int64(len(b))
		t.end = last + 1
	}
	t.size = at
	s.size.Store(at)
}

// timeEntry adds the largest timestamp so far to the time index, if it has grown.
func (t *tail) timeEntry(s *segment) {
	if s.maxTs.key > t.lastTs {
		t.tix = appendTimeIndexEntry(t.tix, s.base, s.maxTs)
		t.lastTs = s.maxTs.key
	}
}

// writeIndexes writes the entries that wait in memory.
func (l *Log) writeIndexes(f *segmentFiles) error {
	t := l.tail.Load()
	if len(t.idx)+len(t.tix) == 0 {
		return nil
	}
	if err := l.indexes(f); err != nil {
		return err
	}
	if len(t.idx) > 0 {
		if _, err := f.idx.WriteAt(t.idx, int64(t.idxN)*indexEntrySize); err != nil {
			return fmt.Errorf("write index of %s: %w", l.name(), err)
		}
	}
	if len(t.tix) > 0 {
		if _, err := f.tidx.WriteAt(t.tix, int64(t.tixN)*timeIndexEntrySize); err != nil {
			return fmt.Errorf("write time index of %s: %w", l.name(), err)
		}
	}
	t.mu.Lock()
	t.idxN += len(t.idx) / indexEntrySize
	t.tixN += len(t.tix) / timeIndexEntrySize
	t.idx, t.tix = t.idx[:0], t.tix[:0]
	t.mu.Unlock()
	return nil
}

// txnIndexIfAborting opens the active segment's index of aborted transactions if this append ends one so.
func (l *Log) txnIndexIfAborting(s *segment) (*txnIndex, error) {
	for i := range l.producers.pending.completed {
		if l.producers.pending.completed[i].aborted {
			return l.txnIndex(s)
		}
	}
	return nil, nil
}

// updateUnstable publishes the first unstable offset for readers. Until somebody tells a high watermark, what is written counts as
// replicated.
func (l *Log) updateUnstable() {
	if l.hwNow.Load() < 0 {
		l.producers.onHighWatermark(l.end.Load())
	}
	first := int64(-1)
	if off, ok := l.producers.firstUnstableOffset(); ok {
		first = max(off, l.start.Load())
	}
	l.unstable.Store(first)
}

// shouldRoll is LogSegment.shouldRoll: size, age (by the records' time), indexes and the reach of relative offsets.
func (l *Log) shouldRoll(v *validated, cfg *LogConfig) bool {
	s := l.active()
	size := s.size.Load()
	if v.LastOffset-s.base > math.MaxInt32 {
		return true
	}
	if size > int64(cfg.SegmentBytes)-int64(len(v.Records)) {
		return size > 0
	}
	if size > 0 && l.waitedMs(s, v.MaxTimestamp) > cfg.maxSegmentMs()-l.jitterMs(s, cfg) {
		return true
	}
	t := l.tail.Load()
	idxMax := int(cfg.SegmentIndexBytes) / indexEntrySize
	tixMax := int(cfg.SegmentIndexBytes) / timeIndexEntrySize
	return t.idxN+len(t.idx)/indexEntrySize >= idxMax && idxMax > 0 ||
		t.tixN+len(t.tix)/timeIndexEntrySize >= tixMax-1 && tixMax > 1
}

// maxSegmentMs is segment.ms, or max.compaction.lag.ms if that is shorter: only ended segments are compacted.
func (c *LogConfig) maxSegmentMs() int64 {
	if c.CleanupCompact && c.MaxCompactionLagMs > 0 {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}

// waitedMs is how old the segment is at a record's time: counted from its first batch's largest timestamp, or from its making when
// it has none.
func (l *Log) waitedMs(s *segment, maxTimestamp int64) int64 {
	if s.firstTs >= 0 {
		return maxTimestamp - s.firstTs
	}
	return l.env.nowMs() - s.createdMs
}

// jitterMs spreads rolls that segment.jitter.ms asks for; a segment's share is fixed by its name.
func (l *Log) jitterMs(s *segment, cfg *LogConfig) int64 {
	most := min(cfg.SegmentJitterMs, cfg.SegmentMs)
	if most <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s-%d", l.name(), s.base)
	return int64(h.Sum64() % uint64(most))
}

// roll ends the active segment and starts one at offset (at least the log's end).
func (l *Log) roll(offset int64) error {
	offset = max(offset, l.end.Load())
	old := l.active()
	if old.base == offset {
		if old.size.Load() > 0 {
			return fmt.Errorf("roll %s: a segment with base offset %d is there and not empty", l.name(), offset)
		}
		return nil
	}
	if err := l.endSegment(old); err != nil {
		return err
	}
	durable := l.recovery.Load() > old.base
	if durable {
		// A checkpoint may say already that all of the segment is durable, so that no recovery looks at it: its indexes (and the snapshot
		// below) must be, too, before the next segment exists.
		if err := l.syncIndexes(old); err != nil {
			return err
		}
	}
	l.producers.setMapEndOffset(offset)
	if _, err := l.producers.snapshot(durable); err != nil {
		return err
	}
	s, err := l.createSegment(offset)
	if err != nil {
		return err
	}
	l.setSegments(append(append([]*segment(nil), l.segments()...), s))
	l.startTail(s, offset)
	l.end.Store(offset)
	l.dirSynced = false
	l.changed = true
	l.flushLater(offset)
	return nil
}

// endSegment completes the active segment's indexes: its largest timestamp is the last time index entry.
func (l *Log) endSegment(s *segment) error {
	f, err := l.open(s)
	if err != nil {
		return err
	}
	defer f.Done()
	t := l.tail.Load()
	t.mu.Lock()
	t.timeEntry(s)
	t.mu.Unlock()
	return l.writeIndexes(f)
}

// createSegment makes the three files that every segment has.
func (l *Log) createSegment(base int64) (*segment, error) {
	s := newSegment(base, 0, l.env.nowMs())
	s.maxLoaded = true
	for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
		f, err := l.env.fs.Create(l.path(s, suffix))
		if err != nil {
			return nil, fmt.Errorf("create segment %d of %s: %w", base, l.name(), err)
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("create segment %d of %s: %w", base, l.name(), err)
		}
	}
	return s, nil
}

// startTail makes s what appends go to.
func (l *Log) startTail(s *segment, end int64) {
	t := &tail{seg: s, end: end, size: s.size.Load(), lastTs: -1}
	l.tail.Store(t)
	l.act = &active{}
}

// activate prepares the log for appending: producer state, and the last segment's indexes and its end.
func (l *Log) activate() error {
	if l.producers == nil {
		if err := l.loadProducers(); err != nil {
			return err
		}
	}
	if l.act != nil {
		return nil
	}
	s := l.active()
	f, err := l.open(s)
	if err != nil {
		return err
	}
	defer f.Done()
	if err := l.indexes(f); err != nil {
		return err
	}
	t := &tail{seg: s, end: l.end.Load(), size: s.size.Load(), idxN: f.idxN, tixN: f.tixN, lastTs: -1}
	act := &active{}
	from := int64(0)
	if t.idxN > 0 {
		e, err := offsetIndexKind().entryAt(f.idx, s.base, t.idxN-1)
		if err != nil {
			return err
		}
		from = e.val
	}
	maxTs := indexEntry{-1, -1}
	if t.tixN > 0 {
		if maxTs, err = timeIndexKind().entryAt(f.tidx, s.base, t.tixN-1); err != nil {
			return err
		}
		t.lastTs = maxTs.key
	}
	r := newBatchReader(f.log, from, t.size, headersOnly)
	defer r.close()
	for r.next() {
		if r.batch.MaxTimestamp() > maxTs.key {
			maxTs = indexEntry{r.batch.MaxTimestamp(), r.batch.LastOffset()}
		}
		act.since += int64(r.size)
		t.ring[t.n%recentBatches] = recent{r.batch.BaseOffset(), r.batch.LastOffset(), r.position}
		t.n++
		t.end = max(t.end, r.batch.NextOffset())
	}
	if r.err != nil {
		return r.err
	}
	if err := l.loadFirst(s, f); err != nil {
		return err
	}
	s.mu.Lock()
	s.maxTs, s.maxLoaded = maxTs, true
	s.mu.Unlock()
	if t.end != l.end.Load() {
		l.env.log.Warn().Str("dir", *l.dir.Load()).Int64("offset", l.end.Load()).Int64("found", t.end).
			Msg("the log holds more than its checkpoint said")
		l.end.Store(t.end)
	}
	l.act = act
	l.tail.Store(t)
	return nil
}

// loadFirst reads the first batch's largest timestamp.
func (l *Log) loadFirst(s *segment, f *segmentFiles) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firstLoaded || s.size.Load() == 0 {
		return nil
	}
	r := newBatchReader(f.log, 0, s.size.Load(), headersOnly)
	defer r.close()
	if !r.next() {
		return r.err
	}
	s.firstTs, s.firstLoaded = r.batch.MaxTimestamp(), true
	return nil
}

package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
)

// loadState is what the checkpoints say about a log.
type loadState struct {
	clean         bool // the last stop was a clean one: no log is read
	recoveryPoint int64
	logStart      int64
	highWatermark int64
	known         bool        // the recovery point was in its checkpoint
	left          *segmentEnd // the last segment at a clean stop; nil not known
}

// segmentsFound is what a partition's directory holds.
type segmentsFound struct {
	logs      map[int64]int64 // base offset → size
	indexes   map[int64]int   // base offset → how many of the two index files
	snapshots int
	epochs    bool // there is an epoch file
}

// load brings the log from its directory into memory; a directory without segments gets an empty one.
func (l *Log) load(st loadState) error {
	found, err := l.listSegments()
	if err != nil {
		return err
	}
	l.hw = st.highWatermark
	bases := make([]int64, 0, len(found.logs))
	for b := range found.logs {
		bases = append(bases, b)
	}
	sort.Slice(bases, func(i, j int) bool { return bases[i] < bases[j] })
	if len(bases) == 0 {
		if found.epochs { // of records that a power cut took, or torn itself
			if err := l.env.fs.Remove(join(*l.dir.Load(), epochCheckpointFile)); err != nil {
				return fmt.Errorf("remove epochs of an empty log: %w", err)
			}
		}
		s, err := l.createSegment(max(st.logStart, 0))
		if err != nil {
			return err
		}
		l.setSegments([]*segment{s})
		l.end.Store(s.base)
		l.start.Store(s.base)
		l.recovery.Store(s.base)
		l.tellLost(st)
		return nil
	}
	now := l.env.nowMs()
	segs := make([]*segment, 0, len(bases))
	for _, b := range bases {
		segs = append(segs, newSegment(b, found.logs[b], now))
	}
	l.setSegments(segs)
	l.start.Store(max(st.logStart, bases[0]))
	l.born = st.clean
	l.dirSynced = st.clean
	if st.clean {
		if err = l.loadClean(st, found); err != nil && isCorrupt(err) {
			l.env.log.Warn().Err(err).Str("dir", *l.dir.Load()).Msg("the log is damaged though the last stop was a clean one, checking all of it")
			for _, s := range segs {
				l.drop(s) // recovery makes the indexes anew
			}
			err = l.recover(loadState{logStart: st.logStart})
		}
		if err == nil {
			l.tellLost(st)
		}
	} else {
		err = l.recover(st)
	}
	if err != nil {
		return err
	}
	if l.end.Load() < l.start.Load() {
		l.env.log.Warn().Str("dir", *l.dir.Load()).Int64("offset", l.end.Load()).Int64("log_start", l.start.Load()).
			Msg("the log ends below its start, emptying it")
		return l.truncateFully(l.start.Load())
	}
	return nil
}

// listSegments reads the directory, and tidies up what a process that died left half done.
func (l *Log) listSegments() (segmentsFound, error) {
	found := segmentsFound{logs: map[int64]int64{}, indexes: map[int64]int{}}
	dir := *l.dir.Load()
	files, err := l.env.fs.ReadDir(dir)
	if err != nil {
		return found, fmt.Errorf("list %s: %w", dir, err)
	}
	if slices.ContainsFunc(files, func(f fs.DirEntry) bool { return strings.HasSuffix(f.Name(), swapSuffix) }) {
		if err := l.finishSwaps(dir, files); err != nil {
			return found, err
		}
		if files, err = l.env.fs.ReadDir(dir); err != nil {
			return found, fmt.Errorf("list %s: %w", dir, err)
		}
	}
	for _, f := range files {
		name := f.Name()
		if strings.HasSuffix(name, deletedSuffix) || strings.HasSuffix(name, cleanedSuffix) || strings.HasSuffix(name, tmpSuffix) {
			if err := l.env.fs.Remove(join(dir, name)); err != nil {
				return found, fmt.Errorf("remove left-over file: %w", err)
			}
			continue
		}
		found.epochs = found.epochs || name == epochCheckpointFile
		base, suffix, ok := parseSegmentName(name)
		if !ok {
			continue
		}
		switch suffix {
		case logSuffix:
			info, err := f.Info()
			if err != nil {
				return found, fmt.Errorf("size of %s: %w", join(dir, name), err)
			}
			found.logs[base] = info.Size()
		case indexSuffix, timeIndexSuffix:
			found.indexes[base]++
		case txnIndexSuffix:
			found.indexes[base] += 0 // known to be there, but not one of the two
		case snapshotSuffix:
			found.snapshots++
		}
	}
	for base := range found.indexes {
		if _, ok := found.logs[base]; ok {
			continue
		}
		l.env.log.Warn().Str("dir", dir).Int64("segment", base).Msg("removing an index without a log")
		for _, suffix := range []string{indexSuffix, timeIndexSuffix, txnIndexSuffix} {
			if err := l.env.fs.Remove(join(dir, segmentName(base, suffix))); err != nil && !isNotExist(err) {
				return found, fmt.Errorf("remove index without a log: %w", err)
			}
		}
	}
	return found, nil
}

// finishSwaps ends a cleaner pass that had written all its output: .swap files take the place of the segments that they replace. A
// pass that had not (there are .cleaned files still) is undone by removing its output.
func (l *Log) finishSwaps(dir string, files []fs.DirEntry) error {
	minCleaned := int64(-1)
	var swaps, logs []int64
	for _, f := range files {
		base, suffix, ok := parseSegmentName(f.Name())
		if !ok {
			continue
		}
		switch {
		case suffix == logSuffix:
			logs = append(logs, base)
		case suffix == logSuffix+swapSuffix:
			swaps = append(swaps, base)
		case strings.HasSuffix(suffix, cleanedSuffix) && (minCleaned < 0 || base < minCleaned):
			minCleaned = base
		}
	}
	if err := l.finishOrphans(dir, files); err != nil {
		return err
	}
	sort.Slice(swaps, func(i, j int) bool { return swaps[i] < swaps[j] })
	for i, base := range swaps {
		if minCleaned >= 0 && base >= minCleaned {
			if err := l.removeSegmentFiles(dir, base, swapSuffix); err != nil {
				return err
			}
			continue
		}
		next, err := l.swapEnd(dir, base)
		if err != nil {
			return err
		}
		if i+1 < len(swaps) {
			next = min(next, swaps[i+1])
		}
		l.env.log.Info().Str("dir", dir).Int64("segment", base).Msg("completing a swap of cleaned segments")
		for _, old := range logs {
			if old >= base && old < next {
				if err := l.removeSegmentFiles(dir, old, ""); err != nil {
					return err
				}
			}
		}
		if err := l.env.fs.SyncDir(dir); err != nil {
			return err
		}
		if err := l.renameSwapFiles(dir, base, indexSuffix, timeIndexSuffix, txnIndexSuffix); err != nil {
			return err
		}
		if err := l.renameSwapFiles(dir, base, logSuffix); err != nil {
			return err
		}
	}
	return nil
}

// renameSwapFiles takes the suffix .swap from files, as far as they are there, durably.
func (l *Log) renameSwapFiles(dir string, base int64, suffixes ...string) error {
	for _, suffix := range suffixes {
		p := join(dir, segmentName(base, suffix))
		if err := l.env.fs.Rename(p+swapSuffix, p); err != nil && !isNotExist(err) {
			return fmt.Errorf("complete swap of segment %d: %w", base, err)
		}
	}
	return l.env.fs.SyncDir(dir)
}

// finishOrphans deals with .swap files of indexes without a .log.swap. Kafka renames the log first, so that they are what is left to
// rename; of a pass of ours that was about to begin its swap the old index is still there, and they are left-overs.
func (l *Log) finishOrphans(dir string, files []fs.DirEntry) error {
	there := map[string]bool{}
	orphans := map[int64]bool{}
	for _, f := range files {
		there[f.Name()] = true
	}
	for name := range there {
		base, suffix, ok := parseSegmentName(name)
		if ok && suffix != logSuffix+swapSuffix && strings.HasSuffix(suffix, swapSuffix) && !there[segmentName(base, logSuffix+swapSuffix)] {
			orphans[base] = true
		}
	}
	for base := range orphans {
		index := segmentName(base, indexSuffix)
		begun := !there[segmentName(base, logSuffix+cleanedSuffix)] && there[segmentName(base, logSuffix)] && !(there[index] && there[index+swapSuffix])
		var err error
		if begun {
			err = l.renameSwapFiles(dir, base, indexSuffix, timeIndexSuffix, txnIndexSuffix)
		} else {
			err = l.removeSegmentFiles(dir, base, swapSuffix)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// swapEnd is the offset after the last batch of a .swap file.
func (l *Log) swapEnd(dir string, base int64) (int64, error) {
	f, err := l.env.fs.OpenRead(join(dir, segmentName(base, logSuffix+swapSuffix)))
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	r := newBatchReader(f, 0, size, headersOnly)
	defer r.close()
	next := base + 1
	for r.next() {
		next = r.batch.NextOffset()
	}
	return next, errors.Join(r.err, f.Close())
}

// removeSegmentFiles removes the .log last: as long as it is there, a start does all of it again.
func (l *Log) removeSegmentFiles(dir string, base int64, extra string) error {
	for _, suffix := range []string{indexSuffix, timeIndexSuffix, txnIndexSuffix, logSuffix} {
		if err := l.env.fs.Remove(join(dir, segmentName(base, suffix+extra))); err != nil && !isNotExist(err) {
			return fmt.Errorf("remove segment %d: %w", base, err)
		}
	}
	return nil
}

// tellLost names what a log had before a clean stop, and has no more. As in Kafka it goes on with what is there.
func (l *Log) tellLost(st loadState) {
	if st.known && l.end.Load() < st.recoveryPoint {
		l.env.log.Error().Str("dir", *l.dir.Load()).Int64("offset", l.end.Load()).Int64("recovery_point", st.recoveryPoint).
			Msg("the log lost records that had been synced: all from offset on to recovery_point")
	}
}

// loadClean believes the checkpoint where it can: after a clean stop the recovery point is the end of the log, if the last segment is as
// long as it was left. Else the last index interval is read. Segments that lost an index get it again.
func (l *Log) loadClean(st loadState, found segmentsFound) error {
	segs := l.segments()
	for _, s := range segs {
		if s.size.Load() > 0 && found.indexes[s.base] < 2 {
			if err := l.restoreIndexes(s); err != nil {
				return err
			}
		}
	}
	last := l.active()
	if st.known && st.left != nil && *st.left == (segmentEnd{last.base, last.size.Load()}) && st.recoveryPoint >= last.base {
		l.end.Store(st.recoveryPoint)
		l.recovery.Store(st.recoveryPoint)
		return nil
	}
	end, err := l.readEnd(last)
	if err != nil {
		return err
	}
	l.end.Store(end)
	l.recovery.Store(end)
	l.changed = l.changed || end != st.recoveryPoint
	return nil
}

func (l *Log) restoreIndexes(s *segment) error {
	f, err := l.open(s)
	if err != nil {
		return err
	}
	defer f.Done()
	return l.indexes(f)
}

// readEnd reads the offset after the last batch of a segment.
func (l *Log) readEnd(s *segment) (int64, error) {
	if s.size.Load() == 0 {
		return s.base, nil
	}
	f, err := l.open(s)
	if err != nil {
		return 0, err
	}
	defer f.Done()
	if err := l.indexes(f); err != nil {
		return 0, err
	}
	from := int64(0)
	if f.idxN > 0 {
		e, err := offsetIndexKind().entryAt(f.idx, s.base, f.idxN-1)
		if err != nil {
			return 0, err
		}
		from = e.val
	}
	r := newBatchReader(f.log, from, s.size.Load(), headersOnly)
	defer r.close()
	end := s.base
	for r.next() {
		end = r.batch.NextOffset()
	}
	return end, r.err
}

// newProducersLocked makes the producer state and lists its snapshots.
func (l *Log) newProducers() (*producers, error) {
	p := newProducers(producersConfig{FS: l.env.fs, Dir: *l.dir.Load(), Name: l.label, ExpirationMs: l.cfg.Load().ProducerIDExpirationMs})
	return p, p.open()
}

// loadProducers takes the producer state from the newest snapshot and the batches after it.
func (l *Log) loadProducers() error {
	p, err := l.newProducers()
	if err != nil {
		return err
	}
	bases := make([]int64, 0, len(l.segments()))
	for _, s := range l.segments() {
		bases = append(bases, s.base)
	}
	if err := p.removeStraySnapshots(bases); err != nil {
		return err
	}
	l.producers = p
	if err := l.reloadProducers(); err != nil {
		l.producers = nil
		return err
	}
	l.producersLoaded.Store(true)
	return nil
}

// reloadProducers brings the producer state to the log's end.
func (l *Log) reloadProducers() error {
	p, end := l.producers, l.end.Load()
	if err := p.truncateAndReload(l.start.Load(), end, l.env.nowMs()); err != nil {
		return err
	}
	if from := p.mapEndOffset(); from < end {
		err := l.scan(from, wholeBatches, func(_ *segment, r *batchReader) error {
			if r.batch.BaseOffset() >= end {
				return nil
			}
			return p.replay(r.batch, nil)
		})
		if err != nil {
			return fmt.Errorf("rebuild producer state of %s from offset %d: %w", l.name(), from, err)
		}
	}
	p.setMapEndOffset(end)
	p.removeExpired(l.env.nowMs()) // those that the log still has are forgotten as those of the snapshot are
	if hw := l.hwNow.Load(); hw >= 0 {
		p.onHighWatermark(hw)
	}
	l.updateUnstable()
	return nil
}

// close ends the log; what is open is closed as soon as no reader holds it.
func (l *Log) close() {
	defer l.stopCleaning()()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed.Store(true)
	for _, r := range l.retired {
		l.drop(r.s)
	}
	for _, s := range l.segments() {
		l.drop(s)
	}
}

// syncMode says who makes what a clean stop writes durable.
type syncMode uint8

const (
	syncEach   syncMode = iota // each file is synced
	syncVolume                 // the caller syncs the whole volume afterwards
)

// finish writes what a start after a clean stop relies on.
func (l *Log) finish(mode syncMode) error {
	if !l.needsFinish() {
		return nil
	}
	if mode == syncEach {
		if err := l.Flush(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.unlock()
	return l.failDir(l.settle(mode))
}

// needsFinish tells whether the log has changed since the start.
func (l *Log) needsFinish() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usable() == nil && (l.changed || l.recovery.Load() != l.end.Load())
}

// settle writes everything derived from the log that memory holds; mu is held.
func (l *Log) settle(mode syncMode) error {
	sync := mode == syncEach
	if l.act != nil {
		s := l.active()
		if err := l.endSegment(s); err != nil {
			return err
		}
		if sync {
			if err := l.syncIndexes(s); err != nil {
				return err
			}
		}
	}
	if l.producers != nil {
		l.producers.setMapEndOffset(l.end.Load())
		if _, err := l.producers.snapshot(sync); err != nil {
			return err
		}
	}
	if l.epochs != nil {
		if err := l.epochs.write(sync); err != nil {
			return err
		}
	}
	if sync {
		return l.env.fs.SyncDir(*l.dir.Load())
	}
	return nil
}

package storage

import (
	"errors"
	"fmt"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// recover is the start after a process that died: every batch from the recovery point's segment on is checked, a torn tail is cut,
// segments after a cut go, and indexes, epochs and producer state are made from what is left. Below the recovery point everything was
// synced.
func (l *Log) recover(st loadState) error {
	segs := l.segments()
	first := max(floorSegment(segs, st.recoveryPoint), 0)
	dir := *l.dir.Load()
	for _, s := range segs[:first] { // a segment may be cut only at the end: what is missing here was rebuilt lazily
		s.flushed.Store(true)
	}
	l.end.Store(segs[first].base)
	epochs, err := loadEpochs(l.env.fs, dir)
	var corrupt *CorruptFileError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	if corrupt != nil {
		l.env.log.Warn().Err(err).Str("dir", dir).Msg("leader epoch file is corrupt, rebuilding it from the log")
		if err := l.rebuildEpochs(epochs, segs[:first]); err != nil {
			return err
		}
	}
	epochs.truncateFromEnd(segs[first].base)
	p, err := l.producersAt(segs[first].base)
	if err != nil {
		return err
	}
	r := recovery{l: l, epochs: epochs, producers: p, end: segs[first].base}
	for i := first; i < len(segs); i++ {
		whole, err := r.segment(segs[i])
		if err != nil {
			return err
		}
		l.end.Store(r.end)
		if i+1 < len(segs) && (!whole || r.hole(segs[i+1], st.recoveryPoint)) {
			l.env.log.Warn().Str("dir", dir).Int64("offset", r.end).Int("segments", len(segs)-i-1).
				Msg("removing segments after a cut")
			if err := l.dropSegments(segs[i+1:], i+1); err != nil {
				return err
			}
			break
		}
	}
	l.end.Store(r.end)
	// What lies above the recovery point may be in the page cache only (the process died, not the machine), so it stays there.
	l.recovery.Store(min(st.recoveryPoint, r.end))
	if r.end < st.recoveryPoint {
		l.env.log.Error().Str("dir", dir).Int64("offset", r.end).Int64("recovery_point", st.recoveryPoint).
			Msg("the log lost records that had been synced")
	}
	epochs.truncateFromStart(l.start.Load())
	if err := epochs.write(true); err != nil {
		return err
	}
	l.epochs = epochs
	l.changed = true
	r.finish()
	return nil
}

// producersAt gives a producer state as of offset, a segment's base.
func (l *Log) producersAt(offset int64) (*producers, error) {
	p, err := l.newProducers()
	if err != nil {
		return nil, err
	}
	bases := make([]int64, 0, len(l.segments()))
	for _, s := range l.segments() {
		bases = append(bases, s.base)
	}
	if err := p.removeStraySnapshots(bases); err != nil {
		return nil, err
	}
	if err := p.truncateAndReload(min(l.start.Load(), offset), offset, l.env.nowMs()); err != nil {
		return nil, err
	}
	if from := p.mapEndOffset(); from < offset {
		segs := l.segments()
		for i := max(floorSegment(segs, from), 0); i < len(segs) && segs[i].base < offset; i++ {
			err := l.scanSegment(segs[i], from, wholeBatches, func(_ *segment, r *batchReader) error { return p.replay(r.batch, nil) })
			if err != nil {
				return nil, fmt.Errorf("rebuild producer state of %s from offset %d: %w", l.name(), from, err)
			}
		}
	}
	p.setMapEndOffset(offset)
	return p, nil
}

// hole says whether a power cut took whole batches from the end of a segment, but not the segment after it: a log without gaps ends there.
// Other logs may have been compacted, and keep what is there, as in Kafka.
func (r *recovery) hole(next *segment, recoveryPoint int64) bool {
	return r.l.dense && next.base > r.end && next.base > recoveryPoint
}

// recovery is one pass over the segments from the recovery point on.
type recovery struct {
	l         *Log
	epochs    *epochs
	producers *producers
	end       int64 // offset after the last valid batch
}

// segment checks one segment and rebuilds its indexes; whole is false when its end had to be cut off.
func (r *recovery) segment(s *segment) (whole bool, err error) {
	l := r.l
	if r.producers.mapEndOffset() < s.base { // snapshots belong to segments
		r.producers.setMapEndOffset(s.base)
	}
	r.end = max(r.end, s.base)
	f, err := l.open(s)
	if err != nil {
		return false, err
	}
	defer f.Done()
	if err := l.resetTxnIndex(s); err != nil {
		return false, err
	}
	w := newIndexWriter(s.base, l.cfg.Load().IndexIntervalBytes)
	b := newBatchReader(f.log, 0, s.size.Load(), wholeBatches)
	defer b.close()
	valid := int64(0)
	var reason error
	for b.next() {
		if reason = r.check(s, b.batch); reason != nil {
			break
		}
		if err := r.note(s, b.batch); err != nil {
			if !isCorrupt(err) {
				return false, err
			}
			reason = err // a marker that cannot be decoded: Kafka cuts there too
			break
		}
		w.batch(b.batch.LastOffset(), b.batch.MaxTimestamp(), b.position, b.size)
		r.end = b.batch.NextOffset()
		valid = b.position + int64(b.size)
	}
	var torn *CorruptBatchError
	switch {
	case errors.As(b.err, &torn):
		reason = b.err
	case b.err != nil:
		return false, b.err
	}
	whole = true
	if size := s.size.Load(); valid < size {
		whole = false
		l.env.log.Warn().Err(reason).Str("dir", *l.dir.Load()).Int64("segment", s.base).Int64("offset", r.end).
			Int64("position", valid).Int64("bytes", size-valid).Msg("cutting off an invalid end of a log")
		if err := f.log.Truncate(valid); err != nil {
			return false, fmt.Errorf("cut segment %d of %s: %w", s.base, l.name(), err)
		}
		s.size.Store(valid)
	}
	if _, _, err := w.write(l.env.fs, l.path(s, indexSuffix), l.path(s, timeIndexSuffix)); err != nil {
		return whole, err
	}
	return whole, nil
}

func (l *Log) resetTxnIndex(s *segment) error {
	x, err := openTxnIndex(l.env.fs, l.path(s, txnIndexSuffix), s.base)
	var corrupt *corruptTxnIndexError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	if err := x.reset(); err != nil {
		return err
	}
	s.mu.Lock()
	s.txn = x
	s.mu.Unlock()
	return nil
}

// check says why a batch cannot be part of the log.
func (r *recovery) check(s *segment, b batch.Batch) error {
	switch {
	case !b.ValidCRC():
		return fmt.Errorf("crc %#x, computed %#x", b.CRC(), b.ComputeCRC())
	case b.BaseOffset() < r.end || b.LastOffsetDelta() < 0:
		return fmt.Errorf("offsets %d to %d after %d", b.BaseOffset(), b.LastOffset(), r.end)
	case b.LastOffset()-s.base > 1<<31-1 || b.LastOffset() < b.BaseOffset():
		return fmt.Errorf("offset %d is out of the segment's reach", b.LastOffset())
	}
	return nil
}

// note derives epochs and producer state from a valid batch.
func (r *recovery) note(s *segment, b batch.Batch) error {
	r.epochs.assign(b.LeaderEpoch(), b.BaseOffset())
	if !b.HasProducerID() {
		return nil
	}
	if err := r.producers.replay(b, s.txn); err != nil {
		return fmt.Errorf("rebuild producer state of %s at offset %d: %w", r.l.name(), b.BaseOffset(), err)
	}
	return nil
}

// finish takes the producer state over.
func (r *recovery) finish() {
	l := r.l
	r.producers.setMapEndOffset(r.end)
	r.producers.removeExpired(l.env.nowMs())
	l.producers = r.producers
	l.producersLoaded.Store(true)
	l.updateUnstable()
}

package storage

import (
	"errors"
	"fmt"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// noTimestampOffset is the answer when there is no such record.
func noTimestampOffset() TimestampOffset { return TimestampOffset{-1, -1, -1} }

// errFound ends a scan.
var errFound = errors.New("found")

// OffsetForTimestamp finds the first record from the log start on whose timestamp is at least ts (also inside compressed batches).
// As in Kafka the search ignores upTo; a record at or above it is no answer. It reads the log: call it where one may wait.
func (l *Log) OffsetForTimestamp(ts int64, upTo int64) (TimestampOffset, error) {
	res, err := l.offsetForTimestamp(ts)
	for errors.Is(err, errSegmentGone) { // the list of segments is another one by now
		res, err = l.offsetForTimestamp(ts)
	}
	if err != nil {
		err = l.readError(err)
		l.tellFailure()
		return noTimestampOffset(), err
	}
	if res.Offset >= upTo {
		return noTimestampOffset(), nil
	}
	return res, nil
}

func (l *Log) offsetForTimestamp(ts int64) (TimestampOffset, error) {
	if err := l.usable(); err != nil {
		return noTimestampOffset(), err
	}
	start := l.start.Load()
	segs := l.segments()
	for i, s := range segs {
		if i+1 < len(segs) && segs[i+1].base <= start {
			continue
		}
		largest, err := l.largestTimestamp(s)
		if err != nil {
			return noTimestampOffset(), err
		}
		if largest.key < ts {
			continue
		}
		res, err := l.searchSegment(s, ts, start)
		if err != nil || res.Offset >= 0 {
			return res, err
		}
	}
	return noTimestampOffset(), nil
}

// searchSegment starts where the time index says that all before is older.
func (l *Log) searchSegment(s *segment, ts, start int64) (TimestampOffset, error) {
	from, err := l.timeFloor(s, ts)
	if err != nil {
		return noTimestampOffset(), err
	}
	res := noTimestampOffset()
	err = l.scanSegment(s, max(from, start), wholeBatches, func(_ *segment, r *batchReader) error {
		if r.batch.MaxTimestamp() < ts {
			return nil
		}
		found, err := firstRecord(r.batch, func(rec *batch.Record) bool { return rec.Timestamp >= ts && rec.Offset >= start })
		if err != nil {
			return err
		}
		if found.Offset >= 0 {
			res = found
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return res, err
}

// firstRecord decodes a batch up to the first record that want takes.
func firstRecord(b batch.Batch, want func(*batch.Record) bool) (TimestampOffset, error) {
	var r batch.Reader
	if err := r.Reset(b, batch.NoLimit); err != nil {
		return noTimestampOffset(), fmt.Errorf("decode batch at offset %d: %w", b.BaseOffset(), err)
	}
	defer r.Close()
	var rec batch.Record
	for r.Next(&rec) {
		if want(&rec) {
			return TimestampOffset{Timestamp: rec.Timestamp, Offset: rec.Offset, LeaderEpoch: b.LeaderEpoch()}, nil
		}
	}
	if err := r.Err(); err != nil {
		return noTimestampOffset(), fmt.Errorf("decode batch at offset %d: %w", b.BaseOffset(), err)
	}
	return noTimestampOffset(), nil
}

// timeFloor is an offset such that everything in the segment before it is older than ts.
func (l *Log) timeFloor(s *segment, ts int64) (int64, error) {
	f, err := l.open(s)
	if err != nil {
		return 0, err
	}
	defer f.Done()
	if err := l.indexes(f); err != nil {
		return 0, err
	}
	size, err := f.tidx.Size()
	if err != nil {
		return 0, err
	}
	n := int(size / timeIndexEntrySize)
	if t := l.tail.Load(); t != nil && t.seg == s {
		t.mu.Lock()
		n = t.tixN
		if i := floorIn(timeIndexKind(), t.tix, s.base, ts-1); i >= 0 {
			e := parseTimeIndexEntry(t.tix[i*timeIndexEntrySize:], s.base)
			t.mu.Unlock()
			return e.val, nil
		}
		t.mu.Unlock()
	}
	// An entry says: no record up to its batch is newer. So start at the last entry that is older than ts.
	e, i, err := timeIndexKind().floor(f.tidx, s.base, n, ts-1)
	if err != nil || i < 0 {
		return s.base, err
	}
	return e.val, nil
}

// largestTimestamp is the segment's largest timestamp and the last offset of its batch; -1 when it has none.
func (l *Log) largestTimestamp(s *segment) (indexEntry, error) {
	s.mu.Lock()
	e, loaded := s.maxTs, s.maxLoaded
	s.mu.Unlock()
	if loaded {
		return e, nil
	}
	f, err := l.open(s)
	if err != nil {
		return e, err
	}
	defer f.Done()
	if err := l.indexes(f); err != nil {
		return e, err
	}
	e = indexEntry{-1, -1}
	if f.tixN > 0 {
		if e, err = timeIndexKind().entryAt(f.tidx, s.base, f.tixN-1); err != nil {
			return e, err
		}
	}
	// The last segment's newest batches may have no entry yet (and an older Kafka's neither): look at what follows the last index entry.
	from := int64(0)
	if f.idxN > 0 {
		i, err := offsetIndexKind().entryAt(f.idx, s.base, f.idxN-1)
		if err != nil {
			return e, err
		}
		from = i.val
	}
	r := newBatchReader(f.log, from, s.size.Load(), headersOnly)
	defer r.close()
	for r.next() {
		if r.batch.MaxTimestamp() > e.key {
			e = indexEntry{r.batch.MaxTimestamp(), r.batch.LastOffset()}
		}
	}
	if r.err != nil {
		return e, r.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.maxLoaded { // appended meanwhile
		return s.maxTs, nil
	}
	s.maxTs, s.maxLoaded = e, true // activation sets it again before the next append
	return e, nil
}

// MaxTimestamp finds the first record with the log's largest timestamp. It reads the log: call it where one may wait.
func (l *Log) MaxTimestamp(upTo int64) (TimestampOffset, error) {
	res, err := l.maxTimestamp()
	for errors.Is(err, errSegmentGone) { // the list of segments is another one by now
		res, err = l.maxTimestamp()
	}
	if err != nil {
		err = l.readError(err)
		l.tellFailure()
		return noTimestampOffset(), err
	}
	if res.Offset >= upTo {
		return noTimestampOffset(), nil
	}
	return res, nil
}

func (l *Log) maxTimestamp() (TimestampOffset, error) {
	if err := l.usable(); err != nil {
		return noTimestampOffset(), err
	}
	var best *segment
	top := indexEntry{-1, -1}
	for _, s := range l.segments() {
		e, err := l.largestTimestamp(s)
		if err != nil {
			return noTimestampOffset(), err
		}
		if e.key > top.key {
			best, top = s, e
		}
	}
	res := noTimestampOffset()
	if best == nil {
		return res, nil
	}
	err := l.scanSegment(best, top.val, wholeBatches, func(_ *segment, r *batchReader) error {
		if r.batch.MaxTimestamp() != top.key {
			return nil
		}
		found, err := firstRecord(r.batch, func(rec *batch.Record) bool { return rec.Timestamp == top.key })
		if err != nil {
			return err
		}
		if found.Offset < 0 { // a batch whose newest record was compacted away
			found = TimestampOffset{top.key, r.batch.LastOffset(), r.batch.LeaderEpoch()}
		}
		res = found
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return res, err
}

// FirstUnstableOffset is the first offset of the earliest transaction that is open, or ended above the high watermark.
func (l *Log) FirstUnstableOffset() (int64, bool) {
	if l.noProducersYet() {
		return 0, false
	}
	if off := l.unstable.Load(); off >= 0 {
		return off, true
	}
	return 0, false
}

// noProducersYet reads the producer state with the first question about it; on a failing disk nothing is known.
func (l *Log) noProducersYet() bool {
	if l.producersLoaded.Load() {
		return false
	}
	l.mu.Lock()
	defer l.unlock()
	return l.needProducers() != nil
}

// needProducers is called under mu.
func (l *Log) needProducers() error {
	if l.producers != nil {
		return nil
	}
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.loadProducers(); err != nil {
		return l.failDir(err)
	}
	return nil
}

// OnHighWatermark tells that everything below hw is replicated: transactions whose markers lie below it no longer hold back the last
// stable offset. Cheap when there are none.
func (l *Log) OnHighWatermark(hw int64) {
	l.hwNow.Store(hw)
	if l.unstable.Load() < 0 {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if l.producers != nil {
		l.producers.onHighWatermark(hw)
		l.updateUnstable()
	}
}

// AbortedTxns lists the aborted transactions that a reader of [from, to) must know.
func (l *Log) AbortedTxns(from, to int64) ([]AbortedTxn, error) {
	var out []AbortedTxn
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	segs := l.segments()
	for _, s := range segs[max(floorSegment(segs, from), 0):] {
		x, err := l.txnIndex(s)
		if err != nil {
			return nil, l.failDir(err)
		}
		var done bool
		if out, done = x.collect(out, from, to); done {
			break
		}
	}
	return out, nil
}

// Producers lists the producers known, by id.
func (l *Log) Producers() []ProducerState {
	l.mu.Lock()
	defer l.unlock()
	if l.needProducers() != nil {
		return nil
	}
	return l.producers.states()
}

// ProducerEntry is one producer's state.
func (l *Log) ProducerEntry(pid int64) (ProducerState, bool) {
	l.mu.Lock()
	defer l.unlock()
	if l.needProducers() != nil {
		return ProducerState{}, false
	}
	return l.producers.entry(pid)
}

// StartVerification notes that a transactional batch waits for the coordinator's word (KIP-890); guard 0: nothing has to be asked.
func (l *Log) StartVerification(pid int64, epoch int16, sequence int32, supportsEpochBump bool) (guard uint64, err error) {
	l.mu.Lock()
	defer l.unlock()
	if err := l.needProducers(); err != nil {
		return 0, err
	}
	return l.producers.startVerification(pid, epoch, sequence, supportsEpochBump, l.env.nowMs())
}

// VerificationHolds says whether guard is that of the verification under way.
func (l *Log) VerificationHolds(pid int64, guard uint64) bool {
	l.mu.Lock()
	defer l.unlock()
	return l.producers != nil && l.producers.verified(pid, guard)
}

// HasLateTransaction says whether a transaction has been open for longer than any may.
func (l *Log) HasLateTransaction(maxTimeoutMs int64) bool {
	l.mu.Lock()
	defer l.unlock()
	return l.producers != nil && l.producers.hasLateTransaction(l.env.nowMs(), maxTimeoutMs)
}

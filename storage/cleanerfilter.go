package storage

import (
	"fmt"

	"github.com/kaja-mq/kaja/internal/planted"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// lastRecord is what is known of a producer that is remembered: its last data, or only its epoch when that is gone.
type lastRecord struct {
	dataOffset int64 // last offset of its last batch, -1 none
	epoch      int16
}

// lastRecords snapshots them for all producers of the log.
func (l *Log) lastRecords() (map[int64]lastRecord, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.needProducers(); err != nil {
		return nil, err
	}
	out := make(map[int64]lastRecord, len(l.producers.entries))
	for id, e := range l.producers.entries {
		r := lastRecord{-1, e.epoch}
		if !e.isEmpty() {
			r.dataOffset = e.last().lastOffset
		}
		out[id] = r
	}
	return out, nil
}

// recordFilter decides, batch by batch, what of a log stays, and writes it behind out. The rules are those of Kafka 4.4 (Cleaner and
// MemoryRecords.filterTo), down to the bytes of batches that are written anew.
type recordFilter struct {
	offsets         *offsetMap
	txns            *cleanedTxns
	producers       map[int64]lastRecord
	highWatermark   int64
	nowMs           int64
	deleteRetention int64
	maxRecordBytes  int

	out     []byte
	changed bool // something was left out or written anew
	reader  batch.Reader
	stats   filterStats
}

type filterStats struct {
	recordsRead, recordsKept int64
	keyless                  int64 // records without a key: they cannot be in a compacted log
}

// rewrite says how the records of a batch are copied.
type rewrite struct {
	anew    bool // record by record: some are left out
	horizon bool // the delete horizon is set
}

// batch filters one batch; last is the last offset of what was written, kept is false when nothing was.
func (f *recordFilter) batch(b batch.Batch) (kept bool, err error) {
	if !b.ValidCRC() { // written anew, damaged bytes would get a valid CRC
		return false, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), errBadCRC)
	}
	var empty bool
	if b.IsControl() {
		if empty, err = f.txns.onControl(b); err != nil {
			return false, fmt.Errorf("control batch at offset %d: %w", b.BaseOffset(), err)
		}
	} else {
		empty = f.txns.onData(b)
	}
	horizon, hasHorizon := b.DeleteHorizon()
	discard := empty
	if b.IsControl() {
		discard = empty && hasHorizon && horizon <= f.nowMs
	}
	if !discard {
		// A marker of which nothing else is left gets its horizon, and goes after it.
		how := rewrite{horizon: b.IsControl() && empty && !hasHorizon}
		how.anew = how.horizon
		for again := true; again; {
			if kept, again, err = f.records(b, &how); err != nil {
				return false, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
			}
		}
	} else {
		f.stats.recordsRead += int64(b.Count())
	}
	if kept {
		return true, nil
	}
	if f.mustStay(b) {
		start := len(f.out)
		f.out = batch.AppendEmpty(f.out, b)
		f.changed = f.changed || b.Count() > 0 || len(f.out)-start != len(b)
		return true, nil
	}
	f.changed = true
	return false, nil
}

// mustStay says whether a batch without records is kept as an empty one. The last batch of a producer that is remembered holds its
// sequence, its last marker its epoch; and the batch below the high watermark tells a follower where the log ends.
func (f *recordFilter) mustStay(b batch.Batch) bool {
	if b.HasProducerID() {
		if r, ok := f.producers[b.ProducerID()]; ok {
			if r.dataOffset >= 0 && b.LastOffset() == r.dataOffset {
				return true
			}
			if r.dataOffset < 0 && b.IsControl() && b.ProducerEpoch() == r.epoch {
				return true
			}
		}
	}
	return b.NextOffset() == f.highWatermark
}

// records copies what stays of a batch's records; again says that the way was wrong and how is better. As long as all records stay,
// nothing is copied record by record.
func (f *recordFilter) records(b batch.Batch, how *rewrite) (kept, again bool, err error) {
	start := len(f.out)
	if err := f.reader.Reset(b, f.maxRecordBytes); err != nil {
		return false, false, err
	}
	defer f.reader.Close()
	_, hasHorizon := b.DeleteHorizon()
	var rec batch.Record
	var w *batch.Builder
	n, read := int64(0), int64(0)
	for f.reader.Next(&rec) {
		read++
		if !b.IsControl() && !f.keeps(b, &rec) {
			if n > 0 && !how.anew {
				how.anew = true
				f.out = f.out[:start]
				return false, true, nil
			}
			how.anew = true
			continue
		}
		if rec.Value == nil && !b.IsControl() && !hasHorizon && !how.horizon {
			how.anew, how.horizon = true, true
			f.out = f.out[:start]
			return false, true, nil
		}
		n++
		if how.anew {
			if w == nil {
				w = f.builder(b, how.horizon)
			}
			w.AppendRecord(rec.Offset, &rec)
		}
	}
	if err := f.reader.Err(); err != nil {
		f.out = f.out[:start]
		return false, false, err
	}
	f.stats.recordsRead += read
	f.stats.recordsKept += n
	switch {
	case n == 0:
		return false, false, nil
	case !how.anew:
		f.out = append(f.out, b...)
		return true, false, nil
	}
	f.changed = true
	w.SetLastOffset(b.LastOffset()) // the sequence of the batch's last record is counted from it
	f.out, err = w.Finish()
	return err == nil, false, err
}

// builder starts a batch with the header of b behind out.
func (f *recordFilter) builder(b batch.Batch, newHorizon bool) *batch.Builder {
	horizon, has := b.DeleteHorizon()
	if newHorizon {
		horizon, has = f.nowMs+f.deleteRetention, true
	}
	return batch.NewBuilder(f.out, batch.Options{
		BaseOffset: b.BaseOffset(), LeaderEpoch: b.LeaderEpoch(),
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
		Codec: b.Codec(), Level: b.Codec().Level(), Transactional: b.IsTransactional(), Control: b.IsControl(),
		LogAppendTime: b.IsLogAppendTime(), AppendTimeMs: b.MaxTimestamp(), HasDeleteHorizon: has, DeleteHorizonMs: horizon,
	})
}

// keeps says whether a record of data stays: what was not looked at does, else the last one of its key, and of tombstones only those
// whose horizon was not reached.
func (f *recordFilter) keeps(b batch.Batch, rec *batch.Record) bool {
	if rec.Offset > f.offsets.latest {
		return true
	}
	if rec.Key == nil {
		f.stats.keyless++
		return false
	}
	if rec.Offset < f.offsets.get(rec.Key) {
		return false
	}
	return rec.Value != nil || !f.tombstoneDue(b)
}

// tombstoneDue says whether the tombstones of a batch may go: delete.retention.ms after a pass first left them alone.
func (f *recordFilter) tombstoneDue(b batch.Batch) bool {
	horizon, ok := b.DeleteHorizon()
	return ok && (f.nowMs >= horizon || planted.Is("tombstone"))
}

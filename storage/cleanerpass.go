package storage

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// errCleaningAborted ends a pass whose log was truncated, moved, closed or is no longer compacted; nothing was lost.
var errCleaningAborted = errors.New("cleaning was aborted")

// errBadCRC is a batch whose bytes are not those that were written.
var errBadCRC = errors.New("wrong CRC")

// passStage is how far a pass is.
type passStage uint8

const (
	stageMap   passStage = iota // the last offset of each key is noted, from the first dirty offset on
	stageClean                  // segments are copied without what is obsolete, group by group
	stageDone
)

// cleanPass is one cleaning of one log, in pieces: each advance reads a chunk. Guarded by Log.cleanMu.
//
//	0 ……… firstDirty ………………… upTo ……… active
//	  clean        | dirty, mapped |  not touched: open transactions, too young, the active segment
//	  \___ copied, in groups _____/
type cleanPass struct {
	l     *Log
	cfg   *LogConfig
	clean CleanerConfig
	hw    func() int64 // the log's high watermark
	nowMs int64

	firstDirty, upTo int64
	stage            passStage
	offsets          *offsetMap
	mapTxns          *cleanedTxns
	segs             []*segment // of the stage: the dirty ones, then the group's
	next             []int64    // where each of segs ends: the base of the one after it
	i                int
	position         int64 // in segs[i], -1: it was not begun
	groups           [][]*segment
	filter           recordFilter
	out              *cleanedSegment
	in               []byte
	stats            CleanStats
}

// newPass prepares a pass over a log; the caller has made sure that there is no other.
func newPass(t *logToClean, clean CleanerConfig, hw func() int64) *cleanPass {
	l := t.log
	p := &cleanPass{l: l, cfg: l.cfg.Load(), clean: clean, hw: hw, nowMs: l.env.nowMs(), firstDirty: t.firstDirty, upTo: t.upTo, position: -1}
	p.offsets = newOffsetMap(clean.DedupeBufferBytes/int64(max(clean.Threads, 1)), clean.LoadFactor, t.upTo-t.firstDirty)
	p.in = make([]byte, p.ioBytes())
	p.mapTxns = newCleanedTxns()
	p.stats = CleanStats{FirstDirty: t.firstDirty, NextDirty: t.firstDirty, UpTo: t.upTo}
	segs := l.segments()
	for i := max(floorSegment(segs, t.firstDirty), 0); i < len(segs) && segs[i].base < t.upTo; i++ {
		p.segs = append(p.segs, segs[i])
	}
	p.setEnds(t.upTo)
	return p
}

// ioBytes is the size of the read and of the write buffer: half of this thread's share each.
func (p *cleanPass) ioBytes() int {
	return max(int(p.clean.IOBufferBytes)/max(p.clean.Threads, 1)/2, minIOBuffer)
}

func (p *cleanPass) setEnds(last int64) {
	p.next = p.next[:0]
	for i := range p.segs {
		end := last
		if i+1 < len(p.segs) {
			end = p.segs[i+1].base
		}
		p.next = append(p.next, end)
	}
}

// advance does a piece of the work and tells how many bytes it read and wrote.
func (p *cleanPass) advance() (moved int64, err error) {
	if err := p.l.usable(); err != nil {
		return 0, err
	}
	if !p.l.cfg.Load().CleanupCompact {
		return 0, errCleaningAborted
	}
	switch p.stage {
	case stageMap:
		return p.mapChunk()
	case stageClean:
		return p.cleanChunk()
	}
	return 0, nil
}

// mapChunk notes the keys of a chunk.
func (p *cleanPass) mapChunk() (int64, error) {
	if p.i == len(p.segs) {
		return 0, p.startCleaning()
	}
	if p.i == 0 && p.position < 0 {
		txns, err := p.l.AbortedTxns(p.firstDirty, p.upTo)
		if err != nil {
			return 0, err
		}
		p.mapTxns.add(txns)
	}
	s := p.segs[p.i]
	f, err := p.l.open(s)
	if err != nil {
		return 0, err
	}
	defer f.Done()
	if p.position < 0 {
		if p.position, err = p.l.lookup(f, p.firstDirty); err != nil {
			return 0, err
		}
	}
	data, err := p.chunk(f.log, s)
	if err != nil {
		return 0, err
	}
	full := false
	for b := range batch.All(data) {
		if full, err = p.mapBatch(b); err != nil {
			return 0, p.corrupt(f.log, b, err)
		}
		if full {
			break
		}
	}
	p.position += int64(len(data))
	p.stats.BytesMapped += int64(len(data))
	switch {
	case full:
		p.i = len(p.segs)
	case p.position == s.size.Load():
		p.offsets.reached(p.next[p.i] - 1) // what lies between has gone before
		p.nextSegment()
	}
	return int64(len(data)), nil
}

func (p *cleanPass) nextSegment() {
	p.i++
	p.position = -1
	if n := p.ioBytes(); len(p.in) > n { // it grew for a large batch
		p.in = make([]byte, n)
	}
}

// mapBatch notes the keys of a batch; full says that there was no room for all.
func (p *cleanPass) mapBatch(b batch.Batch) (full bool, err error) {
	if !b.ValidCRC() {
		return false, errBadCRC
	}
	if b.IsControl() {
		if _, err := p.mapTxns.onControl(b); err != nil {
			return false, err
		}
	} else if !p.mapTxns.onData(b) {
		r := &p.filter.reader
		if err := r.Reset(b, p.maxRecordBytes()); err != nil {
			return false, err
		}
		defer r.Close()
		var rec batch.Record
		for r.Next(&rec) {
			if rec.Key == nil || rec.Offset < p.firstDirty {
				continue
			}
			if p.offsets.full() {
				return true, nil
			}
			p.offsets.put(rec.Key, rec.Offset)
		}
		if err := r.Err(); err != nil {
			return false, err
		}
	}
	if b.LastOffset() >= p.firstDirty {
		p.offsets.reached(b.LastOffset())
	}
	return false, nil
}

func (p *cleanPass) maxRecordBytes() int {
	if n := p.cfg.MaxDecompressedMessageBytes; n > 0 {
		return int(n)
	}
	return batch.NoLimit
}

// corrupt names the place of a batch that cannot be cleaned.
func (p *cleanPass) corrupt(f vfs.File, b batch.Batch, err error) error {
	return fmt.Errorf("%w: %w", &CorruptBatchError{Path: f.Name(), Position: p.position, Reason: fmt.Sprintf("at or behind it, batch of offset %d", b.BaseOffset())}, err)
}

// chunk gives the whole batches of the next piece of a segment, at least one; the buffer grows for a large one.
func (p *cleanPass) chunk(f vfs.File, s *segment) ([]byte, error) {
	left := s.size.Load() - p.position
	if left == 0 {
		return nil, nil
	}
	for {
		data := p.in[:min(int64(len(p.in)), left)]
		if n, err := f.ReadAt(data, p.position); n < len(data) {
			if err == nil || errors.Is(err, io.EOF) {
				return nil, &CorruptBatchError{Path: f.Name(), Position: p.position, Reason: "the file ends"}
			}
			return nil, fmt.Errorf("read %s at %d: %w", f.Name(), p.position, err)
		}
		if n := batch.WholeSize(data); n > 0 && allMagic2(data[:n]) {
			return data[:n], nil
		}
		b, _, err := batch.Next(data)
		if !errors.Is(err, batch.ErrTruncated) {
			reason := "an old message format"
			if err != nil {
				reason = err.Error()
			} else if b == nil {
				reason = "no batch"
			}
			return nil, &CorruptBatchError{Path: f.Name(), Position: p.position, Reason: reason}
		}
		want := int64(batch.HeaderSize)
		if len(data) >= batch.HeaderSize {
			want = int64(batch.Batch(data).Size())
		}
		if want > left || want <= int64(len(data)) {
			return nil, &CorruptBatchError{Path: f.Name(), Position: p.position, Reason: fmt.Sprintf("a size of %d bytes where %d are left", want, left)}
		}
		p.in = make([]byte, want)
	}
}

func allMagic2(data []byte) bool {
	for b := range batch.All(data) {
		if b.Magic() != batch.Magic {
			return false
		}
	}
	return true
}

// startCleaning ends the first stage. What was mapped is made durable first: else a power cut could take the newest record of a key
// after the pass has removed the older ones.
func (p *cleanPass) startCleaning() error {
	p.stats.NextDirty = p.offsets.latest + 1
	p.stats.Keys = p.offsets.n
	p.stats.BufferFull = p.stats.NextDirty < p.upTo
	if err := p.l.flushTo(p.stats.NextDirty); err != nil {
		return err
	}
	var segs []*segment
	for _, s := range p.l.segments() {
		if s.base < p.stats.NextDirty && s.base < p.upTo {
			segs = append(segs, s)
		}
	}
	groups, err := p.l.groupSegments(segs, p.cfg, p.upTo)
	if err != nil {
		return err
	}
	p.groups, p.segs = groups, nil
	p.filter.offsets, p.filter.txns = p.offsets, newCleanedTxns()
	p.filter.nowMs, p.filter.deleteRetention, p.filter.maxRecordBytes = p.nowMs, p.cfg.DeleteRetentionMs, p.maxRecordBytes()
	p.filter.out = make([]byte, 0, p.ioBytes())
	p.stage = stageClean
	return nil
}

// groupSegments puts neighbours together that fit into one segment, so that repeated cleaning leaves no tiny ones.
func (l *Log) groupSegments(segs []*segment, cfg *LogConfig, upTo int64) ([][]*segment, error) {
	var groups [][]*segment
	var size, idx, tix int64
	for i, s := range segs {
		n, tn, err := l.indexSizes(s)
		if err != nil {
			return nil, err
		}
		last := upTo - 1
		if i+1 < len(segs) {
			last = segs[i+1].base - 1
		}
		g := len(groups) - 1
		if g >= 0 && size+s.size.Load() <= int64(cfg.SegmentBytes) && idx+n <= int64(cfg.SegmentIndexBytes) && tix+tn <= int64(cfg.SegmentIndexBytes) &&
			(s.size.Load() == 0 || last-groups[g][0].base <= math.MaxInt32) {
			groups[g] = append(groups[g], s)
			size, idx, tix = size+s.size.Load(), idx+n, tix+tn
			continue
		}
		groups = append(groups, []*segment{s})
		size, idx, tix = s.size.Load(), n, tn
	}
	return groups, nil
}

// indexSizes are the bytes of a complete segment's index files.
func (l *Log) indexSizes(s *segment) (idx, tix int64, err error) {
	for _, x := range []struct {
		suffix string
		n      *int64
	}{{indexSuffix, &idx}, {timeIndexSuffix, &tix}} {
		st, err := l.env.fs.Stat(l.path(s, x.suffix))
		if isNotExist(err) {
			continue // made again when it is needed
		}
		if err != nil {
			return 0, 0, fmt.Errorf("size of index of segment %d of %s: %w", s.base, l.name(), err)
		}
		*x.n = st.Size()
	}
	return idx, tix, nil
}

// cleanChunk copies what stays of a chunk; at the end of a group its output takes the group's place.
func (p *cleanPass) cleanChunk() (int64, error) {
	if p.segs == nil {
		return 0, p.startGroup()
	}
	if p.i == len(p.segs) {
		return p.endGroup()
	}
	s := p.segs[p.i]
	if p.position < 0 {
		// Of a transaction all aborted data must be known, also from its part in other segments.
		txns, err := p.l.AbortedTxns(s.base, p.next[p.i])
		if err != nil {
			return 0, err
		}
		p.filter.txns.add(txns)
		p.filter.highWatermark = p.hw()
		p.position = 0
	}
	f, err := p.l.open(s)
	if err != nil {
		return 0, err
	}
	defer f.Done()
	data, err := p.chunk(f.log, s)
	if err != nil {
		return 0, err
	}
	for b := range batch.All(data) {
		start := len(p.filter.out)
		kept, err := p.filter.batch(b)
		if err != nil {
			return 0, p.corrupt(f.log, b, err)
		}
		if kept {
			p.out.note(batch.Batch(p.filter.out[start:]))
		}
	}
	p.position += int64(len(data))
	p.stats.BytesRead += int64(len(data))
	written := int64(0)
	if len(p.filter.out) >= p.ioBytes() {
		if written, err = p.write(); err != nil {
			return 0, err
		}
	}
	if p.position == s.size.Load() {
		p.nextSegment()
	}
	return int64(len(data)) + written, nil
}

// write hands the output so far to its file.
func (p *cleanPass) write() (int64, error) {
	n := int64(len(p.filter.out))
	err := p.out.write(p.filter.out)
	p.filter.out = p.filter.out[:0]
	if limit := 4 * p.ioBytes(); cap(p.filter.out) > limit {
		p.filter.out = make([]byte, 0, p.ioBytes())
	}
	p.stats.BytesWritten += n
	return n, err
}

func (p *cleanPass) startGroup() error {
	if len(p.groups) == 0 {
		p.stage = stageDone
		p.stats.RecordsRead, p.stats.RecordsKept, p.stats.Keyless = p.filter.stats.recordsRead, p.filter.stats.recordsKept, p.filter.stats.keyless
		return nil
	}
	var err error
	if p.filter.producers, err = p.l.lastRecords(); err != nil {
		return err
	}
	group := p.groups[0]
	if p.out, err = p.l.newCleaned(group[0].base); err != nil {
		return err
	}
	p.groups = p.groups[1:]
	p.filter.txns.kept = p.out.noteTxn
	p.filter.changed = len(group) > 1
	p.segs, p.i, p.position = group, 0, -1
	end := p.upTo
	if len(p.groups) > 0 {
		end = p.groups[0][0].base
	}
	p.setEnds(end)
	return nil
}

// endGroup swaps the group's output in; one that says the same as what is there is thrown away.
func (p *cleanPass) endGroup() (int64, error) {
	written, err := p.write()
	if err != nil {
		return 0, err
	}
	group, out := p.segs, p.out
	p.segs, p.i = nil, 0
	if !p.filter.changed {
		x, err := p.l.abortedOf(group[0])
		if err != nil {
			return written, err
		}
		if x == len(out.txns) {
			p.out = nil
			return written, out.discard()
		}
	}
	if err := out.finish(group[len(group)-1]); err != nil {
		return written, err
	}
	if err := p.l.swapIn(out, group); err != nil {
		return written, err
	}
	p.out = nil
	p.stats.Segments += len(group)
	return written, nil
}

// abortedOf counts the aborted transactions of a segment's index.
func (l *Log) abortedOf(s *segment) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, err := l.txnIndex(s)
	if err != nil {
		return 0, err
	}
	return len(x.entries), nil
}

// discard removes what an unfinished pass has written.
func (p *cleanPass) discard() error {
	p.stage = stageDone
	p.offsets = nil
	if p.out == nil {
		return nil
	}
	out := p.out
	p.out = nil
	return out.discard()
}

package storage

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/protocol"
)

const (
	// hotMs is how long after its last use a segment's pages are believed to be in memory.
	hotMs = 5_000
	// hotTailBytes is how far from the end of a segment just written its pages are believed to be in memory still.
	hotTailBytes = 64 << 20
)

// Read finds the bytes from the batch that holds o.Offset on, bounded by o.UpTo at a batch's border and by o.MaxBytes anywhere
// behind the first batch, as Kafka does; a range never spans two segments. The caller releases the range.
func (l *Log) Read(o ReadOptions) (ReadResult, error) {
	res, err := l.read(o)
	if err != nil {
		l.tellFailure()
	}
	return res, err
}

func (l *Log) read(o ReadOptions) (ReadResult, error) {
	if err := l.usable(); err != nil {
		return ReadResult{}, err
	}
	end := l.end.Load()
	if o.Offset > end || o.Offset < l.start.Load() {
		return ReadResult{}, ErrOffsetOutOfRange
	}
	upTo := min(o.UpTo, end)
	if o.Offset >= upTo {
		return ReadResult{}, nil
	}
	for {
		list := l.segs.Load()
		res, err := l.readList(*list, o, upTo)
		if errors.Is(err, errSegmentGone) && l.segs.Load() != list {
			continue // compacted meanwhile
		}
		if err != nil {
			err = l.readError(err)
		}
		return res, err
	}
}

func (l *Log) readList(segs []*segment, o ReadOptions, upTo int64) (ReadResult, error) {
	for i := max(floorSegment(segs, o.Offset), 0); i < len(segs); i++ {
		if segs[i].base >= upTo {
			break
		}
		bound := int64(-1) // the whole segment
		if i == len(segs)-1 || segs[i+1].base > upTo {
			bound = upTo
		}
		res, found, err := l.readSegment(segs[i], o, bound)
		if err != nil {
			return ReadResult{}, err
		}
		if found {
			return res, nil
		}
	}
	return ReadResult{}, nil
}

// readError tells a segment that was deleted under the reader from a disk that fails.
func (l *Log) readError(err error) error {
	if uerr := l.usable(); uerr != nil {
		return uerr
	}
	if errors.Is(err, errSegmentGone) {
		return ErrOffsetOutOfRange
	}
	return l.failDir(err)
}

// readSegment is Read within one segment; bound is the offset before which it ends, -1 none. found is false when all of the segment
// lies below o.Offset.
func (l *Log) readSegment(s *segment, o ReadOptions, bound int64) (res ReadResult, found bool, err error) {
	f, err := l.open(s)
	if err != nil {
		return res, false, err
	}
	give := f
	defer func() {
		if give != nil {
			give.Done()
		}
	}()
	limit := s.size.Load()
	p, found, err := l.locate(f, o.Offset, limit)
	if err != nil || !found {
		return res, false, err
	}
	if bound >= 0 {
		if p.base >= bound {
			return res, true, nil
		}
		if limit, err = l.positionBefore(f, bound, p, limit); err != nil {
			return res, false, err
		}
	}
	if p.position >= limit {
		return res, true, nil
	}
	n := int64(max(o.MaxBytes, 0))
	if o.MinOne {
		n = max(n, int64(p.size))
	}
	if n == 0 {
		return ReadResult{Truncated: true}, true, nil
	}
	left := limit - p.position
	if size := int64(p.size); n >= size && n < 2*size {
		f.near.note(p)
	}
	res.Truncated = n < left
	res.FirstBatchIncomplete = n < int64(p.size)
	now := l.env.monoMs()
	hot := now-s.touched.Load() < hotMs && (s != l.active() || s.size.Load()-p.position <= hotTailBytes)
	s.touched.Store(now)
	res.Range = &fileRange{f: f, pos: p.position, n: int(min(n, left)), hot: hot}
	give = nil
	return res, true, nil
}

// positionBefore is where a read that begins at the batch p ends, so that it has nothing from offset bound on. Bytes that are no batch
// end it too: what lies before the damage can still be read.
func (l *Log) positionBefore(f *segmentFiles, bound int64, p place, limit int64) (int64, error) {
	q, beyond, err := l.locate(f, bound, limit)
	var damage *CorruptBatchError
	switch {
	case errors.As(err, &damage) && damage.Position >= p.position+int64(p.size):
		return damage.Position, nil
	case err != nil:
		return 0, err
	case beyond:
		return q.position, nil
	}
	return limit, nil
}

// place is a batch in a segment.
type place struct {
	base, last, position int64
	size                 int
}

// locate finds the first batch whose last offset is not below offset, within the first limit bytes.
func (l *Log) locate(f *segmentFiles, offset, limit int64) (p place, found bool, err error) {
	if t := l.tail.Load(); t != nil && t.seg == f.s {
		if p, known := t.locate(offset); known {
			return p, p.size > 0 && p.position < limit, nil
		}
	}
	from, known := f.near.find(offset, limit)
	if !known {
		if from, err = l.lookup(f, offset); err != nil {
			return p, false, err
		}
	}
	r := newBatchReader(f.log, from, limit, headersOnly)
	defer r.close()
	if known {
		r.headerOnly()
	}
	for r.next() {
		if last := r.batch.LastOffset(); last >= offset {
			return place{r.batch.BaseOffset(), last, r.position, r.size}, true, nil
		}
	}
	return p, false, r.err
}

// locate looks among the last batches; known is false when it cannot tell. A place of size 0 is the end.
func (t *tail) locate(offset int64) (p place, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if offset >= t.end {
		return place{base: t.end, last: t.end, position: t.size}, true
	}
	n := min(t.n, recentBatches)
	if n == 0 {
		return p, false
	}
	end := t.size
	for i := t.n - 1; i >= t.n-n; i-- {
		b := t.ring[i%recentBatches]
		if b.last < offset { // the one after it, found in the round before
			return p, true
		}
		p = place{b.base, b.last, b.position, int(end - b.position)}
		end = b.position
	}
	// The oldest known one only if none before it can hold the offset.
	return p, p.base <= offset || p.position == 0
}

// lookup gives a position at or before the batch that holds offset, from the offset index.
func (l *Log) lookup(f *segmentFiles, offset int64) (int64, error) {
	if offset <= f.s.base {
		return 0, nil
	}
	if err := l.indexes(f); err != nil {
		return 0, err
	}
	n, base := f.idxN, f.s.base
	if t := l.tail.Load(); t != nil && t.seg == f.s {
		t.mu.Lock()
		if i := floorIn(offsetIndexKind(), t.idx, base, offset); i >= 0 {
			e := parseIndexEntry(t.idx[i*indexEntrySize:], base)
			t.mu.Unlock()
			return e.val, nil
		}
		n = t.idxN
		t.mu.Unlock()
	} else if f.s != l.active() {
		var err error
		if n, err = l.indexCount(f); err != nil {
			return 0, err
		}
	}
	return f.near.floor(f, n, offset)
}

// indexCount is the number of entries of an inactive segment; files opened while it was active know too few.
func (l *Log) indexCount(f *segmentFiles) (int, error) {
	size, err := f.idx.Size()
	if err != nil {
		return 0, fmt.Errorf("size of index of segment %d: %w", f.s.base, err)
	}
	return int(size / indexEntrySize), nil
}

// fileRange implements protocol.FileRange: a piece of a segment and a reference to its open files.
type fileRange struct {
	f        *segmentFiles
	pos      int64
	n        int
	hot      bool
	released atomic.Bool
}

var _ protocol.FileRange = (*fileRange)(nil)

func (r *fileRange) Len() int { return r.n }

func (r *fileRange) Hot() bool { return r.hot }

func (r *fileRange) cut(p []byte, off int64) []byte {
	return p[:max(min(int64(len(p)), int64(r.n)-off), 0)]
}

func (r *fileRange) ReadAt(p []byte, off int64) (int, error) {
	q := r.cut(p, off)
	n, err := r.f.log.ReadAt(q, r.pos+off)
	if err == nil && len(q) < len(p) {
		err = io.EOF
	}
	return n, err
}

func (r *fileRange) ReadNoWait(p []byte, off int64) (int, error) {
	return r.f.log.ReadNoWait(r.cut(p, off), r.pos+off)
}

func (r *fileRange) Fd() (fd uintptr, pos int64, ok bool) {
	fd, ok = r.f.log.Fd()
	return fd, r.pos, ok
}

func (r *fileRange) Release() {
	if r.released.Swap(true) {
		invariant.Failf("range of segment %d released twice", r.f.s.base)
	}
	r.f.Done()
}

// BytesBetween is about how many bytes the log holds in [from, to), by the positions of the batches; 0 when that cannot be told.
func (l *Log) BytesBetween(from, to int64) int64 {
	to = min(to, l.end.Load())
	if from >= to || l.usable() != nil {
		return 0
	}
	segs := l.segments()
	i, j := max(floorSegment(segs, from), 0), max(floorSegment(segs, to), 0)
	sum := -l.positionOf(segs[i], from)
	for _, s := range segs[i:j] {
		sum += s.size.Load()
	}
	return max(sum+l.positionOf(segs[j], to), 0)
}

// positionOf is where offset lies in the segment, about.
func (l *Log) positionOf(s *segment, offset int64) int64 {
	if offset <= s.base {
		return 0
	}
	if t := l.tail.Load(); t != nil && t.seg == s {
		if p, known := t.locate(offset); known {
			return p.position
		}
	} else if offset >= l.end.Load() {
		return s.size.Load()
	}
	f, err := l.open(s)
	if err != nil {
		return 0
	}
	defer f.Done()
	limit := s.size.Load()
	p, found, err := l.locate(f, offset, limit)
	if err != nil {
		return 0
	}
	if !found {
		return limit
	}
	return p.position
}

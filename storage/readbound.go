package storage

import (
	"errors"
	"fmt"
	"math"

	"github.com/kaja-mq/kaja/protocol"
)

// AbortedTxnsIn lists the aborted transactions that a reader of a range which Read gave must know; from is the offset that was read.
//
// The range ends anywhere, also within a batch, so its last offset is not at hand: the entry of the sparse offset index at or behind its end
// bounds it, else the next segment, else the end of the log (LogSegment.fetchUpperBoundOffset). The answer may name a transaction or two
// behind the range, and stays small however many lie between the range and the last stable offset.
func (l *Log) AbortedTxnsIn(r protocol.FileRange, from int64) ([]AbortedTxn, error) {
	if some, err := l.anyAborted(from); err != nil || !some {
		return nil, err
	}
	bound := int64(math.MaxInt64)
	if fr, ok := r.(*fileRange); ok {
		var err error
		if bound, err = l.boundAt(fr.f, fr.pos+int64(fr.n)); err != nil && !errors.Is(err, errSegmentGone) {
			l.tellFailure()
			return nil, l.readError(err)
		}
	}
	return l.AbortedTxns(from, bound)
}

// anyAborted tells whether an aborted transaction ended at or behind from.
func (l *Log) anyAborted(from int64) (bool, error) {
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return false, err
	}
	segs := l.segments()
	for i := len(segs) - 1; i >= max(floorSegment(segs, from), 0); i-- {
		x, err := l.txnIndex(segs[i])
		if err != nil {
			return false, l.failDir(err)
		}
		if n := len(x.entries); n > 0 {
			return x.entries[n-1].LastOffset >= from, nil
		}
	}
	return false, nil
}

// boundAt is an offset that is not below the first one behind position in the segment, or behind all of it when the segment was compacted
// away meanwhile.
func (l *Log) boundAt(f *segmentFiles, position int64) (int64, error) {
	e, found, err := l.indexedFrom(f, position)
	if err != nil {
		return math.MaxInt64, err
	}
	if found {
		return e.key, nil
	}
	segs := l.segments()
	for _, s := range segs[max(floorSegment(segs, f.s.base), 0):] {
		if s.base > f.s.base {
			return s.base, nil
		}
	}
	return l.end.Load(), nil
}

// indexedFrom finds the first entry of the offset index whose position is not below position. The very first entry counts only if its
// position is above: Kafka's search does not look at it for an exact match (AbstractIndex.indexSlotRangeFor).
func (l *Log) indexedFrom(f *segmentFiles, position int64) (e indexEntry, found bool, err error) {
	if err := l.indexes(f); err != nil {
		return e, false, err
	}
	n, base, kind := f.idxN, f.s.base, byPosition()
	var pending []byte
	if t := l.tail.Load(); t != nil && t.seg == f.s {
		var buf [indexPendingMax * indexEntrySize]byte
		t.mu.Lock()
		n, pending = t.idxN, append(buf[:0], t.idx...)
		t.mu.Unlock()
	} else if f.s != l.active() {
		if n, err = l.indexCount(f); err != nil {
			return e, false, err
		}
	}
	below := position - 1
	if n == 0 && len(pending) > 0 && parseIndexEntry(pending, base).val == position {
		below = position
	}
	if n > 0 && (len(pending) == 0 || parseIndexEntry(pending, base).val >= position) {
		first, err := offsetIndexKind().entryAt(f.idx, base, 0)
		if err == nil && first.val == position {
			below = position
		}
		_, i, err := kind.floor(f.idx, base, n, below)
		if err == nil && i+1 < n {
			e, err = offsetIndexKind().entryAt(f.idx, base, i+1)
			return e, err == nil, err
		}
		if err != nil {
			return e, false, fmt.Errorf("offset index of segment %d: %w", base, err)
		}
	}
	if i := floorIn(kind, pending, base, below) + 1; i < len(pending)/kind.size {
		return parseIndexEntry(pending[i*kind.size:], base), true, nil
	}
	return e, false, nil
}

// byPosition is the offset index searched by its positions, which ascend as its offsets do.
func byPosition() indexKind {
	k := offsetIndexKind()
	k.parse = func(b []byte, base int64) indexEntry {
		e := parseIndexEntry(b, base)
		return indexEntry{e.val, e.key}
	}
	return k
}

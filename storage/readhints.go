package storage

import (
	"fmt"
	"sync"

	"github.com/kaja-mq/kaja/protocol/batch"
)

const (
	// readHints is how many places a segment's open files remember: as many readers can follow each other through it.
	readHints = 8
	// hintPageEntries is how many index entries are kept for the look-ups that follow a reader: a page of 4 KiB.
	hintPageEntries = 512
)

// hints let readers that go through a segment in order find their places without searching the index file each time. They belong to
// the segment's open files, which are dropped when the segment is cut or replaced.
type hints struct {
	mu    sync.Mutex
	place [readHints]struct{ offset, position int64 } // guarded by mu; a batch begins at position, and nothing before it is at or above offset
	n     int                                         // guarded by mu; places ever noted
	page  []byte                                      // guarded by mu; entries of the offset index from number first on
	first int                                         // guarded by mu
}

// note remembers where the batch after p begins, for the reader who has just got p and little more.
func (h *hints) note(p place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := &h.place[h.n%readHints]
	x.offset, x.position = p.last+1, p.position+int64(p.size)
	h.n++
}

// find gives the position of the first batch that can hold offset, within the first limit bytes.
func (h *hints) find(offset, limit int64) (position int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range min(h.n, readHints) {
		if x := &h.place[i]; x.offset == offset && x.position <= limit {
			return x.position, true
		}
	}
	return 0, false
}

// floor is indexKind.floor of the offset index, whose first n entries never change. The entries behind the answer are kept: they are the
// ones that the same reader asks for next.
func (h *hints) floor(f *segmentFiles, n int, offset int64) (position int64, err error) {
	base, k := f.s.base, offsetIndexKind()
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.inPage(k, base, n, offset); ok {
		return e.val, nil
	}
	e, i, err := k.floor(f.idx, base, n, offset)
	if err != nil || i < 0 {
		return 0, err
	}
	if h.page == nil {
		h.page = make([]byte, 0, hintPageEntries*k.size)
	}
	page := h.page[:min(n-i, hintPageEntries)*k.size]
	h.page = h.page[:0]
	if _, err := f.idx.ReadAt(page, int64(i)*int64(k.size)); err != nil {
		return 0, fmt.Errorf("read index entries from %d: %w", i, err)
	}
	h.page, h.first = page, i
	return e.val, nil
}

// inPage answers from the kept entries if they have the answer: when the next entry is among them, or there is none.
func (h *hints) inPage(k indexKind, base int64, n int, offset int64) (e indexEntry, ok bool) {
	i := floorIn(k, h.page, base, offset)
	if i < 0 || i == len(h.page)/k.size-1 && h.first+i+1 < n {
		return e, false
	}
	return k.parse(h.page[i*k.size:], base), true
}

// headerOnly makes a reader that starts at a known place read no more than its first batch's header.
func (r *batchReader) headerOnly() { *r.buf = (*r.buf)[:batch.HeaderSize] }

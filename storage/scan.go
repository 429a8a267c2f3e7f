package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

const (
	scanBuffer = 8 << 10 // enough for an index interval's headers
	// maxPooledBuffer is the largest buffer that goes back to the pool: one for big batches would stay for good.
	maxPooledBuffer = 64 << 10
	fullScanBuffer  = 64 << 10
)

// bufferPool holds scan buffers; a constant table of the process, not state.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, scanBuffer); return &b }}

func getBuffer(n int) *[]byte {
	b := bufferPool.Get().(*[]byte)
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	*b = (*b)[:cap(*b)]
	return b
}

func putBuffer(b *[]byte) {
	if cap(*b) <= maxPooledBuffer {
		bufferPool.Put(b)
	}
}

// CorruptBatchError is a place in a segment where no valid batch is.
type CorruptBatchError struct {
	Path     string
	Position int64
	Reason   string
}

// Error implements error.
func (e *CorruptBatchError) Error() string {
	return fmt.Sprintf("%s has no valid batch at position %d: %s", e.Path, e.Position, e.Reason)
}

// scanMode says how much of each batch a batchReader reads.
type scanMode uint8

const (
	headersOnly  scanMode = iota // batch is the header; records are skipped
	wholeBatches                 // batch is header and records
)

// batchReader walks the batches of a file range. After next reported false, err is nil at the clean end and a *CorruptBatchError
// where the bytes are no batch (position is that place).
type batchReader struct {
	f        vfs.File
	end      int64
	mode     scanMode
	buf      *[]byte
	bufPos   int64 // file position of (*buf)[0]
	bufLen   int
	next_    int64 // where the next batch starts
	batch    batch.Batch
	position int64 // of batch
	size     int
	err      error
}

// newBatchReader gives a value, so that it lives on its caller's stack.
func newBatchReader(f vfs.File, from, end int64, mode scanMode) batchReader {
	n := scanBuffer
	if mode == wholeBatches {
		n = fullScanBuffer
	}
	return batchReader{f: f, end: end, mode: mode, buf: getBuffer(n), next_: from, position: from}
}

func (r *batchReader) close() {
	putBuffer(r.buf)
	r.buf, r.batch = nil, nil
}

func (r *batchReader) next() bool {
	r.position = r.next_
	left := r.end - r.next_
	if left == 0 || r.err != nil {
		return false
	}
	if left < batch.HeaderSize {
		return r.corrupt("%d bytes are less than a header", left)
	}
	h := r.fill(batch.HeaderSize)
	if h == nil {
		return false
	}
	size := int64(int32(binary.BigEndian.Uint32(h[8:]))) + batch.Overhead
	if h[16] != batch.Magic {
		return r.corrupt("magic is %d", int8(h[16]))
	}
	if size < batch.HeaderSize || size > left {
		return r.corrupt("a size of %d bytes where %d are left", size, left)
	}
	if r.mode == wholeBatches {
		if h = r.fill(int(size)); h == nil {
			return false
		}
	}
	r.batch, r.size = batch.Batch(h), int(size)
	r.next_ += size
	return true
}

func (r *batchReader) corrupt(format string, args ...any) bool {
	r.err = &CorruptBatchError{Path: r.f.Name(), Position: r.next_, Reason: fmt.Sprintf(format, args...)}
	return false
}

// fill gives n bytes at the next position; more are read ahead into the buffer.
func (r *batchReader) fill(n int) []byte {
	if off := r.next_ - r.bufPos; off >= 0 && off+int64(n) <= int64(r.bufLen) {
		return (*r.buf)[off : off+int64(n) : off+int64(n)]
	}
	if cap(*r.buf) < n {
		putBuffer(r.buf)
		r.buf = getBuffer(n)
	}
	want := int(min(int64(len(*r.buf)), r.end-r.next_))
	got, err := r.f.ReadAt((*r.buf)[:want], r.next_)
	if got < n {
		if err == nil || errors.Is(err, io.EOF) {
			r.corrupt("the file ends")
			return nil
		}
		r.err = fmt.Errorf("read %s at %d: %w", r.f.Name(), r.next_, err)
		return nil
	}
	r.bufPos, r.bufLen = r.next_, got
	return (*r.buf)[:n:n]
}

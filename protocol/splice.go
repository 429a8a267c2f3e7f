package protocol

import "sync"

// FileRange is a piece of a file that goes into a response without passing through a Go buffer where the kernel allows it.
// It holds a reference that keeps the bytes there (a segment deleted meanwhile stays readable) until Release.
type FileRange interface {
	// Len is the number of bytes in the range.
	Len() int
	// ReadAt reads len(p) bytes at off within the range; it may wait for the disk.
	ReadAt(p []byte, off int64) (int, error)
	// ReadNoWait is ReadAt that does not wait for the disk: vfs.ErrWouldBlock, vfs.ErrNoWaitUnsupported.
	ReadNoWait(p []byte, off int64) (int, error)
	// Hot says whether the range was written or read a moment ago, so that a plain read will hardly wait.
	Hot() bool
	// Fd is the raw descriptor and the absolute position of the range's first byte, for sendfile.
	Fd() (fd uintptr, pos int64, ok bool)
	// Release gives the reference back; called exactly once.
	Release()
}

// Piece is a part of a spliced response: either bytes or a file range.
type Piece struct {
	Bytes []byte
	File  FileRange
}

// Splice is a response body written by hand as header pieces and file ranges (Fetch). Its pieces include neither the frame's
// size nor the response header; the server writes those.
type Splice struct {
	Pieces []Piece
	// Buf is memory for the bytes of the pieces, of a Splice that came from a pool.
	Buf  []byte
	home *SplicePool
}

// Len is the number of bytes of the body.
func (s *Splice) Len() int {
	n := 0
	for _, p := range s.Pieces {
		if p.File != nil {
			n += p.File.Len()
		} else {
			n += len(p.Bytes)
		}
	}
	return n
}

// Release gives all file ranges back, and the memory; called exactly once, when the response has been written or dropped.
func (s *Splice) Release() {
	for _, p := range s.Pieces {
		if p.File != nil {
			p.File.Release()
		}
	}
	if s.home == nil {
		s.Pieces = nil
		return
	}
	s.home.put(s)
}

// SplicePool keeps Splices with their memory. The zero value is ready; any goroutine may call.
type SplicePool struct{ p sync.Pool }

// Bounds of what a pooled Splice keeps; a larger one is left to the collector.
const (
	maxPooledPieces = 1024
	maxPooledBuf    = 64 << 10
)

// Get gives an empty Splice, which its Release puts back.
func (p *SplicePool) Get() *Splice {
	if s, ok := p.p.Get().(*Splice); ok {
		return s
	}
	return &Splice{home: p}
}

func (p *SplicePool) put(s *Splice) {
	if cap(s.Pieces) > maxPooledPieces || cap(s.Buf) > maxPooledBuf {
		s.Pieces, s.Buf = nil, nil
		return
	}
	clear(s.Pieces)
	s.Pieces, s.Buf = s.Pieces[:0], s.Buf[:0]
	p.p.Put(s)
}

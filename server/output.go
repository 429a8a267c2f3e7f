package server

import (
	"errors"
	"fmt"
	"io"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol"
)

// Limits of spliced answers.
const (
	// inlineSpliceBytes is up to which size an answer is read into the output and leaves in one write with the others: a read and
	// a write of up to 256 KiB cost less than the system calls of sendfile (measured).
	inlineSpliceBytes = 256 << 10
	// sendfileBytes is from which length on a range of a larger answer goes by sendfile.
	sendfileBytes = 64 << 10
	// spliceTurnBytes bounds what one answer sends before the loop turns to others.
	spliceTurnBytes = 4 << 20
)

// flush writes the output as far as the peer takes it.
func (c *conn) flush() {
	if c.dead || c.blocked || len(c.out) == 0 {
		return
	}
	n, err := c.tr.write(c.out[c.outDone:])
	c.wrote(n, err)
}

// flushBeforeFile is flush when sendfile follows at once: the bytes leave in one packet with the first of the file.
func (c *conn) flushBeforeFile() {
	if c.dead || c.blocked || len(c.out) == 0 {
		return
	}
	n, err := c.tr.writeMore(c.out[c.outDone:])
	c.wrote(n, err)
}

// wrote notes what became of writing the output.
func (c *conn) wrote(n int, err error) {
	c.outDone += n
	switch {
	case err == nil:
		c.net.bufs.put(c.out)
		c.out, c.outDone = nil, 0
	case errors.Is(err, errWouldBlock):
		c.block()
	default:
		c.net.bufs.put(c.out)
		c.out, c.outDone = nil, 0
		c.fail("write failed", err)
	}
}

// block stops writing until the peer has read.
func (c *conn) block() {
	c.blocked = true
	if err := c.tr.awaitWritable(); err != nil {
		c.fail("can't wait for the peer to read", err)
	}
}

// spliceWriter is an answer of file ranges on its way. It belongs to the loop, but for a chunk that a worker reads.
type spliceWriter struct {
	s       *protocol.Splice
	large   bool
	piece   int
	off     int  // within the piece
	reading bool // a worker reads a chunk: s is released only when it is back
	gone    bool // the connection has ended meanwhile
}

// abandon releases the ranges when the connection ends.
func (w *spliceWriter) abandon() {
	if w.reading {
		w.gone = true
		return
	}
	w.s.Release()
}

func (c *conn) startSplice(h *protocol.RequestHeader, s *protocol.Splice) {
	n := s.Len()
	if c.out == nil {
		c.out = c.net.bufs.get(min(n+16, inlineSpliceBytes))
	}
	start := len(c.out)
	c.out = protocol.BeginFrame(c.out)
	c.out = h.AppendResponseHeader(c.out)
	protocol.EndFrame(c.out, start, n)
	if c.spliceMem == nil {
		c.spliceMem = new(spliceWriter)
	}
	c.splice = c.spliceMem
	*c.splice = spliceWriter{s: s, large: n > inlineSpliceBytes}
	c.stepSplice()
}

// stepSplice sends the answer as far as possible: to its end, until the peer has to read, or until a worker has to read from the disk.
func (c *conn) stepSplice() {
	w := c.splice
	for budget := spliceTurnBytes; ; {
		if c.dead || c.blocked || w.reading {
			return
		}
		if w.piece == len(w.s.Pieces) {
			w.s.Release()
			c.splice = nil
			return
		}
		if budget <= 0 {
			c.yield()
			return
		}
		p := w.s.Pieces[w.piece]
		if p.File == nil {
			c.out = append(c.out, p.Bytes...)
			w.next()
			continue
		}
		if w.off == p.File.Len() {
			w.next()
			continue
		}
		budget -= c.stepFile(w, p.File)
	}
}

func (w *spliceWriter) next() { w.piece, w.off = w.piece+1, 0 }

// yield lets other connections of the loop have their turn.
func (c *conn) yield() {
	w := c.splice
	w.reading = true
	c.tr.post(func() { c.chunkRead(w, nil, nil) })
}

// stepFile sends or reads some of a range and returns how many bytes.
func (c *conn) stepFile(w *spliceWriter, f protocol.FileRange) int {
	rest := f.Len() - w.off
	if w.large && rest >= sendfileBytes && c.tr.canSendfile() {
		if fd, pos, ok := f.Fd(); ok && hot(f, int64(w.off), rest) {
			return c.stepSendfile(w, fd, pos+int64(w.off), rest)
		}
	}
	if w.large && len(c.out)-c.outDone >= inlineSpliceBytes {
		if c.flush(); c.blocked || c.dead {
			return 0
		}
	}
	return c.stepRead(w, f, min(rest, inlineSpliceBytes))
}

func (c *conn) stepSendfile(w *spliceWriter, fd uintptr, pos int64, n int) int {
	if c.flushBeforeFile(); c.blocked || c.dead {
		return 0
	}
	n = min(n, spliceTurnBytes)
	sent, err := c.tr.sendfile(fd, pos, n)
	w.off += sent
	switch {
	case errors.Is(err, errWouldBlock):
		c.block()
	case err != nil:
		c.fail("sendfile failed", err)
	case sent < n:
		c.fail("sendfile failed", fmt.Errorf("file ends %d bytes early: %w", n-sent, io.ErrUnexpectedEOF))
	}
	return sent
}

// stepRead reads n bytes of the range into the output if they are in memory, else lets a worker do it.
func (c *conn) stepRead(w *spliceWriter, f protocol.FileRange, n int) int {
	if c.out == nil {
		c.out = c.net.bufs.get(n)
	}
	c.out = c.net.bufs.grow(c.out, n)
	b := c.out[len(c.out) : len(c.out)+n]
	got, err := readNow(f, b, int64(w.off))
	c.out = c.out[:len(c.out)+got]
	w.off += got
	if err == nil {
		return n
	}
	if !errors.Is(err, vfs.ErrWouldBlock) && !errors.Is(err, vfs.ErrNoWaitUnsupported) {
		c.fail("reading a log failed", err)
		return 0
	}
	c.readCold(w, f, n-got)
	return got
}

// readNow fills b without waiting for the disk, as far as that goes.
func readNow(f protocol.FileRange, b []byte, off int64) (got int, err error) {
	for got < len(b) {
		n, err := f.ReadNoWait(b[got:], off+int64(got))
		got += n
		if errors.Is(err, vfs.ErrNoWaitUnsupported) && f.Hot() {
			n, err = f.ReadAt(b[got:], off+int64(got))
			return got + n, err
		}
		if err != nil {
			return got, err
		}
		if n == 0 {
			return got, io.ErrUnexpectedEOF
		}
	}
	return got, nil
}

// hot says whether sendfile of the bytes will hardly wait for the disk: touched a moment ago, or both ends in the page cache.
func hot(f protocol.FileRange, off int64, n int) bool {
	if f.Hot() {
		return true
	}
	var b [1]byte
	for _, at := range [2]int64{off, off + int64(min(n, spliceTurnBytes)) - 1} {
		if got, err := f.ReadNoWait(b[:], at); err != nil || got == 0 {
			return false
		}
	}
	return true
}

// readCold lets a worker read n bytes; the connection goes on in chunkRead.
func (c *conn) readCold(w *spliceWriter, f protocol.FileRange, n int) {
	w.reading = true
	off := int64(w.off)
	c.net.workers.submit(func() {
		b := c.net.bufs.get(n)[:n]
		got, err := f.ReadAt(b, off)
		if got == n {
			err = nil
		} else if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if !c.tr.post(func() { c.chunkRead(w, b, err) }) {
			w.s.Release() // the loop has ended, and with it everybody else who could
		}
	})
}

func (c *conn) chunkRead(w *spliceWriter, b []byte, err error) {
	w.reading = false
	if w.gone {
		w.s.Release()
		c.net.bufs.put(b)
		return
	}
	if err != nil {
		c.fail("reading a log failed", err)
	} else if b != nil {
		w.off += len(b)
		if len(c.out) == 0 {
			c.out, c.outDone = b, 0
		} else {
			c.out = append(c.out, b...)
			c.net.bufs.put(b)
		}
	}
	c.turn(nil)
	c.settle()
}

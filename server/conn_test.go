package server

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/server/handler"
)

// pipe is a transport in memory, whose loop is the test's goroutine.
type pipe struct {
	conn    *conn
	written bytes.Buffer
	room    int // bytes that the peer takes before it has to read; negative: any
	writes  int
	waiting bool
	paused  bool
	closed  bool
	posted  []func()
}

func (p *pipe) write(b []byte) (int, error) {
	p.writes++
	n := len(b)
	if p.room >= 0 {
		n = min(n, p.room)
		p.room -= n
	}
	p.written.Write(b[:n])
	if n < len(b) {
		return n, errWouldBlock
	}
	return n, nil
}
func (p *pipe) sendfile(uintptr, int64, int) (int, error) { return 0, nil }
func (p *pipe) writeMore(b []byte) (int, error)           { return p.write(b) }
func (p *pipe) canSendfile() bool                         { return false }
func (p *pipe) awaitWritable() error                      { p.waiting = true; return nil }
func (p *pipe) pauseReading(pause bool) error             { p.paused = pause; return nil }
func (p *pipe) readMore([]byte) int                       { return 0 }
func (p *pipe) post(f func()) bool                        { p.posted = append(p.posted, f); return true }
func (p *pipe) close() {
	if !p.closed {
		p.closed = true
		p.conn.onClosed()
	}
}

// run does what was posted, until nothing is.
func (p *pipe) run() {
	for len(p.posted) > 0 {
		f := p.posted[0]
		p.posted = p.posted[1:]
		f()
	}
}

// read lets the peer read everything and some more.
func (p *pipe) read(room int) {
	p.room = room
	if p.waiting {
		p.waiting = false
		p.conn.onWritable()
	}
	p.run()
}

func newPipe(serve serveFunc) *pipe {
	clk := clock.NewManual(time.Unix(1000, 0))
	n := newNetwork(networkOptions{Engine: &Engine{workers: newWorkers(1)}, Requests: serve, Clock: clk, Wheel: wheel.New(clk), Log: zerolog.Nop(), Limits: NoLimits()})
	p := &pipe{room: -1}
	p.conn = n.newConn(&listener{name: "PLAINTEXT", maxFrame: 1 << 20}, "peer", "here")
	p.conn.tr = p
	n.opened(p.conn)
	return p
}

func TestAnswersOfOneTurnLeaveInOneWrite(t *testing.T) {
	p := newPipe(echo)
	var in []byte
	for i := range 20 {
		in = append(in, frame(int32(i), []byte("x"))...)
	}
	p.conn.onData(in)
	if p.writes != 1 || p.written.Len() != 20*9 {
		t.Errorf("%d writes of %d bytes, want 1 of 180", p.writes, p.written.Len())
	}
	if p.conn.out != nil || p.conn.in.buf != nil {
		t.Error("an idle connection holds buffers")
	}
}

func TestNoRequestIsHandledWhileThePeerHasToRead(t *testing.T) {
	served := 0
	p := newPipe(func(c handler.Call) { served++; c.Reply(raw(make([]byte, 100_000))) })
	p.room = 10
	var in []byte
	for i := range 10 {
		in = append(in, frame(int32(i), nil)...)
	}
	p.conn.onData(in)
	if served != 3 || !p.paused || !p.waiting { // three fill the cork
		t.Fatalf("%d requests handled, paused %v, waiting %v", served, p.paused, p.waiting)
	}
	for i := 0; i < 100 && served < 10; i++ {
		p.read(100_000)
	}
	p.read(-1)
	if served != 10 || p.paused || p.written.Len() != 10*(8+100_000) {
		t.Errorf("%d requests handled, paused %v, %d bytes written", served, p.paused, p.written.Len())
	}
}

func TestEarlierAnswersLeaveBeforeAnError(t *testing.T) {
	for _, bad := range [][]byte{{0xff, 0xff, 0xff, 0xff}, frame(3, []byte("close")), frame(3, []byte("panic"))} {
		p := newPipe(func(c handler.Call) {
			switch string(c.Body()) {
			case "close":
				c.Close("planted")
			case "panic":
				panic("planted")
			default:
				echo(c)
			}
		})
		p.conn.onData(append(append(frame(1, []byte("a")), frame(2, []byte("b"))...), bad...))
		if got := p.written.String(); got != "\x00\x00\x00\x05\x00\x00\x00\x01a\x00\x00\x00\x05\x00\x00\x00\x02b" || !p.closed {
			t.Errorf("written %q, closed %v", got, p.closed)
		}
	}
}

func TestParkedBodyIsOfItsOwn(t *testing.T) {
	var call handler.Call
	p := newPipe(func(c handler.Call) { c.Park(); call = c })
	in := frame(1, []byte("mine"))
	p.conn.onData(in)
	clear(in)
	if string(call.Body()) != "mine" {
		t.Errorf("body is %q after the read buffer was used again", call.Body())
	}
	call.Reply(raw("once"))
	call.Reply(raw("twice"))
	call.Close("late")
	p.run()
	if got := p.written.String(); got != "\x00\x00\x00\x08\x00\x00\x00\x01once" || p.closed {
		t.Errorf("written %q, closed %v", got, p.closed)
	}
}

func TestAnswerAfterTheEnd(t *testing.T) {
	var call handler.Call
	ended := 0
	p := newPipe(func(c handler.Call) { c.Park(); call = c; c.Conn().OnClose(func() { ended++ }) })
	p.conn.onData(frame(1, []byte("mine")))
	p.close()
	r := &memRange{}
	call.ReplySplice(&protocol.Splice{Pieces: []protocol.Piece{{File: countRelease(r)}}})
	p.run()
	if ended != 1 || !call.Conn().Closed() || p.written.Len() != 0 {
		t.Errorf("told %d times of the end, %d bytes written", ended, p.written.Len())
	}
	if r.released.Load() != 1 {
		t.Errorf("range released %d times, want once", r.released.Load())
	}
	call.Conn().OnClose(func() { ended++ })
	if ended != 2 {
		t.Error("a late OnClose was not run at once")
	}
}

func TestIdleTime(t *testing.T) {
	p := newPipe(echo)
	n := p.conn.net
	clk := n.clock.(*clock.Manual)
	n.maxIdle = time.Minute
	n.wheel.Schedule(&p.conn.idle, clk.Mono().Add(time.Minute))
	clk.Advance(59 * time.Second)
	p.conn.onData(frame(1, nil))
	clk.Advance(59 * time.Second)
	if p.run(); p.closed {
		t.Fatal("closed a minute after the first, not the last activity")
	}
	clk.Advance(2 * time.Second)
	if p.run(); !p.closed {
		t.Error("not closed after a minute")
	}
}

func TestSmallRequestAllocatesNothing(t *testing.T) {
	answer := raw("ok")
	p := newPipe(func(c handler.Call) { c.Reply(answer) })
	in := frame(1, []byte("body"))
	p.conn.onData(in)
	got := testing.AllocsPerRun(1000, func() {
		p.conn.onData(in)
		p.written.Reset()
	})
	if got > 1 { // the answer as an interface
		t.Errorf("%v allocations per request, want at most 1", got)
	}
}

// FuzzConnection: any bytes, however they are cut, give the same answers and the same end.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint8(1))
	f.Add(append(frame(1, []byte("abc")), frame(2, nil)...), uint8(3))
	f.Add(append(frame(1, []byte("park")), frame(2, []byte("x"))...), uint8(7))
	f.Add([]byte{0, 0, 0, 0}, uint8(1))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff}, uint8(2))
	serve := func(c handler.Call) {
		if bytes.HasPrefix(c.Body(), []byte("park")) {
			c.Park()
		}
		if bytes.HasPrefix(c.Body(), []byte("none")) {
			c.NoReply()
			return
		}
		c.Reply(raw(c.Body()))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		whole := newPipe(serve)
		whole.conn.onData(bytes.Clone(in))
		whole.run()
		parts := newPipe(serve)
		step := int(cut)%100 + 1
		for off := 0; off < len(in) && !parts.closed; off += step {
			b := bytes.Clone(in[off:min(off+step, len(in))])
			parts.conn.onData(b)
			clear(b)
			parts.run()
		}
		if !bytes.Equal(whole.written.Bytes(), parts.written.Bytes()) {
			t.Fatalf("whole: %x\nin parts of %d: %x", whole.written.Bytes(), step, parts.written.Bytes())

		}
		if whole.closed != parts.closed {
			t.Fatalf("closed: whole %v, in parts %v", whole.closed, parts.closed)
		}
		if c := whole.conn.in.size(); !whole.closed && c > 0 && c >= 4 && int(binary.BigEndian.Uint32(whole.conn.in.bytes())) <= c-4 && !whole.conn.inFlight {
			t.Fatalf("a whole frame of %d bytes was left", c)
		}
	})
}

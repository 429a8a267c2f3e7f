package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/server/handler"
)

// serveFunc is a fake of all handlers.
type serveFunc func(c handler.Call)

func (f serveFunc) Serve(c handler.Call) { f(c) }

// fixture is a network with one listener on a free port.
type fixture struct {
	t    *testing.T
	net  *network
	addr string
}

func start(t *testing.T, serve serveFunc, change ...func(*networkOptions)) *fixture {
	t.Helper()
	e, err := NewEngine(EngineOptions{Loops: 2, Workers: 2, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	clk := clock.System()
	o := networkOptions{Engine: e, Requests: serve, Clock: clk, Wheel: wheel.New(clk), Log: zerolog.Nop(), MaxIdle: time.Minute, Limits: NoLimits()}
	for _, f := range change {
		f(&o)
	}
	n := newNetwork(o)
	l, err := n.listen(listenerOptions{Name: "PLAINTEXT", Host: "127.0.0.1", MaxFrame: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	l.start()
	t.Cleanup(func() {
		n.close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t: t, net: n, addr: l.addr().String()}
}

func (f *fixture) dial() *client {
	f.t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(clock.System().Wall().Add(20 * time.Second)); err != nil {
		f.t.Fatal(err)
	}
	return &client{t: f.t, Conn: c}
}

type client struct {
	t *testing.T
	net.Conn
}

// frame is a Metadata v1 request (header v1) whose body is any bytes.
func frame(correlation int32, body []byte) []byte {
	b := make([]byte, 0, 32+len(body))
	b = binary.BigEndian.AppendUint32(b, uint32(8+2+4+len(body)))
	b = binary.BigEndian.AppendUint16(b, 3)
	b = binary.BigEndian.AppendUint16(b, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = binary.BigEndian.AppendUint16(b, 4)
	b = append(b, "test"...)
	return append(b, body...)
}

func (c *client) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one response and returns its correlation id and body.
func (c *client) answer() (int32, []byte) {
	c.t.Helper()
	id, body, err := c.tryAnswer()
	if err != nil {
		c.t.Fatal(err)
	}
	return id, body
}

func (c *client) tryAnswer() (int32, []byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return 0, nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return 0, nil, err
	}
	return int32(binary.BigEndian.Uint32(b)), b[4:], nil
}

func (c *client) wantClosed() {
	c.t.Helper()
	var b [1]byte
	if n, err := c.Read(b[:]); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("read %d bytes and error %v, want a closed connection", n, err)
	}
}

// raw is a response whose body is any bytes.
type raw []byte

func (raw) Key() int16                   { return 3 }
func (raw) MaxVersion() int16            { return 1 }
func (raw) SetVersion(int16)             {}
func (raw) GetVersion() int16            { return 1 }
func (raw) IsFlexible() bool             { return false }
func (r raw) AppendTo(dst []byte) []byte { return append(dst, r...) }
func (raw) ReadFrom([]byte) error        { return nil }
func (raw) RequestKind() kmsg.Request    { return nil }

// echo answers with the request's body.
func echo(c handler.Call) { c.Reply(raw(c.Body())) }

func TestFramesSplitAndGlued(t *testing.T) {
	f := start(t, echo)
	want := [][]byte{{}, []byte("a"), bytes.Repeat([]byte("b"), 70_000), bytes.Repeat([]byte("c"), 3_000_000), []byte("d")}
	var all []byte
	for i, b := range want {
		all = append(all, frame(int32(i), b)...)
	}
	for _, step := range []int{1, 3, 1000, 65536, 1 << 30} {
		data := all
		if step == 1 {
			data = append(frame(0, nil), frame(1, []byte("a"))...)
		}
		c := f.dial()
		go func() {
			for off := 0; off < len(data); off += step {
				if step == 3 && off > 3000 { // tiny steps for the first frames only
					_, _ = c.Write(data[off:])
					return
				}
				_, _ = c.Write(data[off:min(off+step, len(data))])
			}
		}()
		n := len(want)
		if step == 1 {
			n = 2
		}
		for i := range n {
			id, body := c.answer()
			if id != int32(i) || !bytes.Equal(body, want[i]) {
				t.Fatalf("step %d: answer %d has correlation %d and %d bytes, want %d bytes", step, i, id, len(body), len(want[i]))
			}
		}
	}
}

func TestParkedCallsKeepTheOrder(t *testing.T) {
	release := make(chan struct{})
	var inFlight, most atomic.Int32
	f := start(t, func(c handler.Call) {
		if n := inFlight.Add(1); n > most.Load() {
			most.Store(n)
		}
		switch c.Body()[0] {
		case 'p':
			c.Park()
			go func() {
				<-release
				inFlight.Add(-1)
				c.Reply(raw(c.Body()))
			}()
		case 'o':
			c.Offload(func() { inFlight.Add(-1); c.Reply(raw(c.Body())) })
		case 'n':
			inFlight.Add(-1)
			c.NoReply()
		case 's':
			c.Park()
			inFlight.Add(-1)
			c.Reply(raw(c.Body()))
		default:
			inFlight.Add(-1)
			c.Reply(raw(c.Body()))
		}
	})
	c := f.dial()
	bodies := []string{"p1", "o2", "i3", "n4", "s5", "p6" + string(bytes.Repeat([]byte("x"), 300_000)), "i7"}
	var all []byte
	for i, b := range bodies {
		all = append(all, frame(int32(i), []byte(b))...)
	}
	c.send(all)
	close(release)
	for i, b := range bodies {
		if b[0] == 'n' {
			continue
		}
		if id, body := c.answer(); id != int32(i) || string(body) != b {
			t.Fatalf("answer to %q has correlation %d and %d bytes", b[:2], id, len(body))
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d requests were in flight at once, want 1", most.Load())
	}
}

func TestHostileBytes(t *testing.T) {
	f := start(t, echo)
	for name, b := range map[string][]byte{
		"negative size": {0xff, 0xff, 0xff, 0xff},
		"zero size":     {0, 0, 0, 0},
		"over limit":    {0, 0x80, 0, 1},
		"http":          []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"tls":           {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"short header":  {0, 0, 0, 3, 0, 3, 0},
		"unknown key":   {0, 0, 0, 10, 3, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff},
		"client id":     {0, 0, 0, 10, 0, 3, 0, 1, 0, 0, 0, 1, 0, 9},
	} {
		t.Run(name, func(t *testing.T) {
			c := f.dial()
			c.send(b)
			c.wantClosed()
			d := f.dial()
			d.send(frame(7, []byte("alive")))
			if id, body := d.answer(); id != 7 || string(body) != "alive" {
				t.Fatalf("another connection got %d %q", id, body)
			}
		})
	}
}

func TestPanicEndsOnlyItsConnection(t *testing.T) {
	f := start(t, func(c handler.Call) {
		switch string(c.Body()) {
		case "panic":
			panic("planted")
		case "parked":
			c.Park()
			panic("planted")
		case "offloaded":
			c.Offload(func() { panic("planted") })
		case "forgotten": // no answer
		default:
			echo(c)
		}
	})
	for _, b := range []string{"panic", "parked", "offloaded", "forgotten"} {
		c, other := f.dial(), f.dial()
		c.send(frame(1, []byte(b)))
		c.wantClosed()
		other.send(frame(2, []byte("x")))
		other.answer()
	}
}

func TestCloseWithoutAnswer(t *testing.T) {
	f := start(t, func(c handler.Call) { c.Close("planted") })
	c := f.dial()
	c.send(frame(1, nil))
	c.wantClosed()
}

// memRange is a file range in memory; cold makes it ask for a worker.
type memRange struct {
	data     []byte
	cold     bool
	released *atomic.Int32
}

func (r *memRange) Len() int { return len(r.data) }
func (r *memRange) ReadAt(p []byte, off int64) (int, error) {
	return copy(p, r.data[off:]), nil
}
func (r *memRange) ReadNoWait(p []byte, off int64) (int, error) {
	if r.cold {
		return 0, vfs.ErrWouldBlock
	}
	return copy(p, r.data[off:]), nil
}
func (r *memRange) Hot() bool                  { return !r.cold }
func (r *memRange) Fd() (uintptr, int64, bool) { return 0, 0, false }
func (r *memRange) Release()                   { r.released.Add(1) }

// countRelease makes r count its own releases.
func countRelease(r *memRange) *memRange {
	r.released = new(atomic.Int32)
	return r
}

// fileRange is a range of a real file.
type fileRange struct {
	memRange
	f   *os.File
	pos int64
}

func (r *fileRange) Fd() (uintptr, int64, bool) { return r.f.Fd(), r.pos, true }

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>8) ^ byte(i*7)
	}
	return b
}

func tempFile(t *testing.T, data []byte) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "range")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSplices(t *testing.T) {
	data := pattern(9 << 20)
	file := tempFile(t, data)
	var made, released atomic.Int32
	mem := func(n int, cold bool) protocol.Piece {
		made.Add(1)
		return protocol.Piece{File: &memRange{data: data[:n], cold: cold, released: &released}}
	}
	disk := func(pos, n int, cold bool) protocol.Piece {
		made.Add(1)
		return protocol.Piece{File: &fileRange{memRange{data: data[pos : pos+n], cold: cold, released: &released}, file, int64(pos)}}
	}
	head := func(s string) protocol.Piece { return protocol.Piece{Bytes: []byte(s)} }
	plans := map[string]func() []protocol.Piece{
		"empty": func() []protocol.Piece { return nil },
		"small": func() []protocol.Piece {
			return []protocol.Piece{head("a"), mem(100, false), head("b"), mem(0, false), head("c")}
		},
		"cold": func() []protocol.Piece {
			return []protocol.Piece{head("a"), mem(1000, true), head("b"), mem(2000, true)}
		},
		"large": func() []protocol.Piece {
			return []protocol.Piece{head("a"), mem(5<<20, false), head("b"), mem(900_000, false)}
		},
		"largecold": func() []protocol.Piece {
			return []protocol.Piece{head("a"), mem(3<<20, true), disk(5, 1<<20, true), head("z")}
		},
		"sendfile": func() []protocol.Piece {
			return []protocol.Piece{head("a"), disk(1, 8<<20, false), head("b"), disk(77, 70_000, false), disk(3, 10, false)}
		},
	}
	f := start(t, func(c handler.Call) {
		c.ReplySplice(&protocol.Splice{Pieces: plans[string(c.Body())]()})
	})
	c := f.dial()
	for name, plan := range plans {
		var want []byte
		for _, p := range plan() {
			if p.File != nil {
				b := make([]byte, p.File.Len())
				_, _ = p.File.ReadAt(b, 0)
				want = append(want, b...)
				p.File.Release()
			} else {
				want = append(want, p.Bytes...)
			}
		}
		// Pipelined, so that what is behind an answer of ranges waits for it.
		c.send(append(append(frame(1, []byte(name)), frame(2, []byte(name))...), frame(3, []byte("small"))...))
		for i := range 2 {
			id, body := c.answer()
			if id != int32(i+1) || !bytes.Equal(body, want) {
				t.Fatalf("%s: correlation %d, %d bytes, want %d bytes", name, id, len(body), len(want))
			}
		}
		if id, _ := c.answer(); id != 3 {
			t.Fatalf("%s: answer %d where 3 was due", name, id)
		}
	}
	if made.Load() != released.Load() {
		t.Errorf("%d ranges made, %d released", made.Load(), released.Load())
	}
}

// waitFor waits for a condition without sleeping for a fixed time.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := clock.System().Mono().Add(10 * time.Second)
	for !ok() {
		if clock.System().Mono().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		tick := make(chan struct{})
		clock.System().AfterFunc(time.Millisecond, func() { close(tick) })
		<-tick
	}
}

func TestClientThatNeverReads(t *testing.T) {
	data := pattern(32 << 20)
	file := tempFile(t, data)
	var made, released, served atomic.Int32
	f := start(t, func(c handler.Call) {
		if string(c.Body()) == "echo" {
			echo(c)
			return
		}
		served.Add(1)
		made.Add(1)
		c.ReplySplice(&protocol.Splice{Pieces: []protocol.Piece{{File: &fileRange{memRange{data: data, released: &released}, file, 0}}}})
	}, func(o *networkOptions) { o.MaxIdle = 500 * time.Millisecond })
	c := f.dial()
	for range 20 {
		c.send(frame(1, []byte("big")))
	}
	other := f.dial()
	other.send(frame(5, []byte("echo")))
	other.answer()
	waitFor(t, "the first answer to be under way", func() bool { return served.Load() > 0 })
	if n := served.Load(); n > 1 {
		t.Errorf("%d large answers under way at once, want 1", n)
	}
	waitFor(t, "the connections to be closed as idle", func() bool { return f.net.connections() == 0 })
	if made.Load() != released.Load() {
		t.Errorf("%d ranges made, %d released", made.Load(), released.Load())
	}
}

// A client that sends without end behind a parked request is not read any more: memory stays bounded.
func TestReadingPausesBehindAParkedCall(t *testing.T) {
	gate := make(chan struct{})
	var once sync.Once
	var got atomic.Int64
	f := start(t, func(c handler.Call) {
		if string(c.Body()) == "gate" {
			c.Park()
			go func() { <-gate; c.Reply(raw("open")) }()
			return
		}
		got.Add(int64(len(c.Body())))
		c.NoReply()
	})
	defer once.Do(func() { close(gate) })
	c := f.dial()
	c.send(frame(1, []byte("gate")))
	const total = 64 << 20
	body := make([]byte, 1<<20)
	sent := make(chan error, 1)
	var progress atomic.Int64
	go func() {
		for range total / len(body) {
			if _, err := c.Write(frame(2, body)); err != nil {
				sent <- err
				return
			}
			progress.Add(int64(len(body)))
		}
		sent <- nil
	}()
	last := int64(-1)
	waitFor(t, "the sender to be held back", func() bool {
		p := progress.Load()
		held := p == last
		last = p
		return held && p > 0
	})
	if p := progress.Load(); p >= total {
		t.Fatalf("all %d bytes were taken behind a parked request", p)
	}
	f.net.each(func(k *conn) {
		size := make(chan int, 1)
		k.tr.post(func() { size <- k.in.size() })
		if n := <-size; n > queueBytes+readBufferBytes {
			t.Errorf("%d bytes kept behind a parked request, want at most %d", n, queueBytes+readBufferBytes)
		}
	})
	once.Do(func() { close(gate) })
	if id, b := c.answer(); id != 1 || string(b) != "open" {
		t.Fatalf("answer %d %q", id, b)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	waitFor(t, "all requests to be handled", func() bool { return got.Load() == total })
}

func TestQueuedMaxRequestBytes(t *testing.T) {
	var handled atomic.Int32
	f := start(t, func(c handler.Call) { handled.Add(1); echo(c) }, func(o *networkOptions) { o.QueuedMaxRequestBytes = 1 << 20 })
	a, b := f.dial(), f.dial()
	body := pattern(2 << 20)
	fr := frame(1, body)
	a.send(fr[:1<<20]) // takes all of the bound and more
	waitFor(t, "the reservation", func() bool { f.net.mem.mu.Lock(); defer f.net.mem.mu.Unlock(); return f.net.mem.free <= 0 })
	go func() { _, _ = b.Write(fr) }()
	waitFor(t, "the second to wait", func() bool { f.net.mem.mu.Lock(); defer f.net.mem.mu.Unlock(); return len(f.net.mem.waiting) == 1 })
	small := f.dial()
	small.send(frame(3, []byte("small"))) // needs no memory of its own
	small.answer()
	if handled.Load() != 1 {
		t.Errorf("%d requests handled while the memory was taken, want the small one", handled.Load())
	}
	go func() { _, _ = a.Write(fr[1<<20:]) }()
	a.answer()
	if _, got := b.answer(); !bytes.Equal(got, body) {
		t.Error("the waiting request was not answered as sent")
	}
	waitFor(t, "the memory to be given back", func() bool { f.net.mem.mu.Lock(); defer f.net.mem.mu.Unlock(); return f.net.mem.free == 1<<20 })
}

func TestIdleConnectionIsClosed(t *testing.T) {
	f := start(t, echo, func(o *networkOptions) { o.MaxIdle = 100 * time.Millisecond })
	c := f.dial()
	c.send(frame(1, nil))
	c.answer()
	c.wantClosed()
}

func TestConnectionLimits(t *testing.T) {
	f := start(t, echo, func(o *networkOptions) {
		o.Limits.MaxPerIP = 100
		o.Limits.PerIPOverrides = map[string]int{"127.0.0.1": 2}
	})
	a, b := f.dial(), f.dial()
	for _, c := range []*client{a, b} {
		c.send(frame(1, nil))
		c.answer()
	}
	f.dial().wantClosed()
	_ = a.Close()
	waitFor(t, "room", func() bool { return f.net.connections() == 1 })
	c := f.dial()
	c.send(frame(1, nil))
	c.answer()
}

func TestMaxConnectionsWaits(t *testing.T) {
	f := start(t, echo, func(o *networkOptions) { o.Limits.MaxConnections = 1 })
	a := f.dial()
	a.send(frame(1, nil))
	a.answer()
	b := f.dial()
	b.send(frame(2, nil))
	_ = a.Close()
	if id, _ := b.answer(); id != 2 {
		t.Errorf("got answer %d", id)
	}
}

func TestThousandConnections(t *testing.T) {
	f := start(t, echo)
	const n = 1000
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for w := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var cs []net.Conn
			for range n / 20 {
				c, err := net.Dial("tcp", f.addr)
				if err != nil {
					errs <- err
					return
				}
				defer func() { _ = c.Close() }()
				cs = append(cs, c)
			}
			for round := range 3 {
				for i, c := range cs {
					k := &client{t: t, Conn: c}
					want := fmt.Sprint(w, round, i)
					if _, err := c.Write(frame(int32(i), []byte(want))); err != nil {
						errs <- err
						return
					}
					if id, body, err := k.tryAnswer(); err != nil || id != int32(i) || string(body) != want {
						errs <- fmt.Errorf("connection %d: %d %q %v", i, id, body, err)
						return
					}
				}
			}
		}()
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	waitFor(t, "all to be gone", func() bool { return f.net.connections() == 0 })
}

func TestCloseDrains(t *testing.T) {
	started := make(chan struct{})
	f := start(t, func(c handler.Call) {
		c.Park()
		if c.Header().CorrelationID == 9 {
			return // never answered
		}
		close(started)
		clock.System().AfterFunc(20*time.Millisecond, func() { c.Reply(raw("done")) })
	})
	stuck, idle, busy := f.dial(), f.dial(), f.dial()
	stuck.send(frame(9, nil))
	busy.send(frame(1, nil))
	<-started
	began := clock.System().Mono()
	done := make(chan struct{})
	go func() { f.net.close(); close(done) }()
	if id, b := busy.answer(); id != 1 || string(b) != "done" {
		t.Errorf("a request in flight got %d %q", id, b)
	}
	idle.wantClosed()
	stuck.wantClosed()
	<-done
	if took := clock.System().Mono().Sub(began); took > 200*time.Millisecond {
		t.Errorf("closing took %v, want at most 200ms", took)
	}
}

func TestLoopDescriptorIsFound(t *testing.T) {
	f := start(t, echo)
	c := f.dial()
	c.send(frame(1, nil))
	c.answer()
	f.net.each(func(k *conn) {
		if s := k.tr.(*socket); s.epoll < 0 {
			t.Error("gnet's event loop is built differently: loopDescriptor must be adapted, or reading can't be paused")
		}
	})
}

func BenchmarkEcho(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			e, err := NewEngine(EngineOptions{Loops: 1, Log: zerolog.Nop()})
			if err != nil {
				b.Fatal(err)
			}
			clk := clock.System()
			n := newNetwork(networkOptions{Engine: e, Requests: serveFunc(func(c handler.Call) { c.Reply(raw("ok")) }), Clock: clk, Wheel: wheel.New(clk), Log: zerolog.Nop(), Limits: NoLimits()})
			l, err := n.listen(listenerOptions{Name: "PLAINTEXT", Host: "127.0.0.1", MaxFrame: 8 << 20})
			if err != nil {
				b.Fatal(err)
			}
			l.start()
			defer func() { n.close(); _ = e.Close() }()
			c, err := net.Dial("tcp", l.addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			fr := frame(1, make([]byte, size))
			in := make([]byte, 4+4+2)
			b.SetBytes(int64(len(fr)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(fr); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

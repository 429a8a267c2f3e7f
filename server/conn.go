package server

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/protocol"
)

// conn is one connection. It belongs to its event loop: fields without another guard are touched only there. Its life:
//
//	onData ─► turn: frames ─► dispatch ─► handler ─┬─► answered: next frame
//	                                               └─► parked ┄┄ Reply on any goroutine ─► resume on the loop ─► next frame
//
// One request is in flight at a time. Answers gather in out and leave in one write at the end of the turn.
type conn struct {
	id                    uint64
	net                   *network
	listener              string
	remoteHost, localHost string
	localPort             int
	tr                    transport
	maxFrame              int

	in        input
	out       []byte // answers not written yet, from outDone on
	outDone   int
	mark      int           // length of out before the call in flight
	splice    *spliceWriter // an answer of file ranges on its way
	spliceMem *spliceWriter // what splice points to; made with the first such answer
	blocked   bool          // the peer has to read before more is written
	call      *call         // reused as long as calls are not parked
	inFlight  bool          // call is being handled or parked
	memWait   bool          // waiting for memory for the request that has begun
	memHeld   int           // bytes reserved for the request that has begun or is in flight
	paused    bool          // reading is paused
	draining  bool          // close when nothing is in flight and everything is written
	dead      bool          // closed or about to be

	ended      atomic.Bool  // for other goroutines: dead
	lastActive atomic.Int64 // monotonic nanoseconds since the network's start
	idle       wheel.Entry
	stray      strayState

	mu              sync.Mutex
	onClose         []func() // guarded by mu
	software        string   // guarded by mu
	softwareVersion string   // guarded by mu
}

// Bounds of a connection.
const (
	// queueBytes is how much may wait behind a request in flight before reading is paused: one read of a loop.
	queueBytes = 64 << 10
	// corkBytes is how many bytes of answers gather before they are written even within a turn.
	corkBytes = 256 << 10
	// pullBytes is from how many missing bytes of a request on the loop reads directly into the request's buffer.
	pullBytes = 16 << 10
	// pullTurnBytes bounds what one connection reads that way before the loop turns to others.
	pullTurnBytes = 1 << 20
)

// onData takes all bytes that have arrived; data is only valid until it returns.
func (c *conn) onData(data []byte) {
	c.touch()
	c.turn(data)
	c.pull()
	c.settle()
}

// onWritable goes on writing after awaitWritable.
func (c *conn) onWritable() {
	c.blocked = false
	c.touch()
	c.turn(nil)
	c.settle()
}

// resume takes the answer of a parked call and goes on.
func (c *conn) resume(k *call) {
	c.complete(k)
	c.turn(nil)
	c.settle()
}

// turn does what can be done now: continues an answer, handles frames from the input and then from data, keeps the rest of data.
func (c *conn) turn(data []byte) {
	if c.splice != nil && !c.blocked {
		c.stepSplice()
	}
	for c.ready() {
		frame, ok := c.nextFrame(&data)
		if !ok {
			break
		}
		c.dispatch(frame)
		c.in.release(c.net.bufs)
		c.net.trim.look()
		if len(c.out)-c.outDone >= corkBytes {
			c.flush()
		}
	}
	if c.dead {
		return
	}
	c.in.add(c.net.bufs, data)
	c.flush()
}

// ready says whether the next request may be handled.
func (c *conn) ready() bool {
	return !c.dead && !c.inFlight && c.splice == nil && !c.blocked && !c.memWait
}

// pull reads a large request directly into its buffer instead of through the loop's read buffer.
func (c *conn) pull() {
	for budget := pullTurnBytes; budget > 0 && c.ready(); {
		missing := c.in.missing()
		if missing < pullBytes {
			return
		}
		n := c.tr.readMore(c.in.room(c.net.bufs, missing))
		if n == 0 {
			return
		}
		c.in.grown(n)
		budget -= n
		if n == missing {
			c.turn(nil)
		}
	}
}

// settle ends a turn: closes what is to be closed, pauses or resumes reading.
func (c *conn) settle() {
	if !c.dead && c.draining && !c.inFlight && c.splice == nil && len(c.out) == 0 {
		c.dead = true
	}
	if c.dead {
		c.shut()
		return
	}
	pause := c.memWait || c.blocked || (c.inFlight || c.splice != nil) && c.in.size() >= queueBytes
	if pause == c.paused {
		return
	}
	if err := c.tr.pauseReading(pause); err != nil {
		c.fail("can't pause reading of a connection over its bound", err)
		c.shut()
		return
	}
	c.paused = pause
}

// nextFrame takes the next whole frame from the input or, when that is empty, from data, without copying.
func (c *conn) nextFrame(data *[]byte) (frame []byte, ok bool) {
	if c.in.size() > 0 {
		return c.nextKept(data)
	}
	d := *data
	if len(d) < protocol.SizeLen {
		return nil, false
	}
	size, err := protocol.FrameSize(d, c.maxFrame)
	if err != nil {
		c.fail("invalid request", err)
		return nil, false
	}
	if len(d) < protocol.SizeLen+size {
		c.in.begin(protocol.SizeLen + size)
		return nil, c.admit(size)
	}
	*data = d[protocol.SizeLen+size:]
	return d[protocol.SizeLen : protocol.SizeLen+size], true
}

// nextKept takes the next frame from what was kept, completing it from data.
func (c *conn) nextKept(data *[]byte) (frame []byte, ok bool) {
	c.in.take(c.net.bufs, data, protocol.SizeLen)
	if c.in.size() < protocol.SizeLen {
		return nil, false
	}
	if !c.in.known() {
		size, err := protocol.FrameSize(c.in.bytes(), c.maxFrame)
		if err != nil {
			c.fail("invalid request", err)
			return nil, false
		}
		c.in.begin(protocol.SizeLen + size)
	}
	c.in.take(c.net.bufs, data, c.in.frame)
	if c.in.missing() > 0 {
		c.admit(c.in.frame - protocol.SizeLen)
		return nil, false
	}
	return c.in.next()[protocol.SizeLen:], true
}

// admit reserves memory for a request of which a part is here; without it the connection is not read until there is some.
// It returns false, which is what a frame that is not complete is.
func (c *conn) admit(size int) bool {
	if c.memHeld > 0 || size == 0 {
		return false
	}
	if !c.net.mem.reserve(size, func() { c.tr.post(c.memoryFree) }) {
		c.memWait = true
		return false
	}
	c.memHeld = size
	return false
}

func (c *conn) memoryFree() {
	if c.dead {
		return
	}
	c.memWait = false
	c.turn(nil)
	c.pull()
	c.settle()
}

func (c *conn) freeMemory() {
	c.net.mem.release(c.memHeld)
	c.memHeld = 0
}

// dispatch handles one request until it is answered or parked.
func (c *conn) dispatch(frame []byte) {
	k := c.nextCall()
	body, err := k.header.Read(frame)
	if err != nil {
		c.fail("invalid request", err)
		return
	}
	k.body = body
	c.inFlight = true
	c.mark = len(c.out)
	c.net.timings.began(k)
	c.net.strays.saw(c, k.header.Key, k.header.ClientID)
	c.serve(k)
	if k.parked() {
		c.net.timings.parked(k)
		return
	}
	if !k.done.Load() {
		c.fail("handler gave no answer", fmt.Errorf("api %d version %d", k.header.Key, k.header.Version))
		return
	}
	c.complete(k)
}

// serve runs the handler. A panic of it ends this connection only; a broken invariant goes on to end the process.
func (c *conn) serve(k *call) {
	defer c.recover(k)
	c.net.serve.Serve(k)
}

func (c *conn) recover(k *call) {
	r := recover()
	if r == nil {
		return
	}
	c.net.caught(r, k)
	k.Close("handler panicked")
	c.out = c.out[:min(c.mark, len(c.out))] // an answer may be half encoded
	c.fail("handler panicked", nil)
}

// caught logs a panic on the request path, unless it is a broken invariant: going on could lose data.
func (n *network) caught(r any, k *call) {
	if s, ok := r.(string); ok && strings.HasPrefix(s, "invariant broken") {
		panic(r)
	}
	n.log.Error().Int16("api", k.header.Key).Int16("version", k.header.Version).Uint64("conn", k.conn.id).
		Str("panic", fmt.Sprint(r)).Bytes("stack", debug.Stack()).Msg("request handler panicked")
}

// complete sends the answer of a call and frees what it held.
func (c *conn) complete(k *call) {
	c.inFlight = false
	c.net.timings.ended(k)
	r := k.result
	k.result = result{}
	k.free()
	c.freeMemory()
	if c.dead {
		r.drop(c.net.bufs)
		return
	}
	switch r.kind {
	case resultBytes:
		if len(c.out) == 0 {
			c.out, r.bytes = r.bytes, nil
		} else {
			c.out = append(c.out, r.bytes...)
			r.drop(c.net.bufs)
		}
	case resultSplice:
		c.startSplice(&k.header, r.splice)
	case resultClose:
		c.fail(r.reason, nil)
	}
}

// nextCall is the call object for the next request: the same again, unless somebody may still hold it.
func (c *conn) nextCall() *call {
	old := c.call
	if old != nil && old.wasParked {
		c.call = nil
	}
	if c.call == nil {
		c.call = &call{conn: c}
		if old != nil {
			c.call.header.ClientID = old.header.ClientID
		}
		return c.call
	}
	c.call.reset()
	return c.call
}

// fail ends the connection at the end of the turn. Answers to earlier requests still leave, as far as the peer takes them.
func (c *conn) fail(reason string, err error) {
	if c.dead {
		return
	}
	c.dead = true
	if c.splice == nil && !c.blocked && c.outDone < len(c.out) {
		_, _ = c.tr.write(c.out[c.outDone:]) // there is nobody to tell
	}
	if e := c.net.log.Debug(); e.Enabled() {
		e.Uint64("conn", c.id).Str("listener", c.listener).Str("remote", c.remoteHost).Str("reason", reason).Err(err).Msg("closing connection")
	}
}

// shut closes the transport; onClosed follows.
func (c *conn) shut() {
	if !c.ended.Swap(true) {
		c.tr.close()
	}
}

// onClosed is called once when the transport has ended, by whomever it was.
func (c *conn) onClosed() {
	c.dead = true
	c.ended.Store(true)
	c.net.wheel.Stop(&c.idle)
	if c.splice != nil {
		c.splice.abandon()
		c.splice = nil
	}
	c.net.bufs.put(c.out)
	c.out, c.outDone = nil, 0
	c.in.drop(c.net.bufs)
	c.net.trim.look()
	c.freeMemory()
	c.mu.Lock()
	fs := c.onClose
	c.onClose = nil
	c.mu.Unlock()
	for _, f := range fs {
		f()
	}
	c.net.closed(c)
}

// drain closes the connection once nothing is in flight; a fetch that waits for data has nothing to lose and ends at once.
func (c *conn) drain() {
	if c.dead {
		return
	}
	c.draining = true
	if c.inFlight && c.call.parked() && c.call.header.Key == fetchKey {
		c.dead = true
	}
	c.settle()
}

// fetchKey is the API key of Fetch.
const fetchKey = 1

// touch notes that the connection is alive.
func (c *conn) touch() { c.lastActive.Store(int64(c.net.clock.Mono().Sub(c.net.start))) }

// checkIdle runs on the wheel: connections.max.idle.ms without a byte in or out ends a connection, also one that does not read its answer.
func (c *conn) checkIdle() {
	if c.ended.Load() {
		return
	}
	last := c.net.start.Add(time.Duration(c.lastActive.Load()))
	if due := last.Add(c.net.maxIdle); due.After(c.net.clock.Mono()) {
		c.net.wheel.Schedule(&c.idle, due)
		return
	}
	c.tr.post(func() {
		c.fail("idle for connections.max.idle.ms", nil)
		c.shut()
	})
}

// ID implements handler.Conn.
func (c *conn) ID() uint64 { return c.id }

// Listener implements handler.Conn.
func (c *conn) Listener() string { return c.listener }

// RemoteHost implements handler.Conn.
func (c *conn) RemoteHost() string { return c.remoteHost }

// LocalHost implements handler.Conn.
func (c *conn) LocalHost() string { return c.localHost }

// Principal implements handler.Conn.
func (c *conn) Principal() string { return "User:ANONYMOUS" }

// SetClientSoftware implements handler.Conn.
func (c *conn) SetClientSoftware(name, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.software, c.softwareVersion = name, version
}

// OnClose implements handler.Conn.
func (c *conn) OnClose(f func()) {
	c.mu.Lock()
	if !c.ended.Load() {
		c.onClose = append(c.onClose, f)
		f = nil
	}
	c.mu.Unlock()
	if f != nil {
		f()
	}
}

// Closed implements handler.Conn.
func (c *conn) Closed() bool { return c.ended.Load() }

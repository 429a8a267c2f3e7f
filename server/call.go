package server

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/server/handler"
)

// States of a call. An answer given while the handler has not returned is picked up by the loop when it does; one given later
// is posted to the loop.
const (
	callRunning  int32 = iota // the handler runs on the loop and has not parked
	callParking               // the handler has parked and not returned yet
	callParked                // the handler has returned without an answer
	callAnswered              // result is set
)

// call is a request on its way; see handler.Call. The connection uses the same object again for the next request unless this one
// was parked: then somebody may hold it longer.
type call struct {
	conn      *conn
	header    protocol.RequestHeader
	body      []byte
	owned     []byte // pooled buffer that body was moved to
	wasParked bool
	timing    callTiming
	state     atomic.Int32
	done      atomic.Bool // an answer was given
	result    result      // written by who set done, read by the loop
}

type resultKind uint8

const (
	resultNone resultKind = iota // nothing to send, or already in the connection's output
	resultBytes
	resultSplice
	resultClose
)

// result is what a handler answered.
type result struct {
	kind   resultKind
	bytes  []byte // a whole frame in a pooled buffer
	splice *protocol.Splice
	reason string
}

// drop frees an answer that is not sent.
func (r *result) drop(p *buffers) {
	if r.bytes != nil {
		p.put(r.bytes)
	}
	if r.splice != nil {
		r.splice.Release()
	}
	*r = result{}
}

func (k *call) reset() {
	k.body = nil
	k.result = result{}
	k.done.Store(false)
	k.state.Store(callRunning)
}

// parked is asked by the loop after the handler has returned: does the call wait for its answer?
func (k *call) parked() bool {
	return k.state.CompareAndSwap(callParking, callParked) || k.state.Load() == callParked
}

func (k *call) free() {
	k.body = nil
	if k.owned != nil {
		k.conn.net.bufs.put(k.owned)
		k.conn.net.trim.look()
		k.owned = nil
	}
}

// Header implements handler.Call.
func (k *call) Header() *protocol.RequestHeader { return &k.header }

// Body implements handler.Call.
func (k *call) Body() []byte { return k.body }

// Conn implements handler.Call.
func (k *call) Conn() handler.Conn { return k.conn }

// Park implements handler.Call. It is called on the loop, while the handler runs.
func (k *call) Park() {
	if !k.state.CompareAndSwap(callRunning, callParking) {
		return
	}
	k.wasParked = true
	if b, ok := k.conn.in.steal(); ok {
		k.owned = b // the request has a buffer of its own: it goes with the call
		return
	}
	k.owned = append(k.conn.net.bufs.get(len(k.body)), k.body...)
	k.body = k.owned
}

// Offload implements handler.Call.
func (k *call) Offload(f func()) {
	k.Park()
	n := k.conn.net
	n.workers.submit(func() {
		defer func() {
			if r := recover(); r != nil {
				n.caught(r, k)
				k.Close("handler panicked")
			}
		}()
		f()
	})
}

// Reply implements handler.Call.
func (k *call) Reply(resp kmsg.Response) {
	c := k.conn
	if k.state.Load() == callRunning { // on the loop: straight into the output
		if k.done.CompareAndSwap(false, true) {
			if c.out == nil {
				c.out = c.net.bufs.get(0)
			}
			c.out = k.encode(c.out, resp)
			k.state.Store(callAnswered)
		}
		return
	}
	k.finish(result{kind: resultBytes, bytes: k.encode(c.net.bufs.get(0), resp)})
}

func (k *call) encode(dst []byte, resp kmsg.Response) []byte {
	start := len(dst)
	dst = protocol.BeginFrame(dst)
	dst = k.header.AppendResponseHeader(dst)
	dst = resp.AppendTo(dst)
	protocol.EndFrame(dst, start, 0)
	return dst
}

// ReplySplice implements handler.Call.
func (k *call) ReplySplice(s *protocol.Splice) { k.finish(result{kind: resultSplice, splice: s}) }

// NoReply implements handler.Call.
func (k *call) NoReply() { k.finish(result{}) }

// Close implements handler.Call.
func (k *call) Close(reason string) { k.finish(result{kind: resultClose, reason: reason}) }

// finish gives the answer once; later ones are dropped.
func (k *call) finish(r result) {
	if !k.done.CompareAndSwap(false, true) {
		r.drop(k.conn.net.bufs)
		return
	}
	k.result = r
	if k.state.Swap(callAnswered) != callParked {
		return // the loop looks when the handler returns
	}
	if !k.conn.tr.post(func() { k.conn.resume(k) }) {
		r.drop(k.conn.net.bufs)
	}
}

package handler

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/protocol"
)

// testCall is a call without a network: it keeps what it was answered.
type testCall struct {
	header   protocol.RequestHeader
	body     []byte
	conn     testConn
	resp     kmsg.Response
	splice   *protocol.Splice
	parked   bool
	none     bool
	closed   string
	answered int
}

// callOf encodes req as a client would and makes a call of it.
func callOf(req kmsg.Request) *testCall {
	return &testCall{
		header: protocol.RequestHeader{Key: req.Key(), Version: req.GetVersion(), CorrelationID: 1, Flexible: req.IsFlexible()},
		body:   req.AppendTo(nil),
	}
}

// serve runs a request through h and returns its response, which must come before the handler returns.
func serve(t *testing.T, h *Handler, req kmsg.Request) kmsg.Response {
	t.Helper()
	c := callOf(req)
	h.Serve(c)
	if c.answered != 1 || c.resp == nil {
		t.Fatalf("key %d version %d: answered %d times, response %v, closed %q", req.Key(), req.GetVersion(), c.answered, c.resp, c.closed)
	}
	return c.resp
}

func (c *testCall) Header() *protocol.RequestHeader { return &c.header }
func (c *testCall) Body() []byte                    { return c.body }
func (c *testCall) Conn() Conn                      { return &c.conn }
func (c *testCall) Park()                           { c.parked = true }
func (c *testCall) Offload(f func())                { c.parked = true; f() }
func (c *testCall) Reply(resp kmsg.Response)        { c.resp = resp; c.answered++ }
func (c *testCall) ReplySplice(s *protocol.Splice)  { c.splice = s; c.answered++ }
func (c *testCall) NoReply()                        { c.none = true; c.answered++ }
func (c *testCall) Close(reason string)             { c.closed = reason; c.answered++ }

type testConn struct {
	software [2]string
}

func (c *testConn) ID() uint64                             { return 1 }
func (c *testConn) Listener() string                       { return "PLAINTEXT" }
func (c *testConn) RemoteHost() string                     { return "127.0.0.1" }
func (c *testConn) LocalHost() string                      { return "127.0.0.1" }
func (c *testConn) Principal() string                      { return "User:ANONYMOUS" }
func (c *testConn) SetClientSoftware(name, version string) { c.software = [2]string{name, version} }
func (c *testConn) OnClose(func())                         {}
func (c *testConn) Closed() bool                           { return false }

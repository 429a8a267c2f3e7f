package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/protocol"
)

// Conn is what a handler may know and do about the connection that a call came from. All methods may be called on any goroutine.
type Conn interface {
	// ID is unique among the broker's connections since its start.
	ID() uint64
	// Listener is the name of the listener it came in by, e.g. PLAINTEXT.
	Listener() string
	// RemoteHost is the client's address without the port; LocalHost the address that it connected to.
	RemoteHost() string
	LocalHost() string
	// Principal is the authenticated user, "User:ANONYMOUS" without authentication.
	Principal() string
	// SetClientSoftware keeps what ApiVersions v3+ tells.
	SetClientSoftware(name, version string)
	// OnClose registers f to run once when the connection ends (at once if it has ended). f must not block.
	OnClose(f func())
	// Closed tells whether the connection has ended.
	Closed() bool
}

// Call is one request on its way. It is answered exactly once by Reply, ReplySplice, NoReply or Close, on any goroutine.
// Until the handler returns, Body aliases the connection's read buffer; a handler that answers later calls Park first, which
// moves Body (and with it everything decoded by UnsafeReadFrom before must be cloned or decoded again).
type Call interface {
	Header() *protocol.RequestHeader
	// Body is the request's body after the header.
	Body() []byte
	Conn() Conn
	// Park says that the handler will return before the call is answered, and moves Body into memory of its own.
	Park()
	// Offload runs f on the bounded worker pool (cold reads, fsync, big decompression) after an implied Park. f answers the call.
	Offload(f func())
	// Reply encodes and sends the response; it is encoded before Reply returns.
	Reply(resp kmsg.Response)
	// ReplySplice sends a body written by hand; the server releases it.
	ReplySplice(s *protocol.Splice)
	// NoReply ends the call without an answer (Produce with acks=0).
	NoReply()
	// Close closes the connection without an answer; the reason is for the log.
	Close(reason string)
}

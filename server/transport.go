package server

import (
	"errors"
)

// errWouldBlock is what a transport's write says when the peer has to read first.
var errWouldBlock = errors.New("write would block")

// transport is a connection's way to its peer. Except for post, methods are called only on the connection's loop, and none after
// close. Sockets on gnet are one (gnet.go); TLS connections and the simulator's pipes are others.
type transport interface {
	// write writes what can be written without waiting and returns how many bytes; errWouldBlock if less than all.
	write(b []byte) (int, error)
	// writeMore is write for what sendfile follows at once.
	writeMore(b []byte) (int, error)
	// sendfile is write of n bytes at pos of the descriptor. Less than n without an error means that the file is shorter.
	sendfile(fd uintptr, pos int64, n int) (int, error)
	// canSendfile tells whether sendfile works at all.
	canSendfile() bool
	// awaitWritable causes one onWritable on the loop as soon as the peer has read something.
	awaitWritable() error
	// pauseReading stops onData, or lets it come again. An error means that this transport can't.
	pauseReading(pause bool) error
	// readMore reads directly into b what has arrived, 0 when nothing has (or at the end, which the next event tells).
	readMore(b []byte) int
	// close ends the connection; onClose follows on the loop (perhaps at once).
	close()
	// post runs f on the loop, in order; any goroutine. It reports false when the loop has ended: f will not run.
	post(f func()) bool
}

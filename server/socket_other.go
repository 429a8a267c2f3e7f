//go:build !linux

package server

import (
	"errors"
	"net"
	"syscall"

	"github.com/panjf2000/gnet/v2"
)

// socketsSupported: reading can't be paused and slow readers can't be waited for but by epoll.
const socketsSupported = false

var errNoSockets = errors.New("connections are served on Linux only")

// socket has no way to its peer here; NewEngine refuses before there is one.
type socket struct {
	conn                                 *conn
	engine                               *Engine
	opened, inTraffic, wantClose, closed bool
	epoll                                int
}

func (s *socket) open(gnet.Conn)                            {}
func (s *socket) write([]byte) (int, error)                 { return 0, errNoSockets }
func (s *socket) writeMore([]byte) (int, error)             { return 0, errNoSockets }
func (s *socket) canSendfile() bool                         { return false }
func (s *socket) sendfile(uintptr, int64, int) (int, error) { return 0, errNoSockets }
func (s *socket) readMore([]byte) int                       { return 0 }
func (s *socket) pauseReading(bool) error                   { return errNoSockets }
func (s *socket) awaitWritable() error                      { return errNoSockets }
func (s *socket) close()                                    {}
func (s *socket) post(func()) bool                          { return false }

func (SocketConfig) control(_, _ string, _ syscall.RawConn) error { return nil }
func (SocketConfig) setBacklog(*net.TCPListener) error            { return nil }
func unpace(*net.TCPConn)                                         {}

type writables struct{}

func newWritables() *writables      { return &writables{} }
func (w *writables) forget(*socket) {}
func (w *writables) close()         {}

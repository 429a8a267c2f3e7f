package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// socketsSupported says that this system has what socket needs.
const socketsSupported = true

// socket is the transport of a connection on gnet. gnet watches and reads it; writing is done here, directly on the descriptor, because
// gnet's output grows without bound and nobody says when it has drained.
type socket struct {
	conn   *conn
	engine *Engine
	g      gnet.Conn
	loop   gnet.EventLoop
	fd     int
	epoll  int // the loop's epoll descriptor, -1 unknown

	opened    bool // written on the loop before enroll returns
	inTraffic bool
	wantClose bool
	closed    bool
	goOn      func() // what is posted when the peer has read; made with the first await, on the loop
}

func (s *socket) open(g gnet.Conn) {
	s.g, s.loop, s.fd, s.opened = g, g.EventLoop(), g.Fd(), true
	s.epoll = loopDescriptor(s.loop)
}

func (s *socket) write(b []byte) (int, error) { return s.send(b, 0) }

func (s *socket) writeMore(b []byte) (int, error) { return s.send(b, unix.MSG_MORE) }

func (s *socket) send(b []byte, flags int) (done int, err error) {
	for done < len(b) {
		var n int
		if flags == 0 {
			n, err = unix.Write(s.fd, b[done:])
		} else {
			n, err = unix.SendmsgN(s.fd, b[done:], nil, nil, flags)
		}
		switch {
		case err == nil:
			done += n
			if done < len(b) {
				return done, errWouldBlock // the socket's buffer is full; asking again would only say so
			}
		case errors.Is(err, unix.EAGAIN):
			return done, errWouldBlock
		case !errors.Is(err, unix.EINTR):
			return done, fmt.Errorf("write: %w", err)
		}
	}
	return done, nil
}

func (s *socket) canSendfile() bool { return true }

func (s *socket) sendfile(fd uintptr, pos int64, n int) (done int, err error) {
	for done < n {
		got, err := unix.Sendfile(s.fd, int(fd), &pos, n-done)
		switch {
		case err == nil && got == 0:
			return done, nil
		case err == nil:
			done += got
			if done < n {
				return done, errWouldBlock // full, as in send; at the end of the file the next call says 0
			}
		case errors.Is(err, unix.EAGAIN):
			return done, errWouldBlock
		case !errors.Is(err, unix.EINTR):
			return done, fmt.Errorf("sendfile: %w", err)
		}
	}
	return done, nil
}

func (s *socket) readMore(b []byte) int {
	n, err := unix.Read(s.fd, b)
	if err != nil || n < 0 {
		return 0 // the loop finds out
	}
	return n
}

// errCannotPause is a loop whose epoll descriptor is not known.
var errCannotPause = errors.New("event loop's descriptor unknown")

// readEvents are those that gnet watches a connection with.
const readEvents = unix.EPOLLIN | unix.EPOLLPRI

func (s *socket) pauseReading(pause bool) error {
	if s.epoll < 0 {
		return errCannotPause
	}
	ev := unix.EpollEvent{Fd: int32(s.fd), Events: readEvents}
	if pause {
		ev.Events = 0 // errors and hang-ups are told nevertheless
	}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_MOD, s.fd, &ev); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

func (s *socket) awaitWritable() error { return s.engine.writable.await(s) }

func (s *socket) close() {
	if s.closed {
		return
	}
	if s.inTraffic {
		s.wantClose = true
		return
	}
	_ = s.loop.Close(s.g) // an error says that it was closed already
}

func (s *socket) post(f func()) bool {
	return s.loop.Execute(context.Background(), task(f)) == nil
}

// control sets the buffers of a listening socket, which its connections inherit. It has net.ListenConfig's signature.
func (s SocketConfig) control(_, _ string, raw syscall.RawConn) (err error) {
	set := func(fd uintptr) {
		for _, o := range [...]struct {
			option, bytes int
			property      string
		}{{unix.SO_SNDBUF, s.SendBuffer, "socket.send.buffer.bytes"}, {unix.SO_RCVBUF, s.ReceiveBuffer, "socket.receive.buffer.bytes"}} {
			if o.bytes == 0 {
				continue
			}
			if e := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, o.option, o.bytes); e != nil {
				err = fmt.Errorf("set %s: %w", o.property, e)
			}
		}
	}
	if e := raw.Control(set); e != nil {
		return e
	}
	return err
}

// nearCongestion is the congestion control of connections from this machine: there is nothing to be congested, and one that paces what
// it sends (BBR, the default of many machines) sets a timer for each packet: a tenth of the cost of large fetches, measured. Every Linux allows reno.
const nearCongestion = "reno"

// unpace makes a connection from this machine send without a clock.
func unpace(c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return // closed meanwhile, which its loop finds out
	}
	_ = raw.Control(func(fd uintptr) { // without it, it is only slower
		_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, nearCongestion)
	})
}

// setBacklog changes the length of the queue: to listen once more only does that.
func (s SocketConfig) setBacklog(l *net.TCPListener) (err error) {
	if s.Backlog == 0 {
		return nil
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return fmt.Errorf("descriptor of the listener: %w", err)
	}
	if e := raw.Control(func(fd uintptr) { err = unix.Listen(int(fd), s.Backlog) }); e != nil {
		return fmt.Errorf("descriptor of the listener: %w", e)
	}
	return err
}

// writables waits until sockets can be written to again, on an own epoll set with one goroutine that exists while it is needed.
type writables struct {
	mu      sync.Mutex
	fd      int                // guarded by mu; -1 until first needed
	wake    int                // guarded by mu; eventfd that ends the goroutine
	waiting map[uint64]*socket // guarded by mu; by connection id
	done    chan struct{}
}

func newWritables() *writables {
	return &writables{fd: -1, waiting: map[uint64]*socket{}, done: make(chan struct{})}
}

func (w *writables) startLocked() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll_create: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN}) // id 0: no connection has it
	}
	if err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("eventfd: %w", err)
	}
	w.fd, w.wake = fd, wake
	go w.run(fd)
	return nil
}

// await causes one onWritable of s. Called on its loop.
func (w *writables) await(s *socket) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		if err := w.startLocked(); err != nil {
			return err
		}
	}
	if s.goOn == nil {
		s.goOn = func() {
			if !s.closed {
				s.conn.onWritable()
			}
		}
	}
	id := s.key()
	ev := unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLONESHOT, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
	err := unix.EpollCtl(w.fd, unix.EPOLL_CTL_MOD, s.fd, &ev)
	if errors.Is(err, unix.ENOENT) {
		err = unix.EpollCtl(w.fd, unix.EPOLL_CTL_ADD, s.fd, &ev)
	}
	if err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	w.waiting[id] = s
	return nil
}

// forget is called when s is about to be closed, which takes its descriptor out of the set.
func (w *writables) forget(s *socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, s.key())
}

// key identifies a socket among those of all networks of the engine; 0 is none.
func (s *socket) key() uint64 { return uint64(uint32(s.fd))<<32 | s.conn.id&0xffffffff }

func (w *writables) run(fd int) {
	defer close(w.done)
	var events [64]unix.EpollEvent
	for {
		n, err := unix.EpollWait(fd, events[:], -1)
		if err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return
		}
		for _, ev := range events[:n] {
			id := uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32
			if id == 0 {
				return
			}
			w.mu.Lock()
			s := w.waiting[id]
			delete(w.waiting, id)
			w.mu.Unlock()
			if s != nil {
				s.post(s.goOn)
			}
		}
	}
}

// close ends the goroutine; no connections are left.
func (w *writables) close() {
	w.mu.Lock()
	started := w.fd >= 0
	w.mu.Unlock()
	if !started {
		return
	}
	var one [8]byte
	one[0] = 1
	_, _ = unix.Write(w.wake, one[:]) // an eventfd with room always takes it
	<-w.done
	_ = unix.Close(w.wake)
	_ = unix.Close(w.fd)
	w.fd = -1
}

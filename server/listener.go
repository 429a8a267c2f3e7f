package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"
)

// listener accepts connections on one address, on a goroutine of its own: gnet's own acceptor ends the whole engine when accept fails.
type listener struct {
	name     string
	net      *network
	ln       net.Listener
	port     int
	maxFrame int // socket.request.max.bytes
	// nearBuffer is the send buffer of connections from this machine, 0: the system's.
	nearBuffer int
	spare      *net.UDPConn
	done       chan struct{} // closed when the goroutine has ended; nil before start
}

// listenerOptions are one entry of `listeners`.
type listenerOptions struct {
	Name     string
	Host     string // empty is all interfaces
	Port     int    // 0 is any free port
	MaxFrame int    // socket.request.max.bytes
	Socket   SocketConfig
}

// SocketConfig tunes sockets; a zero leaves a value to the system.
type SocketConfig struct {
	SendBuffer int // socket.send.buffer.bytes
	// NearSendBuffer is that of connections from this machine if SendBuffer is 0.
	NearSendBuffer int
	ReceiveBuffer  int // socket.receive.buffer.bytes
	Backlog        int // socket.listen.backlog.size
}

// nearSendBuffer is what connections from this machine get: there is no distance that more bytes on their way would bridge, and in the
// megabytes that the system would let wait for the peer every byte leaves the processor's cache before it is read (a third of the cost of
// large fetches, measured from 128 KiB to 4 MiB).
const nearSendBuffer = 384 << 10

// acceptRetry is how long an acceptor waits after a failure that may pass (too many open files).
const acceptRetry = 100 * time.Millisecond

// listen opens the listener; connections are accepted after start.
func (n *network) listen(o listenerOptions) (*listener, error) {
	var lc net.ListenConfig
	lc.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: -1, Interval: -1, Count: -1} // the kernel's times, as Kafka
	lc.Control = o.Socket.control
	ln, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listener %s: port %d is in use by another process; stop it or set another port in listeners", o.Name, o.Port)
		}
		return nil, fmt.Errorf("listener %s: %w", o.Name, err)
	}
	if err := o.Socket.setBacklog(ln.(*net.TCPListener)); err != nil {
		_ = ln.Close() // the first error is the one that matters
		return nil, fmt.Errorf("listener %s: set socket.listen.backlog.size: %w", o.Name, err)
	}
	l := &listener{name: o.Name, net: n, ln: ln, maxFrame: o.MaxFrame}
	l.port = l.addr().Port
	if o.Socket.SendBuffer == 0 {
		l.nearBuffer = o.Socket.NearSendBuffer
	}
	l.openSpare()
	n.mu.Lock()
	n.listeners = append(n.listeners, l)
	n.mu.Unlock()
	return l, nil
}

// openSpare takes a descriptor in reserve: with none left, accept could not even close what waits, and would spin.
func (l *listener) openSpare() {
	l.spare, _ = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}) // without one, accepting only waits
}

// addr is the address that the listener is bound to.
func (l *listener) addr() *net.TCPAddr { return l.ln.Addr().(*net.TCPAddr) }

// start accepts connections until close.
func (l *listener) start() {
	l.done = make(chan struct{})
	go l.run()
}

func (l *listener) run() {
	defer close(l.done)
	for {
		c, err := l.ln.Accept()
		if err == nil {
			l.accepted(c)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		l.failed(err)
	}
}

// accepted counts a connection and hands it to the engine. At the broker's limits it waits here, and with it those behind.
func (l *listener) accepted(c net.Conn) {
	host := c.RemoteAddr().(*net.TCPAddr).IP.String()
	local := c.LocalAddr().(*net.TCPAddr).IP.String()
	if !l.net.limits.admit(l.name) {
		_ = c.Close() // shutting down
		return
	}
	if !l.net.limits.allowIP(host) {
		l.net.log.Info().Str("listener", l.name).Str("remote", host).Msg("too many connections from one address, rejecting")
		l.net.limits.leave(l.name, host)
		_ = c.Close() // nothing was sent
		return
	}
	if t, ok := c.(*net.TCPConn); ok && host == local {
		if l.nearBuffer > 0 {
			_ = t.SetWriteBuffer(l.nearBuffer) // without it, it is only slower
		}
		unpace(t)
	}
	if err := l.net.engine.enroll(c, l.net.newConn(l, host, local)); err != nil {
		l.net.log.Warn().Err(err).Str("listener", l.name).Msg("can't take a connection")
		l.net.limits.leave(l.name, host)
		return
	}
	if protected, yes := l.net.limits.excess(); yes {
		l.net.closeLongestIdle(protected)
	}
}

// failed makes room after a failed accept. With descriptors exhausted the waiting client is accepted with the spare one and closed, so
// that it learns of it.
func (l *listener) failed(err error) {
	l.net.log.Warn().Err(err).Str("listener", l.name).Msg("accept failed")
	if (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) && l.spare != nil {
		_ = l.spare.Close() // only to free its descriptor
		if d, ok := l.ln.(*net.TCPListener); ok {
			_ = d.SetDeadline(l.net.clock.Wall().Add(acceptRetry)) // a broken deadline shows in Accept
			if c, err := l.ln.Accept(); err == nil {
				_ = c.Close()
			}
			_ = d.SetDeadline(time.Time{})
		}
		l.openSpare()
	}
	wait := make(chan struct{})
	t := l.net.clock.AfterFunc(acceptRetry, func() { close(wait) })
	select {
	case <-wait:
	case <-l.net.limits.closing():
	}
	t.Stop()
}

func (l *listener) close() {
	_ = l.ln.Close() // closing twice is harmless
	if l.done != nil {
		<-l.done
	}
	if l.spare != nil {
		_ = l.spare.Close()
	}
}

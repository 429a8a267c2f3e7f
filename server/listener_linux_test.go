package server

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kaja-mq/kaja/internal/clock"
)

const twoListeners = "listeners=PLAINTEXT://127.0.0.1:0,INTERNAL://127.0.0.1:0"

// dialListener connects to one of the broker's listeners.
func dialListener(t *testing.T, b *Broker, listener string) *client {
	t.Helper()
	return (&fixture{t: t, addr: b.Addrs()[listener]}).dial()
}

// served tells that a Metadata request is answered.
func (c *client) served() {
	c.t.Helper()
	c.send(frame(1, []byte{0, 0, 0, 0}))
	c.answer()
}

// The three socket settings reach the kernel, on the connections too; what is not set is left to it.
func TestSocketSettings(t *testing.T) {
	b := startBroker(t, t.TempDir(), "socket.send.buffer.bytes=70000", "socket.receive.buffer.bytes=50000", "socket.listen.backlog.size=7")
	dialListener(t, b, "PLAINTEXT").served()
	var fd int
	b.net.each(func(c *conn) { fd = c.tr.(*socket).fd })
	f := func(option, want int) {
		t.Helper()
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err != nil || got != want {
			t.Errorf("option %d is %d (%v), want %d", option, got, err, want)
		}
	}
	f(unix.SO_SNDBUF, 140000) // Linux counts twice what was asked for
	f(unix.SO_RCVBUF, 100000)
	if got, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil || got != nearCongestion {
		t.Errorf("congestion control is %q (%v), want %q: the client is on this machine", got, err, nearCongestion)
	}
	if got := backlog(t, b); got != 7 {
		t.Errorf("the queue of new connections holds %d, want 7", got)
	}
	b = startBroker(t, t.TempDir())
	if got := backlog(t, b); got < 50 {
		t.Errorf("the queue of new connections holds %d by default", got)
	}
}

// backlog is the length of the listener's queue, which Linux tells in a field that has another meaning for connections.
func backlog(t *testing.T, b *Broker) (length int) {
	t.Helper()
	raw, err := b.listening[0].ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		info, e := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if e != nil {
			t.Error(e)
			return
		}
		length = int(info.Sacked)
	}); err != nil {
		t.Fatal(err)
	}
	return length
}

// At max.connections new ones wait until there is room; the listener of the brokers does not wait, others make room for it.
func TestMaxConnections(t *testing.T) {
	b := startBroker(t, t.TempDir(), twoListeners, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT",
		"inter.broker.listener.name=INTERNAL", "max.connections=2")
	first, second := dialListener(t, b, "PLAINTEXT"), dialListener(t, b, "PLAINTEXT")
	first.served()
	second.served()
	first.served() // second is silent for longest now
	third := dialListener(t, b, "PLAINTEXT")
	third.send(frame(1, []byte{0, 0, 0, 0}))
	if n := b.net.connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	inner := dialListener(t, b, "INTERNAL")
	inner.served()
	second.wantClosed()
	first.served()
	if err := inner.Close(); err != nil {
		t.Fatal(err)
	}
	third.answer()
}

// A listener has limits of its own, by its prefix, from the file and while the broker runs.
func TestListenerLimits(t *testing.T) {
	b := startBroker(t, t.TempDir(), twoListeners, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT",
		"inter.broker.listener.name=INTERNAL", "listener.name.plaintext.max.connections=1")
	first := dialListener(t, b, "PLAINTEXT")
	first.served()
	second := dialListener(t, b, "PLAINTEXT")
	second.send(frame(1, []byte{0, 0, 0, 0}))
	dialListener(t, b, "INTERNAL").served()
	dialListener(t, b, "INTERNAL").served()
	if n := b.net.connections(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
	limits := func(want int, rate float64) {
		t.Helper()
		got := limitsOf(b.settings.Load())
		if got.MaxPerListener["PLAINTEXT"] != want || got.CreationPerListener["PLAINTEXT"] != rate {
			t.Errorf("limits %+v, want %d connections and a rate of %v", got, want, rate)
		}
	}
	set := func(name, value string) { alterBroker(t, kgoClientAt(t, b, "INTERNAL"), "1", name, value) }
	set("listener.name.plaintext.max.connections", "3")
	second.answer()
	dialListener(t, b, "PLAINTEXT").served()
	set("listener.name.plaintext.max.connection.creation.rate", "2")
	limits(3, 2)
	set("listener.name.plaintext.max.connections", "100")
	began := clock.System().Mono()
	for range 5 { // two at once, then one every half second
		dialListener(t, b, "PLAINTEXT").served()
	}
	if took := clock.System().Mono().Sub(began); took < time.Second {
		t.Errorf("five connections took %v at two a second", took)
	}
}

package server

import (
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/server/handler"
)

// The memory of long requests is given back once they have ended, once for all of them, however they end.
func TestMemoryOfLongRequestsIsGivenBack(t *testing.T) {
	const long = 9 << 20
	f := func(end func(p *pipe), served int, want bool) {
		t.Helper()
		got := 0
		p := newPipe(func(c handler.Call) { got++; c.NoReply() })
		p.conn.maxFrame = 100 << 20
		freed := make(chan struct{}, 9)
		p.conn.net.trim.free = func() { freed <- struct{}{} }
		end(p)
		if got != served {
			t.Errorf("%d requests served, want %d", got, served)
		}
		clk := p.conn.net.clock.(*clock.Manual)
		clk.Advance(trimAfter - time.Millisecond)
		p.conn.net.workers.close()
		if len(freed) != 0 {
			t.Error("given back too early")
		}
		clk.Advance(time.Millisecond)
		p.conn.net.workers.close()
		clk.Advance(time.Hour)
		p.conn.net.workers.close()
		if n := len(freed); (n == 1) != want || n > 1 {
			t.Errorf("given back %d times, want it %v", n, want)
		}
	}
	whole := func(p *pipe) {
		b := frame(1, make([]byte, long))
		p.conn.onData(b[:100])
		p.conn.onData(b[100:])
	}
	f(func(p *pipe) { whole(p); whole(p); whole(p) }, 3, true)
	f(func(p *pipe) { whole(p) }, 1, false)
	f(func(p *pipe) { p.conn.onData(frame(1, make([]byte, 2*long))[:2*long]); p.conn.onClosed() }, 0, true)
	f(func(p *pipe) { p.conn.onClosed() }, 0, false)
}

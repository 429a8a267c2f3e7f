package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/server/handler"
)

// lockedBuffer is a log that a test reads while others write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// strayWorld is a network whose clients are told an address.
type strayWorld struct {
	*fixture
	clk  *clock.Manual
	log  lockedBuffer
	port atomic.Int32 // the listener's
}

func newStrayWorld(t *testing.T, at told) *strayWorld {
	w := &strayWorld{clk: clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.fixture = start(t, func(c handler.Call) { c.Reply(raw("x")) }, func(o *networkOptions) {
		o.Clock, o.Wheel, o.MaxIdle, o.Log = w.clk, wheel.New(w.clk), 0, zerolog.New(&w.log).Level(zerolog.InfoLevel)
		o.Advertised = func(string) (told, bool) {
			if at.port == 0 {
				return told{at.host, int(w.port.Load()), at.auto}, true
			}
			return at, true
		}
		o.Lookup = func(_ context.Context, host string) ([]string, error) {
			switch host {
			case "unknown":
				return nil, errors.New("no such host")
			case "kafka", "localhost":
				return []string{"127.0.0.1"}, nil
			}
			return []string{host}, nil
		}
	})
	w.port.Store(int32(w.net.listeners[0].port))
	return w
}

// ask sends a request and waits for its answer.
func ask(c *client, key int16) {
	b := frame(1, nil)
	binary.BigEndian.PutUint16(b[4:], uint16(key))
	c.send(b)
	c.answer()
}

// settle waits until the workers have nothing to do: work is submitted before the answer to what caused it.
func (w *strayWorld) settle() { w.net.workers.close() }

const warning = "has not come there"

func TestStrays(t *testing.T) {
	f := func(name string, at told, act func(w *strayWorld), want ...string) {
		t.Run(name, func(t *testing.T) {
			w := newStrayWorld(t, at)
			act(w)
			w.clk.Advance(strayPatience)
			w.settle()
			got := w.log.String()
			for _, s := range want {
				if !strings.Contains(got, s) {
					t.Errorf("no %q in %s", s, got)
				}
			}
			if len(want) == 0 && got != "" {
				t.Errorf("logged %s", got)
			}
			if strings.Contains(got, warning) != (len(want) > 0 && strings.Contains(strings.Join(want, " "), warning)) {
				t.Errorf("warned: %s", got)
			}
		})
	}
	asks := func(w *strayWorld) {
		c := w.dial()
		ask(c, apiVersionsKey)
		ask(c, metadataKey)
		ask(c, findCoordinatorKey)
	}
	f("the address that it came to", told{host: "127.0.0.1"}, asks)
	f("auto", told{host: "elsewhere", port: 1, auto: true}, asks)
	f("another address", told{host: "192.0.2.1"}, asks, `"level":"info"`, "they will go on to that one", `"level":"warn"`, warning, `"advertised":"192.0.2.1:`, `"client_id":"test"`)
	f("another port", told{host: "127.0.0.1", port: 1}, asks, "which this listener does not have", warning)
	f("a name that nobody knows", told{host: "unknown"}, asks, "is not even known on this machine", warning)
	f("it goes on here", told{host: "192.0.2.1"}, func(w *strayWorld) {
		c := w.dial()
		ask(c, metadataKey)
		ask(c, 0)
	}, "they will go on to that one")
	f("it goes on with another connection", told{host: "192.0.2.1"}, func(w *strayWorld) {
		asks(w)
		ask(w.dial(), 1)
	}, "they will go on to that one")
	f("it has gone", told{host: "192.0.2.1"}, func(w *strayWorld) {
		c := w.dial()
		ask(c, metadataKey)
		_ = c.Close()
		for w.net.connections() > 0 {
			w.settle()
		}
	}, "they will go on to that one")
}

// TestStraysAreToldOnce: one client is warned of once in ten minutes, one address is told of once.
func TestStraysAreToldOnce(t *testing.T) {
	w := newStrayWorld(t, told{host: "192.0.2.1", port: 9092})
	count := func() (infos, warnings int) {
		w.settle()
		return strings.Count(w.log.String(), `"level":"info"`), strings.Count(w.log.String(), warning)
	}
	for range 3 {
		ask(w.dial(), metadataKey)
	}
	w.clk.Advance(strayPatience)
	if i, n := count(); i != 1 || n != 1 {
		t.Errorf("%d infos and %d warnings", i, n)
	}
	w.clk.Advance(warnAgain)
	ask(w.dial(), metadataKey)
	w.clk.Advance(strayPatience)
	if i, n := count(); i != 1 || n != 2 {
		t.Errorf("%d infos and %d warnings after ten minutes", i, n)
	}
}

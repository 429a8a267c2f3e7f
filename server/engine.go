package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"runtime"

	"github.com/panjf2000/gnet/v2"
	"github.com/rs/zerolog"
)

// Engine is what all brokers of a process share: the event loops (each holds a thread), the pool of workers for what may wait, and the
// pools of buffers. Connections are handed to it after accept.
type Engine struct {
	client   *gnet.Client
	loops    int
	workers  *workers
	bufs     buffers
	writable *writables
}

// EngineOptions sizes an Engine.
type EngineOptions struct {
	Loops   int // event loops; GOMAXPROCS when 0
	Workers int // goroutines for what may wait; twice the loops, at least 4, when 0
	Log     zerolog.Logger
}

// readBufferBytes is what a loop reads at once: 64 KiB was as good as larger in measurements.
const readBufferBytes = 64 << 10

// NewEngine starts the loops. Close ends them.
func NewEngine(o EngineOptions) (*Engine, error) {
	if !socketsSupported {
		return nil, errors.New("this system is not supported as a server: run kaja on Linux (a container or WSL will do)")
	}
	if o.Loops == 0 {
		o.Loops = runtime.GOMAXPROCS(0)
	}
	if o.Workers == 0 {
		o.Workers = max(4, 2*o.Loops)
	}
	e := &Engine{loops: o.Loops, workers: newWorkers(o.Workers), writable: newWritables()}
	client, err := gnet.NewClient(&events{}, gnet.WithNumEventLoop(o.Loops), gnet.WithReadBufferCap(readBufferBytes),
		gnet.WithTCPNoDelay(gnet.TCPNoDelay), gnet.WithLogger(gnetLog{o.Log.With().Str("component", "gnet").Logger()}))
	if err != nil {
		return nil, fmt.Errorf("make event loops: %w", err)
	}
	if err := client.Start(); err != nil {
		return nil, fmt.Errorf("start event loops: %w", err)
	}
	e.client = client
	return e, nil
}

// Close ends the loops; all brokers on it have been closed before.
func (e *Engine) Close() error {
	e.workers.close()
	e.writable.close()
	if err := e.client.Stop(); err != nil {
		return fmt.Errorf("stop event loops: %w", err)
	}
	return nil
}

// errNotRegistered is a connection that the loop could not watch.
var errNotRegistered = errors.New("the event loop did not take the connection")

// enroll hands an accepted connection to a loop; k is its connection object. It closes c in any case (the loop has a duplicate).
func (e *Engine) enroll(c net.Conn, k *conn) error {
	t := &socket{conn: k, engine: e}
	k.tr = t
	if _, err := e.client.EnrollContext(c, t); err != nil {
		return fmt.Errorf("enroll connection: %w", err)
	}
	if !t.opened {
		return errNotRegistered
	}
	return nil
}

// events is where gnet calls, always on the connection's loop.
type events struct {
	gnet.BuiltinEventEngine
}

// OnOpen implements gnet.EventHandler.
func (*events) OnOpen(g gnet.Conn) ([]byte, gnet.Action) {
	t := g.Context().(*socket)
	t.open(g)
	if !t.conn.net.opened(t.conn) {
		return nil, gnet.Close
	}
	return nil, gnet.None
}

// OnTraffic implements gnet.EventHandler. Everything is consumed each time: gnet would buffer without bound what is left.
func (*events) OnTraffic(g gnet.Conn) gnet.Action {
	t := g.Context().(*socket)
	data, err := g.Next(-1)
	if err != nil || len(data) == 0 {
		return gnet.None
	}
	t.inTraffic = true
	t.conn.onData(data)
	t.inTraffic = false
	if t.wantClose {
		return gnet.Close
	}
	return gnet.None
}

// OnClose implements gnet.EventHandler.
func (*events) OnClose(g gnet.Conn, _ error) gnet.Action {
	t := g.Context().(*socket)
	t.closed = true
	t.engine.writable.forget(t)
	t.conn.onClosed()
	return gnet.None
}

// loopDescriptor finds the epoll descriptor of a gnet 2.9.7 event loop, -1 if it is built differently. gnet can't pause reading; with
// the descriptor we can. A test guards it for the version that go.mod pins.
func loopDescriptor(loop gnet.EventLoop) int {
	v := reflect.ValueOf(loop)
	for _, name := range [...]string{"poller", "fd"} {
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return -1
		}
		if v = v.Elem().FieldByName(name); !v.IsValid() {
			return -1
		}
	}
	if v.Kind() != reflect.Int {
		return -1
	}
	return int(v.Int())
}

// task is a function that a loop runs.
type task func()

// Run implements gnet.Runnable.
func (f task) Run(context.Context) error {
	f()
	return nil
}

// gnetLog hands gnet's lines to our log.
type gnetLog struct{ log zerolog.Logger }

// Debugf implements logging.Logger; gnet's are of no use to anybody but its authors.
func (l gnetLog) Debugf(format string, args ...any) { l.log.Trace().Msgf(format, args...) }

// Infof implements logging.Logger.
func (l gnetLog) Infof(format string, args ...any) { l.log.Debug().Msgf(format, args...) }

// Warnf implements logging.Logger.
func (l gnetLog) Warnf(format string, args ...any) { l.log.Warn().Msgf(format, args...) }

// Errorf implements logging.Logger. gnet calls it with nil errors too.
func (l gnetLog) Errorf(format string, args ...any) { l.log.Warn().Msgf(format, args...) }

// Fatalf implements logging.Logger; whether to end the process is not for gnet to say.
func (l gnetLog) Fatalf(format string, args ...any) { l.log.Error().Msgf(format, args...) }

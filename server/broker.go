package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/replica"
	"github.com/kaja-mq/kaja/server/handler"
	"github.com/kaja-mq/kaja/storage"
)

// Options start a Broker.
type Options struct {
	Config *config.Static
	FS     vfs.FS
	Clock  clock.Clock
	Log    zerolog.Logger
	// ClusterID is the cluster's id if it is given from outside; "" takes the one on disk, or makes one.
	ClusterID string
	// Content, if set, is made before clients are let in.
	Content *Content
	// Engine is shared with other brokers of the process; nil makes one that the broker closes.
	Engine *Engine
	// Loops is how many event loops that one has, see EngineOptions.
	Loops int
	// Failed, if set, hears once that the broker can't go on (last log directory or metadata log lost): it must be closed and the process
	// ended with the error. It may be called on any goroutine and must not block.
	Failed func(err error)
}

// Broker is a running broker: storage, metadata, partitions and the network that serves them.
type Broker struct {
	o         Options
	engine    *Engine
	ownEngine bool
	wheel     *wheel.Wheel
	store     *storage.Manager
	replicas  *replica.Manager
	control   *controller.Controller
	coord     *coordinators
	handler   *handler.Handler
	net       *network
	monitor   *monitor // nil without a console
	listening []*listener

	hostname   func() string // the machine's name, looked up once
	cleanStart bool          // all log directories were closed cleanly

	images   metadata.Holder // what clients see: stored when the partitions serve
	settings atomic.Pointer[config.Resolver]
	newest   atomic.Pointer[metadata.Image] // may be ahead of images while it is applied

	closeOnce sync.Once
	closeErr  error
	failOnce  sync.Once
}

// Start opens everything and returns when the broker serves. Its errors are one line that says what to do.
func Start(o Options) (_ *Broker, err error) {
	if err := checkSupported(o.Config); err != nil {
		return nil, err
	}
	b := &Broker{o: o, engine: o.Engine, wheel: wheel.New(o.Clock), hostname: sync.OnceValue(canonicalHost)}
	b.newest.Store(metadata.Empty())
	b.settings.Store(config.Broker(o.Config, nil, nil))
	defer func() {
		if err != nil {
			_ = b.Close() // the first error is the one that matters
			err = oneLine{err}
		}
	}()
	if b.engine == nil {
		if b.engine, err = NewEngine(EngineOptions{Loops: o.Loops, Log: o.Log}); err != nil {
			return nil, err
		}
		b.ownEngine = true
	}
	if err := b.startMonitor(); err != nil {
		return nil, err
	}
	b.net = newNetwork(b.networkOptions())
	if err := b.listen(); err != nil {
		return nil, err
	}
	if b.store, err = storage.Open(b.storageOptions()); err != nil {
		return nil, fmt.Errorf("open log directories: %w", err)
	}
	b.cleanStart = b.store.ClosedCleanly()
	b.coord = newCoordinators(b)
	b.replicas = replica.New(replica.Options{NodeID: o.Config.NodeID(), Store: replica.StoreOf(b.store), Clock: o.Clock, Wheel: b.wheel, Log: b.component("replica"), OnRole: b.coord.role,
		Traffic: b.monitor.counts()})
	b.store.SetHWSource(b.replicas.HighWatermark)
	if err := b.startController(); err != nil {
		return nil, fmt.Errorf("open metadata: %w", err)
	}
	b.assignDirs(b.images.Load(), nil)
	b.reportOffline() // what failed since the registration
	b.store.Start()
	if err := b.applyContent(); err != nil {
		return nil, err
	}
	b.handler = b.newHandler()
	b.net.serve = b.handler
	for _, l := range b.listening {
		l.start()
	}
	b.monitor.enter(brokerRunning)
	return b, nil
}

// oneLine is an error of several, told in one line.
type oneLine struct{ error }

// Error implements error.
func (e oneLine) Error() string { return strings.ReplaceAll(e.error.Error(), "\n", ", ") }

// Unwrap gives the error with its parts.
func (e oneLine) Unwrap() error { return e.error }

// NodeID is node.id.
func (b *Broker) NodeID() int32 { return b.o.Config.NodeID() }

// ClusterID is the cluster's id.
func (b *Broker) ClusterID() string { return b.store.ClusterID() }

// Addrs are the addresses that the listeners are bound to, by listener name.
func (b *Broker) Addrs() map[string]string {
	m := make(map[string]string, len(b.listening))
	for _, l := range b.listening {
		m[l.name] = l.addr().String()
	}
	return m
}

// Image is the cluster image that clients see.
func (b *Broker) Image() *metadata.Image { return b.images.Load() }

// Close stops listening, lets requests in flight finish, closes partitions and metadata, and writes everything down for a clean start.
func (b *Broker) Close() error {
	b.closeOnce.Do(func() { b.closeErr = b.close() })
	return b.closeErr
}

func (b *Broker) close() error {
	var errs []error
	b.monitor.enter(brokerStopping)
	if b.net != nil {
		b.net.close()
	}
	errs = append(errs, b.monitor.close())
	if b.control != nil {
		errs = append(errs, b.control.Close())
	}
	if b.coord != nil {
		b.coord.close()
	}
	if b.replicas != nil {
		b.replicas.Close()
	}
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	b.wheel.Close()
	if b.ownEngine {
		errs = append(errs, b.engine.Close())
	}
	return errors.Join(errs...)
}

// failed reports what the broker does not survive.
func (b *Broker) failed(err error) {
	b.failOnce.Do(func() {
		err = oneLine{err}
		b.o.Log.Error().Err(err).Msg("broker must stop")
		b.monitor.failed(err)
		if b.o.Failed != nil {
			b.o.Failed(err)
		}
	})
}

// checkSupported refuses what this version does not do.
func checkSupported(cfg *config.Static) error {
	for _, l := range cfg.Listeners() {
		if l.Protocol != "PLAINTEXT" {
			return fmt.Errorf("listener %s uses %s, which is not supported yet; map it to PLAINTEXT in listener.security.protocol.map", l.Name, l.Protocol)
		}
	}
	return nil
}

// listen binds the listeners, so that a port in use is found before anything is written; connections are accepted when all is ready.
func (b *Broker) listen() error {
	for _, l := range b.o.Config.Listeners() {
		ln, err := b.net.listen(listenerOptions{Name: l.Name, Host: l.Host, Port: l.Port, MaxFrame: int(b.o.Config.Int("socket.request.max.bytes")), Socket: socketConfig(b.o.Config)})
		if err != nil {
			return err
		}
		b.listening = append(b.listening, ln)
	}
	return nil
}

// socketConfig takes only what was set: Kafka's defaults (100 KiB buffers, a queue of 50) are smaller than what systems choose by themselves.
func socketConfig(cfg *config.Static) (s SocketConfig) {
	for name, v := range map[string]*int{
		"socket.send.buffer.bytes": &s.SendBuffer, "socket.receive.buffer.bytes": &s.ReceiveBuffer, "socket.listen.backlog.size": &s.Backlog,
	} {
		if n := cfg.Int(name); cfg.IsSet(name) && n > 0 {
			*v = int(n)
		}
	}
	if !cfg.IsSet("socket.send.buffer.bytes") {
		s.NearSendBuffer = nearSendBuffer
	}
	return s
}

func (b *Broker) networkOptions() networkOptions {
	cfg := b.o.Config
	return networkOptions{
		Engine:                b.engine,
		Clock:                 b.o.Clock,
		Wheel:                 b.wheel,
		Log:                   b.component("network"),
		MaxIdle:               time.Duration(cfg.Int("connections.max.idle.ms")) * time.Millisecond,
		QueuedMaxRequestBytes: cfg.Int("queued.max.request.bytes"),
		Limits:                limitsOf(b.settings.Load()),
		Timings:               b.monitor.measures(),
		Advertised:            b.advertisedAt,
		Lookup:                net.DefaultResolver.LookupHost,
	}
}

func (b *Broker) newHandler() *handler.Handler {
	data := handler.NewDataPlane(b.replicas, b.sessionSlots, b.control.AllocateProducerIDs)
	data.Counting = b.monitor != nil
	b.coord.txns.ids.Store(data.ProducerIDs)
	return handler.New(handler.Handler{
		NodeID:     b.NodeID(),
		ClusterID:  b.ClusterID(),
		Images:     b.images.Load,
		Config:     b.settings.Load,
		Controller: b.control,
		Data:       data,
		Groups:     b.coord.groups,
		Txns:       b.coord.txns,
		Clock:      b.o.Clock,
		Wheel:      b.wheel,
		Log:        b.component("handler"),
	})
}

// sessionSlots is how many fetch sessions there may be.
func (b *Broker) sessionSlots() int {
	return int(b.settings.Load().Int("max.incremental.fetch.session.cache.slots"))
}

// component is the logger of a part of the broker, whose level can be changed while it runs.
func (b *Broker) component(name string) zerolog.Logger {
	return b.o.Log.With().Str("component", name).Logger().Hook(loggerLevel{b.o.Config.Loggers(), config.LoggerPrefix + name})
}

// loggerLevel drops what a logger's level does not let through. It is asked for lines that the process's level, the lowest of all, lets
// through: usually none but those that are written.
type loggerLevel struct {
	loggers *config.Loggers
	name    string
}

// Run implements zerolog.Hook.
func (h loggerLevel) Run(e *zerolog.Event, level zerolog.Level, _ string) {
	if !h.loggers.Passes(h.name, strings.ToUpper(level.String())) {
		e.Discard()
	}
}

// random16 is a random id, of which none is reserved (see metadata.Dir… and Kafka's Uuid).
func random16() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

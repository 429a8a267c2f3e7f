package controller

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/exec"
	"github.com/kaja-mq/kaja/metadata"
)

// Defaults of Options, which are those of Kafka's properties.
const (
	DefaultMaxBytesBetweenSnapshots = 20 << 20           // metadata.log.max.record.bytes.between.snapshots
	DefaultSnapshotInterval         = time.Hour          // metadata.log.max.snapshot.interval.ms
	DefaultMaxRetentionBytes        = 100 << 20          // metadata.max.retention.bytes
	DefaultMaxRetention             = 7 * 24 * time.Hour // metadata.max.retention.ms
	// MaxQueuedCommands bounds what waits for the controller. Each connection has one request in flight, so a broker within
	// its connection limit hardly gets there; what comes on top is answered REQUEST_TIMED_OUT, as Kafka answers a queue that is too slow.
	MaxQueuedCommands = 20000
)

// Options start a Controller.
type Options struct {
	NodeID    int32
	ClusterID string
	Log       Log
	Clock     clock.Clock
	Logger    zerolog.Logger
	// Voters are the node ids of controller.quorum.voters; empty means this node alone.
	Voters []int32
	// VoterEndpoints are the controller listeners as others see them, for DescribeQuorum and the controller's registration.
	VoterEndpoints []Endpoint
	// Broker is this node's own registration.
	Broker Registration
	// Advertise makes endpoints of advertised.listeners: with the machine's name and the ports that were bound where they are left out. It
	// must not block. nil: the setting cannot be changed while the broker runs.
	Advertise func([]config.Listener) []Endpoint
	// CleanStart says that the log directories were closed cleanly: else the leader epochs of this broker's partitions are raised,
	// so that consumers notice records lost with the page cache.
	CleanStart bool
	// Static is the configuration that the process was started with.
	Static *config.Static
	// ScramKeys computes what is stored of a salted password; mechanism 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512.
	ScramKeys func(mechanism int8, saltedPassword []byte) (storedKey, serverKey []byte)
	// ResolveHost tells whether a host name has an address; nil: none has. It runs on the caller of AlterClientQuotas.
	ResolveHost func(host string) bool
	// SetLogLevel changes a logger's level at once. It runs on the controller's goroutine; nil: levels stay.
	SetLogLevel func(LogLevel)
	// Random gives the bits for topic ids and placement; the simulator passes a seeded one.
	Random func() uint64
	// Publish gets every new image and what changed, in order, before the command that caused it is answered. It runs on the
	// controller's goroutine (for the first image: inside Start). The first delta holds everything.
	Publish func(img *metadata.Image, delta *metadata.Delta)
	// Failed hears once that the log can't be written any more: the broker has to stop. It runs on the controller's goroutine.
	Failed func(err error)

	// Zero values take the defaults above.
	MaxBytesBetweenSnapshots int64
	SnapshotInterval         time.Duration // negative: no snapshots by time
	MaxRetentionBytes        int64         // negative: not bounded
	MaxRetention             time.Duration // negative: not bounded
}

// Endpoint is where a listener can be reached.
type Endpoint struct {
	Name             string // listener name, e.g. PLAINTEXT
	Host             string
	Port             uint16
	SecurityProtocol int16 // 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
}

// Registration is what a broker says of itself.
type Registration struct {
	Incarnation [16]byte // new for every start
	Endpoints   []Endpoint
	Rack        string // "" none
	LogDirs     [][16]byte
}

// Controller is the running metadata quorum of this node. Its methods may be called from any goroutine.
type Controller struct {
	o      Options
	holder metadata.Holder
	loop   *exec.Loop
	r      *replica // owned by the loop's goroutine

	mu     sync.Mutex
	queue  []command // guarded by mu
	closed bool      // guarded by mu: no new commands
}

// command is one request: decide runs on the controller's goroutine, exactly one of its reply and refuse is called.
type command struct {
	decide func(m *machine) effects
	refuse func(err *kerr.Error)
}

// effects are what a command does: records to be committed, then the reply.
type effects struct {
	records []versioned
	reply   func()
}

// Start loads the log, becomes leader (alone), registers the broker, and publishes the first image before it returns.
func Start(o Options) (*Controller, error) {
	o = o.withDefaults()
	if len(o.Voters) != 1 || o.Voters[0] != o.NodeID {
		return nil, fmt.Errorf("controller.quorum.voters names %v: a quorum of several nodes is not supported yet, let node.id %d be the only voter", o.Voters, o.NodeID)
	}
	c := &Controller{o: o}
	c.r = &replica{o: o, publish: func(img *metadata.Image, d *metadata.Delta) {
		c.holder.Store(img)
		if o.Publish != nil {
			o.Publish(img, d)
		}
	}}
	if err := c.r.start(); err != nil {
		return nil, err
	}
	c.loop = exec.Start(o.Clock, c.Step)
	return c, nil
}

func (o Options) withDefaults() Options {
	if len(o.Voters) == 0 {
		o.Voters = []int32{o.NodeID}
	}
	if o.MaxBytesBetweenSnapshots == 0 {
		o.MaxBytesBetweenSnapshots = DefaultMaxBytesBetweenSnapshots
	}
	if o.SnapshotInterval == 0 {
		o.SnapshotInterval = DefaultSnapshotInterval
	}
	if o.MaxRetentionBytes == 0 {
		o.MaxRetentionBytes = DefaultMaxRetentionBytes
	}
	if o.MaxRetention == 0 {
		o.MaxRetention = DefaultMaxRetention
	}
	return o
}

// Image is the last published image.
func (c *Controller) Image() *metadata.Image { return c.holder.Load() }

// Step runs what is queued: all commands that wait go to the log together, with one sync. The loop calls it.
func (c *Controller) Step(now time.Time) (next time.Time) {
	c.mu.Lock()
	queue := c.queue
	c.queue = nil
	c.mu.Unlock()
	next, err := c.r.step(now, queue)
	if err != nil {
		c.fail(err)
	}
	return next
}

// fail refuses everything from now on; the first time it tells the owner.
func (c *Controller) fail(err error) {
	first := c.refuseAll()
	if first && !errors.Is(err, errStopped) {
		c.o.Logger.Error().Err(err).Msg("metadata log failed, the broker has to stop")
		if c.o.Failed != nil {
			c.o.Failed(err)
		}
	}
}

// refuseAll closes the queue and reports whether it was open.
func (c *Controller) refuseAll() bool {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	queue := c.queue
	c.queue = nil
	c.mu.Unlock()
	for _, cmd := range queue {
		cmd.refuse(kerr.NotController)
	}
	return first
}

// submit queues a command and wakes the loop.
func (c *Controller) submit(cmd command) {
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		cmd.refuse(kerr.NotController)
		return
	case len(c.queue) >= MaxQueuedCommands:
		c.mu.Unlock()
		cmd.refuse(kerr.RequestTimedOut)
		return
	}
	c.queue = append(c.queue, cmd)
	c.mu.Unlock()
	c.loop.Wake()
}

// Close answers what is still queued with NOT_CONTROLLER, ends the loop and closes the log.
func (c *Controller) Close() error {
	c.refuseAll()
	c.loop.Close()
	return c.r.close()
}

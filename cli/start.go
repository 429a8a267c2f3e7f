package cli

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/server"
)

// running is a server.Broker that can be waited for.
type running struct {
	*server.Broker
	done chan struct{}
	once sync.Once
	err  error // set before done is closed
}

// Done implements broker.
func (r *running) Done() <-chan struct{} { return r.done }

// Err implements broker; only after Done is closed.
func (r *running) Err() error { return r.err }

func (r *running) fail(err error) {
	r.once.Do(func() {
		r.err = err
		close(r.done)
	})
}

func startServer(p *Process, cfg *config.Static, log zerolog.Logger) (broker, error) {
	r := &running{done: make(chan struct{})}
	b, err := server.Start(server.Options{Config: cfg, FS: p.FS, Clock: p.Clock, Log: log, Loops: p.spareProcessors(), ClusterID: cfg.ClusterID(), Content: p.content, Failed: r.fail})
	p.content = nil // its records may be large
	if err != nil {
		return nil, err
	}
	r.Broker = b
	return r, nil
}

// spare is for how many threads more than there are processors Go code may run at a time.
const spare = 2

// spareProcessors returns the number of processors and lets the runtime believe that there are two more, unless GOMAXPROCS says how many. With naps
// as long as ours it notices late that a thread waits for the disk, and gives its place to no other; without spare ones connections
// beside a topic that flushes each record would wait for that, too.
func (p *Process) spareProcessors() int {
	n := runtime.GOMAXPROCS(0)
	if p.Lengthen != nil && !slices.ContainsFunc(p.Env, func(kv string) bool { return strings.HasPrefix(kv, "GOMAXPROCS=") }) {
		runtime.GOMAXPROCS(n + spare)
	}
	return n
}

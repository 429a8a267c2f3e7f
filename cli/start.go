package cli

import (
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
	b, err := server.Start(server.Options{Config: cfg, FS: p.FS, Clock: p.Clock, Log: log, ClusterID: cfg.ClusterID(), Content: p.content, Failed: r.fail})
	p.content = nil // its records may be large
	if err != nil {
		return nil, err
	}
	r.Broker = b
	return r, nil
}

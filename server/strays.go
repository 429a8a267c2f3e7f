package server

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/wheel"
)

// strays looks after clients that are told an address where they do not arrive: the most frequent trouble with Kafka, and one that shows
// only at the client. A client asks any broker (bootstrap.servers) for Metadata, and goes on to the address that it finds there
// (advertised.listeners). Two things are told in the log:
//
//   - once per address, that clients come to one that is not the advertised one (info: behind a published port that is as it should be);
//   - that a client has got its Metadata and does nothing further, neither on this connection nor on another (warn).
//
// A nil *strays looks after nobody. The request path pays a comparison per request once a connection has done something else than ask.
type strays struct {
	net        *network
	log        zerolog.Logger
	advertised func(listener string) (told, bool)
	lookup     func(ctx context.Context, host string) ([]string, error)

	mu     sync.Mutex
	seen   map[arrival]bool     // addresses that were judged; guarded by mu
	warned map[string]time.Time // clients by host, and when; guarded by mu
}

// told is what clients of a listener are told of this broker; auto is right by itself.
type told struct {
	host string
	port int
	auto bool
}

// arrival is where a client came to.
type arrival struct {
	listener, host string
	port           int
}

// Bounds: what is told at most, so that the log stays readable.
const (
	// strayPatience is how long a client may take from Metadata to its next step.
	strayPatience = 10 * time.Second
	// maxArrivals is how many addresses are told of in a life, maxWarned how many clients are remembered.
	maxArrivals = 16
	maxWarned   = 256
	// warnAgain is after how long a client is told of again.
	warnAgain = 10 * time.Minute
	// lookupTimeout bounds the resolution of an advertised name.
	lookupTimeout = 2 * time.Second
)

func newStrays(n *network, log zerolog.Logger, advertised func(string) (told, bool), lookup func(context.Context, string) ([]string, error)) *strays {
	return &strays{net: n, log: log, advertised: advertised, lookup: lookup, seen: map[arrival]bool{}, warned: map[string]time.Time{}}
}

// strayState is a connection's part; it is read by others.
type strayState struct{ atomic.Int32 }

// Stages of a connection.
const (
	strayNew     int32 = iota // has asked for versions at most
	strayAsked                // has asked where to go
	straySettled              // has done what one does at the right place
)

// Keys of requests that a client may send anywhere, before it is where it belongs: Java's consumer looks for its coordinator and Java's
// producer asks for its id over the connection to bootstrap.servers.
const (
	metadataKey         = 3
	findCoordinatorKey  = 10
	saslHandshakeKey    = 17
	apiVersionsKey      = 18
	initProducerIDKey   = 22
	saslAuthenticateKey = 36
	describeClusterKey  = 60
	telemetryKey        = 71 // GetTelemetrySubscriptions, PushTelemetry follows
	pushTelemetryKey    = 72
)

// saw is told of each request, on the connection's loop.
func (s *strays) saw(c *conn, key int16, client *string) {
	if s == nil || c.stray.Load() == straySettled {
		return
	}
	switch key {
	case apiVersionsKey, saslHandshakeKey, saslAuthenticateKey, findCoordinatorKey, initProducerIDKey, telemetryKey, pushTelemetryKey:
	case metadataKey, describeClusterKey:
		if c.stray.CompareAndSwap(strayNew, strayAsked) {
			s.asked(c, client)
		}
	default:
		c.stray.Store(straySettled)
	}
}

// asked judges the address that the client came to, and looks at the connection again later.
func (s *strays) asked(c *conn, client *string) {
	at := arrival{c.listener, c.localHost, c.localPort}
	t, ok := s.advertised(c.listener)
	if !ok || t.auto {
		return
	}
	s.mu.Lock()
	first := !s.seen[at] && len(s.seen) < maxArrivals
	if first {
		s.seen[at] = true
	}
	s.mu.Unlock()
	if first {
		s.net.workers.submit(func() { s.tellArrival(at, t) })
	}
	id := ""
	if client != nil {
		id = *client
	}
	e := &wheel.Entry{}
	e.F = func() { s.look(c, at, id) }
	s.net.wheel.Schedule(e, s.net.clock.Mono().Add(strayPatience))
}

func (s *strays) tellArrival(at arrival, t told) {
	if why := s.mismatch(at, t); why != "" {
		s.log.Info().Str("listener", at.listener).Str("came_to", join(at.host, at.port)).Str("advertised", join(t.host, t.port)).
			Msg("clients come to an address that is not the advertised one: " + why + "; see docs/listeners.md")
	}
}

// mismatch says why the advertised address is another one than that of the arrival, "" if it is the same.
func (s *strays) mismatch(at arrival, t told) string {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	addrs, err := s.lookup(ctx, t.host)
	switch {
	case err != nil:
		return "the name " + t.host + " is not even known on this machine; set advertised.listeners to a name or address that clients can reach"
	case !slices.Contains(addrs, at.host) && loopback(addrs) && !loopback([]string{at.host}):
		return t.host + " is every client's own machine, so that this works only for clients on the machine that publishes the port; for others set " +
			"advertised.listeners to what they use to get here, or to auto"
	case !slices.Contains(addrs, at.host):
		return "they will go on to that one; if they cannot reach it, set advertised.listeners to what they use to get here, or to auto"
	case at.port != t.port:
		return "they will go on to port " + strconv.Itoa(t.port) + ", which this listener does not have; unless it is forwarded here, correct advertised.listeners"
	}
	return ""
}

func loopback(addrs []string) bool {
	for _, a := range addrs {
		if ip := net.ParseIP(a); ip == nil || !ip.IsLoopback() {
			return false
		}
	}
	return len(addrs) > 0
}

func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// look comes when the client's time is over. It runs on the wheel and must not block.
func (s *strays) look(c *conn, at arrival, client string) {
	if c.ended.Load() || c.stray.Load() == straySettled || s.arrived(c) {
		return
	}
	t, ok := s.advertised(at.listener)
	now := s.net.clock.Mono()
	s.mu.Lock()
	last, again := s.warned[c.remoteHost]
	tell := ok && !t.auto && (!again || now.Sub(last) >= warnAgain)
	if tell {
		if len(s.warned) >= maxWarned {
			clear(s.warned)
		}
		s.warned[c.remoteHost] = now
	}
	s.mu.Unlock()
	if tell {
		s.net.workers.submit(func() { s.tellStray(c, at, t, client) })
	}
}

// arrived tells whether another connection from the same machine has got further.
func (s *strays) arrived(c *conn) (yes bool) {
	s.net.each(func(o *conn) {
		yes = yes || o != c && o.remoteHost == c.remoteHost && o.stray.Load() == straySettled
	})
	return yes
}

// tellStray warns, unless the client surely reaches the address: it is where it came to, and needs no name of other machines.
func (s *strays) tellStray(c *conn, at arrival, t told, client string) {
	here := net.ParseIP(t.host) != nil || c.remoteHost == c.localHost || loopback([]string{c.remoteHost})
	if here && s.mismatch(at, t) == "" {
		return
	}
	s.log.Warn().Str("listener", at.listener).Str("remote", c.remoteHost).Str("client_id", client).Str("came_to", join(at.host, at.port)).
		Str("advertised", join(t.host, t.port)).Str("waited", strayPatience.String()).
		Msg("a client was told the advertised address and has not come there: it probably cannot resolve or reach it. Set advertised.listeners to the address by which " +
			"it gets here, or to auto; without a restart: kafka-configs --alter --entity-type brokers --entity-name ID --add-config advertised.listeners=[" +
			at.listener + "://HOST:PORT]; see docs/listeners.md")
}

// advertisedAt is what clients of a listener are told of this broker.
func (b *Broker) advertisedAt(listener string) (told, bool) {
	auto := b.settings.Load().AdvertisesAuto(listener)
	img := b.images.Load()
	if img == nil || img.Broker(b.NodeID()) == nil {
		return told{}, false
	}
	e, ok := img.Broker(b.NodeID()).Endpoint(listener)
	return told{e.Host, int(e.Port), auto}, ok
}

package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// Options start a Server.
type Options struct {
	Addr string // host:port; port 0 is any free one
	Log  zerolog.Logger
	// Collect gives the values of all metrics that there are now. It may be called on several goroutines at a time.
	Collect func(*Sink)
	// Health says what keeps the broker from working at all; nil if nothing does. Ready says why it does not serve clients now.
	Health, Ready func() error
}

// Server is the HTTP port. Its methods may be called on any goroutine.
type Server struct {
	http *http.Server
	ln   net.Listener
	done chan struct{}
}

// Bounds of the HTTP server: whoever is slower or larger is no scraper and no probe.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	// maxConnections at a time; more are closed at once, so that nobody takes the files that clients and logs need.
	maxConnections = 256
	// maxScrapes at a time; more are told to come again.
	maxScrapes = 4
	// closeTimeout is what requests in flight get at shutdown.
	closeTimeout = 50 * time.Millisecond
)

// Start listens and serves until Close.
func Start(o Options) (*Server, error) {
	registry, err := newRegistry(o.Collect)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", o.Addr)
	if err != nil {
		return nil, listenError(o.Addr, err)
	}
	ln = &boundedListener{Listener: ln, open: make(chan struct{}, maxConnections)}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: errorLog{o.Log}, ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes}))
	mux.Handle("GET /health", probe("ok", o.Health))
	mux.Handle("GET /ready", probe("ready", o.Ready))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, index) // whoever asked has gone
	})
	s := &Server{ln: ln, done: make(chan struct{}), http: &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes}}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error().Err(err).Msg("console ended")
		}
	}()
	return s, nil
}

// listenError says what to do.
func listenError(addr string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("console: %s is in use by another process; stop it or set another port in kaja.console.listener", addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("console: this machine has no address %s; correct kaja.console.listener (0.0.0.0 is every address)", addr)
	case errors.As(err, &dns):
		return fmt.Errorf("console: the name %s is not known; correct kaja.console.listener", dns.Name)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("console: this user may not listen on %s; set a port from 1024 in kaja.console.listener", addr)
	}
	return fmt.Errorf("console: %w", err)
}

// boundedListener closes connections beyond its number.
type boundedListener struct {
	net.Listener
	open chan struct{} // one entry for each connection
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &boundedConn{Conn: c, release: sync.OnceFunc(func() { <-l.open })}, nil
		default:
			_ = c.Close() // one too many
		}
	}
}

type boundedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

const index = `kaja's console
/metrics  numbers for Prometheus
/health   200 while the broker works, 503 with the reason when it cannot go on
/ready    200 while it serves clients, 503 while it starts or stops
`

// Addr is the address that is listened on.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Close ends the server; requests in flight get a moment.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.done
	if err != nil {
		return fmt.Errorf("close the console: %w", err)
	}
	return nil
}

// probe answers 200, or 503 with the reason.
func probe(good string, check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		answer, code := map[string]string{"status": good}, http.StatusOK
		if err := check(); err != nil {
			answer, code = map[string]string{"status": "not " + good, "reason": err.Error()}, http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer) // whoever asked has gone
	}
}

// errorLog is promhttp's logger.
type errorLog struct{ log zerolog.Logger }

// Println implements promhttp.Logger.
func (l errorLog) Println(v ...any) { l.log.Warn().Msg(fmt.Sprint(v...)) }

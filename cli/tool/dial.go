package tool

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// dialTimeout is Kafka's default of socket.connection.setup.timeout.ms.
const dialTimeout = 10 * time.Second

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer opens connections, in TLS where security.protocol says so.
func (e *Env) dialer(p clientProperties) (dialFunc, error) {
	plain := &net.Dialer{Timeout: dialTimeout}
	if !strings.HasSuffix(strings.ToUpper(p["security.protocol"]), "SSL") {
		return plain.DialContext, nil
	}
	config, err := e.tlsConfig(p)
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{NetDialer: plain, Config: config}).DialContext, nil
}

// patient makes of a connection that cannot be opened an error that the client library tries again, with its back-off and until the
// call's time is up, as Kafka's admin client does: `kafka-topics --list` is how many wait for a broker.
func patient(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		var failed *net.OpError
		if err != nil && errors.As(err, &failed) && failed.Op == "dial" {
			return nil, &net.OpError{Op: "connect", Net: network, Addr: failed.Addr, Err: os.NewSyscallError("connect", failed.Err)}
		}
		return conn, err
	}
}

// connectAdmin makes a client as Kafka's Admin.create does: it tells settings that cannot be, but not why else there is no client.
func (e *Env) connectAdmin(p clientProperties) (*cluster, error) {
	s, err := checkSettings(p, adminRules())
	if err != nil {
		return nil, err
	}
	failed := thrown(classKafka, "Failed to create new KafkaAdminClient")
	dial, err := e.dialer(p)
	if _, given := p[propAPITimeout]; err != nil || given && s.number(propAPITimeout) < s.number(propRequestTimeout) {
		return nil, failed
	}
	c, err := e.connect(p, kgo.Dialer(patient(dial)), kgo.RequestRetries(math.MaxInt))
	var invalid invalidSettings
	switch {
	case errors.As(err, &invalid):
		return nil, invalid.error
	case err != nil:
		return nil, failed
	}
	return c, nil
}

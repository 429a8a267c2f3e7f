package tool

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Settings of Kafka's clients that the tools read or set.
const (
	propBootstrap      = "bootstrap.servers"
	propControllers    = "bootstrap.controllers"
	propClientID       = "client.id"
	propAPITimeout     = "default.api.timeout.ms"
	propRequestTimeout = "request.timeout.ms"
	propRetryBackoff   = "retry.backoff.ms"
	propRetryMax       = "retry.backoff.max.ms"
)

// Defaults of AdminClientConfig.
const (
	defaultAPITimeout     = 60 * time.Second
	defaultRequestTimeout = 30 * time.Second
	defaultRetryBackoff   = 100 * time.Millisecond
	defaultRetryMax       = time.Second
)

// clientProperties are a client's settings.
type clientProperties map[string]string

// loadProperties reads a file of settings, as Kafka's Utils.loadProps; without a name there are none.
func (e *Env) loadProperties(name string) (clientProperties, error) {
	if name == "" {
		return clientProperties{}, nil
	}
	data, err := e.FS.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &exception{classNoSuchFile, name}
	case errors.Is(err, syscall.EISDIR):
		return nil, thrown(classIO, "Is a directory")
	case err != nil:
		return nil, thrown(classIO, "%s", err)
	}
	return javaProperties(data)
}

// duration is a setting in milliseconds.
func (p clientProperties) duration(name string, otherwise time.Duration) (time.Duration, error) {
	text, ok := p[name]
	if !ok {
		return otherwise, nil
	}
	ms, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0, thrown(classConfig, "Invalid value %s for configuration %s: Not a number of type INT", text, name)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// seeds checks a bootstrap list as ClientUtils.parseAndValidateAddresses does.
func seeds(list, property string) ([]string, error) {
	var out []string
	unresolved := false
	for _, each := range strings.Split(list, ",") {
		each = strings.TrimSpace(each)
		if each == "" && strings.TrimSpace(list) != "" {
			return nil, invalidSettings{thrown(classConfig, "Configuration '%s' values must not be empty.", property)}
		}
		if each == "" {
			continue
		}
		host, port, ok := cutAddress(each)
		if !ok {
			return nil, thrown(classConfig, "Invalid url in %s: %s", property, each)
		}
		if host != "" && net.ParseIP(host) == nil {
			if _, err := net.LookupHost(host); err != nil {
				unresolved = true
				continue
			}
		}
		out = append(out, net.JoinHostPort(host, port))
	}
	if len(out) > 0 {
		return out, nil
	}
	if unresolved {
		return nil, thrown(classConfig, "No resolvable bootstrap urls given in %s", property)
	}
	return nil, thrown(classConfig, "No bootstrap urls given in %s", property)
}

// cutAddress takes host and port of an address that may have a scheme and brackets.
func cutAddress(address string) (host, port string, ok bool) {
	if i := strings.Index(address, "://"); i >= 0 {
		address = address[i+len("://"):]
	}
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return "", "", false
	}
	host, port = strings.Trim(address[:i], "[]"), address[i+1:]
	n, err := strconv.ParseUint(port, 10, 31)
	return host, port, err == nil && n <= 65535
}

// cluster is a connection to brokers.
type cluster struct {
	*kgo.Client
	admin   *kadm.Client
	timeout time.Duration // of a call with its retries
	props   clientProperties
	// controllers tells that the client talks to controllers (KIP-919), which answer no Metadata.
	controllers bool
}

// connect makes a client of settings. It reaches nobody until it is used; opts come after what the settings say.
func (e *Env) connect(p clientProperties, opts ...kgo.Opt) (*cluster, error) {
	all, timeout, err := e.clientOptions(p)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(all, opts...)...)
	if err != nil {
		return nil, thrown(classConfig, "%s", err)
	}
	return &cluster{Client: client, admin: kadm.NewClient(client), timeout: timeout, props: p, controllers: p[propControllers] != ""}, nil
}

// invalidSettings are settings that a client finds wrong by themselves, before it does anything with them.
type invalidSettings struct{ error }

func (e invalidSettings) Unwrap() error { return e.error }

// clientOptions reads what the client library can honour of a client's settings.
func (e *Env) clientOptions(p clientProperties) ([]kgo.Opt, time.Duration, error) {
	list, property := p[propBootstrap], propBootstrap
	if p[propControllers] != "" {
		list, property = p[propControllers], propControllers
	}
	addresses, err := seeds(list, property)
	if err != nil {
		return nil, 0, err
	}
	var apiTimeout, requestTimeout, backoff, backoffMax time.Duration
	for _, d := range []struct {
		name      string
		otherwise time.Duration
		to        *time.Duration
	}{
		{propAPITimeout, defaultAPITimeout, &apiTimeout},
		{propRequestTimeout, defaultRequestTimeout, &requestTimeout},
		{propRetryBackoff, defaultRetryBackoff, &backoff},
		{propRetryMax, defaultRetryMax, &backoffMax},
	} {
		if *d.to, err = p.duration(d.name, d.otherwise); err != nil {
			return nil, 0, err
		}
	}
	dial, err := e.dialer(p)
	if err != nil {
		return nil, 0, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(addresses...),
		kgo.RetryTimeout(apiTimeout),
		kgo.RequestTimeoutOverhead(requestTimeout),
		kgo.RetryBackoffFn(func(tries int) time.Duration { return min(backoff<<min(tries, 10), backoffMax) }),
		kgo.MetadataMinAge(min(backoff, time.Second)),
		kgo.Dialer(dial),
		kgo.DisableClientMetrics(),
	}
	if id := p[propClientID]; id != "" {
		opts = append(opts, kgo.ClientID(id))
	}
	security, err := e.securityOptions(p)
	return append(opts, security...), apiTimeout, err
}

// deadline bounds a call with its retries.
func (c *cluster) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}

// call sends a request to any broker, or to where the client library knows it belongs, and tells a failure as Kafka's admin client
// does of the call named so.
func (c *cluster) call(ctx context.Context, name string, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	resp, err := c.Request(ctx, req)
	return resp, callError(err, name)
}

// callTo is call to one broker.
func (c *cluster) callTo(ctx context.Context, node int32, name string, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	resp, err := c.Broker(int(node)).RetriableRequest(ctx, req)
	return resp, callError(err, name)
}

// callError is the error of a call as Kafka's admin client has it.
func callError(err error, call string) error {
	var code *kerr.Error
	if err == nil || errors.As(err, &code) {
		return asException(err, "")
	}
	return thrown(classTimeout, "Timed out waiting for a node assignment. Call: %s", call)
}

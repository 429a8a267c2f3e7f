package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Listener is one entry of listeners or advertised.listeners.
type Listener struct {
	Name     string // upper case, as Kafka's ListenerName
	Host     string // "" means every address
	Port     int
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	// Auto, of an advertised listener without a host: each client is told the address that it came to.
	Auto bool
}

// Addr is the address to listen on or connect to.
func (l Listener) Addr() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// Voter is one entry of controller.quorum.voters.
type Voter struct {
	ID   int32
	Host string
	Port int
}

// Addr is the voter's controller endpoint.
func (v Voter) Addr() string { return net.JoinHostPort(v.Host, strconv.Itoa(v.Port)) }

var errForm = errors.New("malformed")

// parseVoter reads {id}@{host}:{port}.
func parseVoter(s string) (Voter, error) {
	id, rest, ok := strings.Cut(s, "@")
	n, err := strconv.ParseInt(id, 10, 32)
	if !ok || err != nil {
		return Voter{}, errForm
	}
	host, port, err := splitHostPort(rest)
	return Voter{int32(n), host, port}, err
}

// splitHostPort reads {host}:{port}, the host of an IPv6 address in brackets.
func splitHostPort(s string) (string, int, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 1 {
		return "", 0, errForm
	}
	port, err := strconv.ParseUint(s[i+1:], 10, 31)
	if err != nil {
		return "", 0, errForm
	}
	host := s[:i]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return host[1 : len(host)-1], int(port), nil
	}
	if strings.Contains(host, "@") || strings.Contains(host, "/") {
		return "", 0, errForm
	}
	return host, int(port), nil
}

// parseListener reads NAME://host:port; host may be empty. Errors say what is wrong with the entry, not where it stands.
func parseListener(s string) (Listener, error) {
	name, rest, ok := strings.Cut(s, "://")
	if !ok || name == "" {
		return Listener{}, fmt.Errorf("%q is not of the form NAME://host:port", s)
	}
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return Listener{}, fmt.Errorf("%q has no port; write NAME://host:port", s)
	}
	port, err := strconv.ParseInt(rest[i+1:], 10, 32)
	if err != nil || port < 0 || port > 65535 {
		return Listener{}, fmt.Errorf("%q has no valid port (0 to 65535)", s)
	}
	host := rest[:i]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	} else if strings.ContainsAny(host, ":/@ ") {
		return Listener{}, fmt.Errorf("%q has a malformed host; an IPv6 address stands in brackets", s)
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: int(port)}, nil
}

// protocolMap reads listener.security.protocol.map; a trailing comma is forgiven, as Kafka does.
func protocolMap(value string) (map[string]string, error) {
	m := map[string]string{}
	for _, e := range splitList(value) {
		if e == "" {
			continue
		}
		name, proto, ok := strings.Cut(e, ":")
		name, proto = strings.ToUpper(trim(name)), strings.ToUpper(trim(proto))
		if !ok || name == "" {
			return nil, fmt.Errorf("listener.security.protocol.map: %q is not of the form NAME:PROTOCOL", e)
		}
		if !oneOf("PLAINTEXT,SSL,SASL_PLAINTEXT,SASL_SSL", proto) {
			return nil, fmt.Errorf("listener.security.protocol.map: %q is no security protocol; use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", proto)
		}
		if _, dup := m[name]; dup {
			return nil, fmt.Errorf("listener.security.protocol.map names %s twice; keep one of them", name)
		}
		m[name] = proto
	}
	return m, nil
}

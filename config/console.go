package config

import (
	"net"
	"strconv"
	"strings"
)

// consoleProperty names where the console listens.
const consoleProperty = "kaja.console.listener"

// Console is where the HTTP port with metrics and health listens; false when there is none.
func (s *Static) Console() (addr string, on bool) { return s.consoleAddr, s.consoleAddr != "" }

// console reads kaja.console.listener: host:port, or a port alone, which is on localhost.
func (l *loader) console(s *Static) error {
	text := trim(s.Str(consoleProperty))
	if text == "" {
		return nil
	}
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil {
		return refuse("%s=%s is not of the form host:port or port (such as 9644; from %s)", consoleProperty, s.Str(consoleProperty), l.values[consoleProperty].from)
	}
	if host == "" {
		host = "localhost" // open to others only when told so
	}
	s.consoleAddr = net.JoinHostPort(host, strconv.FormatUint(n, 10))
	return nil
}

// Content is the file of kaja.content, "" when there is none.
func (s *Static) Content() string { return s.Str("kaja.content") }

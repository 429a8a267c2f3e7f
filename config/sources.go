package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/magiconair/properties"
)

// readProperties reads Java's properties format as java.util.Properties does: ISO-8859-1 with \uXXXX escapes, the last of equal keys
// wins. ${...} means nothing to it.
func readProperties(data []byte) (map[string]string, error) {
	l := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	p, err := l.LoadBytes(logicalLines(data))
	if err != nil {
		return nil, err
	}
	return p.Map(), nil
}

// logicalLines joins continued lines and drops comments, blank lines and lines without a key, as java.util.Properties does. The library
// joins only in values and not across \r\n, and fails on a backslash at the end of the file.
func logicalLines(data []byte) []byte {
	var out, line []byte
	flush := func() {
		if len(line) > 0 && line[0] != '=' && line[0] != ':' {
			out = append(append(out, line...), '\n')
		}
		line = line[:0]
	}
	for len(data) > 0 {
		n := bytes.IndexAny(data, "\r\n")
		if n < 0 {
			n = len(data)
		}
		natural := bytes.TrimLeft(data[:n], " \t\f")
		data = data[n:]
		if len(data) > 1 && data[0] == '\r' && data[1] == '\n' {
			data = data[1:]
		}
		if len(data) > 0 {
			data = data[1:]
		}
		if len(line) == 0 && len(natural) > 0 && (natural[0] == '#' || natural[0] == '!') {
			continue
		}
		kept := bytes.TrimRight(natural, "\\")
		if backslashes := len(natural) - len(kept); backslashes%2 == 1 {
			line = append(line, natural[:len(natural)-1]...)
			continue
		}
		line = append(line, natural...)
		flush()
	}
	flush()
	return out
}

func (l *loader) file(name string, data []byte) error {
	if name == "" {
		name = "server.properties"
	}
	m, err := readProperties(data)
	if err != nil {
		return fmt.Errorf("%s is no properties file: %w", name, err)
	}
	for k, v := range m {
		l.values[k] = value{text: v, from: name}
	}
	return nil
}

// notSettings are variables that Kafka's image reads itself and never turns into properties.
const notSettings = "KAFKA_VERSION,KAFKA_HEAP_OPTS,KAFKA_LOG4J_OPTS,KAFKA_OPTS,KAFKA_JMX_OPTS,KAFKA_JVM_PERFORMANCE_OPTS,KAFKA_GC_LOG_OPTS," +
	"KAFKA_LOG4J_ROOT_LOGLEVEL,KAFKA_LOG4J_LOGGERS,KAFKA_TOOLS_LOG4J_LOGLEVEL,KAFKA_JMX_HOSTNAME"

// serviceLink matches the variables that Kubernetes and Docker inject for a service whose name begins with "kafka".
var serviceLink = regexp.MustCompile(`^KAFKA(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)$`)

var linkAddress = regexp.MustCompile(`^(tcp|udp)://`)

// propertyOf maps a variable's name to a property by the rules of Kafka's image; Bitnami's KAFKA_CFG_ is the same behind its prefix.
// "" when the variable is none of ours.
func propertyOf(variable, text string) string {
	if rest, ok := strings.CutPrefix(variable, "KAJA_"); ok { // kaja's own; others of that prefix are nobody's settings
		if name := ownPrefix + strings.ReplaceAll(strings.ToLower(rest), "_", "."); Lookup(ScopeBroker, name) != nil {
			return name
		}
		return ""
	}
	rest, ok := strings.CutPrefix(variable, "KAFKA_")
	if !ok || rest == "" || oneOf(notSettings, variable) || serviceLink.MatchString(variable) {
		return ""
	}
	if strings.HasSuffix(variable, "_PORT") && linkAddress.MatchString(text) {
		return ""
	}
	rest = strings.TrimPrefix(rest, "CFG_")
	name := strings.ReplaceAll(strings.ToLower(rest), "_", ".")
	name = strings.ReplaceAll(name, "...", "-")
	return strings.ReplaceAll(name, "..", "_")
}

// ownEnvironment names what the images' scripts read besides properties; they are no unknown settings.
func ownEnvironment(name string) bool {
	return oneOf("cluster.id,kraft.cluster.id,home,create.topics,create.topics.separator,advertised.host.name", name) || strings.HasPrefix(name, "confluent.support.")
}

func (l *loader) environment(env []string) error {
	cfg := map[string]bool{} // KAFKA_CFG_X wins over KAFKA_X
	for _, kv := range env {
		variable, text, ok := strings.Cut(kv, "=")
		name := propertyOf(variable, text)
		if !ok || name == "" || cfg[name] {
			continue
		}
		cfg[name] = strings.HasPrefix(variable, "KAFKA_CFG_")
		text, err := unescape(text)
		if err != nil {
			return refuse("%s is no valid property value: %v", variable, err)
		}
		l.values[name] = value{text: text, from: variable, env: true}
	}
	l.listenersFromAdvertised()
	return nil
}

// unescape applies the escapes of a properties file, into which Kafka's image writes the variables. A line break that no backslash
// continues is taken as a blank, so that a JAAS entry may stand on several lines.
func unescape(text string) (string, error) {
	text = strings.TrimRight(text, "\r\n")
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' && (i == 0 || text[i-1] != '\\') {
			b.WriteByte(' ')
			continue
		}
		b.WriteByte(text[i])
	}
	m, err := readProperties([]byte("v=" + latin1(b.String()) + "\n"))
	return m["v"], err
}

// latin1 escapes what ISO-8859-1 lacks: the environment is UTF-8.
func latin1(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteRune('?')
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// listenersFromAdvertised is what Kafka's image does when only KAFKA_ADVERTISED_LISTENERS is given: listen on every address.
func (l *loader) listenersFromAdvertised() {
	adv, ok := l.values["advertised.listeners"]
	if _, has := l.values["listeners"]; has || !ok || !adv.env {
		return
	}
	var out []string
	for _, e := range splitList(adv.text) {
		name, rest, ok := strings.Cut(e, "://")
		i := strings.LastIndexByte(rest, ':')
		if !ok || i < 0 {
			return
		}
		out = append(out, name+"://0.0.0.0"+rest[i:])
	}
	l.values["listeners"] = value{text: strings.Join(out, ","), from: adv.from, env: true}
}

// rootLevel is KAFKA_LOG4J_ROOT_LOGLEVEL, INFO without it.
func (l *loader) rootLevel(env []string) string {
	v := strings.ToUpper(trim(lookupEnv(env, "KAFKA_LOG4J_ROOT_LOGLEVEL")))
	if v == "" || oneOf(levels, v) {
		if v == "" {
			v = "INFO"
		}
		return v
	}
	l.warn("KAFKA_LOG4J_ROOT_LOGLEVEL=%s is no level; taking INFO", v)
	return "INFO"
}

// clusterIDOf is the cluster id that the images' scripts format with.
func clusterIDOf(env []string) string {
	for _, name := range []string{"CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID"} {
		if v := trim(lookupEnv(env, name)); v != "" {
			return v
		}
	}
	return ""
}

func lookupEnv(env []string, name string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

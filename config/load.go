package config

import (
	"fmt"
	"sort"
	"strings"
)

// Sources are what a start is configured by. Precedence: Overrides, Env, File, defaults.
type Sources struct {
	// FileName is the properties file's path, for messages; "" when there is none. File is its content.
	FileName string
	File     []byte
	// Env is the environment as KEY=VALUE; nil for none.
	Env []string
	// Overrides are KEY=VALUE from the command line or an embedding program.
	Overrides []string
	// DataDir is the data directory when log.dirs is not given and kaja's own defaults hold; "" means ./kaja-data.
	DataDir string
	// Ephemeral puts all data into DataDir, whatever the other sources say.
	Ephemeral bool
}

// Error is a configuration that kaja does not start with: one line that says what to do.
type Error struct{ Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// value is one setting and where it came from.
type value struct {
	text string
	from string // for messages: a file name, a variable, --override
	env  bool
}

// Load reads all sources, checks every value and how they fit together. Warnings are whole sentences for the log. The error is an
// *Error or wraps a parse error; it is one line.
func Load(src Sources) (*Static, []string, error) {
	l := &loader{values: map[string]value{}}
	if src.FileName != "" || len(src.File) > 0 {
		if err := l.file(src.FileName, src.File); err != nil {
			return nil, nil, err
		}
	}
	if err := l.environment(src.Env); err != nil {
		return nil, nil, err
	}
	l.defaultMode = src.FileName == "" && len(src.File) == 0 && !l.anyKnown()
	if err := l.overrides(src.Overrides); err != nil {
		return nil, nil, err
	}
	l.profile(src)
	l.forgiveCommas()
	s := &Static{given: map[string]string{}, parsed: map[string]string{}}
	s.ephemeral, s.defaultMode = src.Ephemeral, l.defaultMode
	s.loggers, s.clusterID = newLoggers(l.rootLevel(src.Env)), clusterIDOf(src.Env)
	s.loggers.start(lookupEnv(src.Env, "KAFKA_LOG4J_LOGGERS"))
	s.createTopics = lookupEnv(src.Env, "KAFKA_CREATE_TOPICS")
	if err := l.parse(s); err != nil {
		return nil, nil, err
	}
	if err := l.resolve(s); err != nil {
		return nil, nil, err
	}
	if err := l.crossCheck(s); err != nil {
		return nil, nil, err
	}
	l.judge(s)
	return s, l.warnings, nil
}

type loader struct {
	values      map[string]value
	warnings    []string
	defaultMode bool
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// anyKnown tells whether the environment configures a Kafka: a stray KAFKA_HOME does not, nor do kaja's own properties.
func (l *loader) anyKnown() bool {
	for name := range l.values {
		if Lookup(ScopeBroker, name) != nil && !IsOwn(name) || baseName(name) != "" {
			return true
		}
	}
	return false
}

func (l *loader) overrides(list []string) error {
	for _, o := range list {
		k, v, ok := strings.Cut(o, "=")
		k = trim(k)
		if !ok || k == "" {
			return refuse("--override %q is not of the form KEY=VALUE", o)
		}
		l.values[k] = value{text: v, from: "--override"}
	}
	return nil
}

// ownDefaults is what kaja starts with when nothing is configured (design: one combined node that a laptop can use at once).
var ownDefaults = []struct{ name, value string }{
	{"process.roles", "broker,controller"},
	{"node.id", "1"},
	{"listeners", "PLAINTEXT://localhost:9092"},
	{"offsets.topic.replication.factor", "1"},
	{"transaction.state.log.replication.factor", "1"},
	{"transaction.state.log.min.isr", "1"},
	{"share.coordinator.state.topic.replication.factor", "1"},
	{"share.coordinator.state.topic.min.isr", "1"},
	{"group.initial.rebalance.delay.ms", "0"},
}

// ownSource is where values come from that nobody gave.
const ownSource = "kaja's defaults"

// profile fills in kaja's own defaults where neither a file nor the environment spoke, and the ephemeral directory always.
func (l *loader) profile(src Sources) {
	dir := src.DataDir
	if dir == "" {
		dir = "./kaja-data"
	}
	if src.Ephemeral {
		delete(l.values, "log.dir")
		delete(l.values, "metadata.log.dir")
		l.values["log.dirs"] = value{text: dir, from: "--ephemeral"}
	}
	if !l.defaultMode {
		return
	}
	for _, d := range ownDefaults {
		if _, ok := l.values[d.name]; !ok {
			l.values[d.name] = value{text: d.value, from: ownSource}
		}
	}
	_, one := l.values["log.dir"]
	if _, many := l.values["log.dirs"]; !one && !many {
		l.values["log.dirs"] = value{text: dir, from: ownSource}
	}
}

// forgiveCommas takes trailing commas off lists that came from the environment, where test libraries put them.
func (l *loader) forgiveCommas() {
	for _, name := range l.names() {
		v := l.values[name]
		p := Lookup(ScopeBroker, name)
		if p == nil || p.Type != TypeList || !v.env {
			continue
		}
		if t := strings.TrimRight(v.text, ", \t"); t != v.text && strings.Contains(v.text[len(t):], ",") {
			l.warn("%s ends with a comma, which is left out", v.from)
			v.text = t
			l.values[name] = v
		}
	}
}

func (l *loader) names() []string {
	names := make([]string, 0, len(l.values))
	for n := range l.values {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// parse checks every value by itself, and warns once of all names that nobody knows.
func (l *loader) parse(s *Static) error {
	var unknown []string
	for _, name := range l.names() {
		v := l.values[name]
		s.given[name] = v.text
		p := Lookup(ScopeBroker, name)
		if p == nil || p.Visibility == DynamicOnly {
			if base := baseName(name); base != "" {
				if err := l.parsePrefixed(base, name, v); err != nil {
					return err
				}
			} else if !ownEnvironment(name) {
				unknown = append(unknown, name)
			}
			continue
		}
		norm, err := p.Parse(v.text)
		if err != nil {
			return refuse("%s (from %s)", err.Error(), v.from)
		}
		s.parsed[name] = norm
	}
	if len(unknown) > 0 {
		l.warn("unknown settings are ignored: %s", strings.Join(unknown, ", "))
	}
	return nil
}

func (l *loader) parsePrefixed(base, name string, v value) error {
	p := *Lookup(ScopeBroker, base)
	p.Name = name
	if _, err := p.Parse(v.text); err != nil {
		return refuse("%s (from %s)", err.Error(), v.from)
	}
	return nil
}

// baseName strips the prefix of a listener's own setting (listener.name.NAME. and, for SASL, MECHANISM.): the broker property
// below, or "" when there is none.
func baseName(name string) string {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return ""
	}
	_, rest, ok = strings.Cut(rest, ".")
	if !ok {
		return ""
	}
	if Lookup(ScopeBroker, rest) != nil {
		return rest
	}
	for _, m := range mechanismSettings {
		if strings.HasSuffix(rest, "."+m) {
			return m
		}
	}
	return ""
}

// mechanismSettings may carry the name of a SASL mechanism between the listener's prefix and their own name.
var mechanismSettings = []string{"connections.max.reauth.ms", "sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class",
	"sasl.server.callback.handler.class"}

// judge warns of settings that kaja cannot honour: one line for each that it never will, one for all that it cannot yet.
func (l *loader) judge(s *Static) {
	var later []string
	for i := range brokerProperties {
		p := &brokerProperties[i]
		v, ok := s.parsed[p.Name]
		if !ok || v == p.Default && p.HasDefault() || l.values[p.Name].from == ownSource {
			continue
		}
		switch p.Effect {
		case Unsupported:
			l.warn("%s is not supported and is ignored: %s", p.Name, p.Note)
		case Coming:
			later = append(later, p.Name+" ("+p.Note+")")
		}
	}
	if len(later) > 0 {
		l.warn("settings without effect until their feature is there: %s", strings.Join(later, ", "))
	}
}

package config

import (
	"strconv"

	"github.com/kaja-mq/kaja/internal/invariant"
)

// Static is what the process was started with. Immutable after Load; any goroutine may read.
type Static struct {
	given  map[string]string // as written, by property name; unknown names and listener.name.* prefixes too
	parsed map[string]string // normal form of the known ones
	facts
}

// facts are settings that several properties decide together.
type facts struct {
	nodeID              int32
	broker, controller  bool
	listeners           []Listener // all, in order, controller listeners included
	advertised          []Listener // broker listeners only
	controllerListeners []string
	interBroker         string
	voters              []Voter
	bootstrap           []string
	protocols           map[string]string
	logDirs             []string
	metadataDir         string
	ephemeral           bool
	defaultMode         bool
	loggers             *Loggers
	clusterID           string
	consoleAddr         string
	createTopics        string
}

// NodeID is node.id.
func (s *Static) NodeID() int32 { return s.nodeID }

// IsBroker and IsController are process.roles.
func (s *Static) IsBroker() bool { return s.broker }

// IsController tells whether this process is a controller.
func (s *Static) IsController() bool { return s.controller }

// Listeners are the broker's listeners, without those of the controller.
func (s *Static) Listeners() []Listener { return s.pick(false) }

// ControllerListeners are the listeners named by controller.listener.names that this process opens.
func (s *Static) ControllerListeners() []Listener { return s.pick(true) }

func (s *Static) pick(controller bool) []Listener {
	var out []Listener
	for _, l := range s.listeners {
		if s.IsControllerListener(l.Name) == controller {
			out = append(out, l)
		}
	}
	return out
}

// IsControllerListener tells whether controller.listener.names has the name.
func (s *Static) IsControllerListener(name string) bool {
	for _, n := range s.controllerListeners {
		if n == name {
			return true
		}
	}
	return false
}

// ControllerListenerNames is controller.listener.names; brokers connect to the first.
func (s *Static) ControllerListenerNames() []string { return s.controllerListeners }

// Advertised are the endpoints that clients are told. An entry with host "" takes the machine's name (or, with Auto, what the client
// came to), with port 0 the port bound.
func (s *Static) Advertised() []Listener { return s.advertised }

// InterBrokerListener is the name of the listener by which brokers talk to this one.
func (s *Static) InterBrokerListener() string { return s.interBroker }

// ProtocolOf is the security protocol of a listener name.
func (s *Static) ProtocolOf(listener string) string { return s.protocols[listener] }

// Voters is controller.quorum.voters; empty on a combined node alone.
func (s *Static) Voters() []Voter { return s.voters }

// BootstrapServers is controller.quorum.bootstrap.servers.
func (s *Static) BootstrapServers() []string { return s.bootstrap }

// SoleVoter tells whether this process is the only controller of its cluster.
func (s *Static) SoleVoter() bool {
	return s.controller && (len(s.voters) == 0 || len(s.voters) == 1 && s.voters[0].ID == s.nodeID)
}

// LogDirs are the data directories: log.dirs, or log.dir.
func (s *Static) LogDirs() []string { return s.logDirs }

// MetadataLogDir is metadata.log.dir, or the first log directory.
func (s *Static) MetadataLogDir() string { return s.metadataDir }

// Ephemeral tells whether the data goes away with the process.
func (s *Static) Ephemeral() bool { return s.ephemeral }

// DefaultMode tells whether neither a file nor the environment said anything (kaja's own defaults hold).
func (s *Static) DefaultMode() bool { return s.defaultMode }

// Loggers are the levels of this process's loggers: KAFKA_LOG4J_ROOT_LOGLEVEL at the start, changed by BROKER_LOGGER resources.
func (s *Static) Loggers() *Loggers { return s.loggers }

// ClusterID is the id that the environment asks for (CLUSTER_ID, KAFKA_CLUSTER_ID, KAFKA_KRAFT_CLUSTER_ID); "" leaves it to the data
// directory, or to chance where that is new.
func (s *Static) ClusterID() string { return s.clusterID }

// CreateTopics is the environment's KAFKA_CREATE_TOPICS: topics that the start makes if they are missing.
func (s *Static) CreateTopics() string { return s.createTopics }

// IsSet tells whether a property was given (kaja's own defaults count).
func (s *Static) IsSet(name string) bool { _, ok := s.given[name]; return ok }

// Given are all values as they were written, unknown and prefixed names too. Secrets are among them: never print. Read only.
func (s *Static) Given() map[string]string { return s.given }

// Value is a broker property's normal form, false when it is null.
func (s *Static) Value(name string) (string, bool) {
	if v, ok := s.parsed[name]; ok {
		return v, true
	}
	p := broker(name)
	if p.HasDefault() {
		return p.Default, true
	}
	return "", false
}

func broker(name string) *Property {
	p := Lookup(ScopeBroker, name)
	if p == nil {
		invariant.Failf("no broker property is named %s", name)
	}
	return p
}

// Int is a number (INT, SHORT, LONG); 0 when null.
func (s *Static) Int(name string) int64 { return toInt(s.Value(name)) }

// Float is a DOUBLE.
func (s *Static) Float(name string) float64 { return toFloat(s.Value(name)) }

// Bool is a BOOLEAN.
func (s *Static) Bool(name string) bool { v, _ := s.Value(name); return v == "true" }

// Str is a STRING, CLASS or PASSWORD; "" when null.
func (s *Static) Str(name string) string { v, _ := s.Value(name); return v }

// List is a LIST.
func (s *Static) List(name string) []string { v, _ := s.Value(name); return splitList(v) }

func toInt(v string, ok bool) int64 {
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		invariant.Failf("value %q is not a number although it was checked", v)
	}
	return n
}

func toFloat(v string, ok bool) float64 {
	if !ok {
		return 0
	}
	f, err := parseDouble(v)
	if err != nil {
		invariant.Failf("value %q is not a number although it was checked", v)
	}
	return f
}

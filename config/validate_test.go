package config

import (
	"errors"
	"strings"
	"testing"
)

func resolver(t *testing.T, file string, dynDefault, perBroker map[string]string) *Resolver {
	t.Helper()
	s, _ := load(t, Sources{FileName: "f", File: []byte(combined + file)})
	return Broker(s, dynDefault, perBroker)
}

// pairs reads "a=b c=d" with | for a blank.
func pairs(s string) map[string]string {
	m := map[string]string{}
	for _, kv := range strings.Fields(s) {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = strings.ReplaceAll(v, "|", " ")
	}
	return m
}

func checkError(t *testing.T, what string, err error, code int16, want string) {
	t.Helper()
	var e *InvalidValueError
	switch {
	case code == 0 && err != nil:
		t.Errorf("%s: got %v, want none", what, err)
	case code != 0 && (!errors.As(err, &e) || e.Code != code || e.Message != want):
		t.Errorf("%s: got %+v, want %d %s", what, err, code, want)
	}
}

// TestValidateBroker has the answers of Kafka 4.4.0 to the same changes.
func TestValidateBroker(t *testing.T) {
	r := resolver(t, "", nil, nil)
	f := func(perBroker bool, configs string, code int16, want string) {
		t.Helper()
		checkError(t, configs, r.ValidateChange(pairs(configs), nil, perBroker), code, want)
	}
	f(true, "no.such.thing=a", 0, "")
	f(false, "no.such.thing=a", 0, "")
	f(false, "listeners=PLAINTEXT://:1", 42, "Cannot update these configs at default cluster level, broker id must be specified: [listeners]")
	f(true, "listeners=PLAINTEXT://:1", 42, "listeners can't be changed while kaja runs; set it in server.properties and start again")
	f(true, "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093", 0, "")
	f(true, "node.id=9", 42, "Cannot update these configs dynamically: [node.id]")
	f(false, "log.roll.hours=2", 42, "Cannot update these configs dynamically: [log.roll.hours]")
	f(false, "listener.name.plaintext.ssl.keystore.location=/x", 42, "Cannot update these configs at default cluster level, broker id must be specified: [listener.name.plaintext.ssl.keystore.location]")
	f(true, "listener.name.plaintext.ssl.keystore.location=/x", 0, "")
	f(true, "listener.name.plaintext.max.connections=5", 0, "")
	f(false, "listener.name.plaintext.max.connections=5", 0, "")
	f(true, "ssl.keystore.location=/x", 42, "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.location]")
	f(true, "leader.replication.throttled.rate=100", 0, "")
	f(false, "leader.replication.throttled.rate=100", 0, "")
	f(true, "leader.replication.throttled.rate=-5", 42, "Invalid value -5 for configuration leader.replication.throttled.rate: Value must be at least 0")
	f(true, "num.io.threads=1000", 42, "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for num.io.threads=1000, "+
		"value should not be greater than double the current value 8 for configuration Invalid dynamic configuration")
	f(true, "num.io.threads=2", 42, "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for num.io.threads=2, "+
		"value should be at least half the current value 8 for configuration Invalid dynamic configuration")
	f(true, "num.io.threads=16", 0, "")
	f(true, "log.cleaner.threads=1000", 42, "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
	f(false, "log.retention.ms=0", 42, "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
	f(true, "log.retention.ms=x", 42, "Invalid value x for configuration log.retention.ms: Not a number of type LONG")
	f(true, "log.retention.ms=1000", 0, "")
	f(false, "log.segment.bytes=5", 42, "Invalid value 5 for configuration log.segment.bytes: Value must be at least 1048576")
	f(false, "compression.type=foo", 42, "Invalid value foo for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer")
	f(false, "log.cleanup.policy=foo", 42, "Invalid value foo for configuration log.cleanup.policy: String must be one of: compact, delete")
	f(false, "max.connections.per.ip=0", 42, "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.")
	f(false, "max.connections.per.ip.overrides=1.2.3.4:x", 42, `For input string: "x"`)
	f(false, "min.insync.replicas=2", 0, "")
	f(true, "unclean.leader.election.enable=true", 0, "")
	f(false, "log.cleaner.max.compaction.lag.ms=5 log.cleaner.min.compaction.lag.ms=10", 0, "")
	f(false, "message.max.bytes=-1", 42, "Invalid value -1 for configuration message.max.bytes: Value must be at least 0")
	f(true, "transaction.partition.verification.enable=maybe", 42, "Invalid value maybe for configuration transaction.partition.verification.enable: Expected value to be either true or false")
	f(true, "group.consumer.assignment.interval.ms=20000", 42, "group.consumer.assignment.interval.ms must be less than or equal to group.consumer.max.assignment.interval.ms")
}

// TestValidateChangeSeesTheRest: what is stored already, and what is deleted, counts.
func TestValidateChangeSeesTheRest(t *testing.T) {
	r := resolver(t, "", pairs("max.connections.per.ip.overrides=10.0.0.1:5"), pairs("num.io.threads=16"))
	checkError(t, "zero with overrides", r.ValidateChange(pairs("max.connections.per.ip=0"), nil, false), 0, "")
	checkError(t, "zero without overrides", r.ValidateChange(pairs("max.connections.per.ip=0"), []string{"max.connections.per.ip.overrides"}, false), 42,
		"requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.")
	checkError(t, "double of what is set", r.ValidateChange(pairs("num.io.threads=32"), nil, true), 0, "")
}

// TestValidateTopic has the answers of Kafka 4.4.0 to the same changes.
func TestValidateTopic(t *testing.T) {
	r := resolver(t, "", nil, nil)
	f := func(configs string, code int16, want string) {
		t.Helper()
		checkError(t, configs, ValidateTopicConfigs(r, pairs(configs)), code, want)
	}
	f("min.compaction.lag.ms=10 max.compaction.lag.ms=5", 40, "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)")
	f("remote.storage.enable=true", 40, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	f("remote.log.copy.disable=true", 0, "")
	f("retention.ms=|77|", 0, "")
	f("cleanup.policy=", 0, "")
	f("segment.bytes=1", 40, "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576")
	f("internal.segment.bytes=100", 0, "")
	f("leader.replication.throttled.replicas=0:1,1:2", 0, "")
	f("no.such=a retention.ms=x", 40, "Unknown topic config name: no.such")
	f("retention.ms=-2", 40, "Invalid value -2 for configuration retention.ms: Value must be at least -1")
	f("min.insync.replicas=0", 40, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1")
}

// TestValidateGroup has the answers of Kafka 4.4.0 to the same changes.
func TestValidateGroup(t *testing.T) {
	r := resolver(t, "", nil, nil)
	f := func(configs string, code int16, want string) {
		t.Helper()
		checkError(t, configs, ValidateGroupConfigs(r, pairs(configs)), code, want)
	}
	f("consumer.session.timeout.ms=50000", 0, "")
	f("consumer.session.timeout.ms=1", 40, "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.")
	f("no.such.thing=1", 40, "Unknown group config name: no.such.thing")
	f("streams.assignor.name=x", 40, "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky].")
	f("streams.rack.aware.assignment.tags=a,a", 40, "streams.rack.aware.assignment.tags must not contain duplicate tag keys.")
	f("streams.num.standby.replicas=100", 40, "streams.num.standby.replicas must be less than or equal to 2")
	f("share.auto.offset.reset=by_duration:P1D", 0, "")
	f("share.auto.offset.reset=by_duration:PT1H30M", 0, "")
	bad := func(v string) {
		t.Helper()
		f("share.auto.offset.reset="+v, 40, "Invalid value "+v+" for configuration share.auto.offset.reset: Invalid value `"+v+"` for configuration share.auto.offset.reset. "+
			"The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.")
	}
	bad("by_duration:-P1D")
	bad("by_duration:PT")
	bad("by_duration:P")
	bad("by_duration:1h")
	f("errors.deadletterqueue.topic.name=__x", 40, "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
	f("consumer.assignor.offload.enable=false", 0, "")
}

// TestValidateClientMetrics has the answers of Kafka 4.4.0 to the same changes.
func TestValidateClientMetrics(t *testing.T) {
	f := func(name, value string, code int16, want string) {
		t.Helper()
		checkError(t, name+"="+value, ValidateClientMetrics(name, value), code, want)
	}
	f("interval.ms", "60000", 0, "")
	f("interval.ms", "1", 42, "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)")
	f("interval.ms", "x", 40, "Invalid value x for configuration interval.ms: Not a number of type INT")
	f("no.such.thing", "1", 42, "Unknown client metrics configuration: no.such.thing")
	f("metrics", "org.apache.kafka.", 0, "")
	f("match", "client_id=a.*", 0, "")
	f("match", "client_id=a,client_id=b", 0, "")
	for _, v := range []string{"nonsense", "client_id=[", "foo=b", "client_id=", "client_id=a=b"} {
		f("match", v, 40, "Illegal client matching pattern: "+v)
	}
}

func TestLoggers(t *testing.T) {
	s, _ := load(t, Sources{FileName: "f", File: []byte(combined)})
	var changes []string
	s.Loggers().OnChange(func() { changes = append(changes, s.Loggers().Lowest()) })
	f := func(op Op, name, level string, code int16, want string) {
		t.Helper()
		checkError(t, name+"="+level, s.Loggers().Alter(op, name, level), code, want)
	}
	f(OpSet, "root", "WHAT", 40, "Cannot set the log level of root to WHAT as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN")
	f(OpSet, "nope", "INFO", 40, "Logger nope does not exist!")
	f(OpDelete, "root", "", 42, "Removing the log level of the root logger is not allowed")
	f(OpAppend, "root", "INFO", 42, "APPEND operation is not allowed for the BROKER_LOGGER resource")
	f(OpSet, "root", "DEBUG", 0, "")
	f(OpSet, "kaja.storage", "TRACE", 0, "")
	f(OpSet, "root", "WARN", 0, "")
	if !s.Loggers().Passes("kaja.storage", "DEBUG") || s.Loggers().Passes("kaja.network", "INFO") || !s.Loggers().Passes("kaja.network", "ERROR") {
		t.Errorf("levels %v", s.Loggers().Levels())
	}
	f(OpDelete, "kaja.storage", "", 0, "")
	if got := strings.Join(changes, " "); got != "DEBUG TRACE TRACE WARN" || s.Loggers().Level("kaja.storage") != "WARN" {
		t.Errorf("changes %q, levels %v", got, s.Loggers().Levels())
	}
}

func TestAlter(t *testing.T) {
	f := func(op Op, current, operand, want string) {
		t.Helper()
		if got := Alter(op, current, operand); got != want {
			t.Errorf("%d %q with %q: got %q, want %q", op, current, operand, got, want)
		}
	}
	f(OpAppend, "delete", "compact", "delete,compact")
	f(OpAppend, "delete,compact", "compact", "delete,compact")
	f(OpAppend, "", "a,b", "a,b")
	f(OpSubtract, "delete,compact", "delete", "compact")
	f(OpSubtract, "delete", "delete", "")
	f(OpSubtract, "a,b,c", "c,a", "b")
	for name, want := range map[string]bool{"cleanup.policy": true, "retention.ms": false, "leader.replication.throttled.replicas": true} {
		if got := IsList(ScopeTopic, name); got != want {
			t.Errorf("IsList %s: %v", name, got)
		}
	}
	if IsList(ScopeGroup, "streams.rack.aware.assignment.tags") || IsList(ScopeClientMetrics, "metrics") {
		t.Error("lists of groups and client metrics can't be appended to (seen on 4.4.0)")
	}
}

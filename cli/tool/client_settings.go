package tool

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// settingRule is how Kafka's client checks one of its settings.
type settingRule struct {
	name   string
	def    string
	kind   string // INT, LONG, BOOLEAN or STRING
	least  int64  // of a number
	oneOf  []string
	anyway bool // the names count in any case
}

// commonRules are the settings of every client that are only checked here.
func commonRules() []settingRule {
	return []settingRule{
		{name: "reconnect.backoff.ms", def: "50", kind: "LONG"},
		{name: "reconnect.backoff.max.ms", def: "1000", kind: "LONG"},
		{name: propRetryMax, def: "1000", kind: "LONG"},
		{name: "socket.connection.setup.timeout.ms", def: "10000", kind: "LONG", least: math.MinInt64},
		{name: "socket.connection.setup.timeout.max.ms", def: "30000", kind: "LONG", least: math.MinInt64},
		{name: "connections.max.idle.ms", def: "540000", kind: "LONG", least: math.MinInt64},
		{name: "metrics.num.samples", def: "2", kind: "INT", least: 1},
		{name: "metrics.sample.window.ms", def: "30000", kind: "LONG"},
		{name: "metrics.recording.level", def: "INFO", kind: "STRING", oneOf: []string{"INFO", "DEBUG", "TRACE"}},
		{name: "enable.metrics.push", def: "false", kind: "BOOLEAN"},
		{name: "client.dns.lookup", def: "use_all_dns_ips", kind: "STRING", oneOf: []string{"use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"}},
		{name: "security.protocol", def: "PLAINTEXT", kind: "STRING", oneOf: []string{"SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"}, anyway: true},
		{name: "metadata.recovery.strategy", def: "rebootstrap", kind: "STRING", oneOf: []string{"REBOOTSTRAP", "NONE"}, anyway: true},
		{name: "metadata.recovery.rebootstrap.trigger.ms", def: "300000", kind: "LONG"},
	}
}

// adminRules are the settings of Kafka's admin client, with its defaults.
func adminRules() []settingRule {
	return append([]settingRule{
		{name: "metadata.max.age.ms", def: "300000", kind: "LONG"},
		{name: "send.buffer.bytes", def: "131072", kind: "INT", least: -1},
		{name: "receive.buffer.bytes", def: "65536", kind: "INT", least: -1},
		{name: propRetryBackoff, def: "100", kind: "LONG"},
		{name: propRequestTimeout, def: "30000", kind: "INT"},
		{name: "retries", def: "2147483647", kind: "INT"},
		{name: propAPITimeout, def: "60000", kind: "INT"},
	}, commonRules()...)
}

// producerRules are the settings of KafkaProducer that the tools honour, with its defaults.
func producerRules() []settingRule {
	return append([]settingRule{
		{name: "batch.size", def: "16384", kind: "INT"},
		{name: "acks", def: "all", kind: "STRING", oneOf: []string{"all", "-1", "0", "1"}},
		{name: "linger.ms", def: "5", kind: "LONG"},
		{name: "delivery.timeout.ms", def: "120000", kind: "INT"},
		{name: "send.buffer.bytes", def: "131072", kind: "INT", least: -1},
		{name: "max.request.size", def: "1048576", kind: "INT"},
		{name: "buffer.memory", def: "33554432", kind: "LONG"},
		{name: "compression.type", def: "none", kind: "STRING", oneOf: []string{"none", "gzip", "snappy", "lz4", "zstd"}},
		{name: "max.block.ms", def: "60000", kind: "LONG"},
		{name: propRequestTimeout, def: "30000", kind: "INT"},
		{name: "metadata.max.age.ms", def: "300000", kind: "LONG"},
		{name: "retries", def: "2147483647", kind: "INT"},
		{name: "max.in.flight.requests.per.connection", def: "5", kind: "INT", least: 1},
		{name: "enable.idempotence", def: "true", kind: "BOOLEAN"},
		{name: "transaction.timeout.ms", def: "60000", kind: "INT", least: math.MinInt32},
		{name: propRetryBackoff, def: "100", kind: "LONG"},
	}, commonRules()...)
}

// consumerRules are the settings of KafkaConsumer that the tools honour, with its defaults.
func consumerRules() []settingRule {
	return append([]settingRule{
		{name: "group.protocol", def: "classic", kind: "STRING", oneOf: []string{"consumer", "classic"}, anyway: true},
		{name: "session.timeout.ms", def: "45000", kind: "INT", least: math.MinInt32},
		{name: "heartbeat.interval.ms", def: "3000", kind: "INT", least: math.MinInt32},
		{name: "metadata.max.age.ms", def: "300000", kind: "LONG"},
		{name: "enable.auto.commit", def: "true", kind: "BOOLEAN"},
		{name: "auto.commit.interval.ms", def: "5000", kind: "INT"},
		{name: "max.partition.fetch.bytes", def: "1048576", kind: "INT"},
		{name: "receive.buffer.bytes", def: "65536", kind: "INT", least: -1},
		{name: "fetch.min.bytes", def: "1", kind: "INT"},
		{name: "fetch.max.bytes", def: "52428800", kind: "INT"},
		{name: "fetch.max.wait.ms", def: "500", kind: "INT"},
		{name: "check.crcs", def: "true", kind: "BOOLEAN"},
		{name: propRequestTimeout, def: "30000", kind: "INT"},
		{name: propAPITimeout, def: "60000", kind: "INT"},
		{name: "max.poll.records", def: "500", kind: "INT", least: 1},
		{name: "max.poll.interval.ms", def: "300000", kind: "INT", least: 1},
		{name: "exclude.internal.topics", def: "true", kind: "BOOLEAN"},
		{name: "isolation.level", def: "read_uncommitted", kind: "STRING", oneOf: []string{"read_committed", "read_uncommitted"}},
		{name: "allow.auto.create.topics", def: "true", kind: "BOOLEAN"},
		{name: propRetryBackoff, def: "100", kind: "LONG"},
	}, commonRules()...)
}

// settings are those of a client after the check: each rule's has a value.
type settings map[string]string

// checkSettings fills in defaults; an error is Kafka's ConfigException.
func checkSettings(p clientProperties, rules []settingRule) (settings, error) {
	s := make(settings, len(p)+len(rules))
	for k, v := range p {
		s[k] = v
	}
	for _, r := range rules {
		v, given := s[r.name]
		if !given {
			s[r.name] = r.def
			continue
		}
		v = strings.TrimSpace(v)
		if err := r.check(v); err != nil {
			return nil, err
		}
		s[r.name] = v
	}
	return s, nil
}

func (r settingRule) check(v string) error {
	bad := func(why string) error {
		return thrown(classConfig, "Invalid value %s for configuration %s: %s", v, r.name, why)
	}
	switch r.kind {
	case "INT", "LONG":
		bits := 64
		if r.kind == "INT" {
			bits = 32
		}
		n, err := strconv.ParseInt(v, 10, bits)
		if err != nil {
			return bad("Not a number of type " + r.kind)
		}
		if n < r.least {
			return bad("Value must be at least " + decimal(r.least))
		}
	case "BOOLEAN":
		if !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") {
			return bad("Expected value to be either true or false")
		}
	}
	if r.oneOf == nil || slices.ContainsFunc(r.oneOf, func(o string) bool { return o == v || r.anyway && strings.EqualFold(o, v) }) {
		return nil
	}
	if r.anyway {
		return bad("String must be one of (case insensitive): " + strings.ToUpper(strings.Join(r.oneOf, ", ")))
	}
	return bad("String must be one of: " + strings.Join(r.oneOf, ", "))
}

// producerSettings checks a producer's settings, those that need each other too.
func producerSettings(p clientProperties) (settings, error) {
	s, err := checkSettings(p, producerRules())
	if err != nil {
		return nil, err
	}
	all := s["acks"] == "all" || s["acks"] == "-1"
	_, wanted := p["enable.idempotence"]
	_, transactional := p["transactional.id"]
	inFlight := s.number("max.in.flight.requests.per.connection")
	switch {
	case !s.is("enable.idempotence"):
		if transactional {
			return nil, thrown(classConfig, "Cannot set a transactional.id without also enabling idempotence.")
		}
	case inFlight > maxIdempotentInFlight:
		return nil, thrown(classConfig, "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. Current value is %d.", inFlight)
	case !all && (wanted || transactional):
		return nil, thrown(classConfig, "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence.")
	}
	if _, given := p["delivery.timeout.ms"]; given && s.number("delivery.timeout.ms") < s.number("linger.ms")+s.number(propRequestTimeout) {
		return nil, constructError("producer", nil)
	}
	return s, nil
}

func (s settings) number(name string) int64 { return mustParseLong(s[name]) }
func (s settings) is(name string) bool      { return strings.EqualFold(s[name], "true") }
func (s settings) duration(name string) time.Duration {
	return time.Duration(s.number(name)) * time.Millisecond
}
func (s settings) bounded(name string, least int) int32 {
	return int32(max(s.number(name), int64(least)))
}

// constructError is what the constructors of Kafka's clients make of a failure: unless it is in a setting by itself, it is in a stack
// trace only.
func constructError(client string, err error) error {
	var invalid invalidSettings
	if errors.As(err, &invalid) {
		return invalid.error
	}
	return thrown(classKafka, "Failed to construct kafka %s", client)
}

// Bounds that the client library sets on settings.
const (
	leastBatch            = 1 << 10
	maxIdempotentInFlight = 5   // Kafka's
	leastRequestTimeout   = 100 // milliseconds
)

// producerOptions are the client library's for a producer's settings. batch is the size at which a batch is sent; a record may be larger.
func producerOptions(s settings, batch int64) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.AllowAutoTopicCreation(),
		kgo.ProducerLinger(s.duration("linger.ms")),
		kgo.ProducerBatchMaxBytes(int32(min(max(batch, leastBatch), math.MaxInt32))),
		kgo.MaxBufferedBytes(int(max(s.number("buffer.memory"), 1))),
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.ProduceRequestTimeout(max(s.duration(propRequestTimeout), leastRequestTimeout*time.Millisecond)),
		kgo.RecordDeliveryTimeout(max(s.duration("delivery.timeout.ms"), time.Second)),
		kgo.MetadataMaxAge(max(s.duration("metadata.max.age.ms"), time.Second)),
		kgo.RecordPartitioner(producerPartitioner(s)),
	}
	switch s["compression.type"] {
	case "gzip":
		opts = append(opts, kgo.ProducerBatchCompression(kgo.GzipCompression()))
	case "snappy":
		opts = append(opts, kgo.ProducerBatchCompression(kgo.SnappyCompression()))
	case "lz4":
		opts = append(opts, kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	case "zstd":
		opts = append(opts, kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	default:
		opts = append(opts, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
	all := s["acks"] == "all" || s["acks"] == "-1"
	switch {
	case s["acks"] == "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()))
	case !all:
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	}
	if inFlight := s.number("max.in.flight.requests.per.connection"); !all || !s.is("enable.idempotence") {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(int(inFlight)))
	}
	if retries := s.number("retries"); retries < math.MaxInt32 {
		opts = append(opts, kgo.RecordRetries(int(retries)))
	}
	return opts
}

func producerPartitioner(s settings) kgo.Partitioner {
	if strings.HasSuffix(s["partitioner.class"], ".RoundRobinPartitioner") {
		return kgo.RoundRobinPartitioner()
	}
	return kgo.UniformBytesPartitioner(int(max(s.number("batch.size"), leastBatch)), true, true, nil)
}

// consumerOptions are the client library's for a consumer's settings, without what it consumes.
func consumerOptions(s settings, now time.Time) ([]kgo.Opt, error) {
	reset, err := resetOffset(s["auto.offset.reset"], now)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.ConsumeResetOffset(reset),
		kgo.FetchMinBytes(s.bounded("fetch.min.bytes", 1)),
		kgo.FetchMaxBytes(s.bounded("fetch.max.bytes", 1)),
		kgo.FetchMaxPartitionBytes(s.bounded("max.partition.fetch.bytes", 1)),
		kgo.FetchMaxWait(s.duration("fetch.max.wait.ms")),
		kgo.MetadataMaxAge(max(s.duration("metadata.max.age.ms"), time.Second)),
	}
	if s["isolation.level"] == "read_committed" {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if s.is("allow.auto.create.topics") {
		opts = append(opts, kgo.AllowAutoTopicCreation())
	}
	if !s.is("check.crcs") {
		opts = append(opts, kgo.DisableFetchCRCValidation())
	}
	if rack := s["client.rack"]; rack != "" {
		opts = append(opts, kgo.Rack(rack))
	}
	return opts, nil
}

// groupOptions make a consumer a member of its group.
func groupOptions(s settings) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumerGroup(s["group.id"]),
		kgo.SessionTimeout(s.duration("session.timeout.ms")),
		kgo.HeartbeatInterval(s.duration("heartbeat.interval.ms")),
		kgo.RebalanceTimeout(s.duration("max.poll.interval.ms")),
	}
	switch {
	case strings.EqualFold(s["group.protocol"], "classic"):
		opts = append(opts, kgo.Balancers(balancer(s["partition.assignment.strategy"])))
	case s["group.remote.assignor"] == "range":
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	default: // uniform, the broker's own choice
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	if id := s["group.instance.id"]; id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	if !s.is("enable.auto.commit") {
		return append(opts, kgo.DisableAutoCommit())
	}
	return append(opts, kgo.AutoCommitMarks(), kgo.AutoCommitInterval(max(s.duration("auto.commit.interval.ms"), 100*time.Millisecond)))
}

// balancer is the first of the assignors named, by default that which Kafka's consumers settle on.
func balancer(strategy string) kgo.GroupBalancer {
	first, _, _ := strings.Cut(strategy, ",")
	switch strings.TrimSpace(first) {
	case "org.apache.kafka.clients.consumer.RoundRobinAssignor":
		return kgo.RoundRobinBalancer()
	case "org.apache.kafka.clients.consumer.StickyAssignor":
		return kgo.StickyBalancer()
	case "org.apache.kafka.clients.consumer.CooperativeStickyAssignor":
		return kgo.CooperativeStickyBalancer()
	}
	return kgo.RangeBalancer()
}

// resetOffset reads auto.offset.reset.
func resetOffset(v string, now time.Time) (kgo.Offset, error) {
	switch v {
	case "earliest":
		return kgo.NewOffset().AtStart(), nil
	case "latest", "":
		return kgo.NewOffset().AtEnd(), nil
	case "none":
		return kgo.NoResetOffset(), nil
	}
	if text, ok := strings.CutPrefix(v, "by_duration:"); ok {
		if d, err := parseDuration(text); err == nil && d >= 0 {
			return kgo.NewOffset().AfterMilli(now.Add(-d).UnixMilli()), nil
		}
	}
	return kgo.Offset{}, thrown(classConfig, "Invalid value %s for configuration auto.offset.reset: Invalid value `%s` for configuration auto.offset.reset. "+
		"The value must be either 'earliest', 'latest', 'none' or of the format 'by_duration:<PnDTnHnMn.nS.>'.", v, v)
}

package tool

import (
	"regexp"
	"strings"
)

// consoleProducerOptions are those of kafka-console-producer.
type consoleProducerOptions struct {
	parser *joptParser
	set    *joptSet

	help, version, topic, bootstrap, sync, codec, reader, property, readerProperty, readerConfig *joptSpec
	producerProperty, commandProperty, producerConfig, commandConfig, maxPartitionMemory         *joptSpec
	merged                                                                                       []mergedOption
}

// mergedOption is an option for a setting: the option counts if it is given, then the setting, then the option's default.
type mergedOption struct {
	setting string
	spec    *joptSpec
}

const readerProperties = "\nDefault properties include:\n parse.key=false\n parse.headers=false\n ignore.error=false\n key.separator=\\t\n headers.delimiter=\\t\n" +
	" headers.separator=,\n headers.key.separator=:\n null.marker=   When set, any fields (key, value and headers) equal to this will be replaced by null\n" +
	"Default parsing pattern when:\n parse.headers=true and parse.key=true:\n  \"h1:v1,h2:v2...\\tkey\\tvalue\"\n parse.key=true:\n  \"key\\tvalue\"\n" +
	" parse.headers=true:\n  \"h1:v1,h2:v2...\\tvalue\""

func newConsoleProducerOptions() *consoleProducerOptions {
	o := &consoleProducerOptions{}
	p, help, version := newJopt(false)
	o.parser, o.help, o.version = p, help, version
	text := func(name, argument, description string) *joptSpec {
		return p.option(name, description).withRequiredArg().describedAs(argument).ofType(joptString)
	}
	merge := func(name, argument string, typ joptType, def, setting, description string) *joptSpec {
		s := p.option(name, description).withRequiredArg().ofType(typ).defaultsTo(def)
		if argument != "" {
			s.describedAs(argument)
		}
		o.merged = append(o.merged, mergedOption{setting, s})
		return s
	}
	o.topic = text("topic", "topic", "REQUIRED: The topic name to produce messages to.")
	o.bootstrap = text("bootstrap-server", "server to connect to", "REQUIRED: The server(s) to connect to. The broker list string in the form HOST1:PORT1,HOST2:PORT2.")
	o.sync = p.option("sync", "If set message send requests to the brokers are synchronously, one at a time as they arrive.")
	o.codec = p.option("compression-codec", "The compression codec: either 'none', 'gzip', 'snappy', 'lz4', or 'zstd'. If specified without value, then it defaults to 'gzip'").
		withOptionalArg().describedAs("compression-codec").ofType(joptString)
	merge("timeout", "timeout_ms", joptLong, "1000", "linger.ms", "If set and the producer is running in asynchronous mode, this gives the maximum amount of time a message "+
		"will queue awaiting sufficient batch size. The value is given in ms. This is the option to control `linger.ms` in producer configs.")
	merge("request-required-acks", "request required acks", joptString, "-1", "acks", "The required `acks` of the producer requests")
	merge("request-timeout-ms", "request timeout ms", joptInteger, "1500", propRequestTimeout, "The ack timeout of the producer requests. Value must be non-negative and non-zero.")
	merge("message-send-max-retries", "", joptInteger, "3", "retries", "Brokers can fail receiving the message for multiple reasons, and being unavailable transiently is "+
		"just one of them. This property specifies the number of retries before the producer give up and drop this message. This is the option to control `retries` in producer configs.")
	merge("retry-backoff-ms", "", joptLong, "100", propRetryBackoff, "Before each retry, the producer refreshes the metadata of relevant topics. Since leader election takes a "+
		"bit of time, this property specifies the amount of time that the producer waits before refreshing the metadata. This is the option to control `retry.backoff.ms` in producer configs.")
	merge("socket-buffer-size", "size", joptInteger, "102400", "send.buffer.bytes", "The size of the tcp RECV size. This is the option to control `send.buffer.bytes` in producer configs.")
	merge("max-memory-bytes", "total memory in bytes", joptLong, "33554432", "buffer.memory", "The total memory used by the producer to buffer records waiting to be sent to the "+
		"server. This is the option to control `buffer.memory` in producer configs.")
	batch := "The buffer size in bytes allocated for a partition. When records are received which are smaller than this size the producer will attempt to optimistically " +
		"group them together until this size is reached. This is the option to control batch.size in producer configs. "
	merge("batch-size", "size", joptInteger, "16384", "batch.size", batch+"Please note that this option will be replaced if max-partition-memory-bytes is also set.")
	o.maxPartitionMemory = merge("max-partition-memory-bytes", "memory in bytes per partition", joptInteger, "16384", "batch.size", "(Deprecated) "+batch+
		"This option will be removed in Apache Kafka 5.0. Use --batch-size instead.")
	merge("metadata-expiry-ms", "metadata expiration interval", joptLong, "300000", "metadata.max.age.ms", "The period of time in milliseconds after which we force a refresh of "+
		"metadata even if we haven't seen any leadership changes. This is the option to control `metadata.max.age.ms` in producer configs.")
	merge("max-block-ms", "max block on send", joptLong, "60000", "max.block.ms", "The max time that the producer will block for during a send request.")
	o.reader = text("line-reader", "reader_class", "The class name of the class to use for reading lines from standard in. By default each line is read as a separate message.").
		defaultsTo(lineReaderClass)
	mechanism := "A mechanism to pass user-defined properties in the form key=value to the message reader. This allows custom configuration for a user-defined message reader."
	o.property = text("property", "prop", "(DEPRECATED) "+mechanism+readerProperties+"\n This option will be removed in a future version. Use --reader-property instead.")
	o.readerProperty = text("reader-property", "prop", mechanism+readerProperties)
	o.readerConfig = text("reader-config", "config file", "Config properties file for the message reader. Note that [reader-property] takes precedence over this config.")
	o.producerProperty = text("producer-property", "producer_prop", "(DEPRECATED) Producer config properties in the form key=value. This option will be removed in a future "+
		"version. Use --command-property instead.")
	o.commandProperty = text("command-property", "producer_prop", "Producer config properties in the form key=value.")
	o.producerConfig = text("producer.config", "config file", "(DEPRECATED) Producer config properties file. Note that [command-property] takes precedence over this config. "+
		"This option will be removed in a future version. Use --command-config instead.")
	o.commandConfig = text("command-config", "config file", "Producer config properties file. Note that [command-property] takes precedence over this config.")
	return o
}

// check is what is wrong with options that were read well, in Kafka's order; empty for nothing. It warns of old options and puts
// them in the place of the new ones.
func (o *consoleProducerOptions) check(e *Env) (string, error) {
	has := o.set.has
	if !has(o.topic) {
		return missingArgument(o.topic), nil
	}
	renamed := []struct {
		old *joptSpec
		now **joptSpec
	}{{o.producerConfig, &o.commandConfig}, {o.producerProperty, &o.commandProperty}, {o.property, &o.readerProperty}}
	for _, r := range renamed {
		if has(*r.now) && has(r.old) {
			return "Options --" + (*r.now).names[0] + " and --" + r.old.names[0] + " cannot be specified together.", nil
		}
	}
	renamed[0], renamed[1] = renamed[1], renamed[0]
	for _, r := range renamed {
		if has(r.old) {
			e.println("Warning: --" + r.old.names[0] + " is deprecated and will be removed in a future version. Use --" + (*r.now).names[0] + " instead.")
			*r.now = r.old
		}
	}
	if has(o.maxPartitionMemory) {
		e.println("Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. Use --batch-size instead.")
	}
	bootstrap, err := o.set.value(o.bootstrap)
	if err != nil {
		return "", err
	}
	return wrongBootstrap(bootstrap), nil
}

// addressPattern is what Kafka takes for an address with a port.
var addressPattern = regexp.MustCompile(`^(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)]?:([0-9]+)$`)

// wrongBootstrap is what some tools say of a bootstrap list at once; empty for a good one.
func wrongBootstrap(list string) string {
	if strings.TrimSpace(list) == "" {
		return "Error while validating the bootstrap address\n"
	}
	for _, address := range javaSplit(list, ",") {
		if !addressPattern.MatchString(address) {
			return "Please provide valid host:port like host1:9091,host2:9092\n"
		}
	}
	return ""
}

// readerProperties are those of the reader of lines.
func (o *consoleProducerOptions) readerProps(e *Env) (map[string]string, error) {
	config, err := o.set.value(o.readerConfig)
	if err != nil {
		return nil, err
	}
	props, err := e.loadProperties(config)
	if err != nil {
		return nil, err
	}
	pairs, err := o.set.list(o.readerProperty)
	addKeyValues(props, pairs)
	return props, err
}

// producerProps are the producer's settings.
func (o *consoleProducerOptions) producerProps(e *Env) (clientProperties, error) {
	config, err := o.set.value(o.commandConfig)
	if err != nil {
		return nil, err
	}
	props, err := e.loadProperties(config)
	if err != nil {
		return nil, err
	}
	pairs, err := o.set.list(o.commandProperty)
	if err != nil {
		return nil, err
	}
	addKeyValues(props, pairs)
	if props[propBootstrap], err = o.set.value(o.bootstrap); err != nil {
		return nil, err
	}
	if props["compression.type"], err = o.compression(); err != nil {
		return nil, err
	}
	if _, ok := props[propClientID]; !ok {
		props[propClientID] = "console-producer"
	}
	for _, m := range o.merged {
		if err := mergeOption(props, o.set, m); err != nil {
			return nil, err
		}
	}
	return props, nil
}

func (o *consoleProducerOptions) compression() (string, error) {
	if !o.set.has(o.codec) {
		return "none", nil
	}
	codec, err := o.set.value(o.codec)
	if codec == "" {
		codec = "gzip"
	}
	return codec, err
}

func mergeOption(props clientProperties, set *joptSet, m mergedOption) error {
	if _, given := props[m.setting]; given && !set.has(m.spec) {
		return nil
	}
	v, err := set.value(m.spec)
	props[m.setting] = v
	return err
}

// addKeyValues reads arguments key=value; without = the value is empty.
func addKeyValues(props map[string]string, pairs []string) {
	for _, pair := range pairs {
		k, v, _ := strings.Cut(pair, "=")
		props[k] = v
	}
}

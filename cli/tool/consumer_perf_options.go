package tool

import (
	"fmt"
	"time"
)

// consumerPerfOptions are those of kafka-consumer-perf-test.
type consumerPerfOptions struct {
	parser *joptParser
	set    *joptSet

	help, version, bootstrap, topic, include, group, fetchSize, fromLatest, socketBuffer, consumerConfig, commandConfig *joptSpec
	property, printMetrics, detailed, timeout, messages, records, interval, dateFormat, hideHeader                      *joptSpec
}

func newConsumerPerfOptions() *consumerPerfOptions {
	o := &consumerPerfOptions{}
	p, help, version := newJopt(false)
	o.parser, o.help, o.version = p, help, version
	text := func(name, argument, description string) *joptSpec {
		return p.option(name, description).withRequiredArg().describedAs(argument).ofType(joptString)
	}
	o.bootstrap = text("bootstrap-server", "server to connect to", "REQUIRED: The server(s) to connect to.")
	o.topic = text("topic", "topic", "The topic to consume from.")
	o.include = text("include", "Java regex (String)", "Regular expression specifying list of topics to include for consumption.")
	o.group = text("group", "gid", "The group id to consume on.").defaultsTo(fmt.Sprintf("perf-consumer-%d", randomBelow(100000)))
	o.fetchSize = p.option("fetch-size", "The maximum amount of data to fetch from a single partition per request.").withRequiredArg().describedAs("size").
		ofType(joptInteger).defaultsTo("1048576")
	o.property = text("command-property", "prop1=val1", "Kafka consumer related configuration properties like client.id. These configs take precedence over those passed via "+
		"--command-config or --consumer.config.")
	o.fromLatest = p.option("from-latest", "If the consumer does not already have an established offset to consume from, start with the latest record present in the log "+
		"rather than the earliest record.")
	o.socketBuffer = p.option("socket-buffer-size", "The size of the tcp RECV size.").withRequiredArg().describedAs("size").ofType(joptInteger).defaultsTo("2097152")
	o.consumerConfig = text("consumer.config", "config file", "(DEPRECATED) Consumer config properties file. This option will be removed in a future version. Use --command-config instead.")
	o.commandConfig = text("command-config", "config file", "Config properties file.")
	o.printMetrics = p.option("print-metrics", "Print out the metrics.")
	o.detailed = p.option("show-detailed-stats", "If set, stats are reported for each reporting interval as configured by reporting-interval.")
	o.timeout = p.option("timeout", "The maximum allowed time in milliseconds between returned records.").withOptionalArg().describedAs("milliseconds").
		ofType(joptLong).defaultsTo("10000")
	o.messages = p.option("messages", "(DEPRECATED) The number of records to consume. This option will be removed in a future version. Use --num-records instead.").
		withRequiredArg().describedAs("count").ofType(joptLong)
	o.records = p.option("num-records", "REQUIRED: The number of records to consume.").withRequiredArg().describedAs("count").ofType(joptLong)
	o.interval = p.option("reporting-interval", "Interval in milliseconds at which to print progress info.").withRequiredArg().describedAs("interval_ms").
		ofType(joptLong).defaultsTo("5000")
	o.dateFormat = text("date-format", "date format", "The date format to use for formatting the time field. See java.text.SimpleDateFormat for options.").
		defaultsTo("yyyy-MM-dd HH:mm:ss:SSS")
	o.hideHeader = p.option("hide-header", "If set, skips printing the header for the stats.")
	return o
}

// check is what is wrong with options that were read well; empty for nothing. It warns of old options.
func (o *consumerPerfOptions) check(e *Env) string {
	if !o.set.has(o.bootstrap) {
		return missingArgument(o.bootstrap)
	}
	for _, message := range []string{exactlyOne(o.set, o.topic, o.include), exactlyOne(o.set, o.messages, o.records), clashing(o.set, o.consumerConfig, o.commandConfig)} {
		if message != "" {
			return message
		}
	}
	if o.set.has(o.messages) {
		e.println("Warning: --messages is deprecated. Use --num-records instead.")
	}
	if o.set.has(o.consumerConfig) {
		e.println("Warning: --consumer.config is deprecated. Use --command-config instead.")
	}
	return ""
}

// props are the consumer's settings.
func (o *consumerPerfOptions) props(e *Env) (clientProperties, error) {
	pairs, err := o.set.list(o.property)
	if err != nil {
		return nil, err
	}
	file := o.commandConfig
	if o.set.has(o.consumerConfig) {
		file = o.consumerConfig
	}
	name, err := o.set.value(file)
	if err != nil {
		return nil, err
	}
	props, err := e.loadProperties(name)
	if err != nil {
		return nil, err
	}
	addKeyValues(props, pairs)
	for _, s := range []mergedOption{{propBootstrap, o.bootstrap}, {"group.id", o.group}, {"receive.buffer.bytes", o.socketBuffer}, {"max.partition.fetch.bytes", o.fetchSize}} {
		if props[s.setting], err = o.set.value(s.spec); err != nil {
			return nil, err
		}
	}
	props["auto.offset.reset"] = "earliest"
	if o.set.has(o.fromLatest) {
		props["auto.offset.reset"] = "latest"
	}
	props["check.crcs"] = "false"
	if _, ok := props[propClientID]; !ok {
		props[propClientID] = "perf-consumer-client"
	}
	return props, nil
}

// consumerPerfLimits are the numbers of the command line.
type consumerPerfLimits struct {
	records           int64
	timeout, interval time.Duration
	dateFormat        string
}

// limits reads them in Kafka's order.
func (o *consumerPerfOptions) limits() (l consumerPerfLimits, err error) {
	count := o.records
	if o.set.has(o.messages) {
		count = o.messages
	}
	if l.records, err = o.set.number(count); err != nil {
		return l, err
	}
	timeout, err := o.set.number(o.timeout)
	if err != nil {
		return l, err
	}
	interval, err := o.set.number(o.interval)
	if err != nil {
		return l, err
	}
	if interval <= 0 {
		return l, thrown(classIllegalArgument, "Reporting interval must be greater than 0.")
	}
	l.timeout, l.interval = time.Duration(timeout)*time.Millisecond, time.Duration(interval)*time.Millisecond
	l.dateFormat, err = o.set.value(o.dateFormat)
	return l, err
}

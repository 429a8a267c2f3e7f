package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// consoleConsumerOptions are those of kafka-console-consumer.
type consoleConsumerOptions struct {
	parser *joptParser
	set    *joptSet

	help, version, topic, include, partition, offset, consumerProperty, commandProperty, consumerConfig, commandConfig   *joptSpec
	formatter, property, formatterProperty, formatterConfig, fromBeginning, maxMessages, timeout, skipOnError, bootstrap *joptSpec
	keyDeserializer, valueDeserializer, systest, isolation, group                                                        *joptSpec
}

const formatterProperties = " Default properties include: \n print.timestamp=true|false\n print.key=true|false\n print.offset=true|false\n print.epoch=true|false\n" +
	" print.partition=true|false\n print.headers=true|false\n print.value=true|false\n key.separator=<key.separator>\n line.separator=<line.separator>\n" +
	" headers.separator=<headers.separator>\n null.literal=<null.literal>\n key.deserializer=<key.deserializer>\n value.deserializer=<value.deserializer>\n" +
	" header.deserializer=<header.deserializer>\n\nUsers can also pass in customized properties for their formatter; more specifically, users can pass in " +
	"properties keyed with 'key.deserializer.', 'value.deserializer.' and 'headers.deserializer.' prefixes to configure their deserializers."

func newConsoleConsumerOptions() *consoleConsumerOptions {
	o := &consoleConsumerOptions{}
	p, help, version := newJopt(false)
	o.parser, o.help, o.version = p, help, version
	text := func(name, argument, description string) *joptSpec {
		return p.option(name, description).withRequiredArg().describedAs(argument).ofType(joptString)
	}
	o.topic = text("topic", "topic", "The topic to consume from.")
	o.include = text("include", "Java regex (String)", "Regular expression specifying list of topics to include for consumption.")
	o.partition = p.option("partition", "The partition to consume from. Consumption starts from the end of the partition unless '--offset' is specified.").
		withRequiredArg().describedAs("partition").ofType(joptInteger)
	o.offset = text("offset", "consume offset", "The offset to consume from (a non-negative number), or 'earliest' which means from beginning, or 'latest' which means from end").
		defaultsTo("latest")
	o.consumerProperty = text("consumer-property", "consumer_prop", "(DEPRECATED) Consumer config properties in the form key=value. This option will be removed in a future "+
		"version. Use --command-property instead.")
	o.commandProperty = text("command-property", "consumer_prop", "Consumer config properties in the form key=value.")
	o.consumerConfig = text("consumer.config", "config file", "(DEPRECATED) Consumer config properties file. Note that [command-property] takes precedence over this config. "+
		"This option will be removed in a future version. Use --command-config instead.")
	o.commandConfig = text("command-config", "config file", "Consumer config properties file. Note that [command-property] takes precedence over this config.")
	o.formatter = text("formatter", "class", "The name of a class to use for formatting kafka messages for display.").defaultsTo(defaultFormatterClass)
	o.property = text("property", "prop", "(DEPRECATED) The properties to initialize the message formatter."+formatterProperties+
		" \nThis option will be removed in a future version. Use --formatter-property instead.")
	o.formatterProperty = text("formatter-property", "prop", "The properties to initialize the message formatter."+formatterProperties)
	o.formatterConfig = text("formatter-config", "config file", "Config properties file to initialize the message formatter. Note that [formatter-property] takes precedence over this config.")
	o.fromBeginning = p.option("from-beginning", "If the consumer does not already have an established offset to consume from, start with the earliest message present in "+
		"the log rather than the latest message.")
	o.maxMessages = p.option("max-messages", "The maximum number of messages to consume before exiting. If not set, consumption is continual.").
		withRequiredArg().describedAs("num_messages").ofType(joptInteger)
	o.timeout = p.option("timeout-ms", "If specified, exit if no message is available for consumption for the specified interval.").
		withRequiredArg().describedAs("timeout_ms").ofType(joptLong)
	o.skipOnError = p.option("skip-message-on-error", "If there is an error when processing a message, skip it instead of halt.")
	o.bootstrap = text("bootstrap-server", "server to connect to", "REQUIRED: The server(s) to connect to.")
	o.keyDeserializer = text("key-deserializer", "deserializer for keys", "The name of the class to use for deserializing keys.")
	o.valueDeserializer = text("value-deserializer", "deserializer for values", "The name of the class to use for deserializing values.")
	o.systest = p.option("enable-systest-events", "Log lifecycle events of the consumer in addition to logging consumed messages. (This is specific for system tests.)")
	o.isolation = p.option("isolation-level", "Set to read_committed in order to filter out transactional messages which are not committed. Set to read_uncommitted to read all messages.").
		withRequiredArg().ofType(joptString).defaultsTo("read_uncommitted")
	o.group = text("group", "consumer group id", "The consumer group id of the consumer.")
	return o
}

// consoleConsumerConfig is what a command line asks for.
type consoleConsumerConfig struct {
	topic, include string
	partition      int32
	assigned       bool  // to the partition; without it, it is a member of a group
	byTopic        bool  // not by a pattern
	unread         error // of the topic or the pattern, which are read once there is a consumer
	offset         int64 // to start from, or one of latestOffset and earliestOffset
	props          clientProperties
	timeout        time.Duration // 0 for none
	formatter      formatter
	maxMessages    func() (int64, error) // -1 for all; Kafka looks at it late
}

// config checks what was read, in Kafka's order. A usageError is answered with the table of options.
func (o *consoleConsumerOptions) config(e *Env) (*consoleConsumerConfig, error) {
	c := &consoleConsumerConfig{byTopic: o.set.has(o.topic)}
	if err := o.checkRequired(c); err != nil {
		return nil, err
	}
	if err := o.rename(e, &o.commandProperty, o.consumerProperty, &o.commandConfig, o.consumerConfig); err != nil {
		return nil, err
	}
	steps := []func(*Env, *consoleConsumerConfig) error{o.readProps, o.readOffset, o.readTimeout, o.readFormatter}
	for _, step := range steps {
		if err := step(e, c); err != nil {
			return nil, err
		}
	}
	c.maxMessages = func() (int64, error) {
		if !o.set.has(o.maxMessages) {
			return -1, nil
		}
		return o.set.number(o.maxMessages)
	}
	if c.topic, c.unread = o.set.value(o.topic); c.unread == nil {
		c.include, c.unread = o.set.value(o.include)
	}
	return c, nil
}

func wrongUsage(format string, args ...any) error {
	return usageError{thrown(classIllegalArgument, format, args...)}
}

// exactlyOne is what Kafka says unless just one of two options is there; empty if so.
func exactlyOne(set *joptSet, a, b *joptSpec) string {
	if set.has(a) != set.has(b) {
		return ""
	}
	return fmt.Sprintf("Exactly one of the following arguments is required: %v, %v", a, b)
}

func (o *consoleConsumerOptions) checkRequired(c *consoleConsumerConfig) error {
	has := o.set.has
	if message := exactlyOne(o.set, o.topic, o.include); message != "" {
		return wrongUsage("%s", message)
	}
	if has(o.partition) {
		n, err := o.set.number(o.partition)
		if err != nil {
			return err
		}
		c.partition, c.assigned = int32(n), true
		if !has(o.topic) {
			return wrongUsage("The topic is required when partition is specified.")
		}
		if has(o.fromBeginning) && has(o.offset) {
			return wrongUsage("Options from-beginning and offset cannot be specified together.")
		}
	} else if has(o.offset) {
		return wrongUsage("The partition is required when offset is specified.")
	}
	if !has(o.bootstrap) {
		return wrongUsage("%s", missingArgument(o.bootstrap))
	}
	return nil
}

// rename puts old options in the place of the new ones, with a warning for each.
func (o *consoleConsumerOptions) rename(e *Env, property **joptSpec, oldProperty *joptSpec, config **joptSpec, oldConfig *joptSpec) error {
	pairs := []struct {
		now **joptSpec
		old *joptSpec
	}{{property, oldProperty}, {config, oldConfig}}
	for _, p := range pairs {
		if o.set.has(p.old) && o.set.has(*p.now) {
			return wrongUsage("Options --%s and --%s cannot be specified together.", p.old.names[0], (*p.now).names[0])
		}
	}
	for _, p := range pairs {
		if o.set.has(p.old) {
			e.printf("Option --%s is deprecated and will be removed in a future version. Use --%s instead.\n", p.old.names[0], (*p.now).names[0])
			*p.now = p.old
		}
	}
	return nil
}

// exitNow is an error whose text is all that is told.
type exitNow struct{ error }

func (o *consoleConsumerOptions) readProps(e *Env, c *consoleConsumerConfig) error {
	config, err := o.set.value(o.commandConfig)
	if err != nil {
		return err
	}
	file, err := e.loadProperties(config)
	if err != nil {
		return err
	}
	pairs, err := o.set.list(o.commandProperty)
	if err != nil {
		return err
	}
	given := clientProperties{}
	addKeyValues(given, pairs)
	group, err := o.groupID(file, given, c.assigned)
	if err != nil {
		return err
	}
	for k, v := range given {
		file[k] = v
	}
	c.props = file
	if reset, ok := c.props["auto.offset.reset"]; ok {
		if o.set.has(o.fromBeginning) && reset != "earliest" {
			return exitNow{thrown(classIllegalArgument, "Can't simultaneously specify --from-beginning and 'auto.offset.reset=%s', please remove one option", reset)}
		}
	} else if c.props["auto.offset.reset"] = "latest"; o.set.has(o.fromBeginning) {
		c.props["auto.offset.reset"] = "earliest"
	}
	if c.props[propBootstrap], err = o.set.value(o.bootstrap); err != nil {
		return err
	}
	if _, ok := c.props[propClientID]; !ok {
		c.props[propClientID] = "console-consumer"
	}
	if err := mergeOption(c.props, o.set, mergedOption{"isolation.level", o.isolation}); err != nil {
		return err
	}
	if group == "" {
		group = "console-consumer-" + strconv.FormatUint(randomBelow(100000), 10)
		// Nobody uses that name again: its offsets are not worth keeping.
		if _, ok := c.props["enable.auto.commit"]; !ok {
			c.props["enable.auto.commit"] = "false"
		}
	}
	c.props["group.id"] = group
	return nil
}

// groupID is the group that is named, maybe in several places; empty for none.
func (o *consoleConsumerOptions) groupID(file, given clientProperties, assigned bool) (string, error) {
	var ids []string
	if o.set.has(o.group) {
		id, err := o.set.value(o.group)
		if err != nil {
			return "", err
		}
		ids = append(ids, id)
	}
	for _, p := range []clientProperties{file, given} {
		if id, ok := p["group.id"]; ok {
			ids = append(ids, id)
		}
	}
	ids = javaStringOrder(ids)
	if len(ids) > 1 {
		return "", wrongUsage("The group ids provided in different places (directly using '--group', via '--consumer-property', or via '--consumer.config') do not match. "+
			"Detected group ids: '%s'", strings.Join(ids, "', '"))
	}
	if len(ids) == 0 {
		return "", nil
	}
	if assigned {
		return "", wrongUsage("Options group and partition cannot be specified together.")
	}
	return ids[0], nil
}

func (o *consoleConsumerOptions) readOffset(_ *Env, c *consoleConsumerConfig) error {
	c.offset = latestOffset
	if !o.set.has(o.offset) {
		if o.set.has(o.fromBeginning) {
			c.offset = earliestOffset
		}
		return nil
	}
	text, err := o.set.value(o.offset)
	if err != nil {
		return err
	}
	switch strings.ToLower(text) {
	case "earliest":
		c.offset = earliestOffset
		return nil
	case "latest":
		return nil
	}
	if c.offset, err = strconv.ParseInt(text, 10, 64); err != nil || c.offset < 0 {
		return wrongUsage("The provided offset value '%s' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long.", text)
	}
	return nil
}

func (o *consoleConsumerOptions) readTimeout(_ *Env, c *consoleConsumerConfig) error {
	if !o.set.has(o.timeout) {
		return nil
	}
	ms, err := o.set.number(o.timeout)
	if ms >= 0 {
		c.timeout = max(time.Duration(ms)*time.Millisecond, time.Nanosecond)
	}
	return err
}

// readFormatter makes the formatter; whatever is wrong with it is told with the table of options.
func (o *consoleConsumerOptions) readFormatter(e *Env, c *consoleConsumerConfig) error {
	asUsage := func(err error) error {
		if err == nil {
			return nil
		}
		return usageError{err}
	}
	class, err := o.set.value(o.formatter)
	if err != nil {
		return asUsage(err)
	}
	warn := func(message string, err error) { e.logError(defaultFormatterClass, message, err) }
	if c.formatter, err = newFormatter(class, nil, warn); err != nil { // whether it is there comes first
		return asUsage(err)
	}
	if err := o.rename(e, &o.formatterProperty, o.property, &o.formatterConfig, o.help); err != nil {
		return err
	}
	config, err := o.set.value(o.formatterConfig)
	if err != nil {
		return asUsage(err)
	}
	props, err := e.loadProperties(config)
	if err != nil {
		return asUsage(err)
	}
	for _, d := range []mergedOption{{"key.deserializer", o.keyDeserializer}, {"value.deserializer", o.valueDeserializer}} {
		v, err := o.set.value(d.spec)
		if err != nil {
			return asUsage(err)
		}
		if v != "" {
			props[d.setting] = v
		}
	}
	pairs, err := o.set.list(o.formatterProperty)
	if err != nil {
		return asUsage(err)
	}
	addKeyValues(props, pairs)
	c.formatter, err = newFormatter(class, props, warn)
	return asUsage(err)
}

package tool

import (
	"bufio"
	"context"
	"errors"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func consoleConsumerTool() Tool {
	return Tool{consoleConsumerName, "print the records of topics", runConsoleConsumer}
}

const consoleConsumerLogger = "org.apache.kafka.tools.consumer.ConsoleConsumer"

func runConsoleConsumer(ctx context.Context, e *Env) int {
	o := newConsoleConsumerOptions()
	var err error
	if o.set, err = o.parser.parse(e.Args); err != nil {
		return o.parser.usage(e, err.Error())
	}
	switch {
	case len(e.Args) == 0 || o.set.has(o.help):
		return o.parser.usage(e, "This tool helps to read data from Kafka topics and outputs it to standard output.")
	case o.set.has(o.version):
		return e.printVersion()
	}
	config, err := o.config(e)
	var wrong usageError
	var exit exitNow
	switch {
	case errors.As(err, &wrong):
		return o.parser.usage(e, err.Error())
	case errors.As(err, &exit):
		e.errorf("%s\n", err.Error())
		return 1
	case err != nil:
		return e.uncaught(err)
	}
	c := consoleConsumer{e: e, config: config, skip: o.set.has(o.skipOnError)}
	code := c.run(ctx)
	if o.set.has(o.systest) && c.client != nil {
		e.println("shutdown_complete")
	}
	return code
}

// consoleConsumer is one call of kafka-console-consumer.
type consoleConsumer struct {
	e      *Env
	config *consoleConsumerConfig
	skip   bool
	client *cluster
	commit bool // what was printed
	out    *bufio.Writer
	count  int64
}

// run consumes and returns the exit code.
func (c *consoleConsumer) run(ctx context.Context) int {
	unknown := func(err error) int {
		c.e.logError(consoleConsumerLogger, "Unknown error when running consumer: ", err)
		return 1
	}
	if err := c.open(); err != nil {
		return unknown(err)
	}
	// A reader that goes away is told by the write, not by a signal that ends the process.
	signal.Ignore(syscall.SIGPIPE)
	c.out = bufio.NewWriterSize(c.e.Stdout, outputBuffer)
	ctx, stop := untilSignal(ctx, c.e)
	err := c.print(ctx)
	if flushErr := c.out.Flush(); flushErr != nil {
		c.unwritable()
		err = nil
	}
	c.close()
	code := stop()
	c.e.errorf("Processed a total of %d messages\n", c.count)
	if err != nil {
		return unknown(err)
	}
	return code
}

// untilSignal gives a context that ends with SIGTERM or SIGINT. stop ends the waiting and returns the exit code that follows: 0 if no
// signal came.
func untilSignal(parent context.Context, e *Env) (ctx context.Context, stop func() int) {
	ctx, cancel := context.WithCancel(parent)
	code := make(chan int, 1)
	go func() { // joined by stop
		select {
		case s := <-e.Signals:
			cancel()
			code <- signalExit(s)
		case <-ctx.Done():
			code <- 0
		}
	}()
	return ctx, func() int {
		cancel()
		return <-code
	}
}

const outputBuffer = 64 << 10

func (c *consoleConsumer) open() error {
	s, err := checkSettings(c.config.props, consumerRules())
	if err != nil {
		return err
	}
	if strings.TrimSpace(s[propBootstrap]) == "" {
		return emptyBootstrap()
	}
	opts, err := consumerOptions(s, c.e.Clock.Wall())
	if err != nil {
		return err
	}
	grouped := !c.config.assigned
	if err := checkGroup(c.config.props); grouped && err != nil {
		return err
	}
	var pattern error
	switch {
	case c.config.unread != nil || !grouped && c.config.partition < 0: // nothing ever comes from such a partition
	case !grouped:
		at := kgo.NewOffset().At(c.config.offset) // -1 and -2 are the end and the beginning there too
		opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.config.topic: {c.config.partition: at}}))
	case c.config.topic != "":
		opts = append(opts, kgo.ConsumeTopics(c.config.topic))
	default:
		pattern = checkPattern(c.config.include)
		opts = append(opts, kgo.ConsumeTopics(wholePattern(c.config.include)), kgo.ConsumeRegex())
	}
	if grouped {
		opts = append(opts, groupOptions(s)...)
		c.commit = s.is("enable.auto.commit")
	}
	if pattern != nil || c.config.unread != nil {
		opts = nil // the other settings are still looked at
	}
	if c.client, err = c.e.connect(c.config.props, opts...); err != nil {
		return constructError("consumer", err)
	}
	if grouped && strings.EqualFold(s["group.protocol"], "classic") {
		c.e.errorf("The consumer rebalance protocol (KIP-848) is production-ready! Set group.protocol=consumer to try it out. See " +
			"https://kafka.apache.org/documentation/#consumer_rebalance_protocol\n")
	}
	if c.config.unread != nil {
		c.client.Close()
		return c.config.unread
	}
	if grouped && c.config.topic == "" && c.config.include == "" {
		c.client.Close()
		if c.config.byTopic {
			return thrown(classIllegalArgument, "Topic collection to subscribe to cannot contain null or empty topic")
		}
		return thrown(classIllegalArgument, "Topic pattern to subscribe to cannot be empty")
	}
	return pattern
}

// checkGroup refuses what no member of a group can have.
func checkGroup(p clientProperties) error {
	if id, given := p["group.id"]; given && id == "" {
		return constructError("consumer", nil)
	}
	for _, each := range strings.Split(p["partition.assignment.strategy"], ",") {
		if each = strings.TrimSpace(each); each != "" && !strings.Contains(each, ".") {
			return constructError("consumer", nil) // a class of no package
		}
	}
	if !strings.EqualFold(p["group.protocol"], "consumer") {
		return nil
	}
	for _, name := range []string{"partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"} {
		if _, given := p[name]; given {
			return thrown(classConfig, "%s cannot be set when group.protocol=CONSUMER", name)
		}
	}
	return nil
}

// wholePattern lets a regular expression match whole names only, as Java's Matcher.matches.
func wholePattern(s string) string { return "^(?:" + s + ")$" }

func checkPattern(s string) error {
	if _, err := regexp.Compile(wholePattern(s)); err != nil {
		if _, alone := regexp.Compile(s); alone != nil {
			err = alone
		}
		return thrown("java.util.regex.PatternSyntaxException", "%s", javaPatternError(s, err))
	}
	return nil
}

// print prints records until there are enough of them, none came for a while or the context ends. An error is that of the formatter.
func (c *consoleConsumer) print(ctx context.Context) error {
	limit, err := c.config.maxMessages()
	if err != nil {
		return err
	}
	for limit == -1 || c.count < limit {
		records, err := c.poll(ctx)
		if err != nil {
			c.e.logError(consoleConsumerLogger, "Error processing message, terminating consumer process: ", err)
			return nil
		}
		if records == nil {
			return nil
		}
		for _, r := range records {
			if limit != -1 && c.count >= limit {
				return nil
			}
			c.count++
			if c.commit {
				c.client.MarkCommitRecords(r)
			}
			err := c.config.formatter.write(c.out, r)
			if err != nil && c.out.Flush() == nil {
				if !c.skip {
					return err
				}
				c.e.logError(consoleConsumerLogger, "Error processing message, skipping this message: ", err)
			}
		}
		if c.out.Flush() != nil {
			return nil
		}
	}
	return nil
}

const maxPollRecords = 500 // max.poll.records

// poll waits for records; none and no error mean that the context has ended.
func (c *consoleConsumer) poll(ctx context.Context) ([]*kgo.Record, error) {
	within := ctx
	if c.config.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.config.timeout)
		defer cancel()
	}
	for {
		fetches := c.client.PollRecords(within, maxPollRecords)
		if records := fetches.Records(); len(records) > 0 {
			return records, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case within.Err() != nil:
			return nil, thrown(classTimeout, "")
		}
		for _, f := range fetches.Errors() {
			if err := consumeError(f, c.config.props["group.id"]); err != nil {
				return nil, err
			}
		}
	}
}

// consumeError is what KafkaConsumer.poll throws for an error of the client library; nil for what it goes on after.
func consumeError(f kgo.FetchError, group string) error {
	var code *kerr.Error
	if !errors.As(f.Err, &code) {
		return nil
	}
	switch code.Code {
	case kerr.InvalidTopicException.Code:
		return thrown(errorsPackage+"InvalidTopicException", "Invalid topics: [%s]", f.Topic)
	case kerr.TopicAuthorizationFailed.Code:
		return thrown(errorsPackage+"TopicAuthorizationException", "Not authorized to access topics: [%s]", f.Topic)
	case kerr.GroupAuthorizationFailed.Code:
		return thrown(errorsPackage+"GroupAuthorizationException", "Not authorized to access group: %s", group)
	case kerr.OffsetOutOfRange.Code:
		return thrown("org.apache.kafka.clients.consumer.NoOffsetForPartitionException", "Undefined offset with no reset policy for partitions: [%s-%d]", f.Topic, f.Partition)
	}
	if code.Retriable {
		return nil
	}
	return exceptionOf(code.Code, nil)
}

// unwritable tells that nobody reads the output any more.
func (c *consoleConsumer) unwritable() {
	c.e.errorf("Unable to write to standard out, closing consumer.\n")
}

// close commits what was printed, if offsets are committed at all, and leaves the group.
func (c *consoleConsumer) close() {
	ctx, cancel := c.client.deadline(context.Background())
	defer cancel()
	if c.commit {
		if err := c.client.CommitMarkedOffsets(ctx); err != nil {
			c.e.warn("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator", "Offset commit failed: "+javaToString(asException(err, err.Error())))
		}
	}
	c.client.Close()
}

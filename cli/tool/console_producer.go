package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func consoleProducerTool() Tool {
	return Tool{consoleProducerName, "produce the lines of standard input", runConsoleProducer}
}

// consoleProducer is one call of kafka-console-producer.
type consoleProducer struct {
	e        *Env
	topic    string
	sync     bool
	reader   *lineReader
	settings settings
	client   *cluster
	known    bool // the topic has been seen
}

func runConsoleProducer(ctx context.Context, e *Env) int {
	o := newConsoleProducerOptions()
	var err error
	if o.set, err = o.parser.parse(e.Args); err != nil {
		return o.parser.usage(e, err.Error())
	}
	switch {
	case len(e.Args) == 0 || o.set.has(o.help):
		return o.parser.usage(e, "This tool helps to read data from standard input and publish it to Kafka.")
	case o.set.has(o.version):
		return e.printVersion()
	}
	message, err := o.check(e)
	if message != "" {
		return o.parser.usage(e, message)
	}
	p := consoleProducer{e: e, sync: o.set.has(o.sync)}
	if err == nil {
		err = p.open(o)
	}
	if err == nil {
		defer p.client.Close()
		var code int
		if code, err = p.produce(ctx); err == nil {
			return code
		}
	}
	if isJopt(err) {
		e.errorf("%s\n", err.Error())
	} else {
		e.errorf("%s\n", javaToString(err))
	}
	return 1
}

func isJopt(err error) bool {
	var x *exception
	return errors.As(err, &x) && strings.HasPrefix(x.class, joptPackage)
}

func (p *consoleProducer) open(o *consoleProducerOptions) error {
	class, err := o.set.value(o.reader)
	if err != nil {
		return err
	}
	if class != lineReaderClass {
		return thrown("java.lang.ClassNotFoundException", "%s", class)
	}
	if p.topic, err = o.set.value(o.topic); err != nil {
		return err
	}
	readerProps, err := o.readerProps(p.e)
	if err != nil {
		return err
	}
	if p.reader, err = newLineReader(readerProps); err != nil {
		return err
	}
	props, err := o.producerProps(p.e)
	if err != nil {
		return err
	}
	if p.settings, err = producerSettings(props); err != nil {
		return err
	}
	opts := producerOptions(p.settings, max(p.settings.number("max.request.size"), p.settings.number("batch.size")))
	if p.sync {
		opts = append(opts, kgo.ProducerLinger(0)) // nothing else would join the batch
	}
	if p.client, err = p.e.connect(connectable(props), opts...); err != nil {
		return constructError("producer", err)
	}
	return nil
}

// connectable leaves out time-outs that are shorter than the client library takes.
func connectable(props clientProperties) clientProperties {
	if mustParseLong(strings.TrimSpace(props[propRequestTimeout])) < leastRequestTimeout {
		delete(props, propRequestTimeout)
	}
	return props
}

// inputChunk is some lines of the input, or its end.
type inputChunk struct {
	lines []string
	err   error
}

const maxChunk = 1000 // lines

// readInput reads lines until the input ends or done is closed. It is not waited for: a read of standard input cannot be stopped, and
// the process ends when the tool does.
func readInput(in io.Reader, done <-chan struct{}) <-chan inputChunk {
	chunks := make(chan inputChunk)
	go func() {
		lines := newJavaLines(in)
		for {
			var c inputChunk
			for len(c.lines) == 0 || lines.buffered() && len(c.lines) < maxChunk {
				var line string
				if line, c.err = lines.next(); c.err != nil {
					break
				}
				c.lines = append(c.lines, line)
			}
			select {
			case chunks <- c:
			case <-done:
				return
			}
			if c.err != nil {
				return
			}
		}
	}()
	return chunks
}

// produce sends every line, waits for what is under way and returns the exit code.
func (p *consoleProducer) produce(ctx context.Context) (int, error) {
	waiting, stop := untilSignal(ctx, p.e)
	err := p.lines(ctx, waiting)
	_ = p.client.Flush(ctx) // what fails is told by each record
	if code := stop(); code != 0 {
		return code, nil
	}
	return 0, err
}

// lines sends what comes by standard input until its end, or until waiting is over.
func (p *consoleProducer) lines(queued, waiting context.Context) error {
	done := make(chan struct{})
	defer close(done)
	chunks := readInput(p.e.Stdin, done)
	prompt := isTerminal(p.e.Stdin) && isTerminal(p.e.Stdout)
	for {
		if prompt {
			p.e.printf(">")
		}
		select {
		case <-waiting.Done():
			return nil
		case c := <-chunks:
			for i, line := range c.lines {
				if prompt && i > 0 {
					p.e.printf(">")
				}
				if err := p.send(queued, waiting, line); err != nil {
					return err
				}
			}
			switch {
			case errors.Is(c.err, io.EOF):
				return nil
			case c.err != nil:
				return wrapped(classKafka, thrown(classIO, "%s", c.err))
			}
		}
	}
}

// send queues a line, or sends it; what is queued goes out although a signal ends the waiting.
func (p *consoleProducer) send(queued, waiting context.Context, line string) error {
	rec, err := p.reader.record(line)
	if err != nil {
		return err
	}
	rec.Topic = p.topic
	if err := p.ready(waiting, rec); err != nil {
		if waiting.Err() != nil {
			return waiting.Err()
		}
		return p.failed(rec, err)
	}
	if _, transactional := p.settings["transactional.id"]; transactional {
		return thrown("java.lang.IllegalStateException", "Cannot add partition %s-0 to transaction before completing a call to initTransactions", p.topic)
	}
	if p.sync {
		if err := p.client.ProduceSync(waiting, rec).FirstErr(); err != nil {
			return p.failed(rec, produceError(rec, err))
		}
		return nil
	}
	p.client.Produce(queued, rec, func(rec *kgo.Record, err error) {
		if err != nil {
			_ = p.failed(rec, produceError(rec, err)) // without --sync it is only logged
		}
	})
	return nil
}

// failed ends a synchronous run; another one goes on with the next line.
func (p *consoleProducer) failed(rec *kgo.Record, err error) error {
	if p.sync {
		return wrapped(classExecution, err)
	}
	size := func(b []byte) string {
		if b == nil {
			return "null"
		}
		return fmt.Sprintf("%d bytes", len(b))
	}
	p.e.logError("org.apache.kafka.clients.producer.internals.ErrorLoggingCallback",
		fmt.Sprintf("Error when sending message to topic %s with key: %s, value: %s with error:", rec.Topic, size(rec.Key), size(rec.Value)), err)
	return nil
}

// ready waits until the topic is known and checks the record's size, as KafkaProducer.send does before it queues.
func (p *consoleProducer) ready(ctx context.Context, rec *kgo.Record) error {
	if !p.known {
		if err := awaitTopic(ctx, p.e, p.client, rec.Topic, p.settings.duration("max.block.ms"), p.settings.duration(propRetryBackoff)); err != nil {
			return err
		}
		p.known = true
	}
	return tooLarge(rec, p.settings)
}

// tooLarge is what KafkaProducer says of a record that it does not even queue; nil for one that it takes.
func tooLarge(rec *kgo.Record, s settings) error {
	size, limit := recordBound(rec), s.number("max.request.size")
	if size > limit {
		return thrown(errorsPackage+"RecordTooLargeException", "The message is %d bytes when serialized which is larger than %d, which is the value of the max.request.size configuration.", size, limit)
	}
	if size > s.number("buffer.memory") {
		return thrown(errorsPackage+"RecordTooLargeException", "The message is %d bytes when serialized which is larger than the total memory buffer you have configured with the buffer.memory configuration.", size)
	}
	return nil
}

// awaitTopic asks for a topic, which makes it where the broker allows that, until it has partitions.
func awaitTopic(ctx context.Context, e *Env, c *cluster, topic string, limit, backoff time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for within.Err() == nil {
		req := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics, req.AllowAutoTopicCreation = append(req.Topics, t), true
		resp, err := req.RequestWith(within, c.Client)
		if err == nil && len(resp.Topics) > 0 {
			switch got := resp.Topics[0]; got.ErrorCode {
			case 0:
				if len(got.Partitions) > 0 {
					return nil
				}
			case kerr.InvalidTopicException.Code:
				return thrown(errorsPackage+"InvalidTopicException", "Invalid topics: [%s]", topic)
			case kerr.TopicAuthorizationFailed.Code:
				return thrown(errorsPackage+"TopicAuthorizationException", "Not authorized to access topics: [%s]", topic)
			}
		}
		_ = e.pause(within, max(backoff, time.Millisecond)) // the loop looks at the context itself
	}
	return thrown(classTimeout, "Topic %s not present in metadata after %d ms.", topic, limit.Milliseconds())
}

// Sizes of Kafka's estimate of a record in a batch of its own.
const (
	batchOverhead  = 61
	recordOverhead = 21
)

// recordBound is at least what the record takes in a batch, as KafkaProducer reckons.
func recordBound(r *kgo.Record) int64 {
	field := func(b []byte) int64 {
		if b == nil {
			return 1
		}
		return varintSize(len(b)) + int64(len(b))
	}
	size := batchOverhead + recordOverhead + field(r.Key) + field(r.Value) + varintSize(len(r.Headers))
	for _, h := range r.Headers {
		size += field([]byte(h.Key)) + field(h.Value)
	}
	return size
}

// varintSize is the length of a zigzag varint that is not negative.
func varintSize(n int) int64 {
	size := int64(1)
	for v := uint64(n) << 1; v >= 0x80; v >>= 7 {
		size++
	}
	return size
}

// produceError is why a record was not produced, as KafkaProducer's callback gets it.
func produceError(r *kgo.Record, err error) error {
	if errors.Is(err, kerr.InvalidRecord) && r.Key == nil {
		// The client library drops the broker's message; this is the one that it has for a record without a key.
		return thrown("org.apache.kafka.common.InvalidRecordException", "Compacted topic cannot accept message without key in topic partition %s-%d", r.Topic, r.Partition)
	}
	return asException(err, fmt.Sprintf("Expiring 1 record(s) for %s-%d: the batch was not acknowledged in time", r.Topic, r.Partition))
}

// isTerminal tells whether the stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// signalExit is the exit code of a process that Java ended by the signal.
func signalExit(s os.Signal) int {
	if s == os.Interrupt {
		return 130
	}
	return 143
}

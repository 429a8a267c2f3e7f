package tool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// called runs a tool without a broker: on a memory disk, at a time that stands still.
func called(t *testing.T, name string, args ...string) (out, err string, code int) {
	t.Helper()
	tool, ok := Find(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	var stdout, stderr strings.Builder
	code = tool.Run(context.Background(), &Env{Name: name, Args: args, Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""),
		Stdout: &stdout, Stderr: &stderr, FS: vfs.NewMem(), Clock: clock.NewManual(time.Unix(1_796_000_000, 0))})
	return stdout.String(), stderr.String(), code
}

// What is wrong with a command line is said in the first line, before the table of options.
func TestClientToolErrors(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		args := strings.Fields(line)
		out, err, code := called(t, args[0], args[1:]...)
		first, _, _ := strings.Cut(out+err, "\n")
		if code != 1 || first != want {
			t.Errorf("%s: got %q and %d, want %q and 1", line, first, code, want)
		}
	}
	const b = " --bootstrap-server localhost:1 "
	f("kafka-consumer-groups --list", `Missing required argument "[bootstrap-server]"`)
	f("kafka-consumer-groups"+b, "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets, --validate-regex")
	f("kafka-consumer-groups"+b+"--describe", "Option [describe] takes one of these options: [all-groups], [group]")
	f("kafka-consumer-groups"+b+"--describe --group g --members --state", "Option [describe] takes at most one of these options: [members], [offsets], [state]")
	f("kafka-consumer-groups"+b+"--describe --group g --state stable", "Option [describe] does not take a value for [state]")
	f("kafka-consumer-groups"+b+"--list --members", `Exception in thread "main" joptsimple.UnavailableOptionException: Option(s) [members] are unavailable given other options on the command line`)
	f("kafka-consumer-groups"+b+"--reset-offsets --group g --to-earliest --to-latest --dry-run --topic t", `Option "[to-earliest]" can't be used with option "[to-latest]"`)
	f("kafka-consumer-groups"+b+"--list --describe --group g", `Option "[group]" can't be used with option "[list]"`)
	f("kafka-groups"+b, "Command must include exactly one action: --list.")
	f("kafka-groups --list", "Missing required option(s) [bootstrap-server]")
	f("kafka-groups"+b+"--list --group-type x", "--group-type must be a valid group type.")
	f("kafka-console-producer --topic t", "Error while validating the bootstrap address")
	f("kafka-console-producer --bootstrap-server nohost --topic t", "Please provide valid host:port like host1:9091,host2:9092")
	f("kafka-console-producer"+b+"--topic t --request-required-acks 2", "org.apache.kafka.common.config.ConfigException: Invalid value 2 for configuration acks: String must be one of: all, -1, 0, 1")
	f("kafka-console-producer"+b+"--topic t --command-config /nosuch", "java.nio.file.NoSuchFileException: /nosuch")
	f("kafka-console-consumer"+b, "Exactly one of the following arguments is required: [topic], [include]")
	f("kafka-console-consumer"+b+"--topic t --offset 1", "The partition is required when offset is specified.")
	f("kafka-console-consumer"+b+"--topic t --partition 0 --offset -3", "The provided offset value '-3' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long.")
	f("kafka-console-consumer"+b+"--topic t --from-beginning --command-property auto.offset.reset=none", "Can't simultaneously specify --from-beginning and 'auto.offset.reset=none', please remove one option")
	f("kafka-console-consumer"+b+"--topic t --formatter x", "x")
	f("kafka-consumer-perf-test"+b+"--topic t", "Exactly one of the following arguments is required: [messages], [num-records]")
	f("kafka-producer-perf-test"+b+"--topic t --num-records 1 --throughput x --payload-monotonic", "usage: kafka-producer-perf-test")
}

func TestToolsWithoutArguments(t *testing.T) {
	f := func(name string, code int, want string) {
		t.Helper()
		out, err, got := called(t, name)
		if first, _, _ := strings.Cut(out+err, "\n"); got != code || first != want {
			t.Errorf("%s: got %q and %d, want %q and %d", name, first, got, want, code)
		}
	}
	f("kafka-consumer-groups", 1, "This tool helps to list, describe, delete and manage the offsets of consumer groups.")
	f("kafka-groups", 1, "Missing required option(s) [bootstrap-server]")
	f("kafka-console-producer", 1, "This tool helps to read data from standard input and publish it to Kafka.")
	f("kafka-console-consumer", 1, "This tool helps to read data from Kafka topics and outputs it to standard output.")
	f("kafka-producer-perf-test", 0, "usage: kafka-producer-perf-test")
	f("kafka-consumer-perf-test", 1, "This tool is used to verify the consumer performance.")
}

func TestProducerSettings(t *testing.T) {
	f := func(want string, pairs ...string) {
		t.Helper()
		p := clientProperties{}
		addKeyValues(p, pairs)
		_, err := producerSettings(p)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v: got %q, want %q", pairs, got, want)
		}
	}
	f("")
	f("", "acks=1", "linger.ms= 7 ")
	f("Invalid value x for configuration linger.ms: Not a number of type LONG", "linger.ms=x")
	f("Invalid value 9999999999 for configuration batch.size: Not a number of type INT", "batch.size=9999999999")
	f("Invalid value -1 for configuration retries: Value must be at least 0", "retries=-1")
	f("Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence.", "acks=0", "enable.idempotence=true")
	f("To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. Current value is 10.", "max.in.flight.requests.per.connection=10")
	f("", "max.in.flight.requests.per.connection=10", "enable.idempotence=false")
	f("Failed to construct kafka producer", "delivery.timeout.ms=100")
}

func TestConsumerSettings(t *testing.T) {
	f := func(want string, pairs ...string) {
		t.Helper()
		p := clientProperties{}
		addKeyValues(p, pairs)
		s, err := checkSettings(p, consumerRules())
		if err == nil {
			_, err = consumerOptions(s, time.Unix(0, 0))
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v: got %q, want %q", pairs, got, want)
		}
	}
	f("")
	f("", "auto.offset.reset=by_duration:PT1H", "group.protocol=CONSUMER")
	f("Invalid value foo for configuration group.protocol: String must be one of (case insensitive): CONSUMER, CLASSIC", "group.protocol=foo")
	f("Invalid value 0 for configuration max.poll.records: Value must be at least 1", "max.poll.records=0")
	f("Invalid value x for configuration enable.auto.commit: Expected value to be either true or false", "enable.auto.commit=x")
	f("Invalid value foo for configuration auto.offset.reset: Invalid value `foo` for configuration auto.offset.reset. The value must be either 'earliest', "+
		"'latest', 'none' or of the format 'by_duration:<PnDTnHnMn.nS.>'.", "auto.offset.reset=foo")
}

func TestExceptions(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		if got := javaToString(err); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	text := "Group x not found."
	f(exceptionOf(69, &text), "org.apache.kafka.common.errors.GroupIdNotFoundException: Group x not found.")
	f(exceptionOf(87, nil), "org.apache.kafka.common.InvalidRecordException: This record has failed the validation on broker and hence will be rejected.")
	f(exceptionOf(30000, nil), "org.apache.kafka.common.errors.UnknownServerException: The server experienced an unexpected error when processing the request.")
	f(wrapped(classRuntime, wrapped(classExecution, thrown(classTimeout, ""))),
		"java.lang.RuntimeException: java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.TimeoutException")
	f(asException(errors.New("deadline"), "Timed out"), "org.apache.kafka.common.errors.TimeoutException: Timed out")
	if got := errorName(errorsPackage + "NotCoordinatorException"); got != "NOT_COORDINATOR" {
		t.Errorf("got %s, want NOT_COORDINATOR", got)
	}
}

func TestThrottler(t *testing.T) {
	start := time.Unix(0, 0)
	f := func(rate float64, n int64, after time.Duration, want time.Duration) {
		t.Helper()
		if got := newThrottler(rate, start).wait(n, start.Add(after)); got != want {
			t.Errorf("%v records/s after %d in %v: got %v, want %v", rate, n, after, got, want)
		}
	}
	f(-1, 1000, time.Millisecond, 0)
	f(100, 5, time.Second, 0)
	f(100, 500, time.Second, 10*time.Millisecond)
	f(10_000, 500_000, time.Second, 0) // a tenth of a millisecond is not worth a pause
}

func TestTooLarge(t *testing.T) {
	f := func(size int, want string, pairs ...string) {
		t.Helper()
		p := clientProperties{}
		addKeyValues(p, pairs)
		s, err := producerSettings(p)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := tooLarge(&kgo.Record{Value: make([]byte, size)}, s); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%d bytes with %v: got %q, want %q", size, pairs, got, want)
		}
	}
	f(1_000_000, "")
	f(2_000_000, "The message is 2000088 bytes when serialized which is larger than 1048576, which is the value of the max.request.size configuration.")
	f(2_000_000, "The message is 2000088 bytes when serialized which is larger than the total memory buffer you have configured with the buffer.memory configuration.",
		"max.request.size=3000000", "buffer.memory=10")
}

package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// producerPerfConfig is what a command line of kafka-producer-perf-test asks for.
type producerPerfConfig struct {
	topic           string
	records, warmup int64
	recordSize      int32 // 0 for payloads of another kind
	throughput      float64
	monotonic       bool
	payloads        [][]byte // of a file
	props           clientProperties
	printMetrics    bool
	interval        time.Duration
	transactional   bool
	transactionMs   int64
	keyRange        int32  // 0 for none
	keyDistribution string // none, range or random
	seed            uint64
}

const (
	transactionIDPrefix   = "performance-producer-"
	transactionDurationMs = 3000
)

func newProducerPerfParser() (p *argParser, throughput *argSpec) {
	p = newArgParser("kafka-producer-perf-test", "This tool is used to verify the producer performance. To enable transactions, you can specify a transactional id or set a "+
		"transaction duration using --transaction-duration-ms. There are three ways to specify the transactional id: set transactional.id=<id> via --command-property, "+
		"set transactional.id=<id> in the config file via --command-config, or use --transactional-id <id>.")
	p.defaultHelp = true
	exactly := "Note that you must provide exactly one of --record-size, --payload-file or --payload-monotonic."
	payload := p.exclusive(true)
	payload.description = exactly
	text := func(name, metavar, dest, help string) *argSpec {
		return p.arg(name).withMetavar(metavar).withDest(dest).withHelp(help)
	}
	text("--bootstrap-server", "BOOTSTRAP-SERVER", "bootstrapServer", "The server(s) to connect to. This config takes precedence over bootstrap.servers specified via "+
		"--command-property or --command-config.")
	text("--topic", "TOPIC", "topic", "Produce records to this topic.").isRequired()
	text("--num-records", "NUM-RECORDS", "numRecords", "Number of records to produce.").isRequired().ofType("Long")
	payload.arg("--record-size").withMetavar("RECORD-SIZE").withDest("recordSize").ofType("Integer").withHelp("Record size in bytes. " + exactly)
	payload.arg("--payload-file").withMetavar("PAYLOAD-FILE").withDest("payloadFile").withHelp("File to read the record payloads from. This works only for UTF-8 encoded " +
		"text files. Payloads will be read from this file and a payload will be randomly selected when sending records. " + exactly)
	payload.arg("--payload-monotonic").does(argStoreTrue).withMetavar("PAYLOAD-MONOTONIC").withDest("payloadMonotonic").defaultsTo("false").
		withHelp("Payload is a monotonically increasing integer. " + exactly)
	text("--payload-delimiter", "PAYLOAD-DELIMITER", "payloadDelimiter", "Provides the delimiter to be used when --payload-file is provided. Defaults to new line. Note that "+
		"this parameter will be ignored if --payload-file is not provided.").defaultsTo(`\n`)
	throughput = text("--throughput", "THROUGHPUT", "throughput", "Throttle maximum record throughput to *approximately* THROUGHPUT records/sec. Set this to -1 to disable "+
		"throttling.").isRequired().ofType("Double")
	props := "Kafka producer related configuration properties like client.id. These configs take precedence over those passed via --command-config or --producer.config. "
	example := "Example: --command-property linger.ms=10 batch.size=32768"
	text("--producer-props", "PROP-NAME=PROP-VALUE", "producerConfig", "(DEPRECATED) "+props+"This option will be removed in a future version. Use --command-property instead. "+
		example).takes(1, argMany)
	text("--command-property", "PROP-NAME=PROP-VALUE", "commandProperties", props+example).takes(1, argMany)
	text("--producer.config", "CONFIG-FILE", "producerConfigFile", "(DEPRECATED) Producer config properties file. This option will be removed in a future version. Use "+
		"--command-config instead.")
	text("--command-config", "CONFIG-FILE", "commandConfigFile", "Producer config properties file.")
	p.arg("--print-metrics").does(argStoreTrue).withMetavar("PRINT-METRICS").withDest("printMetrics").defaultsTo("false").withHelp("Print out metrics at the end of the test.")
	text("--transactional-id", "TRANSACTIONAL-ID", "transactionalId", "The transactional id to use. This config takes precedence over the transactional.id specified via "+
		"--command-property or --command-config. Note that if the transactional id is not specified while --transaction-duration-ms is provided, the default value for the "+
		"transactional id will be performance-producer- followed by a random uuid.")
	text("--transaction-duration-ms", "TRANSACTION-DURATION", "transactionDurationMs", "The maximum duration of each transaction. The commitTransaction will be called after "+
		"this time has elapsed. The value should be greater than 0. If the transactional id is specified via --command-property, --command-config or --transactional-id but "+
		"--transaction-duration-ms is not specified, the default value will be 3000.").ofType("Long")
	text("--warmup-records", "WARMUP-RECORDS", "warmupRecords", "The number of records to treat as warmup. These initial records will not be included in steady-state "+
		"statistics. An additional summary line will be printed describing the steady-state statistics.").ofType("Long").defaultsTo("0")
	text("--reporting-interval", "INTERVAL-MS", "reportingInterval", "Interval in milliseconds at which to print progress info.").ofType("Long").defaultsTo("5000")
	text("--record-key-range", "KEY-RANGE", "recordKeyRange", "The range of keys to use when --key-distribution is 'range' or 'random'. Keys will be integers in [0, KEY-RANGE). "+
		"Required for range and random distributions.").ofType("Integer")
	text("--key-distribution", "KEY-DISTRIBUTION", "keyDistribution", "The key distribution to use: 'none' for null keys, 'range' for round-robin keys in [0, KEY-RANGE), or "+
		"'random' for random keys in [0, KEY-RANGE). Requires --record-key-range when set to 'range' or 'random'.").withChoices("none", "range", "random").defaultsTo("none")
	text("--random-seed", "RANDOM-SEED", "randomSeed", "Seed for the pseudo-random number generator used by --key-distribution random and random payload generation. The "+
		"default value of 0 ensures deterministic, reproducible benchmark runs. Set to a different value when non-repeating sequences are required.").ofType("Long").defaultsTo("0")
	return p, throughput
}

// config reads and checks a command line, in Kafka's order. An argError is told with the usage.
func readProducerPerf(e *Env, p *argParser, throughput *argSpec, args []string) (*producerPerfConfig, error) {
	v, err := p.parse(args)
	if err != nil {
		return nil, err
	}
	c := &producerPerfConfig{topic: v.text("topic"), records: v.number("numRecords"), warmup: max(v.number("warmupRecords"), 0), recordSize: int32(v.number("recordSize")),
		monotonic: v.has("payloadMonotonic"), printMetrics: v.has("printMetrics"), keyRange: int32(v.number("recordKeyRange")), keyDistribution: v.text("keyDistribution"),
		seed: uint64(v.number("randomSeed")), interval: time.Duration(v.number("reportingInterval")) * time.Millisecond, transactionMs: v.number("transactionDurationMs")}
	if c.throughput, err = strconv.ParseFloat(v.text("throughput"), 64); err != nil {
		return nil, p.errorf(throughput, "could not convert '%s' to Double (%s)", v.text("throughput"), javaNumberError(v.text("throughput")))
	}
	if message := c.wrong(v); message != "" {
		return nil, p.errorf(nil, "%s", message)
	}
	if err := c.readPayloads(e, v.text("payloadFile"), v.text("payloadDelimiter")); err != nil {
		return nil, err
	}
	return c, c.readProps(e, v)
}

// wrong is what is wrong with values that were read well; empty for nothing.
func (c *producerPerfConfig) wrong(v *argValues) string {
	has := v.has
	for _, check := range []struct {
		failed  bool
		message string
	}{
		{c.records <= 0, "--num-records should be greater than zero."},
		{c.warmup >= c.records, "The value for --warmup-records must be strictly fewer than the number of records in the test, --num-records."},
		{has("recordSize") && c.recordSize <= 0, "--record-size should be greater than zero."},
		{!has("bootstrapServer") && !has("commandProperties") && !has("producerConfig") && !has("producerConfigFile") && !has("commandConfigFile"),
			"At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or --command-config must be specified."},
		{has("commandProperties") && has("producerConfig"), "--command-property and --producer-props cannot be specified together."},
		{has("commandConfigFile") && has("producerConfigFile"), "--command-config and --producer.config cannot be specified together."},
		{has("transactionDurationMs") && c.transactionMs <= 0, "--transaction-duration-ms should be greater than zero."},
		{c.interval <= 0, "--reporting-interval should be greater than zero."},
		{has("recordKeyRange") && c.keyRange <= 0, "--record-key-range should be greater than zero."},
		{c.keyDistribution != "none" && !has("recordKeyRange"), "--record-key-range is required when --key-distribution is 'range' or 'random'."},
		{c.keyDistribution == "none" && has("recordKeyRange"), "--key-distribution must be 'range' or 'random' when --record-key-range is specified."},
	} {
		if check.failed {
			return check.message
		}
	}
	return ""
}

func (c *producerPerfConfig) readPayloads(e *Env, name, delimiter string) error {
	if name == "" {
		return nil
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		return wrapped(classRuntime, err)
	}
	e.println("Reading payloads from: " + absolute)
	data, err := e.FS.ReadFile(name)
	if err != nil || len(data) == 0 {
		if err == nil || isNotExist(err) {
			return thrown(classIllegalArgument, "File does not exist or empty file provided.")
		}
		return thrown(classIO, "%s", err)
	}
	if delimiter == `\n` {
		delimiter = "\n"
	}
	c.payloads = splitPayloads(string(data), delimiter)
	e.printf("Number of records read: %d\n", len(c.payloads))
	return nil
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// splitPayloads cuts at the delimiter as Java's Scanner: none is empty at the end.
func splitPayloads(text, delimiter string) [][]byte {
	var payloads [][]byte
	for _, s := range strings.Split(strings.TrimSuffix(text, delimiter), delimiter) {
		payloads = append(payloads, []byte(s))
	}
	return payloads
}

func (c *producerPerfConfig) readProps(e *Env, v *argValues) error {
	pairs, file := v.list("commandProperties"), v.text("commandConfigFile")
	if v.has("producerConfig") {
		e.println("Option --producer-props has been deprecated and will be removed in a future version. Use --command-property instead.")
		pairs = v.list("producerConfig")
	}
	if v.has("producerConfigFile") {
		e.println("Option --producer.config has been deprecated and will be removed in a future version. Use --command-config instead.")
		file = v.text("producerConfigFile")
	}
	var err error
	if c.props, err = e.loadProperties(file); err != nil {
		return err
	}
	for _, pair := range pairs {
		pieces := javaSplit(pair, "=")
		if len(pieces) != 2 {
			return thrown(classIllegalArgument, "Invalid property: %s", pair)
		}
		c.props[pieces[0]] = pieces[1]
	}
	if _, ok := c.props[propClientID]; !ok {
		c.props[propClientID] = "perf-producer-client"
	}
	if v.has("bootstrapServer") {
		c.props[propBootstrap] = v.text("bootstrapServer")
	}
	id, given := c.props["transactional.id"]
	if c.transactional = given || v.has("transactionDurationMs") || v.has("transactionalId"); !c.transactional {
		return nil
	}
	switch {
	case v.has("transactionalId"):
		id = v.text("transactionalId")
	case !given:
		id = fmt.Sprintf("%s%s", transactionIDPrefix, randomUUID())
	}
	c.props["transactional.id"] = id
	if !v.has("transactionDurationMs") {
		c.transactionMs = transactionDurationMs
	}
	return nil
}

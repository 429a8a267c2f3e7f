package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

func transactionsTool() Tool {
	return Tool{"kafka-transactions", "List, describe and end transactions", runTransactions}
}

// commit is that of the release, as the tool tells it.
const commit = "1156b2752aaa28ea"

// txnCommand is a command of kafka-transactions.
type txnCommand struct {
	name string
	args func(*argParser) // its arguments
	run  func(t *txnTool, ctx context.Context) error
}

// txnCommands are all of them in the order of the help.
func txnCommands() []txnCommand {
	return []txnCommand{
		{"list", listTxnArgs, (*txnTool).list},
		{"describe", describeTxnArgs, (*txnTool).describe},
		{"describe-producers", describeProducersArgs, (*txnTool).describeProducers},
		{"abort", abortArgs, (*txnTool).abort},
		{"find-hanging", findHangingArgs, (*txnTool).findHanging},
		{"forceTerminateTransaction", forceTerminateArgs, (*txnTool).forceTerminate},
	}
}

func newTxnParser() *argParser {
	p := newArgParser("kafka-transactions.sh", "This tool is used to analyze the transactional state of producers in the cluster. "+
		"It can be used to detect and recover from hanging transactions.")
	p.arg("-v", "--version").does(argVersion).withHelp("show the version of this Kafka distribution and exit")
	p.arg("--command-config").withHelp("property file containing configs to be passed to admin client").withMetavar("FILE")
	p.arg("--bootstrap-server").isRequired().withMetavar("host:port").
		withHelp("hostname and port for the broker to connect to, in the form `host:port`  (multiple comma-separated entries can be given)")
	p.title, p.commandsMetavar = "commands", "COMMAND"
	for _, c := range txnCommands() {
		help := map[string]string{
			"list":                      "list transactions",
			"describe":                  "describe the state of an active transactional-id",
			"describe-producers":        "describe the states of active producers for a topic partition",
			"abort":                     "abort a hanging transaction (requires administrative privileges)",
			"find-hanging":              "find hanging transactions",
			"forceTerminateTransaction": "Force abort an ongoing transaction on transactionalId (requires administrative privileges)",
		}[c.name]
		c.args(p.addCommand("command", c.name, help))
	}
	return p
}

func listTxnArgs(p *argParser) {
	p.arg("--duration-filter").ofType("Long").withHelp("Duration (in millis) to filter by: if < 0, all transactions will be returned; " +
		"otherwise, only transactions running longer than this duration will be returned")
	p.arg("--transactional-id-pattern").withHelp("Transactional id regular expression pattern to filter by")
}

func describeTxnArgs(p *argParser) {
	p.description = "Describe the state of an active transactional-id."
	p.arg("--transactional-id").isRequired().withHelp("transactional id")
}

func describeProducersArgs(p *argParser) {
	p.arg("--broker-id").ofType("Integer").withHelp("optional broker id to describe the producer state on a specific replica")
	partitionArgs(p)
}

func partitionArgs(p *argParser) {
	p.arg("--topic").isRequired().withHelp("topic name")
	p.arg("--partition").ofType("Integer").isRequired().withHelp("partition number")
}

func abortArgs(p *argParser) {
	partitionArgs(p)
	now := p.addGroup("Brokers on versions 3.0 and above", "For newer brokers, only the start offset of the transaction to be aborted is required")
	now.arg("--start-offset").ofType("Long").withHelp("start offset of the transaction to abort")
	old := p.addGroup("Brokers on versions older than 3.0", "For older brokers, you must provide all of these arguments")
	old.arg("--producer-id").ofType("Long").withHelp("producer id")
	old.arg("--producer-epoch").ofType("Short").withHelp("producer epoch")
	old.arg("--coordinator-epoch").ofType("Integer").withHelp("coordinator epoch")
}

func findHangingArgs(p *argParser) {
	p.arg("--broker-id").ofType("Integer").withHelp("broker id to search for hanging transactions")
	p.arg("--max-transaction-timeout").ofType("Integer").defaultsTo("15").
		withHelp("maximum transaction timeout in minutes to limit the scope of the search (15 minutes by default)")
	p.arg("--topic").withHelp("topic name to limit search to (required if --partition is specified)")
	p.arg("--partition").ofType("Integer").withHelp("partition number")
}

func forceTerminateArgs(p *argParser) {
	p.description = "Force abort an ongoing transaction on transactionalId"
	p.arg("--transactionalId").isRequired().withHelp("transactional id")
}

// txnTool does what kafka-transactions was asked.
type txnTool struct {
	e    *Env
	args *argValues
	adm  txnAdmin
}

// txnFailure is a failure as the tool tells it.
type txnFailure struct{ message string }

func (t *txnFailure) Error() string { return t.message }

// failed tells what could not be done, and why.
func failed(cause error, format string, args ...any) error {
	return &txnFailure{fmt.Sprintf(format, args...) + ": " + javaMessage(cause) + ". Enable debug logging for additional detail."}
}

func runTransactions(ctx context.Context, e *Env) int {
	p := newTxnParser()
	args, err := p.parse(e.Args)
	if err != nil {
		if errors.Is(err, errVersion) {
			e.println(Version + " (Commit:" + commit + ")")
			return 0
		}
		p.fail(e, err)
		return 1 // after the help too
	}
	t := &txnTool{e: e, args: args}
	err = t.run(ctx)
	var failure *txnFailure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failure):
		e.errorf("%s\n", failure.message)
		return 1
	}
	return e.uncaught(err)
}

func (t *txnTool) run(ctx context.Context) error {
	props, err := t.e.loadProperties(t.args.text("command_config"))
	if err != nil {
		return failed(err, "Failed to load admin client properties")
	}
	props[propBootstrap] = t.args.text("bootstrap_server")
	c, err := t.e.connectAdmin(props)
	if err != nil {
		return err
	}
	defer c.Close()
	t.adm = txnAdmin{c}
	for _, command := range txnCommands() {
		if command.name == t.args.text("command") {
			return command.run(t, ctx)
		}
	}
	return nil
}

// table prints rows under their titles, columns filled up with blanks and ended by a tab.
func (t *txnTool) table(titles []string, rows [][]string) {
	rows = slices.Insert(rows, 0, titles)
	widths := make([]int, len(titles))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf16Len(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-utf16Len(cell)) + "\t")
		}
		t.e.println(b.String())
	}
}

func (t *txnTool) list(ctx context.Context) error {
	f := txnFilter{duration: -1, pattern: t.args.text("transactional_id_pattern")}
	if t.args.has("duration_filter") {
		f.duration = t.args.number("duration_filter")
	}
	found, err := t.adm.list(ctx, f)
	if err != nil {
		return failed(err, "Failed to list transactions")
	}
	var rows [][]string
	for _, x := range found {
		rows = append(rows, []string{x.id, decimal(x.coordinator), decimal(x.producer), x.state})
	}
	t.table([]string{"TransactionalId", "Coordinator", "ProducerId", "TransactionState"}, rows)
	return nil
}

func (t *txnTool) describe(ctx context.Context) error {
	id := t.args.text("transactional_id")
	x, err := t.adm.describe(ctx, id)
	if err != nil {
		return failed(err, "Failed to describe transaction state of transactional-id `%s`", id)
	}
	start, duration := "None", "None"
	if x.start >= 0 {
		start, duration = decimal(x.start), decimal(t.e.Clock.Wall().UnixMilli()-x.start)
	}
	t.table([]string{"CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs", "CurrentTransactionStartTimeMs",
		"TransactionDurationMs", "TopicPartitions"},
		[][]string{{decimal(x.coordinator), id, decimal(x.producer), decimal(int32(x.epoch)), x.state, decimal(x.timeout), start, duration,
			joined(javaPartitionOrder(x.partitions), ",", partitionText)}})
	return nil
}

// partition is the one that the command line names.
func (t *txnTool) partition() topicPartition {
	return topicPartition{t.args.text("topic"), int32(t.args.number("partition"))}
}

// broker is the one that the command line names, -1 for none.
func (t *txnTool) broker() int32 {
	if !t.args.has("broker_id") {
		return -1
	}
	return int32(t.args.number("broker_id"))
}

func orNone(offset int64) string {
	if offset < 0 {
		return "None"
	}
	return decimal(offset)
}

func (t *txnTool) describeProducers(ctx context.Context) error {
	tp, broker := t.partition(), t.broker()
	found, err := t.adm.producers(ctx, []topicPartition{tp}, broker)
	if err != nil {
		where := "leader"
		if broker >= 0 {
			where = "broker " + decimal(broker)
		}
		return failed(err, "Failed to describe producers for partition %s on %s", partitionText(tp), where)
	}
	var rows [][]string
	for _, p := range found {
		rows = append(rows, []string{decimal(p.id), decimal(p.epoch), decimal(p.coordinatorEpoch), decimal(p.lastSequence), decimal(p.lastTimestamp), orNone(p.txnStart)})
	}
	t.table([]string{"ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp", "CurrentTransactionStartOffset"}, rows)
	return nil
}

// abortSpec is the transaction to abort in a partition.
type abortSpec struct {
	topicPartition
	producer         int64
	epoch            int16
	coordinatorEpoch int32
}

func (a abortSpec) String() string {
	return fmt.Sprintf("AbortTransactionSpec(topicPartition=%s, producerId=%d, producerEpoch=%d, coordinatorEpoch=%d)",
		partitionText(a.topicPartition), a.producer, a.epoch, a.coordinatorEpoch)
}

func (t *txnTool) abort(ctx context.Context) error {
	spec := abortSpec{topicPartition: t.partition(), producer: t.args.number("producer_id"), epoch: int16(t.args.number("producer_epoch")),
		coordinatorEpoch: max(0, int32(t.args.number("coordinator_epoch")))}
	switch {
	case t.args.has("start_offset"):
		var err error
		if spec, err = t.openAt(ctx, spec.topicPartition, t.args.number("start_offset")); err != nil {
			return err
		}
	case !t.args.has("producer_id"):
		return &txnFailure{"The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"}
	case !t.args.has("producer_epoch"):
		return &txnFailure{"Missing required argument --producer-epoch"}
	case !t.args.has("coordinator_epoch"):
		return &txnFailure{"Missing required argument --coordinator-epoch"}
	}
	if err := t.adm.abort(ctx, spec); err != nil {
		return failed(err, "Failed to abort transaction %s", spec)
	}
	return nil
}

// openAt finds the transaction that is open in a partition since an offset.
func (t *txnTool) openAt(ctx context.Context, tp topicPartition, start int64) (abortSpec, error) {
	found, err := t.adm.producers(ctx, []topicPartition{tp}, -1)
	if err != nil {
		return abortSpec{}, failed(err, "Failed to validate producer state for partition %s", partitionText(tp))
	}
	for _, p := range found {
		if p.txnStart >= 0 && p.txnStart == start {
			return abortSpec{tp, p.id, int16(p.epoch), max(0, p.coordinatorEpoch)}, nil
		}
	}
	return abortSpec{}, &txnFailure{fmt.Sprintf("Could not find any open transactions starting at offset %d on partition %s", start, partitionText(tp))}
}

func (t *txnTool) findHanging(ctx context.Context) error {
	switch {
	case !t.args.has("topic") && !t.args.has("broker_id"):
		return &txnFailure{"The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"}
	case t.args.has("partition") && !t.args.has("topic"):
		return &txnFailure{"The --partition argument requires --topic to be provided"}
	}
	tps, err := t.search(ctx)
	if err != nil {
		return err
	}
	open, err := t.openLongerThan(ctx, tps, time.Duration(t.args.number("max_transaction_timeout"))*time.Minute)
	if err != nil {
		return err
	}
	hanging, err := t.withoutCoordinator(ctx, open)
	if err != nil {
		return err
	}
	var rows [][]string
	now := t.e.Clock.Wall().UnixMilli()
	for _, p := range hanging {
		rows = append(rows, []string{p.Topic, decimal(p.Partition), decimal(p.id), decimal(p.epoch), decimal(p.coordinatorEpoch), decimal(p.txnStart),
			decimal(p.lastTimestamp), decimal((now - p.lastTimestamp) / time.Minute.Milliseconds())})
	}
	t.table([]string{"Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp", "Duration(min)"}, rows)
	return nil
}

// search are the partitions to look into.
func (t *txnTool) search(ctx context.Context) ([]topicPartition, error) {
	if t.args.has("partition") {
		return []topicPartition{t.partition()}, nil
	}
	var topics []string
	if t.args.has("topic") {
		topics = []string{t.args.text("topic")}
	}
	tps, err := t.adm.partitions(ctx, topics, t.broker())
	if err != nil && topics == nil {
		return nil, failed(err, "Failed to list topics")
	}
	if err != nil {
		return nil, failed(err, "Failed to describe %d topics", len(topics))
	}
	return tps, nil
}

// producersAtOnce is how many partitions are asked for in one request.
const producersAtOnce = 500

// openLongerThan are the producers whose transactions have been open for longer than the longest time-out.
func (t *txnTool) openLongerThan(ctx context.Context, tps []topicPartition, longest time.Duration) (open []producerState, err error) {
	broker := "Optional.empty"
	if t.broker() >= 0 {
		broker = fmt.Sprintf("Optional[%d]", t.broker())
	}
	for part := range slices.Chunk(tps, producersAtOnce) {
		found, err := t.adm.producers(ctx, part, t.broker())
		if err != nil {
			return nil, failed(err, "Failed to describe producers for %d partitions on broker %s", len(part), broker)
		}
		now := t.e.Clock.Wall().UnixMilli()
		for _, p := range found {
			if p.txnStart >= 0 && now-p.lastTimestamp > longest.Milliseconds() {
				open = append(open, p)
			}
		}
	}
	return open, nil
}

// withoutCoordinator are the open transactions of which no coordinator knows: nobody will end them.
func (t *txnTool) withoutCoordinator(ctx context.Context, open []producerState) (hanging []producerState, err error) {
	if len(open) == 0 {
		return nil, nil
	}
	var producers []int64
	for _, p := range open {
		if !slices.Contains(producers, p.id) {
			producers = append(producers, p.id)
		}
	}
	listed, err := t.adm.list(ctx, txnFilter{duration: -1, producers: producers})
	if err != nil {
		return nil, failed(err, "Failed to list transactions for %d producers", len(producers))
	}
	known := map[int64][]topicPartition{}
	for _, x := range listed {
		d, err := t.adm.describe(ctx, x.id)
		switch {
		case isException(err, "TransactionalIdNotFoundException"):
		case err != nil:
			return nil, failed(err, "Failed to describe %d transactions", len(listed))
		default:
			known[x.producer] = d.partitions
		}
	}
	for _, p := range open {
		if !slices.Contains(known[p.id], p.topicPartition) {
			hanging = append(hanging, p)
		}
	}
	return hanging, nil
}

func (t *txnTool) forceTerminate(ctx context.Context) error {
	id := t.args.text("transactionalId")
	if err := t.adm.forceTerminate(ctx, id); err != nil {
		return failed(err, "Failed to force terminate transactionalId `%s`", id)
	}
	return nil
}

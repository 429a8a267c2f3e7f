package tool

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func getOffsetsTool() Tool {
	return Tool{"kafka-get-offsets", "show offsets of topics' partitions", runGetOffsets}
}

// getOffsetsOptions are the options of kafka-get-offsets.
type getOffsetsOptions struct {
	joptCommand
	bootstrap, topicPartitions, topic, partitions, time, commandConfig, noInternal *joptSpec
}

// ruleText is the pattern of --topic-partitions as the help shows it.
const ruleText = `([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?`

var rulePattern = regexp.MustCompile("^(?:" + ruleText + ")$")

func newGetOffsetsOptions() *getOffsetsOptions {
	o := &getOffsetsOptions{joptCommand: newJoptCommand()}
	p := o.parser
	o.bootstrap = p.option("bootstrap-server", "REQUIRED. The server(s) to connect to in the form HOST1:PORT1,HOST2:PORT2.").withRequiredArg().
		describedAs("HOST1:PORT1,...,HOST3:PORT3")
	o.topicPartitions = p.option("topic-partitions", "Comma separated list of topic-partition patterns to get the offsets for, with the format of '"+ruleText+
		"'. The first group is an optional regex for the topic name, if omitted, it matches any topic name. The section after ':' describes a 'partition' "+
		"pattern, which can be: a number, a range in the format of 'NUMBER-NUMBER' (lower inclusive, upper exclusive), an inclusive lower bound in the format "+
		"of 'NUMBER-', an exclusive upper bound in the format of '-NUMBER' or may be omitted to accept all partitions.").withRequiredArg().
		describedAs("topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3")
	o.topic = p.option("topic", "The topic to get the offsets for. It also accepts a regular expression. If not present, all authorized topics are queried. "+
		"Cannot be used if --topic-partitions is present.").withRequiredArg().describedAs("topic")
	o.partitions = p.option("partitions", "Comma separated list of partition ids to get the offsets for. If not present, all partitions of the authorized "+
		"topics are queried. Cannot be used if --topic-partitions is present.").withRequiredArg().describedAs("partition ids")
	o.time = p.option("time", "timestamp of the offsets before that. [Note: No offset is returned, if the timestamp greater than recently committed record "+
		"timestamp is given.]").withRequiredArg().describedAs("<timestamp> / -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / " +
		"-5 or latest-tiered / -6 or earliest-pending-upload").defaultsTo("latest")
	o.commandConfig = p.option("command-config", "Property file containing configs to be passed to Admin Client.").withRequiredArg().describedAs("config file")
	o.noInternal = p.option("exclude-internal-topics", "By default, internal topics are included. If specified, internal topics are excluded.")
	return o
}

// classTerse is an exception of which only the message is told.
const classTerse = "org.apache.kafka.tools.TerseException"

func terse(format string, args ...any) error { return thrown(classTerse, format, args...) }

func runGetOffsets(ctx context.Context, e *Env) int {
	const usage = "An interactive shell for getting topic-partition offsets."
	o := newGetOffsetsOptions()
	if len(e.Args) == 0 {
		return o.parser.usage(e, usage)
	}
	err := o.read(e.Args)
	if err != nil {
		err = terse("%s", err)
	} else {
		err = first(o.helpOrVersion(e.Args, usage), o.require(o.bootstrap), o.checkBootstrap())
	}
	if err == nil {
		err = o.run(ctx, e)
	}
	if code, yes := o.ended(e, err); yes {
		return code
	}
	switch {
	case err == nil:
		return 0
	case isClass(err, classTerse):
		e.errorf("Error occurred: %s\n", javaMessage(err))
	default:
		e.errorf("Error occurred: %s\n%s\n\n", javaMessage(err), javaToString(err))
	}
	return 1
}

// checkBootstrap is ToolsUtils.validateBootstrapServer.
func (o *getOffsetsOptions) checkBootstrap() error {
	list, err := o.value(o.bootstrap)
	if err != nil {
		return err
	}
	if strings.TrimSpace(list) == "" {
		return wrongUse{"Error while validating the bootstrap address\n"}
	}
	for _, each := range javaSplit(list, ",") {
		if m := hostPortPattern.FindStringSubmatch(each); m == nil {
			return wrongUse{"Please provide valid host:port like host1:9091,host2:9092\n"}
		}
	}
	return nil
}

// hostPortPattern is what Kafka's Utils takes for host and port of an address.
var hostPortPattern = regexp.MustCompile(`^(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)$`)

// specialTimes are the names of --time for timestamps that stand for a place in the log.
var specialTimes = map[string]int64{"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5, "earliest-pending-upload": -6}

func parseTime(text string) (int64, error) {
	if t, ok := specialTimes[text]; ok {
		return t, nil
	}
	t, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, terse("Malformed time argument %s. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / "+
			"-5 or latest-tiered / -6 or earliest-pending-upload, or a specified long format timestamp", text)
	}
	return t, nil
}

// partitionRule allows topics and, of them, partitions.
type partitionRule struct {
	topic     func(string) bool
	partition func(int32) bool
}

func anyPartition(int32) bool { return true }

// rules are the partitions that the options ask for: one of the rules has to allow one.
func (o *getOffsetsOptions) rules() ([]partitionRule, error) {
	if o.has(o.topicPartitions) {
		text, err := o.value(o.topicPartitions)
		if err != nil {
			return nil, err
		}
		var rules []partitionRule
		for _, spec := range javaSplit(text, ",") {
			rule, err := parseRule(spec)
			if err != nil {
				return nil, err
			}
			rules = append(rules, rule)
		}
		return rules, nil
	}
	topic := ".*"
	if o.has(o.topic) {
		topic = must(o.value(o.topic))
	}
	allowed, err := includeList(topic)
	if err != nil {
		return nil, err
	}
	list, err := o.value(o.partitions)
	if err != nil || list == "" {
		return []partitionRule{{allowed, anyPartition}}, err
	}
	var ids []int32
	for _, part := range javaSplit(list, ",") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil {
			return nil, terse("--partitions expects a comma separated list of numeric partition ids, but received: %s", list)
		}
		ids = append(ids, int32(n))
	}
	return []partitionRule{{allowed, func(p int32) bool { return slices.Contains(ids, p) }}}, nil
}

// parseRule reads a rule of --topic-partitions.
func parseRule(spec string) (partitionRule, error) {
	m := rulePattern.FindStringSubmatch(spec)
	if m == nil {
		return partitionRule{}, wrapped(classRuntime, terse("Invalid rule specification: %s", spec))
	}
	topic := m[1]
	if topic == "" {
		topic = ".*"
	}
	allowed, err := includeList(topic)
	if err != nil {
		return partitionRule{}, err
	}
	bound := func(text string, otherwise int64) int64 {
		if n, e := strconv.ParseInt(text, 10, 32); e == nil {
			return n
		} else if text != "" && err == nil {
			err = thrown(classNumberFormat, "%s", javaNumberError(text))
		}
		return otherwise
	}
	low, high := bound(m[3], 0), bound(m[4], math.MaxInt32)
	if m[2] != "" {
		low = bound(m[2], 0)
		high = low + 1
	}
	return partitionRule{allowed, func(p int32) bool { return int64(p) >= low && int64(p) < high }}, err
}

func (o *getOffsetsOptions) run(ctx context.Context, e *Env) error {
	if o.has(o.topicPartitions) && o.hasAny(o.topic, o.partitions) {
		return terse("--topic-partitions cannot be used with --topic or --partitions")
	}
	text, err := o.value(o.time)
	if err != nil {
		return err
	}
	at, err := parseTime(text)
	if err != nil {
		return err
	}
	rules, err := o.rules()
	if err != nil {
		return err
	}
	c, err := e.connectTo(&o.joptCommand, o.bootstrap, o.commandConfig, clientProperties{propClientID: "GetOffsetShell"})
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := o.find(ctx, c, rules)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return terse("Could not match any topic-partitions with the specified filters")
	}
	offsets, failed := c.offsetsAt(ctx, found, at)
	slices.SortFunc(found, func(a, b topicPartition) int { return cmp.Compare(a.String(), b.String()) })
	var b strings.Builder
	for _, tp := range found {
		if err := failed[tp]; err != nil {
			e.errorf("Skip getting offsets for topic-partition %s due to error: %s\n", tp, javaToString(err))
		} else if offset := offsets[tp]; offset >= 0 {
			fmt.Fprintf(&b, "%s:%d:%d\n", tp.Topic, tp.Partition, offset)
		}
	}
	e.printf("%s", b.String())
	return nil
}

// find are the partitions that the rules allow.
func (o *getOffsetsOptions) find(ctx context.Context, c *cluster, rules []partitionRule) ([]topicPartition, error) {
	all, err := c.listTopics(ctx)
	if err != nil {
		return nil, wrapped(classExecution, err)
	}
	var names []string
	for _, l := range all {
		if !(l.internal && o.has(o.noInternal)) && slices.ContainsFunc(rules, func(r partitionRule) bool { return r.topic(l.name) }) {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	infos, err := c.describeTopics(ctx, names, 0)
	if err != nil {
		return nil, wrapped(classExecution, err)
	}
	var found []topicPartition
	for _, name := range names {
		for _, p := range infos[name].partitions {
			if slices.ContainsFunc(rules, func(r partitionRule) bool { return r.topic(name) && r.partition(p.partition) }) {
				found = append(found, topicPartition{name, p.partition})
			}
		}
	}
	return found, nil
}

// offsetsAt asks the leaders for the offsets at a time; -1 is none.
func (c *cluster) offsetsAt(ctx context.Context, partitions []topicPartition, at int64) (map[topicPartition]int64, map[topicPartition]error) {
	byTopic := map[string][]int32{}
	for _, tp := range partitions {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, name := range sortedKeys(byTopic) {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for _, p := range byTopic[name] {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Partition, part.CurrentLeaderEpoch, part.Timestamp = p, -1, at
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
	}
	offsets, failed := map[topicPartition]int64{}, map[topicPartition]error{}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	for _, shard := range c.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, t := range shard.Req.(*kmsg.ListOffsetsRequest).Topics {
				for _, p := range t.Partitions {
					failed[topicPartition{t.Topic, p.Partition}] = callError(shard.Err, "listOffsets")
				}
			}
			continue
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				tp := topicPartition{t.Topic, p.Partition}
				offsets[tp] = p.Offset
				if err := exceptionOf(p.ErrorCode, nil); err != nil {
					failed[tp] = err
				}
			}
		}
	}
	return offsets, failed
}

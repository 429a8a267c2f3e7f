package tool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
)

func topicsTool() Tool {
	return Tool{"kafka-topics", "create, delete, describe, or change topics", runTopics}
}

// topics is one call of kafka-topics.
type topics struct {
	*topicsOptions
	e *Env
	c *cluster
}

func runTopics(ctx context.Context, e *Env) int {
	t := topics{topicsOptions: newTopicsOptions(), e: e}
	err := t.read(e.Args)
	if err == nil {
		err = t.check(e)
	}
	if err == nil {
		err = t.connect()
	}
	if err != nil {
		if code, yes := t.ended(e, err); yes {
			return code
		}
		return e.failed(err)
	}
	defer t.c.Close()
	if err := t.run(ctx); err != nil {
		e.printf("Error while executing topic command : %s\n", javaMessage(err))
		e.logError("org.apache.kafka.tools.TopicCommand", javaToString(err), nil) // scripts look for the class
		return 1
	}
	return 0
}

func (t *topics) connect() error {
	file, err := t.value(t.commandConfig)
	if err != nil {
		return err
	}
	props, err := t.e.loadProperties(file)
	if err != nil {
		return err
	}
	if props[propBootstrap], err = t.value(t.bootstrap); err != nil {
		return err
	}
	if t.c, err = t.e.connectAdmin(props); err != nil {
		return err
	}
	return nil
}

func (t *topics) run(ctx context.Context) error {
	switch {
	case t.has(t.create):
		return t.runCreate(ctx)
	case t.has(t.alter):
		return t.runAlter(ctx)
	case t.has(t.list):
		names, err := t.find(ctx)
		if err != nil {
			return err
		}
		t.e.println(strings.Join(names, "\n"))
		return nil
	case t.has(t.describe):
		return t.runDescribe(ctx)
	}
	return t.runDelete(ctx)
}

// wantedTopic is what create and alter ask for.
type wantedTopic struct {
	name        string
	partitions  int64 // 0 without
	replication int64
	assignment  [][]int32
	configs     map[string]string
}

func (t *topics) wanted() (w wantedTopic, err error) {
	if w.name, err = t.value(t.topic); err != nil {
		return w, err
	}
	if w.partitions, err = t.number(t.partitions); err != nil {
		return w, err
	}
	if w.replication, err = t.number(t.replicationFactor); err != nil {
		return w, err
	}
	text, err := t.value(t.assignment)
	if err != nil {
		return w, err
	}
	if w.assignment, err = parseAssignment(text); err != nil {
		return w, err
	}
	pairs, err := t.joptSet.list(t.config)
	if err != nil {
		return w, err
	}
	w.configs, err = topicConfigs(pairs)
	return w, err
}

const (
	classNumberFormat  = "java.lang.NumberFormatException"
	classInvalidConfig = errorsPackage + "InvalidConfigurationException"
)

// parseAssignment reads the replicas of each partition: brokers are separated by colons, partitions by commas.
func parseAssignment(text string) ([][]int32, error) {
	var out [][]int32
	if text == "" {
		return nil, nil
	}
	for i, part := range javaSplit(text, ",") {
		var replicas, twice []int32
		for _, id := range javaSplit(part, ":") {
			n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 32)
			if err != nil {
				return nil, thrown(classNumberFormat, "%s", javaNumberError(strings.TrimSpace(id)))
			}
			if slices.Contains(replicas, int32(n)) && !slices.Contains(twice, int32(n)) {
				twice = append(twice, int32(n))
			}
			replicas = append(replicas, int32(n))
		}
		if len(twice) > 0 {
			return nil, thrown(classAdminFailed, "Partition replica lists may not contain duplicate entries: %s", joinInts(twice, ","))
		}
		if len(out) > 0 && len(replicas) != len(out[0]) {
			return nil, thrown(classAdminOperation, "Partition %d has different replication factor: [%s]", i, joinInts(replicas, ", "))
		}
		out = append(out, replicas)
	}
	return out, nil
}

func joinInts(ids []int32, separator string) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(parts, separator)
}

var aroundEquals = regexp.MustCompile(`\s*=\s*`)

// topicConfigs reads and checks --config.
func topicConfigs(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	split := make([][]string, 0, len(pairs))
	for _, pair := range pairs {
		parts := aroundEquals.Split(pair, -1)
		for len(parts) > 1 && parts[len(parts)-1] == "" {
			parts = parts[:len(parts)-1]
		}
		if len(parts) != 2 {
			return nil, thrown(classIllegalArgument, `requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".`)
		}
		split = append(split, parts)
	}
	for _, kv := range split {
		out[strings.TrimSpace(kv[0])] = strings.TrimSpace(kv[1])
	}
	for _, name := range sortedKeys(out) {
		if config.Lookup(config.ScopeTopic, name) == nil || config.IsOwn(name) {
			return nil, thrown(classInvalidConfig, "Unknown topic config name: %s", name)
		}
	}
	for _, name := range sortedKeys(out) {
		if err := config.ValidateTopic(name, out[name]); err != nil {
			return nil, thrown(classConfig, "%s", err)
		}
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (t *topics) runCreate(ctx context.Context) error {
	w, err := t.wanted()
	if err != nil {
		return err
	}
	if strings.ContainsAny(w.name, "._") {
		t.e.println("WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. " +
			"To avoid issues it is best to use either, but not both.")
	}
	if t.has(t.replicationFactor) && (w.replication < 1 || w.replication > math.MaxInt16) {
		return thrown(classIllegalArgument, "The replication factor must be between 1 and %d inclusive", math.MaxInt16)
	}
	if t.has(t.partitions) && w.partitions < 1 {
		return thrown(classIllegalArgument, "The partitions must be greater than 0")
	}
	if w.name == "" {
		return thrown(errorsPackage+"InvalidTopicException", "The given topic name '' cannot be represented in a request.")
	}
	err = t.c.createTopic(ctx, w)
	if err == nil {
		t.e.println("Created topic " + w.name + ".")
	}
	if isClass(err, errorsPackage+"TopicExistsException") && t.has(t.ifNotExists) {
		return nil
	}
	return err
}

// isClass tells whether an error is an exception of a class.
func isClass(err error, class string) bool {
	var x *exception
	return errors.As(err, &x) && x.class == class
}

func (c *cluster) createTopic(ctx context.Context, w wantedTopic) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = w.name, -1, -1
	if w.partitions > 0 {
		topic.NumPartitions = int32(w.partitions)
	}
	if w.replication > 0 {
		topic.ReplicationFactor = int16(w.replication)
	}
	for i, replicas := range w.assignment {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), replicas
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
	}
	for _, name := range javaStringOrder(sortedKeys(w.configs)) {
		cfg := kmsg.NewCreateTopicsRequestTopicConfig()
		cfg.Name, cfg.Value = name, kmsg.StringPtr(w.configs[name])
		topic.Configs = append(topic.Configs, cfg)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := c.call(ctx, "createTopics", req)
	if err != nil {
		return err
	}
	for _, r := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

// listed is a topic of the cluster.
type listed struct {
	name     string
	id       [16]byte
	internal bool
}

// listTopics are all topics by name.
func (c *cluster) listTopics(ctx context.Context) ([]listed, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all
	resp, err := c.call(ctx, "listTopics", req)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, m := range resp.(*kmsg.MetadataResponse).Topics {
		if m.Topic != nil && m.ErrorCode == 0 {
			out = append(out, listed{*m.Topic, m.TopicID, m.IsInternal})
		}
	}
	slices.SortFunc(out, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// find are the names of the topics that --topic and --exclude-internal leave.
func (t *topics) find(ctx context.Context) ([]string, error) {
	pattern, err := t.value(t.topic)
	if err != nil {
		return nil, err
	}
	all, err := t.c.listTopics(ctx)
	if err != nil {
		return nil, err
	}
	allowed := func(string) bool { return true }
	if t.has(t.topic) {
		if allowed, err = includeList(pattern); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, l := range all {
		if allowed(l.name) && !(t.has(t.noInternal) && (l.internal || isInternalTopic(l.name))) {
			names = append(names, l.name)
		}
	}
	return names, nil
}

// isInternalTopic tells whether a topic is one of Kafka's own.
func isInternalTopic(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}

var (
	quotesBefore = regexp.MustCompile(`^["']+`)
	quotesAfter  = regexp.MustCompile(`["']+$`)
)

// includeList is Kafka's TopicFilter: a regular expression for whole names, in which commas stand for alternatives.
func includeList(raw string) (func(string) bool, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(raw), ",", "|"), " ", "")
	text = quotesAfter.ReplaceAllString(quotesBefore.ReplaceAllString(text, ""), "")
	if _, err := regexp.Compile(text); err != nil {
		return nil, thrown(classRuntime, "%s is an invalid regex.", text)
	}
	whole, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return nil, thrown(classRuntime, "%s is an invalid regex.", text)
	}
	return whole.MatchString, nil
}

// mustExist is the error of a --topic that fits none, unless --if-exists allows it.
func (t *topics) mustExist(found []string) error {
	pattern, err := t.value(t.topic)
	if err == nil && pattern != "" && !t.has(t.ifExists) && len(found) == 0 {
		return thrown(classIllegalArgument, "Topic '%s' does not exist as expected", pattern)
	}
	return err
}

func (t *topics) runAlter(ctx context.Context) error {
	w, err := t.wanted()
	if err != nil {
		return err
	}
	names, err := t.find(ctx)
	if err == nil {
		err = t.mustExist(names)
	}
	if err != nil || len(names) == 0 {
		return err
	}
	var infos map[string]topicInfo
	if len(w.assignment) > 0 {
		if infos, err = t.c.describeTopics(ctx, names, 0); err != nil {
			return wrapped(classRuntime, wrapped(classExecution, err))
		}
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(t.c.timeout.Milliseconds())
	for _, name := range names {
		topic := kmsg.NewCreatePartitionsRequestTopic()
		topic.Topic, topic.Count = name, int32(w.partitions)
		if len(w.assignment) > 0 {
			topic.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
			for _, replicas := range w.assignment[min(len(infos[name].partitions), len(w.assignment)):] {
				a := kmsg.NewCreatePartitionsRequestTopicAssignment()
				a.Replicas = replicas
				topic.Assignment = append(topic.Assignment, a)
			}
		}
		req.Topics = append(req.Topics, topic)
	}
	resp, err := t.c.call(ctx, "createPartitions", req)
	if err != nil {
		return err
	}
	for _, r := range resp.(*kmsg.CreatePartitionsResponse).Topics {
		if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

func (t *topics) runDelete(ctx context.Context) error {
	names, err := t.find(ctx)
	if err == nil {
		err = t.mustExist(names)
	}
	if err != nil || len(names) == 0 {
		return err
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(t.c.timeout.Milliseconds())
	req.TopicNames = names
	for _, name := range names {
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, topic)
	}
	resp, err := t.c.call(ctx, "deleteTopics", req)
	if err != nil {
		return err
	}
	for _, r := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

// unsupported tells whether a request failed because no broker knows it.
func unsupported(err error) bool {
	return errors.Is(err, kerr.UnsupportedVersion) || isClass(err, errorsPackage+"UnsupportedVersionException") ||
		err != nil && strings.Contains(fmt.Sprint(err), "broker does not know")
}

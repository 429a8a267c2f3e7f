package tool

import (
	"cmp"
	"context"
	"encoding/base64"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicInfo is a topic as Kafka's admin client describes it.
type topicInfo struct {
	name       string
	id         [16]byte
	partitions []partitionInfo // by number
}

type partitionInfo struct {
	partition     int32
	leader        int32 // -1 for none
	replicas, isr []int32
	elr, lastELR  []int32
	knowsELR      bool // otherwise the broker did not tell
}

// defaultResponseLimit is how many partitions a DescribeTopicPartitions response has at most without an option.
const defaultResponseLimit = 2000

// describeTopics describes topics by name; limit is how many partitions a response may have, 0 for the default.
func (c *cluster) describeTopics(ctx context.Context, names []string, limit int32) (map[string]topicInfo, error) {
	if limit == 0 {
		limit = defaultResponseLimit
	}
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, name := range slices.Sorted(slices.Values(names)) {
		topic := kmsg.NewDescribeTopicPartitionsRequestTopic()
		topic.Topic = name
		req.Topics = append(req.Topics, topic)
	}
	out := map[string]topicInfo{}
	for {
		resp, err := c.call(ctx, "describeTopicPartitions", req)
		if unsupported(err) {
			return c.describeByMetadata(ctx, names, nil)
		}
		if err != nil {
			return nil, err
		}
		r := resp.(*kmsg.DescribeTopicPartitionsResponse)
		for _, m := range r.Topics {
			if err := exceptionOf(m.ErrorCode, nil); err != nil || m.Topic == nil {
				return nil, err
			}
			info := out[*m.Topic]
			info.name, info.id = *m.Topic, m.TopicID
			for _, p := range m.Partitions {
				info.partitions = append(info.partitions, partitionInfo{p.Partition, p.LeaderID, p.Replicas, p.ISR, p.EligibleLeaderReplicas, p.LastKnownELR,
					p.EligibleLeaderReplicas != nil})
			}
			out[info.name] = info
		}
		next := r.NextCursor
		if next == nil {
			return sortPartitions(out), nil
		}
		at := kmsg.NewDescribeTopicPartitionsRequestCursor()
		at.Topic, at.Partition = next.Topic, next.Partition
		req.Cursor = &at
		for len(req.Topics) > 0 && req.Topics[0].Topic < next.Topic {
			req.Topics = req.Topics[1:]
		}
	}
}

// describeByMetadata describes topics by Metadata: by id, or by name where the broker knows nothing better.
func (c *cluster) describeByMetadata(ctx context.Context, names []string, ids [][16]byte) (map[string]topicInfo, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, topic)
	}
	for _, id := range ids {
		topic := kmsg.NewMetadataRequestTopic()
		topic.TopicID = id
		req.Topics = append(req.Topics, topic)
	}
	resp, err := c.call(ctx, "describeTopics", req)
	if err != nil {
		return nil, err
	}
	out := map[string]topicInfo{}
	for _, m := range resp.(*kmsg.MetadataResponse).Topics {
		if err := exceptionOf(m.ErrorCode, nil); err != nil || m.Topic == nil {
			return nil, err
		}
		info := topicInfo{name: *m.Topic, id: m.TopicID}
		for _, p := range m.Partitions {
			info.partitions = append(info.partitions, partitionInfo{partition: p.Partition, leader: p.Leader, replicas: p.Replicas, isr: p.ISR})
		}
		out[info.name] = info
	}
	return sortPartitions(out), nil
}

func sortPartitions(infos map[string]topicInfo) map[string]topicInfo {
	for _, info := range infos {
		slices.SortFunc(info.partitions, func(a, b partitionInfo) int { return cmp.Compare(a.partition, b.partition) })
	}
	return infos
}

// configValue is an entry of DescribeConfigs.
type configValue struct {
	name      string
	value     *string // nil if it is not told
	source    kmsg.ConfigSource
	sensitive bool
	readOnly  bool
	synonyms  []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym
}

func (v configValue) text() string {
	if v.value == nil {
		return "null"
	}
	return *v.value
}

// describeConfigs are the settings of resources of a kind, by name of the resource, in the order of Kafka's Config.
func (c *cluster) describeConfigs(ctx context.Context, kind kmsg.ConfigResourceType, names []string, synonyms bool) (map[string][]configValue, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms = synonyms
	for _, name := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		req.Resources = append(req.Resources, r)
	}
	resp, err := c.call(ctx, "describeConfigs", req)
	if err != nil {
		return nil, err
	}
	out := map[string][]configValue{}
	for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
		if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
			return nil, err
		}
		byName := map[string]configValue{}
		var keys []string
		for _, v := range r.Configs {
			keys = append(keys, v.Name)
			byName[v.Name] = configValue{v.Name, v.Value, v.Source, v.IsSensitive, v.ReadOnly, v.ConfigSynonyms}
		}
		values := []configValue{}
		for _, k := range javaStringOrder(keys) {
			values = append(values, byName[k])
		}
		out[r.ResourceName] = values
	}
	return out, nil
}

// movingReplicas are the replicas that a partition gets and loses.
type movingReplicas struct{ adding, removing []int32 }

func (c *cluster) reassignments(ctx context.Context, infos map[string]topicInfo) (map[topicPartition]movingReplicas, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, name := range sortedKeys(infos) {
		topic := kmsg.NewListPartitionReassignmentsRequestTopic()
		topic.Topic = name
		for _, p := range infos[name].partitions {
			topic.Partitions = append(topic.Partitions, p.partition)
		}
		req.Topics = append(req.Topics, topic)
	}
	resp, err := c.call(ctx, "listPartitionReassignments", req)
	if err == nil {
		r := resp.(*kmsg.ListPartitionReassignmentsResponse)
		if err = exceptionOf(r.ErrorCode, r.ErrorMessage); err == nil {
			out := map[topicPartition]movingReplicas{}
			for _, topic := range r.Topics {
				for _, p := range topic.Partitions {
					out[topicPartition{topic.Topic, p.Partition}] = movingReplicas{p.AddingReplicas, p.RemovingReplicas}
				}
			}
			return out, nil
		}
	}
	if unsupported(err) || isClass(err, errorsPackage+"ClusterAuthorizationException") {
		return nil, nil // it is described without
	}
	return nil, wrapped(classRuntime, wrapped(classExecution, err))
}

func (t *topics) runDescribe(ctx context.Context) error {
	infos, order, err := t.described(ctx)
	if err != nil || len(order) == 0 {
		return err
	}
	configs, err := t.c.describeConfigs(ctx, kmsg.ConfigResourceTypeTopic, order, false)
	if err != nil {
		return err
	}
	live, err := t.c.liveBrokers(ctx)
	if err != nil {
		return err
	}
	moving, err := t.c.reassignments(ctx, infos)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range order {
		t.print(&b, infos[name], configs[name], moving, live)
	}
	t.e.printf("%s", b.String())
	return nil
}

// described are the topics to describe, and their names in the order of Kafka's hash map.
func (t *topics) described(ctx context.Context) (map[string]topicInfo, []string, error) {
	text, err := t.value(t.topicID)
	if err != nil {
		return nil, nil, err
	}
	if t.has(t.topicID) {
		id, err := parseUUID(text)
		if err != nil {
			return nil, nil, err
		}
		if id != ([16]byte{}) {
			return t.describedByID(ctx, id)
		}
	}
	names, err := t.find(ctx)
	if err == nil {
		err = t.mustExist(names)
	}
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	limit, err := t.number(t.responseLimit)
	if err != nil {
		return nil, nil, err
	}
	infos, err := t.c.describeTopics(ctx, names, int32(limit))
	return infos, javaSizedOrder(names), err
}

func (t *topics) describedByID(ctx context.Context, id [16]byte) (map[string]topicInfo, []string, error) {
	all, err := t.c.listTopics(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range all {
		if l.id == id && !(t.has(t.noInternal) && l.internal) {
			infos, err := t.c.describeByMetadata(ctx, nil, [][16]byte{id})
			return infos, sortedKeys(infos), err
		}
	}
	if t.has(t.ifExists) {
		return nil, nil, nil
	}
	return nil, nil, thrown(classIllegalArgument, "TopicId '%s' does not exist as expected", uuidText(id))
}

// javaSizedOrder is the order of a HashMap that was made for so many keys.
func javaSizedOrder(keys []string) []string {
	size := 1
	if n := len(keys); n > 1 {
		size = 1 << bits.Len(uint(n-1))
	}
	for len(keys)*javaMapFillOf > size*javaMapFill {
		size *= 2
	}
	bucket := func(k string) int {
		h := uint32(javaStringHash(k))
		return int((h ^ h>>16) & uint32(size-1))
	}
	out := slices.Clone(keys)
	slices.SortStableFunc(out, func(a, b string) int { return bucket(a) - bucket(b) })
	return out
}

// parseUUID is Uuid.fromString.
func parseUUID(text string) (id [16]byte, err error) {
	if len(text) > 24 {
		return id, thrown(classIllegalArgument, "Input string with prefix `%s` is too long to be decoded as a base64 UUID", text[:24])
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return id, thrown(classIllegalArgument, "%s", base64Error(text))
	}
	if len(raw) != len(id) {
		return id, thrown(classIllegalArgument, "Input string `%s` decoded as %d bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID", text, len(raw))
	}
	copy(id[:], raw)
	return id, nil
}

// base64Error is what Java's decoder says.
func base64Error(text string) string {
	for _, b := range []byte(text) {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=", rune(b)) {
			return "Illegal base64 character " + strconv.FormatInt(int64(b), 16)
		}
	}
	return "Last unit does not have enough valid bits"
}

// uuidText is Uuid.toString.
func uuidText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// liveBrokers are the ids of the brokers that are there.
func (c *cluster) liveBrokers(ctx context.Context) ([]int32, error) {
	d, err := c.describeCluster(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, 0, len(d.Brokers))
	for _, b := range d.Brokers {
		ids = append(ids, b.NodeID)
	}
	return ids, nil
}

// describeCluster is Admin.describeCluster of brokers.
func (c *cluster) describeCluster(ctx context.Context) (*kmsg.DescribeClusterResponse, error) {
	resp, err := c.call(ctx, "listNodes", kmsg.NewPtrDescribeClusterRequest())
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.DescribeClusterResponse)
	return r, exceptionOf(r.ErrorCode, r.ErrorMessage)
}

func (t *topics) print(b *strings.Builder, info topicInfo, configs []configValue, moving map[topicPartition]movingReplicas, live []int32) {
	reporting := t.hasAny(t.unavailable, t.underReplicated, t.underMin, t.atMin)
	minISR, overridden := 0, []string(nil)
	for _, v := range configs {
		if v.source != kmsg.ConfigSourceDefaultConfig {
			overridden = append(overridden, v.name+"="+v.text())
		}
		if v.name == "min.insync.replicas" {
			minISR, _ = strconv.Atoi(v.text())
		}
	}
	if !reporting && (!t.has(t.overrides) || len(overridden) > 0) && len(info.partitions) > 0 {
		p := info.partitions[0]
		b.WriteString("Topic: " + info.name)
		if info.id != ([16]byte{}) {
			b.WriteString("\tTopicId: " + uuidText(info.id))
		}
		b.WriteString("\tPartitionCount: " + strconv.Itoa(len(info.partitions)))
		b.WriteString("\tReplicationFactor: " + strconv.Itoa(p.factor(moving[topicPartition{info.name, p.partition}])))
		b.WriteString("\tConfigs: " + strings.Join(overridden, ",") + "\n")
	}
	if t.has(t.overrides) {
		return
	}
	for _, p := range info.partitions {
		m, moves := moving[topicPartition{info.name, p.partition}]
		if !reporting || t.reports(p, m, minISR, live) {
			p.print(b, info.name, m, moves)
		}
	}
}

// factor is the replication factor of a partition, which does not count replicas that are on their way.
func (p partitionInfo) factor(m movingReplicas) int {
	for _, id := range slices.Concat(m.adding, m.removing) {
		if slices.Contains(p.replicas, id) {
			return len(p.replicas) - len(m.adding)
		}
	}
	return len(p.replicas)
}

// reports tells whether a partition is one of those that the report options ask for.
func (t *topics) reports(p partitionInfo, m movingReplicas, minISR int, live []int32) bool {
	switch {
	case t.has(t.underReplicated) && p.factor(m) > len(p.isr):
		return true
	case t.has(t.unavailable) && (p.leader < 0 || !slices.Contains(live, p.leader)):
		return true
	case t.has(t.underMin) && (p.leader < 0 || len(p.isr) < minISR):
		return true
	}
	return t.has(t.atMin) && len(p.isr) == minISR
}

func (p partitionInfo) print(b *strings.Builder, topic string, m movingReplicas, moves bool) {
	leader := "none"
	if p.leader >= 0 {
		leader = strconv.Itoa(int(p.leader))
	}
	b.WriteString("\tTopic: " + topic + "\tPartition: " + strconv.Itoa(int(p.partition)) + "\tLeader: " + leader)
	b.WriteString("\tReplicas: " + joinInts(p.replicas, ",") + "\tIsr: " + joinInts(p.isr, ","))
	if moves {
		b.WriteString("\tAdding Replicas: " + joinInts(m.adding, ",") + "\tRemoving Replicas: " + joinInts(m.removing, ","))
	}
	if p.knowsELR {
		b.WriteString("\tElr: " + joinInts(p.elr, ",") + "\tLastKnownElr: " + joinInts(p.lastELR, ","))
	} else {
		b.WriteString("\tElr: N/A\tLastKnownElr: N/A")
	}
	b.WriteString("\n")
}

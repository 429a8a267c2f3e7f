package controller

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// maxPartitionsPerRequest is ReplicationControlManager.validateTotalNumberOfPartitions of Kafka 4.4.
const maxPartitionsPerRequest = 10000

// clusterMetadataTopic is the metadata log's name, which no topic may have.
const clusterMetadataTopic = "__cluster_metadata"

// createTopics decides a CreateTopics request. Topics fail one by one, but for the number of all partitions together.
func (m *machine) createTopics(req *kmsg.CreateTopicsRequest) ([]versioned, *kmsg.CreateTopicsResponse) {
	if m.tooManyPartitions(req) {
		return nil, refuseCreateTopics(req, fail(kerr.PolicyViolation, "Excessively large number of partitions per request."))
	}
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	names := map[string]int{}
	for i := range req.Topics {
		names[req.Topics[i].Topic]++
	}
	var records []versioned
	refused := map[string]bool{}
	placer := m.newPlacer()
	for i := range req.Topics {
		t := &req.Topics[i]
		var out kmsg.CreateTopicsResponseTopic
		switch {
		case names[t.Topic] > 1:
			if refused[t.Topic] {
				continue // one answer for a name
			}
			refused[t.Topic] = true
			out = failedTopic(t.Topic, fail(kerr.InvalidRequest, "Duplicate topic name."))
		case t.Topic == clusterMetadataTopic:
			out = failedTopic(t.Topic, fail(kerr.TopicAuthorizationFailed, "Authorization failed."))
		default:
			recs, made, err := m.createTopic(t, placer)
			if err.failed() {
				made = failedTopic(t.Topic, err)
			}
			records = append(records, recs...)
			out = made
		}
		resp.Topics = append(resp.Topics, out)
	}
	if req.ValidateOnly {
		return nil, resp
	}
	for _, r := range records {
		if t, ok := r.Message.(*record.TopicRecord); ok {
			m.noteTopic(t.Name)
		}
	}
	return records, resp
}

func (m *machine) tooManyPartitions(req *kmsg.CreateTopicsRequest) bool {
	total := int64(0)
	for i := range req.Topics {
		t := &req.Topics[i]
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			total += int64(m.defaultPartitions())
		case t.NumPartitions > 0:
			total += int64(t.NumPartitions)
		}
	}
	return total > maxPartitionsPerRequest
}

func (m *machine) defaultPartitions() int32 { return int32(m.brokerConfig().Int("num.partitions")) }

// failedTopic is the answer for a topic that was not created.
func failedTopic(name string, err apiError) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.ErrorCode, out.ErrorMessage = name, err.code, err.text()
	out.NumPartitions, out.ReplicationFactor = -1, -1
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return out
}

// refuseCreateTopics gives every topic the same error.
func refuseCreateTopics(req *kmsg.CreateTopicsRequest, err apiError) *kmsg.CreateTopicsResponse {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	for i := range req.Topics {
		resp.Topics = append(resp.Topics, failedTopic(req.Topics[i].Topic, err))
	}
	return resp
}

// createTopic checks in Kafka's order: name, collision, existence, configs, partitions.
func (m *machine) createTopic(t *kmsg.CreateTopicsRequestTopic, placer *placer) (records []versioned, out kmsg.CreateTopicsResponseTopic, err apiError) {
	if err := checkTopicName(t.Topic); err.failed() {
		return nil, out, err
	}
	if m.img.Topic(t.Topic) != nil {
		return nil, out, fail(kerr.TopicAlreadyExists, "Topic '"+t.Topic+"' already exists.")
	}
	if other, ok := m.collides(t.Topic); ok {
		return nil, out, fail(kerr.InvalidTopicException, "Topic '"+t.Topic+"' collides with existing topic: "+other)
	}
	configs, configRecords, err := m.newTopicConfigs(t)
	if err.failed() {
		return nil, out, err
	}
	id := m.newID()
	parts, err := m.newTopicPartitions(t, id, placer)
	if err.failed() {
		return nil, out, err
	}
	records = make([]versioned, 0, 1+len(configRecords)+len(parts))
	records = append(records, m.at(&record.TopicRecord{Name: t.Topic, TopicID: id}))
	records = append(records, configRecords...)
	for _, p := range parts {
		records = append(records, m.at(p))
	}
	return records, m.createdTopic(t.Topic, id, parts, configs), apiError{}
}

// newTopicConfigs checks the topic's settings and makes their records, as an incremental change of them would.
func (m *machine) newTopicConfigs(t *kmsg.CreateTopicsRequestTopic) (map[string]string, []versioned, apiError) {
	if len(t.Configs) == 0 {
		return nil, nil, apiError{}
	}
	configs := make(map[string]string, len(t.Configs))
	var null, order []string
	for _, c := range t.Configs {
		if c.Value == nil {
			null = append(null, c.Name)
			continue
		}
		if _, ok := configs[c.Name]; !ok {
			order = append(order, c.Name)
		}
		configs[c.Name] = *c.Value
	}
	if len(null) > 0 {
		return nil, nil, fail(kerr.InvalidConfig, "Null value not supported for topic configs: "+strings.Join(null, ","))
	}
	res := metadata.Resource{Type: metadata.ResourceTopic, Name: t.Topic}
	if err := m.validateConfigs(res, configs); err.failed() {
		return nil, nil, err
	}
	changes := make([]configChange, 0, len(order))
	for _, name := range order {
		v := configs[name]
		if len(v) > maxConfigValueBytes {
			return nil, nil, fail(kerr.InvalidConfig, valueTooLong)
		}
		changes = append(changes, configChange{name, &v})
	}
	return configs, m.withClearELR(m.configRecords(res, changes)), apiError{}
}

// newTopicPartitions places the partitions, by hand or by the placer.
func (m *machine) newTopicPartitions(t *kmsg.CreateTopicsRequestTopic, id [16]byte, placer *placer) ([]*record.PartitionRecord, apiError) {
	switch {
	case len(t.ReplicaAssignment) > 0 && t.ReplicationFactor != -1:
		return nil, fail(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case len(t.ReplicaAssignment) > 0 && t.NumPartitions != -1:
		return nil, fail(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	case len(t.ReplicaAssignment) > 0:
		return m.assignedPartitions(t, id)
	case t.ReplicationFactor < -1 || t.ReplicationFactor == 0:
		return nil, fail(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case t.NumPartitions < -1 || t.NumPartitions == 0:
		return nil, fail(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	count, rf := int(t.NumPartitions), int(t.ReplicationFactor)
	if count == -1 {
		count = int(m.defaultPartitions())
	}
	if rf == -1 {
		rf = int(m.brokerConfig().Int("default.replication.factor"))
	}
	if err := placer.check(rf); err.failed() {
		return nil, fail(kerr.InvalidReplicationFactor, "Unable to replicate the partition "+strconv.Itoa(rf)+" time(s): "+err.message)
	}
	parts := make([]*record.PartitionRecord, count)
	for i := range parts {
		parts[i] = m.newPartition(id, int32(i), placer.place(rf))
	}
	return parts, apiError{}
}

func (m *machine) assignedPartitions(t *kmsg.CreateTopicsRequestTopic, id [16]byte) ([]*record.PartitionRecord, apiError) {
	parts := make([]*record.PartitionRecord, len(t.ReplicaAssignment))
	seen := map[int32]bool{}
	size := 0
	for _, a := range t.ReplicaAssignment {
		if seen[a.Partition] {
			return nil, fail(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition "+strconv.Itoa(int(a.Partition)))
		}
		if err := m.checkManual(a.Replicas, size); err.failed() {
			return nil, err
		}
		size = len(a.Replicas)
		if len(m.activeOf(a.Replicas)) == 0 {
			return nil, allFenced(a.Partition)
		}
		seen[a.Partition] = true
		if a.Partition >= 0 && int(a.Partition) < len(parts) {
			parts[a.Partition] = m.newPartition(id, a.Partition, slices.Clone(a.Replicas))
		}
	}
	if slices.Contains(parts, nil) {
		return nil, fail(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
	}
	return parts, apiError{}
}

func allFenced(partition int32) apiError {
	return fail(kerr.InvalidReplicaAssignment, "All brokers specified in the manual partition assignment for partition "+
		strconv.Itoa(int(partition))+" are fenced or in controlled shutdown.")
}

// newPartition makes a partition led by the first active replica; there is one.
func (m *machine) newPartition(topic [16]byte, partition int32, replicas []int32) *record.PartitionRecord {
	isr := m.activeOf(replicas)
	return &record.PartitionRecord{PartitionID: partition, TopicID: topic, Replicas: replicas, ISR: isr, Leader: isr[0],
		Directories: m.defaultDirs(replicas)}
}

// createdTopic is the answer for a new topic, with its effective settings by name. What the request set comes back as it was sent, internal
// properties too (observed 4.4.0).
func (m *machine) createdTopic(name string, id [16]byte, parts []*record.PartitionRecord, own map[string]string) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.TopicID = name, id
	out.NumPartitions = int32(len(parts))
	out.ReplicationFactor = int16(len(parts[0].Replicas))
	view := config.TopicOf(m.brokerConfig(), own)
	props := config.Properties(config.ScopeTopic)
	out.Configs = make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(props))
	for i := range props {
		p := &props[i]
		value, set := own[p.Name]
		if p.Visibility != config.Public && !set {
			continue
		}
		if !set {
			value = view.Value(p.Name)
		}
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = p.Name, &value, int8(m.sourceOf(p, own))
		out.Configs = append(out.Configs, c)
	}
	return out
}

// sourceOf tells where a topic setting's value comes from: KafkaConfigSchema.resolveEffectiveTopicConfig.
func (m *machine) sourceOf(p *config.Property, own map[string]string) config.Source {
	if _, ok := own[p.Name]; ok {
		return config.SourceDynamicTopic
	}
	for _, from := range []struct {
		values map[string]string
		source config.Source
	}{
		{m.img.Config(metadata.ResourceBroker, strconv.Itoa(int(m.nodeID))), config.SourceDynamicBroker},
		{m.img.Config(metadata.ResourceBroker, ""), config.SourceDynamicDefaultBroker},
		{m.static.Given(), config.SourceStaticBroker},
	} {
		for _, s := range p.Synonyms {
			if _, ok := from.values[s.Name]; ok {
				return from.source
			}
		}
	}
	return config.SourceDefault
}

package handler

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
)

// autoCreateTimeoutMs is how long the controller may take; Kafka uses request.timeout.ms, whose default this is.
const autoCreateTimeoutMs = 30_000

// autoCreate makes the missing topics and then answers the call; it returns false when there is nothing to make. How it went is not
// told: the client asks again and finds the topic, or the same error.
func (h *Handler) autoCreate(c Call, missing []string, answer func()) bool {
	if len(missing) == 0 {
		return false
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.TimeoutMillis = autoCreateTimeoutMs
	for _, name := range missing {
		req.Topics = append(req.Topics, topicToCreate(name, h.Config()))
	}
	c.Park()
	h.Controller.CreateTopics(req, func(*kmsg.CreateTopicsResponse) { answer() })
	return true
}

// topicToCreate is a topic as auto-creation makes it: internal topics with what the coordinators' properties say, others with the
// broker's defaults, which the controller knows (org.apache.kafka.server.DefaultAutoTopicCreationManager.creatableTopic).
func topicToCreate(name string, cfg *config.Resolver) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	set := func(key, value string) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = key, &value
		t.Configs = append(t.Configs, c)
	}
	number := func(property string) string { return strconv.FormatInt(cfg.Int(property), 10) }
	switch name {
	case offsetsTopic:
		t.NumPartitions, t.ReplicationFactor = int32(cfg.Int("offsets.topic.num.partitions")), int16(cfg.Int("offsets.topic.replication.factor"))
		set("cleanup.policy", "compact")
		set("compression.type", "producer")
		set("segment.bytes", number("offsets.topic.segment.bytes"))
	case txnStateTopic:
		t.NumPartitions, t.ReplicationFactor = int32(cfg.Int("transaction.state.log.num.partitions")), int16(cfg.Int("transaction.state.log.replication.factor"))
		set("compression.type", "uncompressed")
		set("cleanup.policy", "compact")
		set("min.insync.replicas", number("transaction.state.log.min.isr"))
		set("segment.bytes", number("transaction.state.log.segment.bytes"))
		set("unclean.leader.election.enable", "false")
	case shareStateTopic:
		t.NumPartitions, t.ReplicationFactor = int32(cfg.Int("share.coordinator.state.topic.num.partitions")), int16(cfg.Int("share.coordinator.state.topic.replication.factor"))
		set("cleanup.policy", "delete")
		set("compression.type", "producer")
		set("segment.bytes", number("share.coordinator.state.topic.segment.bytes"))
		set("min.insync.replicas", number("share.coordinator.state.topic.min.isr"))
		set("retention.ms", "-1")
	}
	return t
}

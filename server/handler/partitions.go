package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/replica"
)

// replicaOf finds this broker's replica of a partition by the topic's name: UNKNOWN_TOPIC_OR_PARTITION if the cluster has no such
// partition, NOT_LEADER_OR_FOLLOWER if another broker has it.
func (h *Handler) replicaOf(img *metadata.Image, topic string, partition int32) (*replica.Partition, error) {
	t := img.Topic(topic)
	if t == nil || t.Partition(partition) == nil {
		return nil, kerr.UnknownTopicOrPartition
	}
	p := h.Data.Replicas.Partition(t.ID, partition)
	if p == nil {
		return nil, kerr.NotLeaderForPartition
	}
	return p, nil
}

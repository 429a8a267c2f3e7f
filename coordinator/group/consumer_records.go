package group

import (
	"maps"
	"slices"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// The records of consumer groups, written as Apache Kafka 4.4.0 writes them, but with topics and partitions in order. All are version 0.

func (m *consumerMember) record(group string) coordinator.Record {
	v := record.NewConsumerGroupMemberMetadataValue()
	v.InstanceID, v.RackID, v.ServerAssignor = m.instance, m.rack, m.assignor
	v.ClientID, v.ClientHost, v.RebalanceTimeoutMs = m.clientID, m.clientHost, m.rebalanceTimeoutMs
	v.SubscribedTopicNames, v.SubscribedTopicRegex = m.topics, &m.regex
	v.ClassicMemberMetadata = m.classic
	return newRecord(&record.ConsumerGroupMemberMetadataKey{GroupID: group, MemberID: m.id}, v, 0)
}

// currentRecord is what the member has and at which epoch.
func (m *consumerMember) currentRecord(group string) coordinator.Record {
	v := record.NewConsumerGroupCurrentMemberAssignmentValue()
	v.MemberEpoch, v.PreviousMemberEpoch, v.State = m.epoch, m.previousEpoch, int8(m.state)
	v.AssignedPartitions, v.PartitionsPendingRevocation = m.assigned.records(), m.revoking.records()
	return newRecord(&record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: group, MemberID: m.id}, v, 0)
}

func (e epochsOf) records() []record.ConsumerGroupCurrentMemberAssignmentTopicPartitions {
	out := make([]record.ConsumerGroupCurrentMemberAssignmentTopicPartitions, 0, len(e))
	for _, topic := range sortedTopics(e) {
		t := record.ConsumerGroupCurrentMemberAssignmentTopicPartitions{TopicID: topic, Partitions: e.sortedPartitions(topic)}
		for _, p := range t.Partitions {
			t.AssignmentEpochs = append(t.AssignmentEpochs, e[topic][p])
		}
		out = append(out, t)
	}
	return out
}

func epochRecord(group string, epoch int32, hash int64) coordinator.Record {
	return newRecord(&record.ConsumerGroupMetadataKey{GroupID: group},
		&record.ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: hash}, 0)
}

func targetRecord(group, member string, target partitionsOf) coordinator.Record {
	v := record.NewConsumerGroupTargetAssignmentMemberValue()
	for _, topic := range sortedTopics(target) {
		v.TopicPartitions = append(v.TopicPartitions,
			record.ConsumerGroupTargetAssignmentMemberTopicPartition{TopicID: topic, Partitions: target[topic]})
	}
	return newRecord(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: group, MemberID: member}, v, 0)
}

func targetEpochRecord(group string, epoch int32, atMs int64) coordinator.Record {
	return newRecord(&record.ConsumerGroupTargetAssignmentMetadataKey{GroupID: group},
		&record.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: atMs}, 0)
}

func regexRecord(group, pattern string, r *resolvedRegex) coordinator.Record {
	return newRecord(&record.ConsumerGroupRegularExpressionKey{GroupID: group, RegularExpression: pattern},
		&record.ConsumerGroupRegularExpressionValue{Topics: r.topics, Version: r.version, Timestamp: r.atMs}, 0)
}

// removalRecords take a member away: what it has first, itself last.
func removalRecords(group, member string) []coordinator.Record {
	return []coordinator.Record{
		tombstone(&record.ConsumerGroupCurrentMemberAssignmentKey{GroupID: group, MemberID: member}),
		tombstone(&record.ConsumerGroupTargetAssignmentMemberKey{GroupID: group, MemberID: member}),
		tombstone(&record.ConsumerGroupMemberMetadataKey{GroupID: group, MemberID: member}),
	}
}

// records are all that is needed to make the group anew.
func (g *consumerGroup) records() (out []coordinator.Record) {
	members := g.sorted()
	for _, m := range members {
		out = append(out, m.record(g.id))
	}
	out = append(out, epochRecord(g.id, g.epoch, g.metadataHash))
	for _, m := range members {
		out = append(out, targetRecord(g.id, m.id, g.targets[m.id]))
	}
	out = append(out, targetEpochRecord(g.id, g.assignmentEpoch, g.assignmentMs))
	for _, m := range members {
		out = append(out, m.currentRecord(g.id))
	}
	for _, pattern := range slices.Sorted(maps.Keys(g.regexes)) {
		out = append(out, regexRecord(g.id, pattern, g.regexes[pattern]))
	}
	return out
}

package group

import (
	"slices"

	"github.com/kaja-mq/kaja/coordinator/record"
)

// applyConsumer folds the records of consumer groups. A tombstone of what is not there is nothing; a value makes its group.
func (s *Shard) applyConsumer(key, value record.Message) {
	switch k := key.(type) {
	case *record.ConsumerGroupMetadataKey:
		v, _ := value.(*record.ConsumerGroupMetadataValue)
		if v == nil {
			s.removeConsumer(k.GroupID)
			return
		}
		g := s.ensureConsumer(k.GroupID)
		g.epoch, g.metadataHash = v.Epoch, v.MetadataHash
	default:
		id, ok := consumerGroupOf(key)
		if !ok {
			return // of a share or streams group
		}
		g := s.consumer(id)
		if g == nil {
			if value == nil {
				return
			}
			g = s.ensureConsumer(id)
		}
		g.apply(key, value)
	}
}

// consumerGroupOf is the group of a key of a consumer group's record.
func consumerGroupOf(key record.Message) (string, bool) {
	switch k := key.(type) {
	case *record.ConsumerGroupMetadataKey:
		return k.GroupID, true
	case *record.ConsumerGroupPartitionMetadataKey:
		return k.GroupID, true
	case *record.ConsumerGroupMemberMetadataKey:
		return k.GroupID, true
	case *record.ConsumerGroupTargetAssignmentMetadataKey:
		return k.GroupID, true
	case *record.ConsumerGroupTargetAssignmentMemberKey:
		return k.GroupID, true
	case *record.ConsumerGroupCurrentMemberAssignmentKey:
		return k.GroupID, true
	case *record.ConsumerGroupRegularExpressionKey:
		return k.GroupID, true
	}
	return "", false
}

// consumer finds the consumer group of that id, nil when there is none or the group is of another kind.
func (s *Shard) consumer(id string) *consumerGroup {
	if g := s.groups[id]; g != nil {
		return g.consumer
	}
	return nil
}

// ensureConsumer finds or makes the consumer group. What the id was before ends: its own tombstone was, or has been compacted away.
func (s *Shard) ensureConsumer(id string) *consumerGroup {
	g := s.groups[id]
	if g == nil {
		g = &group{id: id}
		s.groups[id] = g
	}
	if g.consumer == nil {
		g.consumer = newConsumerGroup(id)
	}
	g.classic = nil
	return g.consumer
}

func (s *Shard) removeConsumer(id string) {
	g := s.groups[id]
	if g == nil || g.consumer == nil {
		return
	}
	g.consumer = nil
	if g.classic == nil {
		s.remove(id)
	}
}

// apply folds the records of one group but its own.
func (g *consumerGroup) apply(key, value record.Message) {
	switch k := key.(type) {
	case *record.ConsumerGroupPartitionMetadataKey:
		g.oldMetadata = value != nil
	case *record.ConsumerGroupMemberMetadataKey:
		v, _ := value.(*record.ConsumerGroupMemberMetadataValue)
		g.applyMember(k.MemberID, v)
	case *record.ConsumerGroupTargetAssignmentMetadataKey:
		if v, _ := value.(*record.ConsumerGroupTargetAssignmentMetadataValue); v != nil {
			g.assignmentEpoch, g.assignmentMs = v.AssignmentEpoch, v.AssignmentTimestamp
		} else {
			g.assignmentEpoch, g.assignmentMs = -1, 0
		}
	case *record.ConsumerGroupTargetAssignmentMemberKey:
		if v, _ := value.(*record.ConsumerGroupTargetAssignmentMemberValue); v != nil {
			target := make(partitionsOf, len(v.TopicPartitions))
			for i := range v.TopicPartitions {
				target.add(v.TopicPartitions[i].TopicID, v.TopicPartitions[i].Partitions...)
			}
			g.targets[k.MemberID] = target
		} else {
			delete(g.targets, k.MemberID)
		}
	case *record.ConsumerGroupCurrentMemberAssignmentKey:
		v, _ := value.(*record.ConsumerGroupCurrentMemberAssignmentValue)
		g.applyCurrent(k.MemberID, v)
	case *record.ConsumerGroupRegularExpressionKey:
		v, _ := value.(*record.ConsumerGroupRegularExpressionValue)
		g.applyRegex(k.RegularExpression, v)
	}
}

func (g *consumerGroup) applyMember(id string, v *record.ConsumerGroupMemberMetadataValue) {
	if v == nil {
		g.drop(id)
		return
	}
	m := g.memberOrNew(id).next()
	m.instance, m.rack, m.assignor = v.InstanceID, v.RackID, v.ServerAssignor
	m.clientID, m.clientHost, m.rebalanceTimeoutMs = v.ClientID, v.ClientHost, v.RebalanceTimeoutMs
	m.topics = slices.Clone(v.SubscribedTopicNames)
	slices.Sort(m.topics)
	m.topics = slices.Compact(m.topics)
	m.regex = ""
	if v.SubscribedTopicRegex != nil {
		m.regex = *v.SubscribedTopicRegex
	}
	m.classic = v.ClassicMemberMetadata
	g.put(m)
}

func (g *consumerGroup) applyCurrent(id string, v *record.ConsumerGroupCurrentMemberAssignmentValue) {
	if v == nil {
		if m := g.members[id]; m != nil {
			m = m.next()
			m.epoch, m.previousEpoch, m.assigned, m.revoking = epochLeave, -1, nil, nil
			g.put(m)
		}
		return
	}
	m := g.memberOrNew(id).next()
	m.epoch, m.previousEpoch, m.state = v.MemberEpoch, v.PreviousMemberEpoch, memberState(v.State)
	if m.state != memberStable && m.state != memberUnrevoked && m.state != memberUnreleased {
		m.state = memberUnknown
	}
	m.assigned = epochsFrom(v.AssignedPartitions, v.MemberEpoch)
	m.revoking = epochsFrom(v.PartitionsPendingRevocation, v.MemberEpoch)
	g.put(m)
}

func (g *consumerGroup) memberOrNew(id string) *consumerMember {
	if m := g.members[id]; m != nil {
		return m
	}
	return newConsumerMember(id)
}

// epochsFrom reads partitions with their epochs; Kafka before 4.3 wrote none, then it is the member's.
func epochsFrom(topics []record.ConsumerGroupCurrentMemberAssignmentTopicPartitions, epoch int32) epochsOf {
	out := make(epochsOf, len(topics))
	for i := range topics {
		t := &topics[i]
		for k, p := range t.Partitions {
			e := max(epoch, 0)
			if len(t.AssignmentEpochs) == len(t.Partitions) {
				e = t.AssignmentEpochs[k]
			}
			out.put(t.TopicID, p, e)
		}
	}
	return out
}

func (g *consumerGroup) applyRegex(pattern string, v *record.ConsumerGroupRegularExpressionValue) {
	if old := g.regexes[pattern]; old != nil {
		countPatterns(g.names, old.topics, -1)
		delete(g.regexes, pattern)
	}
	if v == nil {
		return
	}
	r := &resolvedRegex{topics: slices.Compact(slices.Sorted(slices.Values(v.Topics))), version: v.Version, atMs: v.Timestamp}
	g.regexes[pattern] = r
	countPatterns(g.names, r.topics, +1)
}

package group

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Member types of ConsumerGroupDescribe v1.
const (
	memberTypeClassic  int8 = 0
	memberTypeConsumer int8 = 1
)

// ConsumerGroupDescribe answers for one group of a ConsumerGroupDescribe request. Authorised operations are the caller's to fill in.
func (s *Shard) ConsumerGroupDescribe(id string) kmsg.ConsumerGroupDescribeResponseGroup {
	r := kmsg.NewConsumerGroupDescribeResponseGroup()
	r.Group = id
	t := turn{s: s}
	if no := t.existing(id); no != nil {
		r.ErrorCode, r.ErrorMessage = kerr.GroupIDNotFound.Code, &no.message
		return r
	}
	g := t.g
	r.State, r.Epoch, r.AssignmentEpoch = g.stateName(), g.epoch, g.assignmentEpoch
	r.AssignorName = g.preferred(assignorNames(s.d.Settings.Str("group.consumer.assignors"))[0], nil, nil)
	for _, m := range g.sorted() {
		rm := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		rm.MemberID, rm.InstanceID, rm.RackID, rm.MemberEpoch = m.id, m.instance, m.rack, m.epoch
		rm.ClientID, rm.ClientHost = m.clientID, m.clientHost
		rm.SubscribedTopics, rm.SubscribedTopicRegex = m.topics, &m.regex
		rm.Assignment.TopicPartitions = s.describePartitions(m.assigned, m.revoking)
		rm.TargetAssignment.TopicPartitions = s.describePartitions(g.targets[m.id].withEpoch(0), nil)
		rm.MemberType = memberTypeConsumer
		if m.classic != nil {
			rm.MemberType = memberTypeClassic
		}
		r.Members = append(r.Members, rm)
	}
	return r
}

// describePartitions lists partitions of topics that still exist; those that are to be given up are the member's until it has done so.
func (s *Shard) describePartitions(has, revoking epochsOf) (out []kmsg.AssignmentTopicPartition) {
	all := maps.Clone(has)
	if all == nil {
		all = epochsOf{}
	}
	for topic, partitions := range revoking {
		both := maps.Clone(partitions)
		maps.Copy(both, all[topic])
		all[topic] = both
	}
	for _, topic := range sortedTopics(all) {
		name, ok := s.d.Topics.TopicName(topic)
		if !ok {
			continue
		}
		tp := kmsg.NewAssignmentTopicPartition()
		tp.TopicID, tp.Topic, tp.Partitions = topic, name, all.sortedPartitions(topic)
		out = append(out, tp)
	}
	return out
}

package tool

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupAdmin is what Kafka's Admin does for the tools of groups, with its exceptions.
type groupAdmin struct {
	client *kgo.Client
}

// groupListing is a group as ListGroups has it.
type groupListing struct {
	ID, Protocol, Type, State string
}

const noBrokers = "Failed to find brokers to send ListGroups"

// list asks every broker; empty filters take all. The order is that of Kafka's Admin.
func (a groupAdmin) list(ctx context.Context, states, types []string) ([]groupListing, error) {
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter, req.TypesFilter = states, types
	byID := make(map[string]groupListing)
	var ids []string
	for _, shard := range a.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, thrown(classKafka, noBrokers)
		}
		resp := shard.Resp.(*kmsg.ListGroupsResponse)
		if err := exceptionOf(resp.ErrorCode, nil); err != nil {
			return nil, err
		}
		for _, g := range resp.Groups {
			if _, seen := byID[g.Group]; !seen {
				ids = append(ids, g.Group)
			}
			byID[g.Group] = groupListing{g.Group, g.ProtocolType, groupTypeName(g.GroupType), groupStateName(g.GroupState)}
		}
	}
	groups := make([]groupListing, 0, len(ids))
	for _, id := range javaStringOrder(ids) {
		groups = append(groups, byID[id])
	}
	return groups, nil
}

// listConsumers lists groups of the consumer protocols, simple ones included.
func (a groupAdmin) listConsumers(ctx context.Context, states, types []string) ([]groupListing, error) {
	groups, err := a.list(ctx, states, types)
	return slices.DeleteFunc(groups, func(g groupListing) bool { return g.Protocol != "" && g.Protocol != "consumer" }), err
}

// coordinator is a broker as the tools print it.
type coordinator struct {
	Node int32
	Host string
	Port int32
}

func (c coordinator) String() string { return fmt.Sprintf("%s:%d  (%d)", c.Host, c.Port, c.Node) }

// groupDescription is a group of either consumer protocol.
type groupDescription struct {
	ID, State, Assignor string
	Coordinator         coordinator
	Members             []groupMember
	Epoch, TargetEpoch  string // a number, or empty for the classic protocol
}

type groupMember struct {
	ID, InstanceID, ClientID, Host string
	Assigned, Target               []topicPartition
	Epoch                          string // a number, or empty for the classic protocol
	Upgraded                       string // true, false or empty where the broker does not tell
}

// describe asks by the consumer protocol first, then by the classic one, as Kafka's Admin does. errs has what went wrong with single groups.
func (a groupAdmin) describe(ctx context.Context, ids []string) (found map[string]groupDescription, errs map[string]error, err error) {
	found, errs = make(map[string]groupDescription), make(map[string]error)
	if len(ids) == 0 {
		return found, errs, nil
	}
	classic, err := a.describeConsumer(ctx, ids, found, errs)
	if err != nil || len(classic) == 0 {
		return found, errs, err
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = classic
	for _, shard := range a.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, nil, asException(shard.Err, noCoordinator)
		}
		for _, g := range shard.Resp.(*kmsg.DescribeGroupsResponse).Groups {
			switch e := exceptionOf(g.ErrorCode, g.ErrorMessage); {
			case e != nil:
				errs[g.Group] = e
			case g.ProtocolType != "" && g.ProtocolType != "consumer":
				errs[g.Group] = thrown(classIllegalArgument, "GroupId %s is not a consumer group (%s).", g.Group, g.ProtocolType)
			default:
				found[g.Group] = classicGroup(g, shard.Meta)
			}
		}
	}
	return found, errs, nil
}

const noCoordinator = "Timed out waiting for a node assignment. Call: describeConsumerGroups(api=FIND_COORDINATOR)"

func (a groupAdmin) describeConsumer(ctx context.Context, ids []string, found map[string]groupDescription, errs map[string]error) (classic []string, err error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = ids
	for _, shard := range a.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, asException(shard.Err, noCoordinator)
		}
		for _, g := range shard.Resp.(*kmsg.ConsumerGroupDescribeResponse).Groups {
			switch g.ErrorCode {
			case 0:
				found[g.Group] = consumerGroup(g, shard.Meta)
			case kerr.GroupIDNotFound.Code, kerr.UnsupportedVersion.Code:
				classic = append(classic, g.Group)
			default:
				errs[g.Group] = exceptionOf(g.ErrorCode, g.ErrorMessage)
			}
		}
	}
	return classic, nil
}

func consumerGroup(g kmsg.ConsumerGroupDescribeResponseGroup, broker kgo.BrokerMetadata) groupDescription {
	d := groupDescription{ID: g.Group, State: groupStateName(g.State), Assignor: g.AssignorName, Coordinator: coordinator{broker.NodeID, broker.Host, broker.Port},
		Epoch: strconv.Itoa(int(g.Epoch)), TargetEpoch: strconv.Itoa(int(g.AssignmentEpoch))}
	for _, m := range g.Members {
		member := groupMember{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Epoch: strconv.Itoa(int(m.MemberEpoch)),
			Assigned: assignedPartitions(m.Assignment), Target: assignedPartitions(m.TargetAssignment)}
		if m.InstanceID != nil {
			member.InstanceID = *m.InstanceID
		}
		if m.MemberType >= 0 {
			member.Upgraded = strconv.FormatBool(m.MemberType == 1)
		}
		d.Members = append(d.Members, member)
	}
	return d
}

func assignedPartitions(a kmsg.Assignment) (tps []topicPartition) {
	for _, t := range a.TopicPartitions {
		for _, p := range t.Partitions {
			tps = append(tps, topicPartition{t.Topic, p})
		}
	}
	return tps
}

func classicGroup(g kmsg.DescribeGroupsResponseGroup, broker kgo.BrokerMetadata) groupDescription {
	d := groupDescription{ID: g.Group, State: groupStateName(g.State), Assignor: g.Protocol, Coordinator: coordinator{broker.NodeID, broker.Host, broker.Port}}
	for _, m := range g.Members {
		member := groupMember{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			member.InstanceID = *m.InstanceID
		}
		var assignment kmsg.ConsumerMemberAssignment
		if len(m.MemberAssignment) > 0 && assignment.ReadFrom(m.MemberAssignment) == nil {
			for _, t := range assignment.Topics {
				for _, p := range t.Partitions {
					member.Assigned = append(member.Assigned, topicPartition{t.Topic, p})
				}
			}
		}
		d.Members = append(d.Members, member)
	}
	return d
}

// committedOffset is what a group has committed for a partition.
type committedOffset struct {
	Offset      int64
	LeaderEpoch int32 // -1 for none
}

// committed are all offsets of a group.
func (a groupAdmin) committed(ctx context.Context, group string) (map[topicPartition]committedOffset, error) {
	resp, err := kadm.NewClient(a.client).FetchOffsets(ctx, group)
	if err != nil {
		return nil, asException(err, "Timed out waiting for a node assignment. Call: offsetFetch(api=FIND_COORDINATOR)")
	}
	offsets := make(map[topicPartition]committedOffset)
	for topic, ps := range resp {
		for p, o := range ps {
			if o.Err != nil {
				return nil, asException(o.Err, "")
			}
			if o.At >= 0 {
				offsets[topicPartition{topic, p}] = committedOffset{o.At, o.LeaderEpoch}
			}
		}
	}
	return offsets, nil
}

// commit sets offsets of a group from outside.
func (a groupAdmin) commit(ctx context.Context, group string, offsets []groupOffset) error {
	var os kadm.Offsets
	for _, o := range offsets {
		os.Add(kadm.Offset{Topic: o.Topic, Partition: o.Partition, At: o.Offset, LeaderEpoch: -1})
	}
	resps, err := kadm.NewClient(a.client).CommitOffsets(ctx, group, os)
	if err != nil {
		return asException(err, "Timed out waiting for a node assignment. Call: offsetCommit(api=FIND_COORDINATOR)")
	}
	for _, ps := range resps {
		for _, r := range ps {
			if r.Err != nil {
				return thrown(classKafka, "Failed altering group offsets for the following partitions: [%s-%d]", r.Topic, r.Partition)
			}
		}
	}
	return nil
}

// Times of ListOffsets that are none.
const (
	latestOffset   = -1
	earliestOffset = -2
)

// offsets looks up where partitions begin or end, or the first record that is not older than a time in milliseconds; -1 where there is none.
func (a groupAdmin) offsets(ctx context.Context, tps []topicPartition, at int64) (map[topicPartition]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	places := make(map[string]int)
	for _, tp := range tps {
		i, ok := places[tp.Topic]
		if !ok {
			i = len(req.Topics)
			places[tp.Topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = tp.Partition, at
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	found := make(map[topicPartition]int64, len(tps))
	if len(tps) == 0 {
		return found, nil
	}
	for _, shard := range a.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, wrapped(classExecution, missingPartition(shard, tps[0]))
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := exceptionOf(p.ErrorCode, nil); err != nil {
					return nil, wrapped(classExecution, err)
				}
				found[topicPartition{t.Topic, p.Partition}] = p.Offset
			}
		}
	}
	return found, nil
}

// missingPartition is what Kafka's Admin says when metadata does not have a partition.
func missingPartition(shard kgo.ResponseShard, tp topicPartition) error {
	if req, ok := shard.Req.(*kmsg.ListOffsetsRequest); ok && len(req.Topics) > 0 && len(req.Topics[0].Partitions) > 0 {
		tp = topicPartition{req.Topics[0].Topic, req.Topics[0].Partitions[0].Partition}
	}
	err := asException(shard.Err, "Timed out waiting for a node assignment. Call: listOffsets(api=METADATA)")
	if e, ok := err.(*exception); ok && e.class == errorsPackage+"UnknownTopicOrPartitionException" {
		e.message = fmt.Sprintf("Failed to fetch metadata for partition %s-%d because metadata for topic `%s` could not be found", tp.Topic, tp.Partition, tp.Topic)
	}
	return err
}

// topicLayout is a topic's partitions: which have a leader.
type topicLayout struct {
	hasLeader map[int32]bool
	err       error
}

// partitions are the topic's, by number.
func (l topicLayout) partitions(topic string) []topicPartition {
	var tps []topicPartition
	for p := range l.hasLeader {
		tps = append(tps, topicPartition{topic, p})
	}
	slices.SortFunc(tps, compareTopicPartitions)
	return tps
}

// topics describes topics without making them.
func (a groupAdmin) topics(ctx context.Context, names []string) (map[string]topicLayout, error) {
	layouts := make(map[string]topicLayout)
	if len(names) == 0 {
		return layouts, nil
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return nil, asException(err, "Timed out waiting for a node assignment. Call: describeTopics")
	}
	for _, t := range resp.Topics {
		l := topicLayout{hasLeader: make(map[int32]bool), err: exceptionOf(t.ErrorCode, nil)}
		for _, p := range t.Partitions {
			l.hasLeader[p.Partition] = p.Leader >= 0
		}
		if t.Topic != nil {
			layouts[*t.Topic] = l
		}
	}
	return layouts, nil
}

// deleteOffsets forgets offsets; results has what became of each partition, nil for done.
func (a groupAdmin) deleteOffsets(ctx context.Context, group string, tps []topicPartition) (results map[topicPartition]error, err error) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	for _, tp := range tps {
		i := slices.IndexFunc(req.Topics, func(t kmsg.OffsetDeleteRequestTopic) bool { return t.Topic == tp.Topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: tp.Topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: tp.Partition})
	}
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return nil, asException(err, "Timed out waiting for a node assignment. Call: offsetDelete(api=FIND_COORDINATOR)")
	}
	if err := exceptionOf(resp.ErrorCode, nil); err != nil {
		return nil, err
	}
	results = make(map[topicPartition]error, len(tps))
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			results[topicPartition{t.Topic, p.Partition}] = exceptionOf(p.ErrorCode, nil)
		}
	}
	return results, nil
}

// deleteGroups deletes groups; results has what became of each, nil for done.
func (a groupAdmin) deleteGroups(ctx context.Context, ids []string) map[string]error {
	results := make(map[string]error, len(ids))
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = ids
	if len(ids) == 0 {
		return results
	}
	for _, shard := range a.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, id := range shard.Req.(*kmsg.DeleteGroupsRequest).Groups {
				results[id] = asException(shard.Err, "Timed out waiting for a node assignment. Call: deleteConsumerGroups(api=FIND_COORDINATOR)")
			}
			continue
		}
		for _, g := range shard.Resp.(*kmsg.DeleteGroupsResponse).Groups {
			results[g.Group] = exceptionOf(g.ErrorCode, nil)
		}
	}
	return results
}

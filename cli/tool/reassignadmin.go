package tool

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// reassignAdmin is what Kafka's Admin does for kafka-reassign-partitions, with its exceptions.
type reassignAdmin struct{ c *cluster }

// executed is an exception as a Java future gives it: only its cause is told.
func executed(err error) error {
	if err == nil {
		return nil
	}
	return wrapped(classExecution, err)
}

// brokers are the cluster's brokers by id.
func (a reassignAdmin) brokers(ctx context.Context) ([]usableBroker, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := a.c.call(ctx, "listNodes", req)
	if err != nil {
		return nil, executed(err)
	}
	var list []usableBroker
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		u := usableBroker{id: b.NodeID}
		if b.Rack != nil {
			u.rack = *b.Rack
		}
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b usableBroker) int { return int(a.id) - int(b.id) })
	return list, nil
}

// replicas are where the partitions of topics are; topics that are not there are in unknown.
func (a reassignAdmin) replicas(ctx context.Context, topics []string) (found map[topicPartition][]int32, unknown []string, err error) {
	found = map[topicPartition][]int32{}
	if len(topics) == 0 {
		return found, nil, nil
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := a.c.call(ctx, "describeTopics", req)
	if err != nil {
		return nil, nil, executed(err)
	}
	for _, t := range resp.(*kmsg.MetadataResponse).Topics {
		switch err := exceptionOf(t.ErrorCode, nil); {
		case isException(err, "UnknownTopicOrPartitionException"):
			unknown = append(unknown, *t.Topic)
		case err != nil:
			return nil, nil, executed(err)
		}
		for _, p := range t.Partitions {
			found[topicPartition{*t.Topic, p.Partition}] = p.Replicas
		}
	}
	return found, unknown, nil
}

// known is replicas for topics that must be there.
func (a reassignAdmin) known(ctx context.Context, topics []string) (map[topicPartition][]int32, error) {
	found, unknown, err := a.replicas(ctx, topics)
	if err == nil && len(unknown) > 0 {
		err = executed(thrown(errorsPackage+"UnknownTopicOrPartitionException", "Topic %s not found.", unknown[0]))
	}
	return found, err
}

// moving are all reassignments that the cluster is at.
func (a reassignAdmin) moving(ctx context.Context) (map[topicPartition]moving, error) {
	resp, err := a.c.call(ctx, "listPartitionReassignments", kmsg.NewPtrListPartitionReassignmentsRequest())
	if err != nil {
		return nil, executed(err)
	}
	list := resp.(*kmsg.ListPartitionReassignmentsResponse)
	if err := exceptionOf(list.ErrorCode, list.ErrorMessage); err != nil {
		return nil, executed(err)
	}
	current := map[topicPartition]moving{}
	for _, t := range list.Topics {
		for _, p := range t.Partitions {
			current[topicPartition{t.Topic, p.Partition}] = moving{p.Replicas, p.AddingReplicas, p.RemovingReplicas}
		}
	}
	return current, nil
}

// alter begins reassignments, or ends them where replicas are nil; what could not be done is in failed.
func (a reassignAdmin) alter(ctx context.Context, plan []plannedPartition, keepFactor bool) (failed map[topicPartition]error, err error) {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.AllowReplicationFactorChange = !keepFactor
	for _, p := range plan {
		i := slices.IndexFunc(req.Topics, func(t kmsg.AlterPartitionAssignmentsRequestTopic) bool { return t.Topic == p.Topic })
		if i < 0 {
			i = len(req.Topics)
			t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			t.Topic = p.Topic
			req.Topics = append(req.Topics, t)
		}
		each := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		each.Partition, each.Replicas = p.Partition, p.Replicas
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, each)
	}
	resp, err := a.c.call(ctx, "alterPartitionReassignments", req)
	if err != nil {
		return nil, executed(err)
	}
	altered := resp.(*kmsg.AlterPartitionAssignmentsResponse)
	failed = map[topicPartition]error{}
	whole := exceptionOf(altered.ErrorCode, altered.ErrorMessage)
	for _, p := range plan {
		if whole != nil {
			failed[p.topicPartition] = whole
		}
	}
	for _, t := range altered.Topics {
		for _, p := range t.Partitions {
			if err := exceptionOf(p.ErrorCode, p.ErrorMessage); err != nil {
				failed[topicPartition{t.Topic, p.Partition}] = err
			}
		}
	}
	return failed, nil
}

// replicaDirs says in which directory a replica is, and in which it will be; empty for neither.
type replicaDirs struct{ current, future string }

// dirs asks brokers for the directories of replicas.
func (a reassignAdmin) dirs(ctx context.Context, replicas []partitionReplica) (map[partitionReplica]replicaDirs, error) {
	byBroker := map[int32][]topicPartition{}
	for _, r := range replicas {
		byBroker[r.Broker] = append(byBroker[r.Broker], r.topicPartition)
	}
	found := map[partitionReplica]replicaDirs{}
	for broker, tps := range byBroker {
		resp, err := a.c.callTo(ctx, broker, "describeReplicaLogDirs", describeDirs(tps))
		if err != nil {
			return nil, executed(err)
		}
		for _, tp := range tps {
			found[partitionReplica{tp, broker}] = replicaDirs{}
		}
		for _, dir := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
			for _, t := range dir.Topics {
				for _, p := range t.Partitions {
					r := partitionReplica{topicPartition{t.Topic, p.Partition}, broker}
					d := found[r]
					if p.IsFuture {
						d.future = dir.Dir
					} else {
						d.current = dir.Dir
					}
					found[r] = d
				}
			}
		}
	}
	return found, nil
}

func describeDirs(tps []topicPartition) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	for _, tp := range tps {
		i := slices.IndexFunc(req.Topics, func(t kmsg.DescribeLogDirsRequestTopic) bool { return t.Topic == tp.Topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, kmsg.DescribeLogDirsRequestTopic{Topic: tp.Topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, tp.Partition)
	}
	return req
}

// moveDirs asks brokers to move replicas to directories. done are those that began; a replica that is not there yet is neither done nor an error.
func (a reassignAdmin) moveDirs(ctx context.Context, moves map[partitionReplica]string) (done []partitionReplica, err error) {
	byBroker := map[int32]*kmsg.AlterReplicaLogDirsRequest{}
	for r, dir := range moves {
		req := byBroker[r.Broker]
		if req == nil {
			req = kmsg.NewPtrAlterReplicaLogDirsRequest()
			byBroker[r.Broker] = req
		}
		i := slices.IndexFunc(req.Dirs, func(d kmsg.AlterReplicaLogDirsRequestDir) bool { return d.Dir == dir })
		if i < 0 {
			i = len(req.Dirs)
			req.Dirs = append(req.Dirs, kmsg.AlterReplicaLogDirsRequestDir{Dir: dir})
		}
		t := kmsg.AlterReplicaLogDirsRequestDirTopic{Topic: r.Topic, Partitions: []int32{r.Partition}}
		req.Dirs[i].Topics = append(req.Dirs[i].Topics, t)
	}
	for broker, req := range byBroker {
		resp, err := a.c.callTo(ctx, broker, "alterReplicaLogDirs", req)
		if err != nil {
			return nil, executed(err)
		}
		for _, t := range resp.(*kmsg.AlterReplicaLogDirsResponse).Topics {
			for _, p := range t.Partitions {
				r := partitionReplica{topicPartition{t.Topic, p.Partition}, broker}
				switch err := exceptionOf(p.ErrorCode, nil); {
				case err == nil:
					done = append(done, r)
				case !isException(err, "ReplicaNotAvailableException"):
					return nil, thrown(classAdminFailed, "Failed to alter dir for %s", r)
				}
			}
		}
	}
	slices.SortFunc(done, compareReplicas)
	return done, nil
}

// configChange sets a setting, or with a nil value takes it away.
type configChange struct {
	name  string
	value *string
}

// alterConfigs changes settings of topics or brokers.
func (a reassignAdmin) alterConfigs(ctx context.Context, kind kmsg.ConfigResourceType, changes map[string][]configChange) error {
	const set, remove = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for name, list := range changes {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		for _, c := range list {
			op := set
			if c.value == nil {
				op = remove
			}
			r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: c.name, Op: op, Value: c.value})
		}
		req.Resources = append(req.Resources, r)
	}
	if len(req.Resources) == 0 {
		return nil
	}
	ctx, cancel := a.c.deadline(ctx)
	defer cancel()
	for _, shard := range a.c.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return executed(callError(shard.Err, "incrementalAlterConfigs"))
		}
		for _, r := range shard.Resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
			if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
				return executed(err)
			}
		}
	}
	return nil
}

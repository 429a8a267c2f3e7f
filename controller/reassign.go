package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// alterPartitionAssignments decides an AlterPartitionReassignments request.
func (m *machine) alterPartitionAssignments(req *kmsg.AlterPartitionAssignmentsRequest) ([]versioned, *kmsg.AlterPartitionAssignmentsResponse) {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	allowRF := req.Version < 1 || req.AllowReplicationFactorChange
	resp.AllowReplicationFactorChange = allowRF
	var records []versioned
	for _, t := range req.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = t.Topic
		for i := range t.Partitions {
			c, err := m.reassign(t.Topic, &t.Partitions[i], allowRF)
			if c != nil {
				records = append(records, m.at(c))
			}
			op := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			op.Partition, op.ErrorCode, op.ErrorMessage = t.Partitions[i].Partition, err.code, err.text()
			out.Partitions = append(out.Partitions, op)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return records, resp
}

func (m *machine) reassign(topic string, r *kmsg.AlterPartitionAssignmentsRequestTopicPartition, allowRF bool) (*record.PartitionChangeRecord, apiError) {
	t := m.img.Topic(topic)
	if t == nil {
		return nil, fail(kerr.UnknownTopicOrPartition, "Unable to find a topic named "+topic+".")
	}
	p := t.Partition(r.Partition)
	switch {
	case p == nil:
		return nil, fail(kerr.UnknownTopicOrPartition, fmt.Sprintf("Unable to find partition %s:%d.", topic, r.Partition))
	case r.Replicas == nil:
		return m.cancelReassignment(t, r.Partition, p)
	}
	if err := m.checkManual(r.Replicas, 0); err.failed() {
		return nil, err
	}
	// The replicas before any reassignment that is going on.
	current := subtract(p.Replicas, p.Adding)
	if !allowRF && len(r.Replicas) != len(current) {
		return nil, fail(kerr.InvalidReplicationFactor, fmt.Sprintf("The replication factor is changed from %d to %d", len(current), len(r.Replicas)))
	}
	target := slices.Clone(r.Replicas)
	return m.moveReplicas(t, r.Partition, p, target, subtract(target, current), subtract(current, target)), apiError{}
}

// moveReplicas begins a move to target, or makes it at once where the ISR has all that is wanted.
func (m *machine) moveReplicas(t *metadata.Topic, id int32, p *metadata.Partition, target, adding, removing []int32) *record.PartitionChangeRecord {
	replicas := append(slices.Clone(target), removing...)
	isr := slices.Clone(p.ISR)
	if len(subtract(adding, isr)) == 0 && len(subtract(isr, removing)) > 0 {
		isr, replicas = subtract(isr, removing), target
		adding, removing = nil, nil
	}
	c := changeOf(t, id)
	if !slices.Equal(replicas, p.Replicas) {
		c.Replicas = replicas
		c.Directories = m.dirsAfter(p, replicas)
	}
	if !slices.Equal(isr, p.ISR) {
		c.ISR = isr
	}
	if !slices.Equal(adding, p.Adding) {
		c.AddingReplicas = append([]int32{}, adding...)
	}
	if !slices.Equal(removing, p.Removing) {
		c.RemovingReplicas = append([]int32{}, removing...)
	}
	if !slices.Contains(isr, p.Leader) || !slices.Contains(replicas, p.Leader) {
		c.Leader = metadata.NoLeader
		for _, r := range replicas {
			if slices.Contains(isr, r) && m.active(r) {
				c.Leader = r
				break
			}
		}
	}
	if c.Replicas == nil && c.ISR == nil && c.AddingReplicas == nil && c.RemovingReplicas == nil && c.Leader == record.NewPartitionChangeRecord().Leader {
		return nil
	}
	return c
}

// dirsAfter keeps the directories of the replicas that stay.
func (m *machine) dirsAfter(p *metadata.Partition, replicas []int32) [][16]byte {
	dirs := m.defaultDirs(replicas)
	for i, id := range replicas {
		if j := slices.Index(p.Replicas, id); j >= 0 && j < len(p.Dirs) {
			dirs[i] = p.Dirs[j]
		}
	}
	return dirs
}

func (m *machine) cancelReassignment(t *metadata.Topic, id int32, p *metadata.Partition) (*record.PartitionChangeRecord, apiError) {
	if len(p.Adding) == 0 && len(p.Removing) == 0 {
		return nil, failBare(kerr.NoReassignmentInProgress)
	}
	back := subtract(p.Replicas, p.Adding)
	isr := subtract(p.ISR, p.Adding)
	if len(isr) == 0 {
		return nil, fail(kerr.InvalidReplicaAssignment, fmt.Sprintf("Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", t.Name, id))
	}
	c := changeOf(t, id)
	c.Replicas, c.ISR, c.AddingReplicas, c.RemovingReplicas = back, isr, []int32{}, []int32{}
	c.Directories = m.dirsAfter(p, back)
	if !slices.Contains(isr, p.Leader) {
		c.Leader = isr[0]
	}
	return c, apiError{}
}

// subtract keeps a's order.
func subtract(a, b []int32) []int32 {
	out := []int32{}
	for _, v := range a {
		if !slices.Contains(b, v) {
			out = append(out, v)
		}
	}
	return out
}

// listPartitionReassignments answers ListPartitionReassignments: of the topics named, or of all.
func (m *machine) listPartitionReassignments(req *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	list := func(t *metadata.Topic, wanted func(int32) bool) {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		out.Topic = t.Name
		for i := range t.Partitions {
			p := &t.Partitions[i]
			if len(p.Adding) == 0 && len(p.Removing) == 0 || !wanted(int32(i)) {
				continue
			}
			op := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			op.Partition, op.Replicas, op.AddingReplicas, op.RemovingReplicas = int32(i), p.Replicas, p.Adding, p.Removing
			out.Partitions = append(out.Partitions, op)
		}
		if len(out.Partitions) > 0 {
			resp.Topics = append(resp.Topics, out)
		}
	}
	if req.Topics == nil {
		for t := range m.img.Topics() {
			list(t, func(int32) bool { return true })
		}
		return resp
	}
	slices.SortStableFunc(req.Topics, func(a, b kmsg.ListPartitionReassignmentsRequestTopic) int { return strings.Compare(a.Topic, b.Topic) })
	for _, rt := range req.Topics {
		if t := m.img.Topic(rt.Topic); t != nil {
			list(t, func(id int32) bool { return slices.Contains(rt.Partitions, id) })
		}
	}
	return resp
}

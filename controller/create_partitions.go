package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// createPartitions decides a CreatePartitions request. Topics fail one by one, but for the number of all new partitions together.
func (m *machine) createPartitions(req *kmsg.CreatePartitionsRequest) ([]versioned, *kmsg.CreatePartitionsResponse) {
	added := int64(0)
	names := map[string]int{}
	for i := range req.Topics {
		t := &req.Topics[i]
		names[t.Topic]++
		if topic := m.img.Topic(t.Topic); topic != nil && t.Count >= 0 {
			added += max(int64(t.Count)-int64(len(topic.Partitions)), 0)
		}
	}
	if added > maxPartitionsPerRequest {
		return nil, refuseCreatePartitions(req, fail(kerr.PolicyViolation, "Excessively large number of additional partitions per request."))
	}
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	var records []versioned
	placer := m.newPlacer()
	answered := map[string]bool{}
	for i := range req.Topics {
		t := &req.Topics[i]
		var err apiError
		if names[t.Topic] > 1 {
			if answered[t.Topic] {
				continue
			}
			answered[t.Topic] = true
			err = fail(kerr.InvalidRequest, "Duplicate topic name.")
		} else {
			var recs []versioned
			recs, err = m.growTopic(t, placer)
			records = append(records, recs...)
		}
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic, out.ErrorCode, out.ErrorMessage = t.Topic, err.code, err.text()
		resp.Topics = append(resp.Topics, out)
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return records, resp
}

func refuseCreatePartitions(req *kmsg.CreatePartitionsRequest, err apiError) *kmsg.CreatePartitionsResponse {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	for i := range req.Topics {
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic, out.ErrorCode, out.ErrorMessage = req.Topics[i].Topic, err.code, err.text()
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (m *machine) growTopic(t *kmsg.CreatePartitionsRequestTopic, placer *placer) ([]versioned, apiError) {
	topic := m.img.Topic(t.Topic)
	if topic == nil {
		return nil, failBare(kerr.UnknownTopicOrPartition)
	}
	have := int32(len(topic.Partitions))
	switch {
	case t.Count == have:
		return nil, fail(kerr.InvalidPartitions, fmt.Sprintf("Topic already has %d partition(s).", have))
	case t.Count < have:
		return nil, fail(kerr.InvalidPartitions, fmt.Sprintf("The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, have, t.Count))
	}
	parts, err := m.morePartitions(t, topic, placer)
	if err.failed() {
		return nil, err
	}
	records := make([]versioned, len(parts))
	for i, p := range parts {
		records[i] = m.at(p)
	}
	return records, apiError{}
}

// morePartitions places partitions have … count-1, with as many replicas as partition 0 has.
func (m *machine) morePartitions(t *kmsg.CreatePartitionsRequestTopic, topic *metadata.Topic, placer *placer) ([]*record.PartitionRecord, apiError) {
	have := int32(len(topic.Partitions))
	rf := len(topic.Partitions[0].Replicas)
	parts := make([]*record.PartitionRecord, t.Count-have)
	if t.Assignment == nil {
		if err := placer.check(rf); err.failed() {
			return nil, err
		}
		for i := range parts {
			parts[i] = m.newPartition(topic.ID, have+int32(i), placer.place(rf))
		}
		return parts, apiError{}
	}
	if len(t.Assignment) != len(parts) {
		return nil, fail(kerr.InvalidReplicaAssignment, fmt.Sprintf("Attempted to add %d additional partition(s), but only %d assignment(s) were specified.",
			len(parts), len(t.Assignment)))
	}
	for i, a := range t.Assignment {
		if err := m.checkManual(a.Replicas, rf); err.failed() {
			return nil, err
		}
		if len(m.activeOf(a.Replicas)) == 0 {
			return nil, allFenced(have + int32(i))
		}
		parts[i] = m.newPartition(topic.ID, have+int32(i), slices.Clone(a.Replicas))
	}
	return parts, apiError{}
}

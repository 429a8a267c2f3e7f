package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// deleteTopics decides a DeleteTopics request: topics by name up to version 5, by name or id from 6.
func (m *machine) deleteTopics(req *kmsg.DeleteTopicsRequest) ([]versioned, *kmsg.DeleteTopicsResponse) {
	if !m.brokerConfig().Bool("delete.topic.enable") {
		if req.Version < 3 {
			return nil, refuseDeleteTopics(req, fail(kerr.InvalidRequest, "Topic deletion is disabled."))
		}
		return nil, refuseDeleteTopics(req, failDefault(kerr.TopicDeletionDisabled))
	}
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	var records []versioned
	answer := func(name *string, id [16]byte, err apiError) {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = name, id, err.code, err.text()
		resp.Topics = append(resp.Topics, t)
	}
	remove := func(t *metadata.Topic) {
		records = append(records, m.at(&record.RemoveTopicRecord{TopicID: t.ID}))
		m.dropTopic(t.Name)
		name := t.Name
		answer(&name, t.ID, apiError{})
	}
	d := countDeletions(req)
	for _, name := range d.names {
		switch t := m.img.Topic(name); {
		case d.byName[name] > 1:
			answer(&name, noID, fail(kerr.InvalidRequest, "Duplicate topic name."))
		case t == nil:
			answer(&name, noID, failDefault(kerr.UnknownTopicOrPartition))
		case d.byID[t.ID] > 0:
			answer(&name, t.ID, fail(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied."))
		default:
			remove(t)
		}
	}
	for _, id := range d.ids {
		switch t := m.img.TopicByID(id); {
		case d.byID[id] > 1:
			answer(nil, id, fail(kerr.InvalidRequest, "Duplicate topic id."))
		case t == nil:
			answer(nil, id, failDefault(kerr.UnknownTopicID))
		case d.byName[t.Name] > 0:
			continue // answered by its name
		default:
			remove(t)
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		switch {
		case t.Topic == nil && t.TopicID == noID:
			answer(nil, noID, fail(kerr.InvalidRequest, "Neither topic name nor id were specified."))
		case t.Topic != nil && t.TopicID != noID:
			answer(t.Topic, t.TopicID, fail(kerr.InvalidRequest, "You may not specify both topic name and topic id."))
		}
	}
	return records, resp
}

var noID [16]byte

// deletions is what a request names, each once, in its order.
type deletions struct {
	names  []string
	ids    [][16]byte
	byName map[string]int
	byID   map[[16]byte]int
}

func countDeletions(req *kmsg.DeleteTopicsRequest) deletions {
	d := deletions{byName: map[string]int{}, byID: map[[16]byte]int{}}
	name := func(n string) {
		if d.byName[n]++; d.byName[n] == 1 {
			d.names = append(d.names, n)
		}
	}
	if req.Version < 6 {
		for _, n := range req.TopicNames {
			name(n)
		}
		return d
	}
	for i := range req.Topics {
		switch t := &req.Topics[i]; {
		case t.Topic != nil && t.TopicID == noID:
			name(*t.Topic)
		case t.Topic == nil && t.TopicID != noID:
			if d.byID[t.TopicID]++; d.byID[t.TopicID] == 1 {
				d.ids = append(d.ids, t.TopicID)
			}
		}
	}
	return d
}

// refuseDeleteTopics gives every topic the same error.
func refuseDeleteTopics(req *kmsg.DeleteTopicsRequest, err apiError) *kmsg.DeleteTopicsResponse {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	add := func(name *string, id [16]byte) {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = name, id, err.code, err.text()
		resp.Topics = append(resp.Topics, t)
	}
	if req.Version < 6 {
		for _, n := range req.TopicNames {
			add(&n, noID)
		}
		return resp
	}
	for i := range req.Topics {
		add(req.Topics[i].Topic, req.Topics[i].TopicID)
	}
	return resp
}

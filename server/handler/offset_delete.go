package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// OffsetDelete (key 47), version 0 (KIP-496).
//
// Seen on Apache 4.4: topics that do not exist are UNKNOWN_TOPIC_OR_PARTITION before the group is looked at, and if none is left the group is
// not. Offsets of topics that a member subscribes to stay. Deviations: none.
func (h *Handler) offsetDelete(c Call) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	if !decode(c, req) {
		return
	}
	fail := func(err *kerr.Error) kmsg.Response {
		resp := kmsg.NewPtrOffsetDeleteResponse()
		resp.ErrorCode = err.Code
		return resp
	}
	refused := h.splitDelete(req)
	if len(req.Topics) == 0 {
		resp := kmsg.NewPtrOffsetDeleteResponse()
		resp.Topics = refused.list
		c.Reply(resp)
		return
	}
	if req.Group == "" {
		c.Reply(fail(kerr.InvalidGroupID))
		return
	}
	g := &coordinatedCall{fail: fail, answer: func(r kmsg.Response) {
		resp := r.(*kmsg.OffsetDeleteResponse)
		if resp.ErrorCode == 0 {
			resp.Topics = refused.join(resp.Topics)
		}
		c.Reply(resp)
	}}
	h.submit(req.Group, g, func(s *group.Shard, _ coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.OffsetDelete(hd, req)
	})
	g.settle(c.Park)
}

// splitDelete takes what does not exist out of the request.
func (h *Handler) splitDelete(req *kmsg.OffsetDeleteRequest) *deletedTopics {
	refused := &deletedTopics{at: map[string]int{}}
	img := h.Images()
	var known []kmsg.OffsetDeleteRequestTopic
	for _, t := range req.Topics {
		topic := img.Topic(t.Topic)
		kept := t
		kept.Partitions = nil
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			if topic != nil && topic.Partition(p.Partition) != nil {
				kept.Partitions = append(kept.Partitions, p)
				continue
			}
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, kerr.UnknownTopicOrPartition.Code
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			refused.add(rt)
		}
		if len(kept.Partitions) > 0 {
			known = append(known, kept)
		}
	}
	req.Topics = known
	return refused
}

// deletedTopics puts the partitions of one topic together, as Kafka's response builder does.
type deletedTopics struct {
	list []kmsg.OffsetDeleteResponseTopic
	at   map[string]int
}

func (l *deletedTopics) add(t kmsg.OffsetDeleteResponseTopic) {
	at, ok := l.at[t.Topic]
	if !ok {
		l.at[t.Topic] = len(l.list)
		l.list = append(l.list, t)
		return
	}
	l.list[at].Partitions = append(l.list[at].Partitions, t.Partitions...)
}

// join adds what was done to what was refused; when nothing was, it is the answer as it is.
func (l *deletedTopics) join(done []kmsg.OffsetDeleteResponseTopic) []kmsg.OffsetDeleteResponseTopic {
	if len(l.list) == 0 {
		return done
	}
	for _, d := range done {
		l.add(d)
	}
	return l.list
}

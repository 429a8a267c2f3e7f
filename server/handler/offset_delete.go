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
		resp.Topics = refused
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
			resp.Topics = joinDeleted(refused, resp.Topics)
		}
		c.Reply(resp)
	}}
	h.submit(req.Group, g, func(s *group.Shard, _ coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.OffsetDelete(hd, req)
	})
	g.settle(c.Park)
}

// splitDelete takes what does not exist out of the request.
func (h *Handler) splitDelete(req *kmsg.OffsetDeleteRequest) (refused []kmsg.OffsetDeleteResponseTopic) {
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
			refused = append(refused, rt)
		}
		if len(kept.Partitions) > 0 {
			known = append(known, kept)
		}
	}
	req.Topics = known
	return refused
}

func joinDeleted(refused, done []kmsg.OffsetDeleteResponseTopic) []kmsg.OffsetDeleteResponseTopic {
	for _, r := range refused {
		joined := false
		for i := range done {
			if done[i].Topic == r.Topic {
				done[i].Partitions = append(done[i].Partitions, r.Partitions...)
				joined = true
				break
			}
		}
		if !joined {
			done = append(done, r)
		}
	}
	return done
}

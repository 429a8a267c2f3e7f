package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
	"github.com/kaja-mq/kaja/metadata"
)

// OffsetCommit (key 8), versions 2 to 10.
//
//	v3 throttle  v5 retention gone  v6 leader epoch  v7 static members (KIP-345)  v8 flexible  v9 member epochs (KIP-848)  v10 topic ids
//
// Seen on Apache 4.4: unknown topics and partitions are refused by themselves, the rest is committed; the group's id may be empty, the
// offset negative. Deviations: none.
func (h *Handler) offsetCommit(c Call) {
	req := kmsg.NewPtrOffsetCommitRequest()
	if !decode(c, req) {
		return
	}
	known, refused := h.splitCommit(req)
	if len(known) == 0 {
		resp := kmsg.NewPtrOffsetCommitResponse()
		resp.Version, resp.Topics = req.Version, refused.list
		c.Reply(resp)
		return
	}
	req.Topics = known
	fail := func(err *kerr.Error) kmsg.Response {
		resp := kmsg.NewPtrOffsetCommitResponse()
		resp.Version = req.Version
		for i := range known {
			rt := commitResponseTopic(&known[i])
			for _, p := range known[i].Partitions {
				rt.Partitions = append(rt.Partitions, commitResponsePartition(p.Partition, err.Code))
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	}
	g := &coordinatedCall{fail: fail, answer: func(r kmsg.Response) {
		resp := r.(*kmsg.OffsetCommitResponse)
		resp.Topics = refused.join(resp.Topics)
		c.Reply(resp)
	}}
	h.submit(req.Group, g, func(s *group.Shard, now coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		return s.OffsetCommit(now, hd, req)
	})
	g.settle(c.Park)
}

// splitCommit resolves the topics and takes out what does not exist.
func (h *Handler) splitCommit(req *kmsg.OffsetCommitRequest) (known []kmsg.OffsetCommitRequestTopic, refused *commitTopics) {
	img := h.Images()
	refused = &commitTopics{ids: req.Version >= 10}
	for _, t := range req.Topics {
		var topic *metadata.Topic
		code := kerr.UnknownTopicOrPartition.Code
		if req.Version >= 10 {
			topic, code = img.TopicByID(t.TopicID), kerr.UnknownTopicID.Code
		} else {
			topic = img.Topic(t.Topic)
		}
		rt := commitResponseTopic(&t)
		kept := t
		kept.Partitions = nil
		if topic != nil {
			kept.Topic, kept.TopicID = topic.Name, topic.ID
			code = kerr.UnknownTopicOrPartition.Code
		}
		for _, p := range t.Partitions {
			if topic == nil || topic.Partition(p.Partition) == nil {
				rt.Partitions = append(rt.Partitions, commitResponsePartition(p.Partition, code))
				continue
			}
			kept.Partitions = append(kept.Partitions, p)
		}
		if len(rt.Partitions) > 0 {
			refused.add(rt)
		}
		if len(kept.Partitions) > 0 {
			known = append(known, kept)
		}
	}
	return known, refused
}

func commitResponseTopic(t *kmsg.OffsetCommitRequestTopic) kmsg.OffsetCommitResponseTopic {
	rt := kmsg.NewOffsetCommitResponseTopic()
	rt.Topic, rt.TopicID = t.Topic, t.TopicID
	return rt
}

func commitResponsePartition(partition int32, code int16) kmsg.OffsetCommitResponseTopicPartition {
	rp := kmsg.NewOffsetCommitResponseTopicPartition()
	rp.Partition, rp.ErrorCode = partition, code
	return rp
}

// commitTopics puts the partitions of one topic together, as Kafka's response builder does.
type commitTopics struct {
	list []kmsg.OffsetCommitResponseTopic
	at   map[commitTopic]int
	ids  bool // topics are told by id (v10)
}

// commitTopic is what a topic is told by.
type commitTopic struct {
	name string
	id   [16]byte
}

func (l *commitTopics) add(t kmsg.OffsetCommitResponseTopic) {
	k := commitTopic{name: t.Topic}
	if l.ids {
		k = commitTopic{id: t.TopicID}
	}
	at, ok := l.at[k]
	if !ok {
		if l.at == nil {
			l.at = map[commitTopic]int{}
		}
		l.at[k] = len(l.list)
		l.list = append(l.list, t)
		return
	}
	l.list[at].TopicID = t.TopicID
	l.list[at].Partitions = append(l.list[at].Partitions, t.Partitions...)
}

// join adds what was done to what was refused; when nothing was, it is the answer as it is.
func (l *commitTopics) join(done []kmsg.OffsetCommitResponseTopic) []kmsg.OffsetCommitResponseTopic {
	if len(l.list) == 0 {
		return done
	}
	for _, d := range done {
		l.add(d)
	}
	return l.list
}

package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// noOffset is the offset of a partition without a commit.
const noOffset = -1

// OffsetFetch reads the offsets of one group of the request. Topics have been resolved (name and id set); nil Topics asks for all. With
// requireStable, a partition that an open transaction has written to has no answer yet.
func (s *Shard) OffsetFetch(req *kmsg.OffsetFetchRequestGroup, requireStable bool) *kmsg.OffsetFetchResponseGroup {
	resp := kmsg.NewOffsetFetchResponseGroup()
	resp.Group = req.Group
	g := s.groups[req.Group]
	if g != nil {
		if err := g.kind().validateFetch(req.MemberID, req.MemberEpoch); err != nil {
			resp.ErrorCode = err.Code
			return &resp
		}
	}
	o := s.offsets.groups[req.Group]
	if g == nil {
		o = nil
	}
	if req.Topics == nil {
		resp.Topics = fetchAll(o, requireStable)
		return &resp
	}
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			tp := topicPartition{t.Topic, p}
			c, ok := o.get(tp)
			if ok && c.topicID != t.TopicID && c.topicID != ([16]byte{}) && t.TopicID != ([16]byte{}) {
				ok = false // of an older topic of that name
			}
			rt.Partitions = append(rt.Partitions, fetched(p, c, ok, requireStable && o.unstable(tp)))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return &resp
}

func fetchAll(o *groupOffsets, requireStable bool) (out []kmsg.OffsetFetchResponseGroupTopic) {
	for _, tp := range o.all(false) {
		if n := len(out); n == 0 || out[n-1].Topic != tp.topic {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic = tp.topic
			out = append(out, rt)
		}
		t := &out[len(out)-1]
		c, _ := o.get(tp)
		t.TopicID = c.topicID
		t.Partitions = append(t.Partitions, fetched(tp.partition, c, true, requireStable && o.unstable(tp)))
	}
	return out
}

func fetched(partition int32, c committedOffset, ok, unstable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, noOffset, -1
	p.Metadata = kmsg.StringPtr("")
	switch {
	case unstable:
		p.ErrorCode = kerr.UnstableOffsetCommit.Code
	case ok:
		p.Offset, p.LeaderEpoch, p.Metadata = c.offset, c.leaderEpoch, kmsg.StringPtr(c.metadata)
	}
	return p
}

// OffsetDelete deletes offsets of topics that no member subscribes to. Topics have been checked to exist.
func (s *Shard) OffsetDelete(h coordinator.Handle, req *kmsg.OffsetDeleteRequest) (e coordinator.Effects) {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Version = req.Version
	g := s.groups[req.Group]
	switch {
	case g == nil:
		resp.ErrorCode = kerr.GroupIDNotFound.Code
	case g.classic != nil && g.classic.state != stateEmpty && g.classic.protocolType != consumerProtocolType:
		resp.ErrorCode = kerr.NonEmptyGroup.Code // whose subscriptions nobody can read
	}
	if resp.ErrorCode != 0 {
		return reply(h, resp)
	}
	e.Clean = true
	o := s.offsets.groups[req.Group]
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition = p.Partition
			tp := topicPartition{t.Topic, p.Partition}
			if g.kind().subscribedTo(t.Topic) {
				rp.ErrorCode = kerr.GroupSubscribedToTopic.Code
			} else if _, ok := o.get(tp); ok || o.unstable(tp) {
				e.Records = append(e.Records, offsetTombstone(g.id, tp))
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	answer(&e, h, resp)
	return e
}

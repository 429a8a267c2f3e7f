package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// OffsetFetch (key 9), versions 1 to 10.
//
//	v2 null for all topics, error of the whole  v3 throttle  v5 leader epoch  v6 flexible  v7 require stable (KIP-447)  v8 several groups (KIP-709)
//	v9 members' epochs (KIP-848)  v10 topic ids
//
// Seen on Apache 4.4: a group that does not exist has no offsets, without an error; topics that do not exist are answered like others, but
// for an unknown id. Deviations: none.
func (h *Handler) offsetFetch(c Call) {
	req := kmsg.NewPtrOffsetFetchRequest()
	if !decode(c, req) {
		return
	}
	groups := req.Groups
	if req.Version < 8 {
		groups = []kmsg.OffsetFetchRequestGroup{oldFetchGroup(req)}
	}
	g := newGathered(c, len(groups), func(parts []any) kmsg.Response { return offsetFetchResponse(req.Version, groups, parts) })
	for i := range groups {
		h.fetchGroup(g, i, req.Version, &groups[i], req.RequireStable)
	}
	g.settle(c)
}

// oldFetchGroup is a request before v8 as one of its successors.
func oldFetchGroup(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = req.Group, -1
	if req.Topics == nil {
		return g
	}
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	for _, t := range req.Topics {
		gt := kmsg.NewOffsetFetchRequestGroupTopic()
		gt.Topic, gt.Partitions = t.Topic, t.Partitions
		g.Topics = append(g.Topics, gt)
	}
	return g
}

// fetchGroup asks the coordinator of one group. Topics that are named by an unknown id are answered here.
func (h *Handler) fetchGroup(to *gathered, i int, version int16, g *kmsg.OffsetFetchRequestGroup, requireStable bool) {
	var unknown []kmsg.OffsetFetchResponseGroupTopic
	if version >= 10 && g.Topics != nil {
		g.Topics, unknown = h.topicsByID(g.Topics)
	}
	part := gatheredPart{to, i, func(err error) any {
		r := kmsg.NewOffsetFetchResponseGroup()
		r.Group, r.ErrorCode = g.Group, coordinatorError(err).Code
		return r
	}, func(resp kmsg.Response) any {
		r := resp.(*kmsg.OffsetFetchResponse).Groups[0]
		if r.ErrorCode == 0 {
			r.Topics = append(r.Topics, unknown...)
		}
		return r
	}}
	h.submit(g.Group, part, func(s *group.Shard, _ coordinator.Now, hd coordinator.Handle) coordinator.Effects {
		r := s.OffsetFetch(g, requireStable)
		if version >= 10 && g.Topics == nil {
			r.Topics = h.withIDs(r.Topics)
		}
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Groups = append(resp.Groups, *r)
		return coordinator.Effects{Replies: []coordinator.Reply{{To: hd, Response: resp}}}
	})
}

// topicsByID names the topics that exist.
func (h *Handler) topicsByID(topics []kmsg.OffsetFetchRequestGroupTopic) (known []kmsg.OffsetFetchRequestGroupTopic, unknown []kmsg.OffsetFetchResponseGroupTopic) {
	img := h.Images()
	known = []kmsg.OffsetFetchRequestGroupTopic{}
	for _, t := range topics {
		if m := img.TopicByID(t.TopicID); m != nil {
			t.Topic = m.Name
			known = append(known, t)
			continue
		}
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.TopicID = t.TopicID
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, noOffset(p, kerr.UnknownTopicID.Code))
		}
		unknown = append(unknown, rt)
	}
	return known, unknown
}

// withIDs gives all offsets of a group the ids of their topics; those of topics that are gone can't be told.
func (h *Handler) withIDs(topics []kmsg.OffsetFetchResponseGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	img := h.Images()
	kept := topics[:0]
	for _, t := range topics {
		if m := img.Topic(t.Topic); m != nil {
			t.TopicID = m.ID
			kept = append(kept, t)
		}
	}
	return kept
}

func noOffset(partition int32, code int16) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = partition, -1, -1, kmsg.StringPtr(""), code
	return p
}

// offsetFetchResponse puts the groups into the form of the version.
func offsetFetchResponse(version int16, requested []kmsg.OffsetFetchRequestGroup, parts []any) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = version
	if version >= 8 {
		for _, p := range parts {
			resp.Groups = append(resp.Groups, p.(kmsg.OffsetFetchResponseGroup))
		}
		return resp
	}
	g := parts[0].(kmsg.OffsetFetchResponseGroup)
	resp.ErrorCode = g.ErrorCode
	if version < 2 && g.ErrorCode != 0 { // there is no error of the whole
		for _, t := range requested[0].Topics {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, noOffset(p, g.ErrorCode))
			}
			g.Topics = append(g.Topics, rt)
		}
	}
	for _, t := range g.Topics {
		rt := kmsg.NewOffsetFetchResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetFetchResponseTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata, rp.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

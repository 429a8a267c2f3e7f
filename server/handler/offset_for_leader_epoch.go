package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetForLeaderEpoch (key 23), versions 2 to 4.
//
//	v2 current leader epoch (KIP-320)  v3 replica id  v4 flexible
//
// Seen on Apache 4.4: an epoch that the leader does not know, -1 among them, is (-1, -1) without an error; the newest ends at the
// log's end, not at the high watermark.
func (h *Handler) offsetForLeaderEpoch(c Call) {
	var req kmsg.OffsetForLeaderEpochRequest
	if !decode(c, &req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	img := h.Images()
	for i := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = req.Topics[i].Topic
		for j := range req.Topics[i].Partitions {
			p := &req.Topics[i].Partitions[j]
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, -1, -1
			local, err := h.replicaOf(img, rt.Topic, p.Partition)
			if err == nil {
				rp.LeaderEpoch, rp.EndOffset, err = local.EndOffsetForEpoch(p.CurrentLeaderEpoch, p.LeaderEpoch)
			}
			rp.ErrorCode = h.code(err, c)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.Reply(resp)
}

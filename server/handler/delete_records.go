package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteRecords (key 21), versions 0 to 2.
//
//	v1 same  v2 flexible
//
// Seen on Apache 4.4: -1 is the high watermark; an offset below the log start changes nothing and is no error; above the high watermark and
// below -1 it is OFFSET_OUT_OF_RANGE; a topic that is only compacted answers POLICY_VIOLATION, an internal one INVALID_TOPIC_EXCEPTION unless the
// client is Kafka's own admin tool.
func (h *Handler) deleteRecords(c Call) {
	var req kmsg.DeleteRecordsRequest
	if !decode(c, &req) {
		return
	}
	c.Offload(func() { h.deleteRecordsOf(c, &req) }) // renames and deletes files
}

func (h *Handler) deleteRecordsOf(c Call, req *kmsg.DeleteRecordsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	img := h.Images()
	id := c.Header().ClientID
	internal := id != nil && *id == adminClientID
	for i := range req.Topics {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition, rp.LowWatermark = p.Partition, -1
			local, err := h.replicaOf(img, rt.Topic, p.Partition)
			switch {
			case err != nil:
			case isInternalTopic(rt.Topic) && !internal:
				err = kerr.InvalidTopicException
			default:
				rp.LowWatermark, err = local.DeleteRecords(p.Offset)
			}
			rp.ErrorCode = h.code(err, c)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.Reply(resp)
}

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
// client is Kafka's own admin tool. Of a partition that is named twice the later offset counts, in one answer; a topic without partitions is
// not answered.
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
	wanted := map[topicPartition]int64{}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			wanted[topicPartition{req.Topics[i].Topic, p.Partition}] = p.Offset
		}
	}
	places := topicPlaces{}
	for i := range req.Topics {
		topic := req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			offset, ok := wanted[topicPartition{topic, p.Partition}]
			if !ok { // answered
				continue
			}
			delete(wanted, topicPartition{topic, p.Partition})
			n, first := places.of(topic)
			if first {
				rt := kmsg.NewDeleteRecordsResponseTopic()
				rt.Topic = topic
				resp.Topics = append(resp.Topics, rt)
			}
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition, rp.LowWatermark = p.Partition, -1
			local, err := h.replicaOf(img, topic, p.Partition)
			switch {
			case err != nil:
			case isInternalTopic(topic) && !internal:
				err = kerr.InvalidTopicException
			default:
				rp.LowWatermark, err = local.DeleteRecords(offset)
			}
			rp.ErrorCode = h.code(err, c)
			resp.Topics[n].Partitions = append(resp.Topics[n].Partitions, rp)
		}
	}
	c.Reply(resp)
}

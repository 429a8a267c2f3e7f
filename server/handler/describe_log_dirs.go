package handler

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeLogDirs (key 35), versions 1 to 5.
//
//	v2 flexible  v3 top level error  v4 size and usable bytes of the volume (KIP-827)  v5 cordoned (KIP-1066)
//
// Seen on Apache 4.4: null topics are all; partitions that are not here are left out; a directory that failed has
// KAFKA_STORAGE_ERROR and no topics; the log of __cluster_metadata is never listed.
func (h *Handler) describeLogDirs(c Call) {
	var req kmsg.DescribeLogDirsRequest
	if !decode(c, &req) {
		return
	}
	c.Offload(func() { c.Reply(h.logDirs(&req)) }) // asks the file system for space
}

func (h *Handler) logDirs(req *kmsg.DescribeLogDirsRequest) *kmsg.DescribeLogDirsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	wanted := map[topicPartition]bool{}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			wanted[topicPartition{req.Topics[i].Topic, p}] = true
		}
	}
	var cordoned [][16]byte
	if b := h.Images().Broker(h.NodeID); b != nil {
		cordoned = b.CordonedLogDirs
	}
	for _, d := range h.Data.Replicas.DescribeDirs(func(topic string, partition int32) bool {
		return req.Topics == nil || wanted[topicPartition{topic, partition}]
	}) {
		rd := kmsg.NewDescribeLogDirsResponseDir()
		rd.Dir = d.Path
		if !d.Online {
			rd.ErrorCode = kerr.KafkaStorageError.Code
			resp.Dirs = append(resp.Dirs, rd)
			continue
		}
		rd.TotalBytes, rd.UsableBytes = d.Total, d.Usable
		rd.IsCordoned = slices.Contains(cordoned, d.ID)
		for _, l := range d.Logs {
			rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			rp.Partition, rp.Size, rp.OffsetLag, rp.IsFuture = l.Partition, l.Size, l.OffsetLag, l.Future
			if n := len(rd.Topics); n == 0 || rd.Topics[n-1].Topic != l.Topic {
				rt := kmsg.NewDescribeLogDirsResponseDirTopic()
				rt.Topic = l.Topic
				rd.Topics = append(rd.Topics, rt)
			}
			rt := &rd.Topics[len(rd.Topics)-1]
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Dirs = append(resp.Dirs, rd)
	}
	return resp
}

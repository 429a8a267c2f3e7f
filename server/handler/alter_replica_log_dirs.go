package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/replica"
)

// AlterReplicaLogDirs (key 34), versions 1 and 2.
//
//	v2 flexible
//
// Seen on Apache 4.4: the directory is looked at before the partition (LOG_DIR_NOT_FOUND also for an unknown topic); a replica that another
// broker has is REPLICA_NOT_AVAILABLE; of a replica that is named twice the later directory counts, in one answer. A topic's name must leave room for the suffix of the future log (INVALID_TOPIC_EXCEPTION).
func (h *Handler) alterReplicaLogDirs(c Call) {
	var req kmsg.AlterReplicaLogDirsRequest
	if !decode(c, &req) {
		return
	}
	c.Offload(func() { c.Reply(h.moveReplicas(c, &req)) }) // makes directories
}

// maxMovableTopicName is how long a topic's name may be for its future log to have a directory: 255 - len("-<partition>.<32>-future") as
// Kafka reckons it, LogManager's and Topic's limits.
const maxMovableTopicName = maxTopicName - 36

func (h *Handler) moveReplicas(c Call, req *kmsg.AlterReplicaLogDirsRequest) *kmsg.AlterReplicaLogDirsResponse {
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	img := h.Images()
	wanted := map[topicPartition]string{}
	for i := range req.Dirs {
		for j := range req.Dirs[i].Topics {
			for _, p := range req.Dirs[i].Topics[j].Partitions {
				wanted[topicPartition{req.Dirs[i].Topics[j].Topic, p}] = req.Dirs[i].Dir
			}
		}
	}
	places := topicPlaces{}
	for i := range req.Dirs {
		for j := range req.Dirs[i].Topics {
			t := &req.Dirs[i].Topics[j]
			n, first := places.of(t.Topic)
			if first {
				rt := kmsg.NewAlterReplicaLogDirsResponseTopic()
				rt.Topic = t.Topic
				resp.Topics = append(resp.Topics, rt)
			}
			for _, p := range t.Partitions {
				dir, ok := wanted[topicPartition{t.Topic, p}]
				if !ok { // answered
					continue
				}
				delete(wanted, topicPartition{t.Topic, p})
				rp := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				rp.Partition = p
				local, err := h.replicaOf(img, t.Topic, p)
				rp.ErrorCode = h.code(h.moveReplica(local, err, dir, t.Topic), c)
				resp.Topics[n].Partitions = append(resp.Topics[n].Partitions, rp)
			}
		}
	}
	return resp
}

// moveReplica moves one replica; missing is why there is none.
func (h *Handler) moveReplica(local *replica.Partition, missing error, dir, topic string) error {
	if len(topic) > maxMovableTopicName {
		return kerr.InvalidTopicException
	}
	err := h.Data.Replicas.MoveDir(local, dir)
	if local == nil && err == kerr.ReplicaNotAvailable && missing == kerr.UnknownTopicOrPartition {
		return missing
	}
	return err
}

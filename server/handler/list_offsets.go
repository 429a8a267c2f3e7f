package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/replica"
)

// ListOffsets (key 2), versions 1 to 11.
//
//	v2 isolation level  v4 leader epoch  v5 OFFSET_NOT_AVAILABLE  v6 flexible  v7 max timestamp -3 (KIP-734)  v8 earliest local -4 (KIP-405)
//	v9 last tiered -5 (KIP-1005)  v10 time-out (KIP-1075)  v11 earliest pending upload -6 (KIP-1023)
//
// Seen on Apache 4.4: a partition that is named twice gets INVALID_REQUEST, once; a special value before its version is UNSUPPORTED_VERSION, an
// isolation level that there is not UNKNOWN_SERVER_ERROR; a topic without partitions is not answered; -5 and -6 of a topic without remote storage are
// offset -1 without an error; a time whose record lies at or above the bound (high watermark, last stable offset) is not found. The time-out
// is for remote storage only.
func (h *Handler) listOffsets(c Call) {
	var req kmsg.ListOffsetsRequest
	if !decode(c, &req) {
		return
	}
	answer := func() { c.Reply(h.offsetsOf(c, &req)) }
	if mayBlock(&req) {
		c.Offload(answer) // reads, perhaps decompresses
		return
	}
	answer()
}

func mayBlock(req *kmsg.ListOffsetsRequest) bool {
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			if (replica.OffsetQuery{Timestamp: req.Topics[i].Partitions[j].Timestamp}).MayBlock() {
				return true
			}
		}
	}
	return false
}

// topicPartition names a partition within one request.
type topicPartition struct {
	topic     string
	partition int32
}

// topicPlaces are the places of topics among the answers: each has one, however often a request names it.
type topicPlaces map[string]int

// of gives the topic's place; first says that its answer is to be appended.
func (t topicPlaces) of(topic string) (n int, first bool) {
	n, ok := t[topic]
	if !ok {
		n = len(t)
		t[topic] = n
	}
	return n, !ok
}

func (h *Handler) offsetsOf(c Call, req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	named := map[topicPartition]int{}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			named[topicPartition{req.Topics[i].Topic, req.Topics[i].Partitions[j].Partition}]++
		}
	}
	img := h.Images()
	places := topicPlaces{}
	for i := range req.Topics {
		topic := req.Topics[i].Topic
		for j := range req.Topics[i].Partitions {
			p := &req.Topics[i].Partitions[j]
			key := topicPartition{topic, p.Partition}
			times := named[key]
			if times == 0 { // answered
				continue
			}
			delete(named, key)
			n, first := places.of(topic)
			if first {
				rt := kmsg.NewListOffsetsResponseTopic()
				rt.Topic = topic
				resp.Topics = append(resp.Topics, rt)
			}
			var rp kmsg.ListOffsetsResponseTopicPartition
			if times > 1 {
				rp = notListed(p.Partition)
				rp.ErrorCode = kerr.InvalidRequest.Code
			} else {
				rp = h.offsetOf(c, img, req, topic, p)
			}
			resp.Topics[n].Partitions = append(resp.Topics[n].Partitions, rp)
		}
	}
	return resp
}

// notListed is the answer of a partition without an offset.
func notListed(partition int32) kmsg.ListOffsetsResponseTopicPartition {
	rp := kmsg.NewListOffsetsResponseTopicPartition()
	rp.Partition, rp.Timestamp, rp.Offset, rp.LeaderEpoch = partition, -1, -1, -1
	return rp
}

// offsetOf looks one partition's offset up.
func (h *Handler) offsetOf(c Call, img *metadata.Image, req *kmsg.ListOffsetsRequest, topic string,
	p *kmsg.ListOffsetsRequestTopicPartition) kmsg.ListOffsetsResponseTopicPartition {
	rp := notListed(p.Partition)
	var err error
	var local *replica.Partition
	switch {
	case req.ReplicaID == consumerReplica && !isolationKnown(req.IsolationLevel):
		err = kerr.UnknownServerError
	case !timestampKnown(p.Timestamp, req.Version):
		err = kerr.UnsupportedVersion
	default:
		local, err = h.replicaOf(img, topic, p.Partition)
	}
	if err == nil {
		var at replica.TimestampOffset
		at, err = local.Offset(replica.OffsetQuery{Timestamp: p.Timestamp, LeaderEpoch: p.CurrentLeaderEpoch, Consumer: req.ReplicaID == consumerReplica,
			ReadCommitted: req.IsolationLevel == readCommitted, LeaderOnly: req.ReplicaID != debuggingReplica})
		rp.Timestamp, rp.Offset, rp.LeaderEpoch = at.Timestamp, at.Offset, at.LeaderEpoch
	}
	rp.ErrorCode = h.code(err, c)
	if rp.ErrorCode == kerr.OffsetNotAvailable.Code && req.Version < 5 {
		rp.ErrorCode = kerr.LeaderNotAvailable.Code
	}
	return rp
}

// Isolation levels of Fetch and ListOffsets.
const (
	readUncommitted = 0
	readCommitted   = 1
)

func isolationKnown(level int8) bool { return level == readUncommitted || level == readCommitted }

// Replica ids that are no broker.
const (
	consumerReplica  = -1
	debuggingReplica = -2
)

// timestampKnown tells whether a version knows a special value; times are 0 and above.
func timestampKnown(ts int64, version int16) bool {
	switch ts {
	case replica.MaxTimestamp:
		return version >= 7
	case replica.EarliestLocalTimestamp:
		return version >= 8
	case replica.LatestTieredTimestamp:
		return version >= 9
	case replica.EarliestPendingTimestamp:
		return version >= 11
	}
	return ts >= replica.EarliestTimestamp
}

package handler

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
)

// DescribeTopicPartitions (key 75), version 0 (KIP-966).
//
// Seen on Apache 4.4.0: topics come by name, each once, from the cursor on; without topics in the request all are described. At most
// max.request.partition.size.limit partitions, or as many as the client wants (at least one), then a cursor says where to go on; a
// topic that does not exist costs nothing. A negative cursor, or one whose topic is not asked for, spoils the request: every topic
// gets INVALID_REQUEST. A cursor past the last partition gives the topic without partitions. The lists of eligible leaders are empty,
// never null. No partition has an error, one without a leader has leader -1. Deviations: none.
func (h *Handler) describeTopicPartitions(c Call) {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	if !decode(c, req) {
		return
	}
	limit := max(min(int(h.Config().Int("max.request.partition.size.limit")), int(req.ResponsePartitionLimit)), 1)
	c.Reply(describeTopics(h.Images(), c.Conn().Listener(), req, limit))
}

func describeTopics(img *metadata.Image, listener string, req *kmsg.DescribeTopicPartitionsRequest, limit int) *kmsg.DescribeTopicPartitionsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	names := make([]string, 0, len(req.Topics))
	for i := range req.Topics {
		names = append(names, req.Topics[i].Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	from, first := "", int32(0)
	if cur := req.Cursor; cur != nil {
		from, first = cur.Topic, cur.Partition
		if first < 0 || len(names) > 0 && !slices.Contains(names, from) {
			spoilDescription(resp, req)
			return resp
		}
	}
	d := topicDescriber{img: img, listener: listener, resp: resp, remaining: limit}
	if len(names) > 0 {
		at, _ := slices.BinarySearch(names, from)
		for _, name := range names[at:] {
			if !d.add(img.Topic(name), name, startOf(name, from, first)) {
				break
			}
		}
		return resp
	}
	for t := range img.TopicsFrom(from) {
		if !d.add(t, t.Name, startOf(t.Name, from, first)) {
			break
		}
	}
	return resp
}

// startOf is the first partition to describe: the cursor's in the cursor's topic.
func startOf(name, cursorTopic string, cursorPartition int32) int {
	if name == cursorTopic {
		return int(cursorPartition)
	}
	return 0
}

// spoilDescription answers every topic of the request, also those that come twice.
func spoilDescription(resp *kmsg.DescribeTopicPartitionsResponse, req *kmsg.DescribeTopicPartitionsRequest) {
	for i := range req.Topics {
		rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
		rt.ErrorCode, rt.Topic = kerr.InvalidRequest.Code, &req.Topics[i].Topic
		resp.Topics = append(resp.Topics, rt)
	}
}

// topicDescriber fills a response until it is full.
type topicDescriber struct {
	img       *metadata.Image
	listener  string
	resp      *kmsg.DescribeTopicPartitionsResponse
	remaining int // partitions
}

// add describes a topic, which is nil when it does not exist, from a partition on. It returns false when the response is full, and has
// then set the cursor.
func (d *topicDescriber) add(t *metadata.Topic, name string, start int) bool {
	if d.remaining == 0 {
		d.cursor(name, 0)
		return false
	}
	rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
	rt.Topic, rt.IsInternal, rt.AuthorizedOperations = &name, isInternalTopic(name), topicOperations
	if t == nil {
		rt.ErrorCode = kerr.UnknownTopicOrPartition.Code
		if !validTopicName(name) {
			rt.ErrorCode = kerr.InvalidTopicException.Code
		}
		d.resp.Topics = append(d.resp.Topics, rt)
		return true
	}
	rt.TopicID = t.ID
	upper := min(start+d.remaining, len(t.Partitions))
	for id := start; id < upper; id++ {
		if p := &t.Partitions[id]; p.Exists() {
			rt.Partitions = append(rt.Partitions, d.partition(int32(id), p))
		}
	}
	d.resp.Topics = append(d.resp.Topics, rt)
	if upper < len(t.Partitions) {
		d.cursor(name, int32(upper))
		return false
	}
	d.remaining -= len(rt.Partitions)
	return true
}

func (d *topicDescriber) cursor(topic string, partition int32) {
	cur := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	cur.Topic, cur.Partition = topic, partition
	d.resp.NextCursor = &cur
}

func (d *topicDescriber) partition(id int32, p *metadata.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	rp := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	rp.Partition, rp.LeaderID, rp.LeaderEpoch = id, metadata.NoLeader, p.LeaderEpoch
	if b := d.img.Broker(p.Leader); b != nil && reachable(b, d.listener) {
		rp.LeaderID = p.Leader
	}
	rp.Replicas, rp.ISR, rp.OfflineReplicas = p.Replicas, p.ISR, offlineReplicas(d.img, p, d.listener)
	rp.EligibleLeaderReplicas, rp.LastKnownELR = notNull(p.ELR), notNull(p.LastKnownELR)
	return rp
}

func notNull(list []int32) []int32 {
	if list == nil {
		return []int32{}
	}
	return list
}

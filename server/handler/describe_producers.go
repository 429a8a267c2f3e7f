package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/replica"
)

// DescribeProducers (key 61), version 0 (KIP-664).
//
// Seen on Apache 4.4: the name is checked first (INVALID_TOPIC_EXCEPTION with the reason), an unknown topic comes with a message, an unknown
// partition of a known topic without one. Coordinator epoch -1 is a producer that never ended a transaction.
func (h *Handler) describeProducers(c Call) {
	var req kmsg.DescribeProducersRequest
	if !decode(c, &req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	img := h.Images()
	for i := range req.Topics {
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = req.Topics[i].Topic
		var whole *kerr.Error
		var message string
		if problem := topicNameProblem(rt.Topic); problem != "" {
			whole, message = kerr.InvalidTopicException, "Topic name is invalid: "+problem
		} else if img.Topic(rt.Topic) == nil {
			whole, message = kerr.UnknownTopicOrPartition, "This server does not host this topic-partition."
		}
		for _, p := range req.Topics[i].Partitions {
			rp := kmsg.NewDescribeProducersResponseTopicPartition()
			rp.Partition = p
			if whole != nil {
				rp.ErrorCode, rp.ErrorMessage = whole.Code, &message
			} else {
				local, err := h.replicaOf(img, rt.Topic, p)
				if err == nil {
					rp.ActiveProducers, err = producersOf(local.Producers())
				}
				rp.ErrorCode = h.code(err, c)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.Reply(resp)
}

// producersOf puts producer states into the form of the response.
func producersOf(list []replica.ProducerState, err error) ([]kmsg.DescribeProducersResponseTopicPartitionActiveProducer, error) {
	var out []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
	for _, s := range list {
		p := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		p.ProducerID, p.ProducerEpoch, p.LastSequence, p.LastTimestamp = s.ProducerID, int32(s.ProducerEpoch), s.LastSequence, s.LastTimestamp
		p.CoordinatorEpoch, p.CurrentTxnStartOffset = s.CoordinatorEpoch, s.CurrentTxnStartOffset
		out = append(out, p)
	}
	return out, err
}

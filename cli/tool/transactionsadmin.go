package tool

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnAdmin is what Kafka's Admin does for kafka-transactions, with its exceptions.
type txnAdmin struct{ c *cluster }

// gaveUp is what a call says that looked for a partition until its time was over. It is told at once: a partition that is not there will hardly
// come meanwhile.
func gaveUp(call string) error { return callError(context.DeadlineExceeded, call+"(api=METADATA)") }

// txnFilter says which transactions to list.
type txnFilter struct {
	duration  int64 // milliseconds that they have run for longer than; negative for all
	pattern   string
	producers []int64
}

// listedTxn is a transaction as its coordinator lists it.
type listedTxn struct {
	id          string
	coordinator int32
	producer    int64
	state       string
}

// list asks every broker.
func (a txnAdmin) list(ctx context.Context, f txnFilter) ([]listedTxn, error) {
	req := kmsg.NewPtrListTransactionsRequest()
	req.ProducerIDFilters, req.DurationFilterMillis = f.producers, f.duration
	if f.pattern != "" {
		req.TransactionalIDPattern = &f.pattern
	}
	ctx, cancel := a.c.deadline(ctx)
	defer cancel()
	var found []listedTxn
	for _, shard := range a.c.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, callError(shard.Err, "listTransactions(api=METADATA)")
		}
		resp := shard.Resp.(*kmsg.ListTransactionsResponse)
		switch err := exceptionOf(resp.ErrorCode, nil).(type) {
		case nil:
		case *exception:
			err.message = "ListTransactions request sent to broker " + decimal(shard.Meta.NodeID) + " failed with an unexpected exception"
			return nil, err
		}
		for _, t := range resp.TransactionStates {
			found = append(found, listedTxn{t.TransactionalID, shard.Meta.NodeID, t.ProducerID, t.TransactionState})
		}
	}
	slices.SortStableFunc(found, func(a, b listedTxn) int { return cmp.Compare(a.coordinator, b.coordinator) })
	return found, nil
}

// describedTxn is a transaction as its coordinator describes it.
type describedTxn struct {
	coordinator int32
	producer    int64
	epoch       int16
	state       string
	timeout     int32 // milliseconds
	start       int64 // milliseconds since the epoch, negative for none
	partitions  []topicPartition
}

func (a txnAdmin) describe(ctx context.Context, id string) (describedTxn, error) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	ctx, cancel := a.c.deadline(ctx)
	defer cancel()
	for _, shard := range a.c.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return describedTxn{}, callError(shard.Err, "describeTransactions(api=FIND_COORDINATOR)")
		}
		for _, t := range shard.Resp.(*kmsg.DescribeTransactionsResponse).TransactionStates {
			if err, ok := exceptionOf(t.ErrorCode, nil).(*exception); ok {
				err.message = "DescribeTransactions request for transactionalId `" + id + "` failed " + orUnexpected(t.ErrorCode, map[int16]string{
					kerr.TransactionalIDNotFound.Code:            "because the ID could not be found",
					kerr.TransactionalIDAuthorizationFailed.Code: "due to authorization failure",
				})
				return describedTxn{}, err
			}
			d := describedTxn{shard.Meta.NodeID, t.ProducerID, t.ProducerEpoch, t.State, t.TimeoutMillis, t.StartTimestamp, nil}
			for _, topic := range t.Topics {
				for _, p := range topic.Partitions {
					d.partitions = append(d.partitions, topicPartition{topic.Topic, p})
				}
			}
			return d, nil
		}
	}
	return describedTxn{}, callError(context.DeadlineExceeded, "describeTransactions(api=FIND_COORDINATOR)")
}

// orUnexpected is what a code means.
func orUnexpected(code int16, known map[int16]string) string {
	if text, ok := known[code]; ok {
		return text
	}
	return "due to unexpected error"
}

// producerState is a producer that a partition remembers.
type producerState struct {
	topicPartition
	id               int64
	epoch            int32
	coordinatorEpoch int32 // -1 for none
	lastSequence     int32
	lastTimestamp    int64
	txnStart         int64 // -1 for none
}

// producers asks the leaders of partitions, or one broker if it is not negative.
func (a txnAdmin) producers(ctx context.Context, tps []topicPartition, broker int32) ([]producerState, error) {
	if len(tps) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, tp := range tps {
		i := slices.IndexFunc(req.Topics, func(t kmsg.DescribeProducersRequestTopic) bool { return t.Topic == tp.Topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, kmsg.DescribeProducersRequestTopic{Topic: tp.Topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, tp.Partition)
	}
	if broker >= 0 {
		resp, err := a.c.callTo(ctx, broker, "describeProducers", req)
		if err != nil {
			return nil, err
		}
		return producerStates(resp.(*kmsg.DescribeProducersResponse), broker)
	}
	ctx, cancel := a.c.deadline(ctx)
	defer cancel()
	var all []producerState
	for _, shard := range a.c.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, gaveUp("describeProducers")
		}
		found, err := producerStates(shard.Resp.(*kmsg.DescribeProducersResponse), -1)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func producerStates(resp *kmsg.DescribeProducersResponse, broker int32) (found []producerState, err error) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			tp := topicPartition{t.Topic, p.Partition}
			if e, ok := exceptionOf(p.ErrorCode, p.ErrorMessage).(*exception); ok {
				e.message = producersFailure(p.ErrorCode, tp, broker, e.message)
				return nil, e
			}
			for _, s := range p.ActiveProducers {
				found = append(found, producerState{tp, s.ProducerID, s.ProducerEpoch, s.CoordinatorEpoch, s.LastSequence, s.LastTimestamp, s.CurrentTxnStartOffset})
			}
		}
	}
	return found, nil
}

func producersFailure(code int16, tp topicPartition, broker int32, message string) string {
	switch code {
	case kerr.NotLeaderForPartition.Code:
		return "Failed to describe active producers for partition " + partitionText(tp) + " on brokerId " + decimal(broker)
	case kerr.TopicAuthorizationFailed.Code:
		return "Failed to describe active producers for partition " + partitionText(tp) + " due to authorization failure on topic `" + tp.Topic + "`"
	case kerr.InvalidTopicException.Code:
		return "Failed to fetch metadata for partition " + partitionText(tp) + " due to invalid topic error: " + message
	case kerr.UnknownTopicOrPartition.Code:
		return message
	}
	return "Failed to describe active producers for partition " + partitionText(tp) + " due to unexpected error"
}

// abort writes an abort marker into a partition.
func (a txnAdmin) abort(ctx context.Context, spec abortSpec) error {
	leader, err := a.leader(ctx, spec.topicPartition)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch = spec.producer, spec.epoch, spec.coordinatorEpoch
	m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: spec.Topic, Partitions: []int32{spec.Partition}}}
	req.Markers = []kmsg.WriteTxnMarkersRequestMarker{m}
	resp, err := a.c.callTo(ctx, leader, "abortTransaction", req)
	if err != nil {
		return err
	}
	for _, m := range resp.(*kmsg.WriteTxnMarkersResponse).Markers {
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				if e, ok := exceptionOf(p.ErrorCode, nil).(*exception); ok {
					e.message = abortFailure(p.ErrorCode, spec, e.message)
					return e
				}
			}
		}
	}
	return nil
}

func abortFailure(code int16, spec abortSpec, message string) string {
	request := "WriteTxnMarkers request with " + spec.String() + " failed "
	switch code {
	case kerr.ClusterAuthorizationFailed.Code:
		return request + "due to cluster authorization error"
	case kerr.InvalidProducerEpoch.Code:
		return request + "due an invalid producer epoch"
	case kerr.TransactionCoordinatorFenced.Code:
		return request + "since the provided coordinator epoch " + decimal(spec.coordinatorEpoch) + " has been fenced by the active coordinator"
	}
	return request + "due to unexpected error: " + message
}

// leader is the broker that leads a partition.
func (a txnAdmin) leader(ctx context.Context, tp topicPartition) (int32, error) {
	topics, err := a.metadata(ctx, []string{tp.Topic}, "abortTransaction(api=METADATA)")
	if err != nil {
		return 0, err
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.Partition == tp.Partition && p.Leader >= 0 {
				return p.Leader, nil
			}
		}
	}
	return 0, gaveUp("abortTransaction")
}

func (a txnAdmin) metadata(ctx context.Context, topics []string, call string) ([]kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := a.c.call(ctx, call, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.MetadataResponse).Topics, nil
}

// partitions are those of topics, of all that are not internal if there are none, that a broker has if it is not negative.
func (a txnAdmin) partitions(ctx context.Context, topics []string, broker int32) (tps []topicPartition, err error) {
	found, err := a.metadata(ctx, topics, "describeTopics")
	for _, t := range found {
		if t.IsInternal && len(topics) == 0 {
			continue
		}
		if err := exceptionOf(t.ErrorCode, nil); err != nil {
			return nil, err
		}
		for _, p := range t.Partitions {
			if broker < 0 || slices.Contains(p.Replicas, broker) {
				tps = append(tps, topicPartition{*t.Topic, p.Partition})
			}
		}
	}
	return tps, err
}

// forceTerminate takes a transactional id's producer its epoch away, which ends its transaction.
func (a txnAdmin) forceTerminate(ctx context.Context, id string) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID = &id
	req.TransactionTimeoutMillis = 1
	resp, err := a.c.call(ctx, "fenceProducer(api=FIND_COORDINATOR)", req)
	if err != nil {
		return err
	}
	code := resp.(*kmsg.InitProducerIDResponse).ErrorCode
	if e, ok := exceptionOf(code, nil).(*exception); ok {
		e.message = "InitProducerId request for transactionalId `" + id + "` failed " + orUnexpected(code, map[int16]string{
			kerr.ClusterAuthorizationFailed.Code:         "due to cluster authorization failure",
			kerr.TransactionalIDAuthorizationFailed.Code: "due to transactional ID authorization failure",
		})
		return e
	}
	return nil
}

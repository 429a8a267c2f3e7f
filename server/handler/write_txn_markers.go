package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/txn"
)

// WriteTxnMarkers (key 27), versions 1 to 2.
//
//	v1 flexible  v2 transaction version, by which a leader checks the epoch (KIP-1228)
//
// Coordinators of other brokers send it, and kafka-transactions abort for a transaction that no coordinator knows any more. Seen on Apache 4.4: a
// partition that this broker does not have is UNKNOWN_TOPIC_OR_PARTITION; markers of __consumer_offsets go through the group coordinator, whose
// errors become NOT_LEADER_OR_FOLLOWER; a marker without a producer id or epoch,
// or of a negative transaction version, is UNKNOWN_SERVER_ERROR. Deviations: none.
func (h *Handler) writeTxnMarkers(c Call) {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	if !decode(c, req) {
		return
	}
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	resp.Version = req.Version
	n := 0
	for _, m := range req.Markers {
		rm := kmsg.NewWriteTxnMarkersResponseMarker()
		rm.ProducerID = m.ProducerID
		for _, t := range m.Topics {
			rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
			rt.Topic, rt.Partitions = t.Topic, make([]kmsg.WriteTxnMarkersResponseMarkerTopicPartition, len(t.Partitions))
			rm.Topics = append(rm.Topics, rt)
			n += len(t.Partitions)
		}
		resp.Markers = append(resp.Markers, rm)
	}
	g := newGathered(c, n, func([]any) kmsg.Response { return resp })
	n = 0
	for i, m := range req.Markers {
		for j, t := range m.Topics {
			for k, p := range t.Partitions {
				at, part := n, &resp.Markers[i].Topics[j].Partitions[k]
				part.Partition = p
				h.writeMarker(markerOf(&m, t.Topic, p), func(code int16) {
					part.ErrorCode = code
					g.put(at, nil)
				})
				n++
			}
		}
	}
	g.settle(c)
}

func markerOf(m *kmsg.WriteTxnMarkersRequestMarker, topic string, partition int32) TxnMarker {
	return TxnMarker{
		Partition:        txn.Partition{Topic: topic, Partition: partition},
		Txn:              coordinator.Txn{ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, MarkerVersion: int16(m.TransactionVersion)},
		Commit:           m.Committed,
		CoordinatorEpoch: m.CoordinatorEpoch,
	}
}

func (h *Handler) writeMarker(m TxnMarker, done func(code int16)) {
	if _, err := h.replicaOf(h.Images(), m.Topic, m.Partition.Partition); err != nil {
		done(kerr.UnknownTopicOrPartition.Code)
		return
	}
	if m.ProducerID == -1 || m.ProducerID >= 0 && (m.ProducerEpoch == -1 || m.MarkerVersion < 0) {
		done(kerr.UnknownServerError.Code) // no marker can be made of it: an illegal argument to Kafka
		return
	}
	h.Txns.WriteMarker(m, func(err error) {
		if m.Topic != offsetsTopic || err == nil {
			done(codeOf(err))
			return
		}
		switch k := coordinatorError(err); k {
		case kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator:
			done(kerr.NotLeaderForPartition.Code)
		default:
			done(k.Code)
		}
	})
}

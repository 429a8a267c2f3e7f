package handler

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
)

// Endpoint types of DescribeCluster (KIP-919).
const (
	endpointBroker     int8 = 1
	endpointController int8 = 2
)

// DescribeCluster (key 60), versions 0 to 2.
//
//	v1 endpoint type, for the controllers (KIP-919)  v2 fenced brokers (KIP-1073)
//
// Seen on Apache 4.4.0: asked for controllers a broker answers MISMATCHED_ENDPOINT_TYPE, with an unknown type UNSUPPORTED_ENDPOINT_TYPE; both with
// an empty cluster id, controller -1 and endpoint type 1. Brokers that lack the listener are left out. Deviations: none.
func (h *Handler) describeCluster(c Call) {
	req := kmsg.NewPtrDescribeClusterRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	img := h.Images()
	switch {
	case req.Version == 0 || req.EndpointType == endpointBroker:
		resp.ClusterID, resp.ControllerID = h.ClusterID, anyBroker(img, c.Conn().ID())
		resp.Brokers = describedBrokers(img, h.viewpoint(c.Conn()), req.Version >= 2 && req.IncludeFencedBrokers)
		if req.IncludeClusterAuthorizedOperations {
			resp.ClusterAuthorizedOperations = clusterOperations
		}
	case req.EndpointType == endpointController:
		refuseEndpoint(resp, kerr.MismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
	default:
		refuseEndpoint(resp, kerr.UnsupportedEndpointType, fmt.Sprintf("Unsupported endpoint type %d", req.EndpointType))
	}
	c.Reply(resp)
}

func refuseEndpoint(resp *kmsg.DescribeClusterResponse, err *kerr.Error, message string) {
	resp.ErrorCode, resp.ErrorMessage, resp.ControllerID = err.Code, &message, -1
}

func describedBrokers(img *metadata.Image, v viewpoint, withFenced bool) []kmsg.DescribeClusterResponseBroker {
	brokers := make([]kmsg.DescribeClusterResponseBroker, 0, img.BrokerCount())
	for b := range img.Brokers() {
		e, ok := v.endpoint(b)
		if !ok || b.Fenced && !withFenced {
			continue
		}
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID, rb.Host, rb.Port, rb.Rack, rb.IsFenced = b.ID, e.Host, int32(e.Port), b.Rack, b.Fenced
		brokers = append(brokers, rb)
	}
	return brokers
}

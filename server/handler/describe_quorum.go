package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeQuorum (key 55), versions 0 to 2 (KIP-595).
//
//	v1 times of fetches (KIP-836)  v2 directory ids and endpoints (KIP-853)
//
// Seen on Apache 4.4: anything but the one partition of the metadata log alone is UNKNOWN_TOPIC_OR_PARTITION, with leader 0 and
// epoch 0. Deviations: a node without a controller listener tells the broker's first listener under the name CONTROLLER.
func (h *Handler) describeQuorum(c Call) {
	c.Park()
	req := kmsg.NewPtrDescribeQuorumRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.DescribeQuorum(req, func(resp *kmsg.DescribeQuorumResponse) { c.Reply(resp) })
}

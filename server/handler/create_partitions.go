package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// CreatePartitions (key 37), versions 0 to 3.
//
//	v1 same  v2 flexible  v3 same
//
// Seen on Apache 4.4: an unknown topic is refused without a message; more than 10,000 new partitions in one request are
// POLICY_VIOLATION for every topic of it. Deviations: none.
func (h *Handler) createPartitions(c Call) {
	c.Park()
	req := kmsg.NewPtrCreatePartitionsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.CreatePartitions(req, func(resp *kmsg.CreatePartitionsResponse) { c.Reply(resp) })
}

package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// ListPartitionReassignments (key 46), version 0 (KIP-455). Unknown topics and partitions are left out. Deviations: none.
func (h *Handler) listPartitionReassignments(c Call) {
	c.Park()
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.ListPartitionReassignments(req, func(resp *kmsg.ListPartitionReassignmentsResponse) { c.Reply(resp) })
}

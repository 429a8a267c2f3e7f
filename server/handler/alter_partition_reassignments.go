package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// AlterPartitionReassignments (key 45), versions 0 to 1 (KIP-455).
//
//	v1 may forbid another replication factor (KIP-1073)
//
// Seen on Apache 4.4: a null list of replicas cancels, and is NO_REASSIGNMENT_IN_PROGRESS when there is nothing to cancel; the list that is
// there already is fine. Deviations: none.
func (h *Handler) alterPartitionReassignments(c Call) {
	c.Park()
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.AlterPartitionAssignments(req, func(resp *kmsg.AlterPartitionAssignmentsResponse) { c.Reply(resp) })
}

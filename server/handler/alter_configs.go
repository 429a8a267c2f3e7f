package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// AlterConfigs (key 33), versions 0 to 2: what is not named goes back to its default.
//
//	v1 same  v2 flexible
//
// Seen on Apache 4.4: BROKER_LOGGER is an unknown type here. Deviations: none.
func (h *Handler) alterConfigs(c Call) {
	c.Park()
	req := kmsg.NewPtrAlterConfigsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.AlterConfigs(req, func(resp *kmsg.AlterConfigsResponse) { c.Reply(resp) })
}

package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// IncrementalAlterConfigs (key 44), versions 0 to 1 (KIP-339).
//
//	v1 flexible
//
// Seen on Apache 4.4: a resource named twice is refused in both places; an operation that there is not is UNKNOWN_SERVER_ERROR without a
// message; a broker's settings are INVALID_REQUEST where a topic's would be INVALID_CONFIG; another broker's settings are refused by this one.
// Deviations: loggers are root and one per part of the broker; advertised.listeners may be altered.
func (h *Handler) incrementalAlterConfigs(c Call) {
	c.Park()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.IncrementalAlterConfigs(req, func(resp *kmsg.IncrementalAlterConfigsResponse) { c.Reply(resp) })
}

package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// UnregisterBroker (key 64), version 0. Deviations: none.
func (h *Handler) unregisterBroker(c Call) {
	c.Park()
	req := kmsg.NewPtrUnregisterBrokerRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.UnregisterBroker(req, func(resp *kmsg.UnregisterBrokerResponse) { c.Reply(resp) })
}

package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// ElectLeaders (key 43), versions 0 to 2 (KIP-183).
//
//	v1 unclean elections, error at the top (KIP-460)  v2 flexible
//
// Seen on Apache 4.4: without a list of topics only partitions that needed an election are in the answer. Deviations: none.
func (h *Handler) electLeaders(c Call) {
	c.Park()
	req := kmsg.NewPtrElectLeadersRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.ElectLeaders(req, func(resp *kmsg.ElectLeadersResponse) { c.Reply(resp) })
}

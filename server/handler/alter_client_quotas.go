package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/controller"
)

// AlterClientQuotas (key 49), versions 0 to 1 (KIP-546).
//
//	v1 flexible
//
// Seen on Apache 4.4: the name of an ip entity may be a host that resolves; an entity named twice is refused as a whole. Looking a host
// up may take seconds, so that such a request leaves the connection's loop. Deviations: none.
func (h *Handler) alterClientQuotas(c Call) {
	c.Park()
	req := kmsg.NewPtrAlterClientQuotasRequest()
	if !decode(c, req) {
		return
	}
	alter := func() {
		h.Controller.AlterClientQuotas(req, func(resp *kmsg.AlterClientQuotasResponse) { c.Reply(resp) })
	}
	if len(controller.QuotaHosts(req)) > 0 {
		c.Offload(alter)
		return
	}
	alter()
}

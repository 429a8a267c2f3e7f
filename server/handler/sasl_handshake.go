package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SaslHandshake (key 17), versions 0 and 1.
//
//	v1 the client sends its tokens as SaslAuthenticate requests (KIP-152)
//
// Seen on Apache 4.4.0: on a connection that needs no authentication, or has it behind it, every mechanism is answered
// ILLEGAL_SASL_STATE without a list of mechanisms. Deviations: none.
func (h *Handler) saslHandshake(c Call) {
	req := kmsg.NewPtrSASLHandshakeRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.ErrorCode = kerr.IllegalSaslState.Code
	c.Reply(resp)
}

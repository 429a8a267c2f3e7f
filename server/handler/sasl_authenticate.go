package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SaslAuthenticate (key 36), versions 0 to 2.
//
//	v1 session lifetime (KIP-368)  v2 flexible
//
// Seen on Apache 4.4.0: on a connection that needs no authentication, or has it behind it, it is answered ILLEGAL_SASL_STATE with a
// message. Deviations: none.
func (h *Handler) saslAuthenticate(c Call) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	resp.ErrorCode = kerr.IllegalSaslState.Code
	resp.ErrorMessage = kmsg.StringPtr("SaslAuthenticate request received after successful authentication")
	resp.SASLAuthBytes = []byte{}
	c.Reply(resp)
}

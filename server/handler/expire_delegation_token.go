package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ExpireDelegationToken (key 40), versions 1 to 2 (KIP-48). v2 is flexible.
//
// Seen on Apache 4.4.0: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a listener without authentication, as all are yet. Deviations: none.
func (h *Handler) expireDelegationToken(c Call) {
	req := kmsg.NewPtrExpireDelegationTokenRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.ExpireDelegationTokenResponse)
	resp.ErrorCode, resp.ExpiryTimestamp = kerr.DelegationTokenRequestNotAllowed.Code, -1
	c.Reply(resp)
}

package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RenewDelegationToken (key 39), versions 1 to 2 (KIP-48). v2 is flexible.
//
// Seen on Apache 4.4.0: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a listener without authentication, as all are yet. Deviations: none.
func (h *Handler) renewDelegationToken(c Call) {
	req := kmsg.NewPtrRenewDelegationTokenRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.RenewDelegationTokenResponse)
	resp.ErrorCode, resp.ExpiryTimestamp = kerr.DelegationTokenRequestNotAllowed.Code, -1
	c.Reply(resp)
}

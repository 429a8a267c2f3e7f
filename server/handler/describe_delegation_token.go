package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeDelegationToken (key 41), versions 1 to 3 (KIP-48).
//
//	v2 flexible; v3 the requester of a token (KIP-373)
//
// Seen on Apache 4.4.0: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a listener without authentication, as all are yet. Deviations: none.
func (h *Handler) describeDelegationToken(c Call) {
	req := kmsg.NewPtrDescribeDelegationTokenRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeDelegationTokenResponse)
	resp.ErrorCode = kerr.DelegationTokenRequestNotAllowed.Code
	c.Reply(resp)
}

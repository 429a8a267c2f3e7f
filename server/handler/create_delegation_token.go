package handler

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateDelegationToken (key 38), versions 1 to 3 (KIP-48).
//
//	v2 flexible; v3 an owner other than the requester (KIP-373)
//
// Seen on Apache 4.4.0: on a listener without authentication nobody gets a token: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED with the owner that
// was asked for, else the requester, and -1 for the times. All listeners are such yet. Deviations: none.
func (h *Handler) createDelegationToken(c Call) {
	req := kmsg.NewPtrCreateDelegationTokenRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.CreateDelegationTokenResponse)
	resp.ErrorCode = kerr.DelegationTokenRequestNotAllowed.Code
	kind, name, _ := strings.Cut(c.Conn().Principal(), ":")
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = kind, name
	resp.PrincipalType, resp.PrincipalName = kind, name
	if req.OwnerPrincipalName != nil && *req.OwnerPrincipalName != "" {
		resp.PrincipalName = *req.OwnerPrincipalName
		if req.OwnerPrincipalType != nil {
			resp.PrincipalType = *req.OwnerPrincipalType
		}
	}
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	c.Reply(resp)
}

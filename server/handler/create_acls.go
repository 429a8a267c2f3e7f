package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateAcls (key 30), versions 1 to 3 (KIP-140).
//
//	v1 pattern types (KIP-290); v2 flexible; v3 user resources
//
// Seen on Apache 4.4.0: without an authorizer each entry gets SECURITY_DISABLED, whatever it says; an element of the value 0 (unknown) ends
// the connection. There is no authorizer yet: a broker that is told to have one does not start. Deviations: none.
func (h *Handler) createAcls(c Call) {
	req := kmsg.NewPtrCreateACLsRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
	for i := range req.Creations {
		e := &req.Creations[i]
		if aclUnknown(e.ResourceType, e.ResourcePatternType, e.Operation, e.PermissionType) {
			c.Close("undecodable request: ACL of an unknown kind")
			return
		}
		r := kmsg.NewCreateACLsResponseResult()
		r.ErrorCode, r.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr(noAuthorizer)
		resp.Results = append(resp.Results, r)
	}
	c.Reply(resp)
}

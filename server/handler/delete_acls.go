package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteAcls (key 31), versions 1 to 3 (KIP-140).
//
//	v1 pattern types (KIP-290); v2 flexible; v3 user resources
//
// Seen on Apache 4.4.0: without an authorizer each filter gets SECURITY_DISABLED; an element of the value 0 (unknown) ends the connection.
// There is no authorizer yet: a broker that is told to have one does not start. Deviations: none.
func (h *Handler) deleteAcls(c Call) {
	req := kmsg.NewPtrDeleteACLsRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
	for i := range req.Filters {
		f := &req.Filters[i]
		if aclUnknown(f.ResourceType, f.ResourcePatternType, f.Operation, f.PermissionType) {
			c.Close("undecodable request: filter of an unknown kind")
			return
		}
		r := kmsg.NewDeleteACLsResponseResult()
		r.ErrorCode, r.ErrorMessage = kerr.SecurityDisabled.Code, kmsg.StringPtr(noAuthorizer)
		resp.Results = append(resp.Results, r)
	}
	c.Reply(resp)
}

package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeAcls (key 29), versions 1 to 3 (KIP-140).
//
//	v1 pattern types (KIP-290); v2 flexible; v3 user resources
//
// Seen on Apache 4.4.0: without an authorizer every filter gets SECURITY_DISABLED, but one with an element of the value 0 (unknown), which
// ends the connection. There is no authorizer yet: a broker that is told to have one does not start. Deviations: none.
func (h *Handler) describeAcls(c Call) {
	req := kmsg.NewPtrDescribeACLsRequest()
	if !decode(c, req) {
		return
	}
	if aclUnknown(req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType) {
		c.Close("undecodable request: filter of an unknown kind")
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeACLsResponse)
	resp.ErrorCode = kerr.SecurityDisabled.Code
	resp.ErrorMessage = kmsg.StringPtr("No Authorizer is configured on the broker")
	c.Reply(resp)
}

// noAuthorizer is the message of a change of ACLs where nothing enforces them.
const noAuthorizer = "No Authorizer is configured."

// aclUnknown tells whether one of the elements of an ACL or its filter has the value that means unknown.
func aclUnknown(r kmsg.ACLResourceType, p kmsg.ACLResourcePatternType, o kmsg.ACLOperation, a kmsg.ACLPermissionType) bool {
	return r == kmsg.ACLResourceTypeUnknown || p == kmsg.ACLResourcePatternTypeUnknown || o == kmsg.ACLOperationUnknown || a == kmsg.ACLPermissionTypeUnknown
}

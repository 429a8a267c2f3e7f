package handler

import (
	"encoding/hex"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What Apache 4.4.0 answered without an authorizer, byte for byte.
func TestACLsWithoutAuthorizer(t *testing.T) {
	h := testHandler()
	describe := func(r kmsg.ACLResourceType, p kmsg.ACLResourcePatternType, o kmsg.ACLOperation, a kmsg.ACLPermissionType) kmsg.Request {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = r, p, o, a
		return req
	}
	create := func(o ...kmsg.ACLOperation) kmsg.Request {
		req := kmsg.NewPtrCreateACLsRequest()
		for _, o := range o {
			e := kmsg.NewCreateACLsRequestCreation()
			e.ResourceType, e.ResourcePatternType, e.Operation, e.PermissionType = 2, 3, o, 3
			req.Creations = append(req.Creations, e)
		}
		return req
	}
	remove := func(a ...kmsg.ACLPermissionType) kmsg.Request {
		req := kmsg.NewPtrDeleteACLsRequest()
		for _, a := range a {
			e := kmsg.NewDeleteACLsRequestFilter()
			e.ResourceType, e.ResourcePatternType, e.Operation, e.PermissionType = 1, 1, 1, a
			req.Filters = append(req.Filters, e)
		}
		return req
	}
	f := func(req kmsg.Request, version int16, want string) {
		t.Helper()
		answers(t, h, req, version, want)
	}
	f(describe(1, 1, 1, 1), 1, "00000000003600294e6f20417574686f72697a657220697320636f6e66696775726564206f6e207468652062726f6b657200000000")
	f(describe(2, 3, 1, 1), 3, "0000000000362a4e6f20417574686f72697a657220697320636f6e66696775726564206f6e207468652062726f6b65720100")
	f(describe(99, 99, 100, 100), 3, "0000000000362a4e6f20417574686f72697a657220697320636f6e66696775726564206f6e207468652062726f6b65720100")
	f(describe(0, 1, 1, 1), 3, "closed")
	f(describe(1, 0, 1, 1), 3, "closed")
	f(describe(1, 1, 0, 1), 3, "closed")
	f(describe(1, 1, 1, 0), 3, "closed")
	f(create(), 1, "0000000000000000")
	f(create(), 3, "000000000100")
	f(create(3), 1, "00000000000000010036001c4e6f20417574686f72697a657220697320636f6e666967757265642e")
	f(create(3), 3, "000000000200361d4e6f20417574686f72697a657220697320636f6e666967757265642e0000")
	f(create(3, 0), 3, "closed")
	f(remove(), 1, "0000000000000000")
	f(remove(1), 1, "00000000000000010036001c4e6f20417574686f72697a657220697320636f6e666967757265642e00000000")
	f(remove(1), 3, "000000000200361d4e6f20417574686f72697a657220697320636f6e666967757265642e010000")
	f(remove(1, 0), 3, "closed")
}

// What Apache 4.4.0 answered on a listener without authentication, byte for byte.
func TestDelegationTokensWithoutAuthentication(t *testing.T) {
	h := testHandler()
	create := func(ownerType, ownerName string) kmsg.Request {
		req := kmsg.NewPtrCreateDelegationTokenRequest()
		if ownerName != "" {
			req.OwnerPrincipalType, req.OwnerPrincipalName = &ownerType, &ownerName
		}
		return req
	}
	f := func(req kmsg.Request, version int16, want string) {
		t.Helper()
		answers(t, h, req, version, want)
	}
	f(create("", ""), 1, "00400004557365720009414e4f4e594d4f5553ffffffffffffffffffffffffffffffffffffffffffffffff00000000000000000000")
	f(create("", ""), 3, "004005557365720a414e4f4e594d4f555305557365720a414e4f4e594d4f5553ffffffffffffffffffffffffffffffffffffffffffffffff01010000000000")
	f(create("User", "bob"), 3, "0040055573657204626f6205557365720a414e4f4e594d4f5553ffffffffffffffffffffffffffffffffffffffffffffffff01010000000000")
	f(kmsg.NewPtrRenewDelegationTokenRequest(), 1, "0040ffffffffffffffff00000000")
	f(kmsg.NewPtrRenewDelegationTokenRequest(), 2, "0040ffffffffffffffff0000000000")
	f(kmsg.NewPtrExpireDelegationTokenRequest(), 1, "0040ffffffffffffffff00000000")
	f(kmsg.NewPtrExpireDelegationTokenRequest(), 2, "0040ffffffffffffffff0000000000")
	f(kmsg.NewPtrDescribeDelegationTokenRequest(), 1, "00400000000000000000")
	f(kmsg.NewPtrDescribeDelegationTokenRequest(), 3, "0040010000000000")
}

// answers compares the answer's body in hex, "closed" for an ended connection.
func answers(t *testing.T, h *Handler, req kmsg.Request, version int16, want string) {
	t.Helper()
	req.SetVersion(version)
	c := callOf(req)
	h.Serve(c)
	got := "closed"
	if c.closed == "" && c.resp != nil {
		got = hex.EncodeToString(c.resp.AppendTo(nil))
	}
	if got != want {
		t.Errorf("%T v%d %+v:\n got %s\nwant %s", req, version, req, got, want)
	}
}

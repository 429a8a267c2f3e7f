package handler

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
)

// DescribeUserScramCredentials (key 50), version 0 (KIP-554).
//
// Seen on Apache 4.4.0: null and an empty list are all users. A user that is asked for twice gets DUPLICATE_RESOURCE, one without
// credentials RESOURCE_NOT_FOUND; messages are "" where there is no error. Deviations: users come by name.
func (h *Handler) describeUserSCRAMCredentials(c Call) {
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
	resp.ErrorMessage = new(string)
	img := h.Images()
	infos := map[string][]kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo{}
	for k, cred := range img.Scrams() {
		info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
		info.Mechanism, info.Iterations = k.Mechanism, cred.Iterations
		infos[k.User] = append(infos[k.User], info)
	}
	asked := askedUsers(req, img)
	for _, user := range slices.Sorted(maps.Keys(asked)) {
		resp.Results = append(resp.Results, describedUser(user, asked[user], infos[user]))
	}
	c.Reply(resp)
}

// askedUsers counts how often each user is asked for.
func askedUsers(req *kmsg.DescribeUserSCRAMCredentialsRequest, img *metadata.Image) map[string]int {
	asked := map[string]int{}
	for i := range req.Users {
		asked[req.Users[i].Name]++
	}
	if len(req.Users) == 0 {
		for k := range img.Scrams() {
			asked[k.User] = 1
		}
	}
	return asked
}

func describedUser(user string, times int, infos []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	r := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	r.User = user
	message := ""
	switch {
	case times > 1:
		r.ErrorCode = kerr.DuplicateResource.Code
		message = "Cannot describe SCRAM credentials for the same user twice in a single request: " + user
	case len(infos) == 0:
		r.ErrorCode = kerr.ResourceNotFound.Code
		message = "Attempt to describe a user credential that does not exist: " + user
	default:
		r.CredentialInfos = infos
	}
	r.ErrorMessage = &message
	return r
}

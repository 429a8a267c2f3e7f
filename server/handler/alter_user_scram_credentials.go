package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// AlterUserScramCredentials (key 51), version 0 (KIP-554).
//
// Seen on Apache 4.4: one result for each user; what is wrong with one change of a user refuses all of this user, deletions are looked
// at first. Deviations: none.
func (h *Handler) alterUserSCRAMCredentials(c Call) {
	c.Park()
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.AlterUserSCRAMCredentials(req, func(resp *kmsg.AlterUserSCRAMCredentialsResponse) { c.Reply(resp) })
}

package handler

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// DeleteGroups (key 42), versions 0 to 3.
//
//	v1 throttle  v2 flexible  v3 message
//
// A group goes with its offsets, those of open transactions too. One that is named twice is answered once. Deviations: none.
func (h *Handler) deleteGroups(c Call) {
	req := kmsg.NewPtrDeleteGroupsRequest()
	if !decode(c, req) {
		return
	}
	ids := distinct(req.Groups)
	g := newGathered(c, len(ids), func(parts []any) kmsg.Response {
		resp := kmsg.NewPtrDeleteGroupsResponse()
		resp.Version = req.Version
		for _, p := range parts {
			resp.Groups = append(resp.Groups, p.(kmsg.DeleteGroupsResponseGroup))
		}
		return resp
	})
	for i, id := range ids {
		part := gatheredPart{g, i, func(err error) any {
			r := kmsg.NewDeleteGroupsResponseGroup()
			r.Group, r.ErrorCode = id, coordinatorError(err).Code
			return r
		}, func(resp kmsg.Response) any {
			return resp.(*kmsg.DeleteGroupsResponse).Groups[0]
		}}
		h.submit(id, part, func(s *group.Shard, _ coordinator.Now, hd coordinator.Handle) coordinator.Effects {
			return s.DeleteGroups(hd, []string{id})
		})
	}
	g.settle(c)
}

// distinct is the list without repetitions, in its order.
func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}

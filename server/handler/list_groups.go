package handler

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// ListGroups (key 16), versions 0 to 5.
//
//	v1 throttle  v3 flexible  v4 states (KIP-518)  v5 types (KIP-848)
//
// Seen on Apache 4.4: states and types are compared without regard to case, unknown ones match nothing. While a partition is loading the answer is
// COORDINATOR_LOAD_IN_PROGRESS, without groups. Deviations: none.
func (h *Handler) listGroups(c Call) {
	req := kmsg.NewPtrListGroupsRequest()
	if !decode(c, req) {
		return
	}
	partitions := h.Groups.Partitions()
	g := newGathered(c, len(partitions), func(parts []any) kmsg.Response {
		resp := kmsg.NewPtrListGroupsResponse()
		resp.Version = req.Version
		for _, p := range parts {
			if err, ok := p.(error); ok {
				resp.Groups, resp.ErrorCode = nil, coordinatorError(err).Code
				return resp
			}
			resp.Groups = append(resp.Groups, p.([]kmsg.ListGroupsResponseGroup)...)
		}
		return resp
	})
	for i, p := range partitions {
		part := gatheredPart{g, i, func(err error) any {
			if errors.Is(err, coordinator.ErrNotCoordinator) {
				return []kmsg.ListGroupsResponseGroup(nil) // lost meanwhile: another broker lists them
			}
			return err
		}, func(resp kmsg.Response) any { return resp.(*kmsg.ListGroupsResponse).Groups }}
		err := h.Groups.Submit(p, func(s *group.Shard, _ coordinator.Now) coordinator.Effects {
			resp := kmsg.NewPtrListGroupsResponse()
			resp.Groups = s.ListGroups(req.StatesFilter, req.TypesFilter)
			return coordinator.Effects{Replies: []coordinator.Reply{{To: part, Response: resp}}}
		})
		if err != nil {
			part.Fail(err)
		}
	}
	g.settle(c)
}

package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// DescribeGroups (key 15), versions 0 to 6: classic groups.
//
//	v1 throttle  v3 authorized operations  v4 instance ids  v5 flexible  v6 GROUP_ID_NOT_FOUND and a message (KIP-1043)
//
// Seen on Apache 4.4: before v6 a group that does not exist, or is of another kind, is Dead without an error; outside of Stable a group has no
// protocol, and its members no metadata, but they keep their assignment. Deviations: none.
func (h *Handler) describeGroups(c Call) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	if !decode(c, req) {
		return
	}
	g := newGathered(c, len(req.Groups), func(parts []any) kmsg.Response {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		resp.Version = req.Version
		for _, p := range parts {
			d := p.(kmsg.DescribeGroupsResponseGroup)
			if req.IncludeAuthorizedOperations && d.ErrorCode == 0 {
				d.AuthorizedOperations = groupOperations
			}
			resp.Groups = append(resp.Groups, d)
		}
		return resp
	})
	for i, id := range req.Groups {
		part := gatheredPart{g, i, func(err error) any {
			r := kmsg.NewDescribeGroupsResponseGroup()
			r.Group, r.ErrorCode = id, coordinatorError(err).Code
			return r
		}, func(resp kmsg.Response) any { return resp.(*kmsg.DescribeGroupsResponse).Groups[0] }}
		h.submit(id, part, func(s *group.Shard, _ coordinator.Now, hd coordinator.Handle) coordinator.Effects {
			resp := kmsg.NewPtrDescribeGroupsResponse()
			resp.Groups = append(resp.Groups, s.DescribeGroup(id, req.Version))
			return coordinator.Effects{Replies: []coordinator.Reply{{To: hd, Response: resp}}}
		})
	}
	g.settle(c)
}

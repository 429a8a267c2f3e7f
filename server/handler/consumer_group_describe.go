package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// ConsumerGroupDescribe (key 69), versions 0 and 1: groups of the consumer protocol.
//
//	v0 KIP-848  v1 the type of each member
//
// Seen on Apache 4.4: an empty group id is INVALID_GROUP_ID without a message; partitions that a member has to give up are its own until it
// has done so; topics that are gone are left out. Deviations: groups come in the order of the request.
func (h *Handler) consumerGroupDescribe(c Call) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	if !decode(c, req) {
		return
	}
	failed := func(id string, err *kerr.Error) kmsg.ConsumerGroupDescribeResponseGroup {
		r := kmsg.NewConsumerGroupDescribeResponseGroup()
		r.Group, r.ErrorCode = id, err.Code
		return r
	}
	g := newGathered(c, len(req.Groups), func(parts []any) kmsg.Response {
		resp := kmsg.NewPtrConsumerGroupDescribeResponse()
		resp.Version = req.Version
		for _, p := range parts {
			d := p.(kmsg.ConsumerGroupDescribeResponseGroup)
			if req.IncludeAuthorizedOperations && d.ErrorCode == 0 {
				d.AuthorizedOperations = groupOperations
			}
			resp.Groups = append(resp.Groups, d)
		}
		return resp
	})
	enabled := h.consumerProtocolEnabled()
	for i, id := range req.Groups {
		switch {
		case !enabled:
			g.put(i, failed(id, kerr.UnsupportedVersion))
		case id == "":
			g.put(i, failed(id, kerr.InvalidGroupID))
		default:
			part := gatheredPart{g, i,
				func(err error) any { return failed(id, coordinatorError(err)) },
				func(resp kmsg.Response) any { return resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0] }}
			h.submit(id, part, func(s *group.Shard, _ coordinator.Now, hd coordinator.Handle) coordinator.Effects {
				resp := kmsg.NewPtrConsumerGroupDescribeResponse()
				resp.Groups = append(resp.Groups, s.ConsumerGroupDescribe(id))
				return coordinator.Effects{Replies: []coordinator.Reply{{To: hd, Response: resp}}}
			})
		}
	}
	g.settle(c)
}

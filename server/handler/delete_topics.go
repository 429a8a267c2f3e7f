package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// DeleteTopics (key 20), versions 1 to 6.
//
//	v3 TOPIC_DELETION_DISABLED instead of INVALID_REQUEST  v4 flexible  v5 message  v6 by id (KIP-516)
//
// Seen on Apache 4.4: a name that no topic can have is UNKNOWN_TOPIC_OR_PARTITION, an id UNKNOWN_TOPIC_ID; version 6 answers with the id
// of a topic deleted by name. Kafka shuffles the answer's topics; here names come before ids, in the request's order.
func (h *Handler) deleteTopics(c Call) {
	c.Park()
	req := kmsg.NewPtrDeleteTopicsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.DeleteTopics(req, func(resp *kmsg.DeleteTopicsResponse) { c.Reply(resp) })
}

package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// CreateTopics (key 19), versions 2 to 7.
//
//	v4 -1 for the broker's defaults (KIP-464)  v5 flexible, answers with the new topic's settings (KIP-525)  v7 topic id
//
// Seen on Apache 4.4: a name that stands twice in a request is INVALID_REQUEST, once in the answer; names that differ in . and _ only
// collide with existing topics but not within one request; more than 10,000 partitions in one request are POLICY_VIOLATION for every topic
// of it. A validate-only answer has a topic id too, of a topic that will never be. Deviations: the answer's topics are in the request's
// order, Kafka has the refused ones first in places.
func (h *Handler) createTopics(c Call) {
	c.Park()
	req := kmsg.NewPtrCreateTopicsRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.CreateTopics(req, func(resp *kmsg.CreateTopicsResponse) { c.Reply(resp) })
}

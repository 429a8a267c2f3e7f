package group

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// Members that came at once heartbeat at once. When there is a new target, most of them ask for their share a moment before its owner has
// given it up, and would learn of it with their next heartbeat only, 5 s later. So the answer to a member that waits is held back for a
// moment: in it the owner, who has heartbeated just now too, gives up.

// holdFor is how long: enough for a client to let go of partitions and say so, short beside a session and a poll.
const holdFor = 200 * time.Millisecond

// heldHeartbeat is a heartbeat of a member that waits for partitions of others.
type heldHeartbeat struct {
	to    coordinator.Handle
	resp  *kmsg.ConsumerGroupHeartbeatResponse
	epoch int32 // of the request
	owned []kmsg.ConsumerGroupHeartbeatRequestTopic
	until time.Time
}

// hold keeps the answer back if the member waits. A member that joins is told at once that it is in.
func (t *turn) hold(h coordinator.Handle, req *kmsg.ConsumerGroupHeartbeatRequest, resp *kmsg.ConsumerGroupHeartbeatResponse) bool {
	if !t.waits || req.MemberEpoch <= 0 {
		return false
	}
	held := &heldHeartbeat{to: h, resp: resp, epoch: req.MemberEpoch, owned: req.Topics, until: t.now.Mono.Add(holdFor)}
	t.g.held[*resp.MemberID] = held
	setTimer(&t.e, timerKey(timerHold, t.g.id, *resp.MemberID), held.until)
	t.soft = t.soft || len(t.e.Records) > 0 // it would be answered although they were refused
	return true
}

// release answers a heartbeat that is held back as it was to be answered.
func (t *turn) release(id string) {
	if h := t.g.held[id]; h != nil {
		delete(t.g.held, id)
		cancelTimer(&t.e, timerKey(timerHold, t.g.id, id))
		answer(&t.e, h.to, h.resp)
	}
}

// wake looks again, once this turn's records are folded, at the members that wait for what m gives up when it becomes next, or goes (nil).
func (t *turn) wake(m, next *consumerMember) {
	for _, id := range slices.Sorted(maps.Keys(t.g.held)) {
		if target := t.g.targets[id]; target.gets(m.assigned, next) || target.gets(m.revoking, next) {
			setTimer(&t.e, timerKey(timerHold, t.g.id, id), t.now.Mono)
		}
	}
}

// gets tells whether p has one of the partitions which next does not own.
func (p partitionsOf) gets(owned epochsOf, next *consumerMember) bool {
	for topic, list := range owned {
		for n := range list {
			if p.has(topic, n) && (next == nil || !next.assigned.has(topic, n) && !next.revoking.has(topic, n)) {
				return true
			}
		}
	}
	return false
}

// heldOver answers a heartbeat that was held back, as if it came now, unless there is still something, and time, to wait for.
func (t *turn) heldOver(id string) {
	h, m := t.g.held[id], t.g.members[id]
	if h == nil {
		return
	}
	if m != nil && t.g.waits(m) && t.now.Mono.Before(h.until) {
		setTimer(&t.e, timerKey(timerHold, t.g.id, id), h.until)
		return
	}
	delete(t.g.held, id)
	if m != nil && m.classic == nil && m.epoch == h.resp.MemberEpoch {
		if next, r := t.advance(m, m, advance{owned: h.owned, known: h.epoch}); r == nil {
			h.resp.MemberEpoch = next.epoch
			if h.resp.Assignment != nil || !m.assigned.equal(next.assigned) {
				h.resp.Assignment = next.assigned.response()
			}
		}
	}
	answer(&t.e, h.to, h.resp)
}

package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator/record"
)

// leave answers a heartbeat that says goodbye.
func (t *turn) leave(req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, *refusal) {
	if r := t.existing(req.Group); r != nil {
		return nil, r
	}
	m := t.g.members[req.MemberID]
	if req.InstanceID != nil {
		m = t.g.staticMember(req.InstanceID)
		if r := checkStatic(m, req.MemberID, *req.InstanceID); r != nil {
			return nil, r
		}
	} else if m == nil {
		return nil, unknownMember(t.g.id, req.MemberID)
	}
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.MemberID, resp.MemberEpoch = &m.id, req.MemberEpoch
	if req.InstanceID != nil && req.MemberEpoch == epochLeaveStatic {
		// It keeps its partitions until its session ends, and may be another process when it comes back: that may commit for all of them.
		gone := m.next()
		gone.epoch, gone.revoking, gone.assigned = epochLeaveStatic, nil, m.assigned.resetEpochs()
		t.write(gone.currentRecord(t.g.id))
		t.release(m.id)
		t.wake(m, gone)
		return resp, nil
	}
	t.fence(m)
	return resp, nil
}

// fence takes members out. If only members of the classic protocol are left, the group becomes a classic group.
func (t *turn) fence(gone ...*consumerMember) {
	if len(gone) == 0 {
		return
	}
	g := t.g
	if t.downgradesWithout(gone) {
		t.downgrade(gone, nil, true)
		return
	}
	names, patterns := maps.Clone(g.names), map[string]int{}
	for _, m := range gone {
		t.write(removalRecords(g.id, m.id)...)
		t.cancelTimers(m.id)
		t.release(m.id)
		t.wake(m, nil)
		countNames(names, m.topics, -1)
		if m.regex != "" {
			patterns[m.regex]++
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if g.patterns[pattern] != patterns[pattern] {
			continue
		}
		t.write(tombstone(&record.ConsumerGroupRegularExpressionKey{GroupID: g.id, RegularExpression: pattern}))
		if r := g.regexes[pattern]; r != nil {
			countPatterns(names, r.topics, -1)
		}
	}
	epoch := g.epoch + 1
	t.write(epochRecord(g.id, epoch, groupHash(t.s.d.Topics, names)))
	if len(gone) == len(g.members) {
		t.write(targetEpochRecord(g.id, epoch, 0)) // nobody is left to assign to
	}
}

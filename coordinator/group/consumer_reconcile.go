package group

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reconciliation: how a member comes from what it has to what it should have, without any partition having two owners (KIP-848, "The
// reconciliation process"; CurrentAssignmentBuilder in Apache Kafka 4.4.0). One function from the member and its target to the member's
// next state:
//
//	stable ──target differs──► has to give up ──► unrevoked ──confirms──► next epoch
//	                        └► nothing to give up ───────────────────────► next epoch
//	next epoch: takes what is free; waits as unreleased while others still have some of it; then stable.
//
// A member's epoch moves to the target's only after it has given up what it must, and a partition is free only once its last owner has
// confirmed that. Both together are I3.

// reconciliation is what the next state of a member depends on.
type reconciliation struct {
	target      partitionsOf
	targetEpoch int32
	// subscribed tells whether the member subscribes to a topic, by name or by regular expression.
	subscribed func(topicID) bool
	// subscriptionChanged says that this very heartbeat changed it.
	subscriptionChanged bool
	// free tells whether no member has the partition.
	free func(topic topicID, partition int32) bool
	// owned is what the member says it owns; nil when it did not say.
	owned []kmsg.ConsumerGroupHeartbeatRequestTopic
}

// reconcile computes the next state; it returns m itself when nothing changes. A member in an unknown state is not ok unless it owns
// nothing: it has to start over.
func (r *reconciliation) reconcile(m *consumerMember) (next *consumerMember, ok bool) {
	switch m.state {
	case memberStable:
		if m.epoch != r.targetEpoch {
			return r.advance(m, m.epoch), true
		}
		return r.afterSubscription(m), true
	case memberUnrevoked:
		if r.stillOwns(m.revoking) {
			return r.afterSubscription(m), true
		}
		return r.advance(m, m.epoch), true
	case memberUnreleased:
		return r.advance(m, m.epoch), true
	}
	if r.owned == nil || len(r.owned) > 0 {
		return m, false
	}
	return r.advance(m, r.targetEpoch), true
}

// stillOwns tells whether the member has not confirmed yet that it gave these up. Silence is no confirmation.
func (r *reconciliation) stillOwns(revoking epochsOf) bool {
	if r.owned == nil {
		return true
	}
	for i := range r.owned {
		given := revoking[r.owned[i].TopicID]
		if given == nil {
			continue
		}
		for _, p := range r.owned[i].Partitions {
			if _, is := given[p]; is {
				return true
			}
		}
	}
	return false
}

// afterSubscription takes away at once what the member no longer subscribes to, before there is a new target.
func (r *reconciliation) afterSubscription(m *consumerMember) *consumerMember {
	if !r.subscriptionChanged {
		return m
	}
	assigned, revoking := m.assigned, m.revoking
	for topic, partitions := range m.assigned {
		if r.subscribed(topic) {
			continue
		}
		if len(assigned) == len(m.assigned) {
			assigned, revoking = maps.Clone(m.assigned), maps.Clone(m.revoking)
			if revoking == nil {
				revoking = epochsOf{}
			}
		}
		delete(assigned, topic)
		all := maps.Clone(partitions)
		maps.Copy(all, revoking[topic])
		revoking[topic] = all
	}
	if len(assigned) == len(m.assigned) {
		return m
	}
	n := m.atEpoch(m.epoch)
	n.assigned = assigned
	if r.stillOwns(revoking) {
		n.state, n.revoking = memberUnrevoked, revoking
	}
	return n
}

// advance moves the member towards the target: first it gives up, at the given epoch, then it goes to the target's epoch and takes.
func (r *reconciliation) advance(m *consumerMember, epoch int32) *consumerMember {
	keep, revoke, take := epochsOf{}, epochsOf{}, partitionsOf{}
	for topic, partitions := range m.assigned {
		wanted := r.subscribed(topic)
		for p, since := range partitions {
			if wanted && r.target.has(topic, p) {
				keep.put(topic, p, since)
			} else {
				revoke.put(topic, p, since)
			}
		}
	}
	waits := false
	for topic, partitions := range r.target {
		if !r.subscribed(topic) {
			continue
		}
		for _, p := range partitions {
			switch {
			case keep.has(topic, p):
			case r.free(topic, p), m.revoking.has(topic, p):
				take[topic] = append(take[topic], p)
			default:
				waits = true
			}
		}
	}
	if len(revoke) > 0 && r.stillOwns(revoke) {
		n := m.atEpoch(epoch)
		n.state, n.assigned, n.revoking = memberUnrevoked, keep, revoke
		return n
	}
	for topic, partitions := range take {
		for _, p := range partitions {
			keep.put(topic, p, r.targetEpoch)
		}
	}
	n := m.atEpoch(r.targetEpoch)
	n.state, n.assigned, n.revoking = memberStable, keep, nil
	if waits {
		n.state = memberUnreleased
	}
	return n
}

// put is for maps that are still being made.
func (e epochsOf) put(topic topicID, partition, epoch int32) {
	if e[topic] == nil {
		e[topic] = map[int32]int32{}
	}
	e[topic][partition] = epoch
}

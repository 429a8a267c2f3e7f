package group

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// This file is how members that speak the classic protocol live in a consumer group with members, while it moves from one protocol to
// the other. Their JoinGroup is a heartbeat that says what they subscribe to and own, and is answered at once with the member epoch as
// generation; SyncGroup brings the assignment; Heartbeat tells them when to join again: to give up, to take, to move to a new epoch.

// consumerJoin answers JoinGroup of a group that is a consumer group with members.
func (s *Shard) consumerJoin(now coordinator.Now, g *group, c Client, h coordinator.Handle, req *kmsg.JoinGroupRequest) coordinator.Effects {
	t := &turn{s: s, now: now, g: g.consumer}
	resp, r := t.join(c, req)
	if r != nil {
		return reply(h, joinError(req.Version, "", r.code))
	}
	answer(&t.e, h, resp)
	return t.finish()
}

func (t *turn) join(c Client, req *kmsg.JoinGroupRequest) (*kmsg.JoinGroupResponse, *refusal) {
	g := t.g
	if policy := t.s.d.Settings.Str("group.consumer.migration.policy"); strings.EqualFold(policy, "disabled") {
		return nil, refuse(kerr.InconsistentGroupProtocol, "Cannot join the consumer group %s with the classic protocol because the group migration is disabled.", g.id)
	}
	id, fresh := req.MemberID, req.MemberID == ""
	if fresh {
		id = c.FreshID
	}
	if r := t.checkSize(id, req.InstanceID); r != nil {
		return nil, r
	}
	if !g.supportsClassic(req.ProtocolType, req.Protocols) {
		return nil, refuse(kerr.InconsistentGroupProtocol, "Member %s's protocols are not supported.", id)
	}
	if fresh && req.InstanceID == nil && req.Version >= 4 { // KIP-394
		return joinError(req.Version, id, kerr.MemberIDRequired), nil
	}
	old, r := t.member(joining{id: id, instance: req.InstanceID, create: req.InstanceID == nil || fresh, classic: true}, nil)
	if r != nil {
		return nil, r
	}
	replaced := g.staticMember(req.InstanceID)
	downgrade := t.downgradesFor(replaced)
	sub, ok := readSubscription(req.Protocols[0].Metadata)
	if !ok {
		return nil, refuse(kerr.InconsistentGroupProtocol, "Malformed embedded consumer protocol in subscription deserialization.")
	}
	m := joined(old, c, req, sub)
	namesChanged := t.recordIfChanged(old, m)
	regex, r := t.updateRegex(old, m)
	if r != nil {
		return nil, r
	}
	bump := namesChanged || regex != regexUnchanged
	a := advance{bump: bump, subscriptionChanged: bump, owned: t.ownedTopics(sub)}
	if !downgrade {
		if m, r = t.advance(old, m, a); r != nil {
			return nil, r
		}
		t.cancelRejoin(m.id)
		t.keepAlive(m.id, millis(req.SessionTimeoutMillis))
		t.setResync(m)
	} else {
		rebalance := g.assignmentEpoch < t.refresh(old, m, bump)
		if !rebalance {
			if m, r = t.reconcile(m, g.targets[replaced.id], g.assignmentEpoch, a); r != nil {
				return nil, r
			}
		}
		t.downgrade(nil, m, rebalance)
	}
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version, resp.MemberID, resp.Generation = req.Version, m.id, m.epoch
	protocol, protocolType := m.classic.SupportedProtocols[0].Name, consumerProtocolType
	resp.Protocol, resp.ProtocolType = &protocol, &protocolType
	return resp, nil
}

// supportsClassic tells whether all members of the classic protocol support one of these, too.
func (g *consumerGroup) supportsClassic(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	return protocolType == consumerProtocolType && slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return g.classicProtocols[p.Name] == g.classicMembers
	})
}

// joined is the member with what its JoinGroup says.
func joined(old *consumerMember, c Client, req *kmsg.JoinGroupRequest, sub kmsg.ConsumerMemberMetadata) *consumerMember {
	m := old.next()
	m.instance, m.rack = newer(old.instance, req.InstanceID), newer(old.rack, notEmpty(sub.Rack))
	switch {
	case req.Version == 0:
		m.rebalanceTimeoutMs = req.SessionTimeoutMillis
	case req.RebalanceTimeoutMillis != -1:
		m.rebalanceTimeoutMs = req.RebalanceTimeoutMillis
	}
	m.topics, m.regex = sortedNames(sub.Topics), ""
	m.setClient(c)
	m.classic = record.NewClassicMemberMetadata()
	m.classic.SessionTimeoutMs = req.SessionTimeoutMillis
	for _, p := range req.Protocols {
		m.classic.SupportedProtocols = append(m.classic.SupportedProtocols,
			record.ClassicProtocol{Name: strings.Clone(p.Name), Metadata: append([]byte{}, p.Metadata...)})
	}
	return m
}

// ownedTopics is what a classic member says it owns, never null.
func (t *turn) ownedTopics(sub kmsg.ConsumerMemberMetadata) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	out := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for i := range sub.OwnedPartitions {
		if id, ok := t.s.d.Topics.TopicID(sub.OwnedPartitions[i].Topic); ok {
			o := kmsg.NewConsumerGroupHeartbeatRequestTopic()
			o.TopicID, o.Partitions = id, sub.OwnedPartitions[i].Partitions
			out = append(out, o)
		}
	}
	return out
}

func (t *turn) cancelRejoin(id string) {
	if c := t.g.timers[id]; c != nil {
		t.cancel(timerRejoin, id, &c.rejoin)
	}
}

// classicMember finds a member of the classic protocol for SyncGroup and Heartbeat.
func (t *turn) classicMember(id string, instance *string, generation int32) (*consumerMember, *refusal) {
	m := t.g.members[id]
	if instance != nil {
		m = t.g.staticMember(instance)
		if m != nil && m.id != id {
			return nil, checkStatic(m, id, *instance)
		}
	}
	switch {
	case m == nil:
		return nil, unknownMember(t.g.id, id)
	case m.classic == nil:
		return nil, refuse(kerr.UnknownMemberID, "Member %s does not use the classic protocol.", id)
	case m.epoch != generation:
		return nil, refuse(kerr.IllegalGeneration, "The request generation id %d is not equal to the member epoch %d of member %s.", generation, m.epoch, id)
	}
	return m, nil
}

// consumerSync answers SyncGroup.
func (s *Shard) consumerSync(now coordinator.Now, g *group, h coordinator.Handle, req *kmsg.SyncGroupRequest) coordinator.Effects {
	t := &turn{s: s, now: now, g: g.consumer}
	m, r := t.classicMember(req.MemberID, req.InstanceID, req.Generation)
	switch {
	case r != nil:
	case req.ProtocolType != nil && *req.ProtocolType != consumerProtocolType,
		req.Protocol != nil && *req.Protocol != m.classic.SupportedProtocols[0].Name:
		r = refuse(kerr.InconsistentGroupProtocol, "")
	case t.g.assignmentEpoch > m.epoch && m.state != memberUnrevoked:
		t.setRejoin(m)
		answer(&t.e, h, syncError(req.Version, kerr.RebalanceInProgress))
		return t.e
	}
	if r != nil {
		return reply(h, syncError(req.Version, r.code))
	}
	if c := t.g.timers[m.id]; c != nil {
		t.cancel(timerResync, m.id, &c.resync)
	}
	t.keepAlive(m.id, millis(m.classic.SessionTimeoutMs))
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.Version, resp.ProtocolType, resp.Protocol = req.Version, req.ProtocolType, req.Protocol
	has := make(partitionsOf, len(m.assigned))
	for topic := range m.assigned {
		has[topic] = m.assigned.sortedPartitions(topic)
	}
	resp.MemberAssignment = t.appendAssignment(nil, subscriptionVersion(m.classic.SupportedProtocols[0].Metadata), has)
	answer(&t.e, h, resp)
	return t.finish()
}

// consumerHeartbeat answers Heartbeat.
func (s *Shard) consumerHeartbeat(now coordinator.Now, g *group, h coordinator.Handle, req *kmsg.HeartbeatRequest) coordinator.Effects {
	t := &turn{s: s, now: now, g: g.consumer}
	m, r := t.classicMember(req.MemberID, req.InstanceID, req.Generation)
	if r != nil {
		return reply(h, heartbeatResponse(req.Version, r.code))
	}
	t.keepAlive(m.id, millis(m.classic.SessionTimeoutMs))
	if m.epoch >= t.g.assignmentEpoch && m.state != memberUnrevoked && (m.state != memberUnreleased || t.g.waits(m)) {
		answer(&t.e, h, heartbeatResponse(req.Version, nil))
		return t.e
	}
	t.setRejoin(m)
	answer(&t.e, h, heartbeatResponse(req.Version, kerr.RebalanceInProgress))
	return t.e
}

// waits tells whether another member still has something that is to be m's.
func (g *consumerGroup) waits(m *consumerMember) bool {
	for topic, partitions := range g.targets[m.id] {
		for _, p := range partitions {
			if !m.assigned.has(topic, p) && !g.free(topic, p) {
				return true
			}
		}
	}
	return false
}

// consumerLeave answers LeaveGroup; members are the request's, in all versions. An administrator takes members of either protocol out.
func (s *Shard) consumerLeave(now coordinator.Now, g *group, h coordinator.Handle, req *kmsg.LeaveGroupRequest, members []kmsg.LeaveGroupRequestMember) coordinator.Effects {
	t := &turn{s: s, now: now, g: g.consumer}
	resp := leaveResponse(req.Version)
	var gone []*consumerMember
	for _, who := range members {
		m, r := t.g.members[who.MemberID], (*refusal)(nil)
		switch {
		case who.InstanceID != nil:
			m = t.g.staticMember(who.InstanceID)
			id := who.MemberID
			if m != nil && id == "" {
				id = m.id
			}
			r = checkStatic(m, id, *who.InstanceID)
		case m == nil:
			r = unknownMember(t.g.id, who.MemberID)
		}
		if r != nil {
			addLeft(resp, who, r.code)
			continue
		}
		addLeft(resp, who, nil)
		if !slices.Contains(gone, m) {
			gone = append(gone, m)
		}
	}
	t.fence(gone...)
	answer(&t.e, h, resp)
	return t.finish()
}

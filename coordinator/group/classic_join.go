package group

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// newMemberJoinTimeout is how long a member that has never been in a generation may wait for its JoinGroup: it can't heartbeat, and a
// client that has gone away unseen would hold up the group (group.coordinator: CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS).
const newMemberJoinTimeout = 5 * time.Minute

// JoinGroup is a member that wants to be in the next generation. The group id has been checked not to be empty.
func (s *Shard) JoinGroup(now coordinator.Now, c Client, h coordinator.Handle, req *kmsg.JoinGroupRequest) coordinator.Effects {
	timeout := int64(req.SessionTimeoutMillis)
	if timeout < s.d.Settings.Int("group.min.session.timeout.ms") || timeout > s.d.Settings.Int("group.max.session.timeout.ms") {
		return reply(h, joinError(req.Version, req.MemberID, kerr.InvalidSessionTimeout))
	}
	req.Protocols = distinctProtocols(req.Protocols)
	var e coordinator.Effects
	g := s.groups[req.Group]
	if g != nil && g.consumer != nil {
		if !g.consumer.empty() {
			return s.consumerJoin(now, g, c, h, req)
		}
		if req.MemberID != "" {
			return reply(h, joinError(req.Version, req.MemberID, kerr.UnknownMemberID))
		}
		e.Records = g.consumer.tombstones() // an empty group changes its kind silently
		g = nil
	}
	if g == nil {
		if req.MemberID != "" {
			return reply(h, joinError(req.Version, req.MemberID, kerr.UnknownMemberID))
		}
		g = &group{id: strings.Clone(req.Group), classic: newClassicGroup(strings.Clone(req.Group), now.WallMs())}
		s.groups[g.id] = g
		written := len(e.Records)
		s.join(&e, now, g.classic, c, h, req)
		if len(e.Records) == written {
			e.Records = append(e.Records, g.classic.firstRecord()) // the group exists from now on
		}
		return e
	}
	s.join(&e, now, g.classic, c, h, req)
	return e
}

// distinctProtocols keeps the first of those with one name: a member votes once for each.
func distinctProtocols(list []kmsg.JoinGroupRequestProtocol) []kmsg.JoinGroupRequestProtocol {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(p kmsg.JoinGroupRequestProtocol) bool {
		again := seen[p.Name]
		seen[p.Name] = true
		return again
	})
}

// join decides about a member of a classic group.
func (s *Shard) join(e *coordinator.Effects, now coordinator.Now, g *classicGroup, c Client, h coordinator.Handle, req *kmsg.JoinGroupRequest) {
	v := req.Version
	if !g.accepts(req.MemberID, int(s.d.Settings.Int("group.max.size"))) {
		s.removeMember(e, g, req.MemberID)
		answer(e, h, joinError(v, "", kerr.GroupMaxSizeReached))
		return
	}
	if req.MemberID != "" {
		s.joinKnown(e, now, g, c, h, req)
		return
	}
	if !g.supports(req.ProtocolType, req.Protocols) {
		answer(e, h, joinError(v, "", kerr.InconsistentGroupProtocol))
		return
	}
	if req.InstanceID != nil {
		id := *req.InstanceID + "-" + javaUUID(c.FreshID)
		if old, ok := g.static[*req.InstanceID]; ok {
			s.rejoinStatic(e, now, g, g.members[old], id, h, req)
			return
		}
		s.addMember(e, now, g, id, c, h, req)
		return
	}
	id := c.ID + "-" + javaUUID(c.FreshID)
	if v < 4 {
		s.addMember(e, now, g, id, c, h, req)
		return
	}
	// KIP-394: a client that never comes back with its id must not become a member.
	g.pendingJoin[id] = true
	setTimer(e, timerKey(timerPending, g.id, id), now.Mono.Add(millis(req.SessionTimeoutMillis)))
	answer(e, h, joinError(v, id, kerr.MemberIDRequired))
}

// joinKnown is a JoinGroup with a member id.
func (s *Shard) joinKnown(e *coordinator.Effects, now coordinator.Now, g *classicGroup, c Client, h coordinator.Handle, req *kmsg.JoinGroupRequest) {
	v := req.Version
	if !g.supports(req.ProtocolType, req.Protocols) {
		answer(e, h, joinError(v, req.MemberID, kerr.InconsistentGroupProtocol))
		return
	}
	if g.pendingJoin[req.MemberID] {
		if req.InstanceID != nil { // Kafka fails with an IllegalStateException here
			answer(e, h, joinError(v, "", kerr.UnknownServerError))
			return
		}
		cancelTimer(e, timerKey(timerPending, g.id, req.MemberID))
		s.addMember(e, now, g, strings.Clone(req.MemberID), c, h, req)
		return
	}
	if err := g.validateMember(req.MemberID, req.InstanceID); err != nil {
		answer(e, h, joinError(v, req.MemberID, err))
		return
	}
	m := g.members[req.MemberID]
	same := m.matches(req.Protocols)
	switch {
	case g.state == statePreparing,
		g.state == stateCompleting && !same,
		// The leader may come because of something that only it knows, such as new partitions.
		g.state == stateStable && (g.leader == m.id || !same):
		g.update(e, m, h, req)
		s.rebalanceOrComplete(e, now, g)
	case g.state == stateCompleting:
		answer(e, h, g.joined(v, m, g.leader, g.leader == m.id)) // it has not received the answer to its first JoinGroup
	default:
		answer(e, h, g.joined(v, m, g.leader, false))
	}
}

// javaUUID is a fresh id in the form of java.util.UUID, which the ids of classic members have.
func javaUUID(fresh string) string {
	b, err := base64.RawURLEncoding.DecodeString(fresh)
	if err != nil || len(b) != 16 {
		return fresh
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// accepts tells whether the group has room for the member.
func (g *classicGroup) accepts(member string, maxSize int) bool {
	m := g.members[member]
	switch g.state {
	case stateEmpty:
		return true
	case statePreparing:
		return m != nil && m.join != nil || g.awaitingJoin < maxSize
	default:
		return m != nil || len(g.members) < maxSize
	}
}

// supports tells whether somebody with these protocols can be in the group.
func (g *classicGroup) supports(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if g.state == stateEmpty {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == g.protocolType && slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return g.votes[p.Name] == len(g.members)
	})
}

func (m *classicMember) matches(protocols []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a classicProtocol, b kmsg.JoinGroupRequestProtocol) bool {
		return a.name == b.Name && bytes.Equal(a.metadata, b.Metadata)
	})
}

// addMember takes in a new member, whose JoinGroup is parked.
func (s *Shard) addMember(e *coordinator.Effects, now coordinator.Now, g *classicGroup, id string, c Client, h coordinator.Handle, req *kmsg.JoinGroupRequest) {
	m := &classicMember{id: id, clientID: strings.Clone(c.ID), clientHost: strings.Clone(c.Host), isNew: true}
	if req.InstanceID != nil {
		instance := strings.Clone(*req.InstanceID)
		m.instance = &instance
	}
	if g.state == statePreparing && g.previous == stateEmpty {
		g.newMember = true
	}
	if len(g.members) == 0 {
		g.protocolType = strings.Clone(req.ProtocolType)
	}
	g.insert(m)
	g.update(e, m, h, req)
	g.keepAlive(e, now, m, newMemberJoinTimeout)
	s.rebalanceOrComplete(e, now, g)
}

// insert adds a member that supports nothing yet.
func (g *classicGroup) insert(m *classicMember) {
	m.timerKey = timerKey(timerSession, g.id, m.id)
	g.members[m.id] = m
	if m.instance != nil {
		g.static[*m.instance] = m.id
	}
	if g.leader == "" {
		g.leader = m.id
	}
	delete(g.pendingJoin, m.id)
}

// update takes over what a JoinGroup says of its member and parks it. An older one that is still parked has lost its client.
func (g *classicGroup) update(e *coordinator.Effects, m *classicMember, h coordinator.Handle, req *kmsg.JoinGroupRequest) {
	protocols := make([]classicProtocol, len(req.Protocols))
	for i, p := range req.Protocols {
		protocols[i] = classicProtocol{strings.Clone(p.Name), append([]byte{}, p.Metadata...)}
	}
	g.setProtocols(m, protocols)
	m.sessionTimeout = millis(req.SessionTimeoutMillis)
	m.rebalanceTimeout = m.sessionTimeout
	if req.Version > 0 {
		m.rebalanceTimeout = millis(req.RebalanceTimeoutMillis)
	}
	g.answerJoin(e, m, joinError(m.joinV, m.id, kerr.RebalanceInProgress))
	m.join, m.joinV = h, req.Version
	g.awaitingJoin++
}

// setProtocols changes what a member supports, and the group's count of it.
func (g *classicGroup) setProtocols(m *classicMember, protocols []classicProtocol) {
	for _, p := range m.protocols {
		if g.votes[p.name]--; g.votes[p.name] == 0 {
			delete(g.votes, p.name)
		}
	}
	m.protocols = protocols
	for _, p := range m.protocols {
		g.votes[p.name]++
	}
}

// answerJoin answers a parked JoinGroup, if there is one.
func (g *classicGroup) answerJoin(e *coordinator.Effects, m *classicMember, resp *kmsg.JoinGroupResponse) {
	if m.join != nil {
		resp.Version = m.joinV
		answer(e, m.join, resp)
		m.join = nil
		g.awaitingJoin--
	}
}

// keepAlive gives a member time until it is heard of again.
func (g *classicGroup) keepAlive(e *coordinator.Effects, now coordinator.Now, m *classicMember, d time.Duration) {
	m.deadline = now.Mono.Add(d)
	if m.armed.IsZero() || m.deadline.Before(m.armed) {
		m.armed = m.deadline
		setTimer(e, m.timerKey, m.deadline)
	}
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

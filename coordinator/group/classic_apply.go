package group

import (
	"time"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// groupMetadataVersion is the version of GroupMetadataValue that Kafka 4.4 writes.
const groupMetadataVersion = 3

// record is the group with the given assignments.
func (g *classicGroup) record(assignments map[string][]byte) coordinator.Record {
	k, v := record.NewGroupMetadataKey(), record.NewGroupMetadataValue()
	k.Group = g.id
	v.ProtocolType, v.Generation, v.Protocol, v.CurrentStateTimestamp = g.protocolType, g.generation, g.protocolName, g.since
	if g.leader != "" {
		v.Leader = &g.leader
	}
	if assignments == nil {
		return newRecord(k, v, groupMetadataVersion)
	}
	for _, m := range g.sorted() {
		r := record.NewMemberMetadata()
		r.MemberID, r.GroupInstanceID, r.ClientID, r.ClientHost = m.id, m.instance, m.clientID, m.clientHost
		r.RebalanceTimeout, r.SessionTimeout = int32(m.rebalanceTimeout/time.Millisecond), int32(m.sessionTimeout/time.Millisecond)
		r.Subscription, r.Assignment = m.metadataOf(g.protocolText()), assignments[m.id]
		v.Members = append(v.Members, *r)
	}
	return newRecord(k, v, groupMetadataVersion)
}

// firstRecord makes a new group known; its members, if it has any yet, come with the record of their first generation.
func (g *classicGroup) firstRecord() coordinator.Record {
	k, v := record.NewGroupMetadataKey(), record.NewGroupMetadataValue()
	k.Group, v.CurrentStateTimestamp = g.id, g.since
	return newRecord(k, v, groupMetadataVersion)
}

// applyClassic folds a classic group's record; nil is its tombstone. A group that serves keeps its soft state: who waits, until when.
func (s *Shard) applyClassic(id string, v *record.GroupMetadataValue) {
	g := s.groups[id]
	if v == nil {
		if g != nil && g.classic != nil {
			delete(s.groups, id)
		}
		return
	}
	if g == nil || g.classic == nil {
		g = &group{id: id, classic: newClassicGroup(id, -1)}
		s.groups[id] = g
	}
	c := g.classic
	if s.serving && len(v.Members) == 0 && len(c.members) > 0 {
		return // the first record of a group whose members are gathering already
	}
	c.generation, c.protocolType, c.protocolName, c.since = v.Generation, v.ProtocolType, v.Protocol, v.CurrentStateTimestamp
	for _, r := range v.Members {
		c.applyMember(r, s.serving)
	}
	c.keepOnly(v.Members)
	c.leader = ""
	if v.Leader != nil {
		c.leader = *v.Leader
	}
	to := stateStable
	if len(v.Members) == 0 {
		to = stateEmpty
	}
	if c.state != to && c.state != statePreparing { // a join phase that is open goes on: the record came with it, from a downgrade
		c.previous, c.state = c.state, to
	}
	c.subscribed = c.subscriptions()
}

// applyMember folds one member of a group's record. Of a live one more is known than the record says: what else it supports.
func (g *classicGroup) applyMember(r record.MemberMetadata, serving bool) {
	m := g.members[r.MemberID]
	if m == nil {
		m = &classicMember{id: r.MemberID, instance: r.GroupInstanceID}
		g.insert(m)
		serving = false
	}
	if !serving {
		g.setProtocols(m, []classicProtocol{{g.protocolText(), r.Subscription}})
	}
	m.clientID, m.clientHost = r.ClientID, r.ClientHost
	m.sessionTimeout, m.rebalanceTimeout = millis(r.SessionTimeout), millis(r.RebalanceTimeout)
	if r.RebalanceTimeout < 0 { // version 0
		m.rebalanceTimeout = m.sessionTimeout
	}
	m.assignment = r.Assignment
}

// keepOnly forgets members that a record does not have. Live ones are all in it.
func (g *classicGroup) keepOnly(members []record.MemberMetadata) {
	if len(members) == len(g.members) {
		return
	}
	known := make(map[string]bool, len(members))
	for _, r := range members {
		known[r.MemberID] = true
	}
	for id, m := range g.members {
		if known[id] {
			continue
		}
		g.setProtocols(m, nil)
		delete(g.members, id)
		if m.instance != nil && g.static[*m.instance] == id {
			delete(g.static, *m.instance)
		}
	}
}

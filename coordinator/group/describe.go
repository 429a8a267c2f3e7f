package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// DescribeGroup answers for one group of a DescribeGroups request: members speak only for classic groups.
func (s *Shard) DescribeGroup(id string, version int16) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group = id
	g := s.groups[id]
	if g == nil || g.classic == nil {
		r.State = "Dead"
		if version >= 6 { // KIP-1043
			r.ErrorCode = kerr.GroupIDNotFound.Code
			text := fmt.Sprintf("Group %s not found.", id)
			if g != nil {
				text = fmt.Sprintf("Group %s is not a classic group.", id)
			}
			r.ErrorMessage = &text
		}
		return r
	}
	c := g.classic
	r.State, r.ProtocolType = c.stateName(), c.protocolType
	if c.state == stateStable {
		r.Protocol = c.protocolText()
	}
	for _, m := range c.sorted() {
		rm := kmsg.NewDescribeGroupsResponseGroupMember()
		rm.MemberID, rm.InstanceID, rm.ClientID, rm.ClientHost, rm.MemberAssignment = m.id, m.instance, m.clientID, m.clientHost, m.assignment
		if c.state == stateStable {
			rm.ProtocolMetadata = m.metadataOf(r.Protocol)
		}
		r.Members = append(r.Members, rm)
	}
	return r
}

// ListGroups lists the groups in one of the states and of one of the types; empty filters let all through. Case does not matter.
func (s *Shard) ListGroups(states, types []string) (out []kmsg.ListGroupsResponseGroup) {
	for _, g := range s.sortedGroups() {
		k := g.kind()
		if !matches(states, k.stateName()) || !matches(types, k.typeName()) {
			continue
		}
		r := kmsg.NewListGroupsResponseGroup()
		r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.id, k.protocol(), k.stateName(), k.typeName()
		out = append(out, r)
	}
	return out
}

func matches(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
}

// DeleteGroups deletes groups that nobody is in, with their offsets, those of open transactions too.
func (s *Shard) DeleteGroups(h coordinator.Handle, ids []string) (e coordinator.Effects) {
	e.Clean, e.Loose = true, true
	resp := kmsg.NewPtrDeleteGroupsResponse()
	for _, id := range ids {
		r := kmsg.NewDeleteGroupsResponseGroup()
		r.Group = id
		if err := s.deleteGroup(&e, id); err != nil {
			r.ErrorCode = err.Code
		}
		resp.Groups = append(resp.Groups, r)
	}
	answer(&e, h, resp)
	return e
}

func (s *Shard) deleteGroup(e *coordinator.Effects, id string) *kerr.Error {
	g := s.groups[id]
	if g == nil {
		return kerr.GroupIDNotFound
	}
	if err := g.kind().validateDelete(); err != nil {
		return err
	}
	for _, tp := range s.offsets.groups[id].all(true) {
		e.Records = append(e.Records, offsetTombstone(id, tp))
	}
	e.Records = append(e.Records, g.kind().tombstones()...)
	return nil
}

package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// refusal is why a request of a consumer group is not granted. The message goes to the client, as Apache Kafka words it.
type refusal struct {
	code    *kerr.Error
	message string
}

func refuse(code *kerr.Error, format string, args ...any) *refusal {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

func heartbeatRefused(version int16, r *refusal) *kmsg.ConsumerGroupHeartbeatResponse {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.Version, resp.ErrorCode = version, r.code.Code
	if r.message != "" {
		resp.ErrorMessage = &r.message
	}
	return resp
}

// CheckConsumerGroupHeartbeat finds what is wrong with a request whatever the state of its group, nil if nothing: Kafka looks at this
// before it knows whether it is the coordinator. assignors is group.consumer.assignors.
func CheckConsumerGroupHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest, assignors string) *kmsg.ConsumerGroupHeartbeatResponse {
	if r := checkHeartbeat(req, assignors); r != nil {
		return heartbeatRefused(req.Version, r)
	}
	return nil
}

func checkHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest, assignors string) *refusal {
	blank := func(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }
	switch {
	case (req.Version >= 1 || req.MemberEpoch > 0 || req.MemberEpoch == epochLeave) && blank(&req.MemberID):
		return refuse(kerr.InvalidRequest, "MemberId can't be empty.")
	case blank(&req.Group):
		return refuse(kerr.InvalidRequest, "GroupId can't be empty.")
	case blank(req.InstanceID):
		return refuse(kerr.InvalidRequest, "InstanceId can't be empty.")
	case blank(req.RackID):
		return refuse(kerr.InvalidRequest, "RackId can't be empty.")
	}
	switch {
	case req.MemberEpoch == epochJoin:
		switch {
		case req.RebalanceTimeoutMillis == -1:
			return refuse(kerr.InvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
		case req.Topics == nil || len(req.Topics) > 0:
			return refuse(kerr.InvalidRequest, "TopicPartitions must be empty when (re-)joining.")
		case req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil:
			return refuse(kerr.InvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
		}
	case req.MemberEpoch == epochLeaveStatic && req.InstanceID == nil:
		return refuse(kerr.InvalidRequest, "InstanceId can't be null.")
	case req.MemberEpoch < epochLeaveStatic:
		return refuse(kerr.InvalidRequest, "MemberEpoch is invalid.")
	}
	if names := assignorNames(assignors); req.ServerAssignor != nil && !slices.Contains(names, *req.ServerAssignor) {
		return refuse(kerr.UnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.", *req.ServerAssignor, strings.Join(names, ", "))
	}
	return nil
}

// assignorNames reads group.consumer.assignors, whose entries may be Kafka's classes. The first is the default.
func assignorNames(list string) (out []string) {
	for _, name := range strings.Split(list, ",") {
		switch name = strings.TrimSpace(name); name {
		case "org.apache.kafka.coordinator.group.assignor.UniformAssignor":
			name = assignorUniform
		case "org.apache.kafka.coordinator.group.assignor.RangeAssignor":
			name = assignorRange
		}
		if name != "" {
			out = append(out, name)
		}
	}
	if out == nil {
		out = []string{assignorUniform, assignorRange}
	}
	return out
}

// ConsumerGroupHeartbeat is everything a member of a consumer group does: join, stay, tell what it subscribes to and owns, leave. The
// request has passed CheckConsumerGroupHeartbeat. A heartbeat that changes nothing writes nothing and only moves a deadline.
func (s *Shard) ConsumerGroupHeartbeat(now coordinator.Now, c Client, h coordinator.Handle, req *kmsg.ConsumerGroupHeartbeatRequest) coordinator.Effects {
	var resp *kmsg.ConsumerGroupHeartbeatResponse
	var r *refusal
	t := &turn{s: s, now: now}
	if req.MemberEpoch == epochLeave || req.MemberEpoch == epochLeaveStatic {
		resp, r = t.leave(req)
	} else {
		resp, r = t.heartbeat(c, req)
	}
	if r != nil {
		return reply(h, heartbeatRefused(req.Version, r))
	}
	resp.Version = req.Version
	if !t.hold(h, req, resp) {
		answer(&t.e, h, resp)
	}
	return t.finish()
}

func (t *turn) heartbeat(c Client, req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, *refusal) {
	joins := req.MemberEpoch == epochJoin
	if r := t.find(req.Group, joins); r != nil {
		return nil, r
	}
	if r := t.checkSize(req.MemberID, req.InstanceID); r != nil {
		return nil, r
	}
	id := req.MemberID
	if id == "" {
		id = c.FreshID
	}
	old, r := t.member(joining{id: id, instance: req.InstanceID, create: joins}, func(m *consumerMember) *refusal {
		return checkEpoch(m, req)
	})
	if r != nil {
		return nil, r
	}
	m := updated(old, c, req)
	namesChanged := t.recordIfChanged(old, m)
	regex, r := t.updateRegex(old, m)
	if r != nil {
		return nil, r
	}
	g := t.g
	bump := namesChanged || regex == regexResolved || t.assignorChanged(old, m)
	m, r = t.advance(old, m, advance{bump: bump, subscriptionChanged: namesChanged || regex != regexUnchanged, owned: req.Topics})
	if r != nil {
		return nil, r
	}
	t.keepAlive(m.id, millis(int32(t.s.d.Settings.GroupInt(g.id, "consumer.session.timeout.ms"))))
	t.release(m.id)
	t.waits = m.state == memberUnreleased && old.assigned.equal(m.assigned)

	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.MemberID, resp.MemberEpoch = &m.id, m.epoch
	resp.HeartbeatIntervalMillis = int32(t.s.d.Settings.GroupInt(g.id, "consumer.heartbeat.interval.ms"))
	full := req.RebalanceTimeoutMillis != -1 && (req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil) && req.Topics != nil
	if joins || full || old != m && !old.assigned.equal(m.assigned) {
		resp.Assignment = m.assigned.response()
	}
	return resp, nil
}

// assignorChanged tells whether the members prefer another assignor once old is replaced by m.
func (t *turn) assignorChanged(old, m *consumerMember) bool {
	if equalStrings(old.assignor, m.assignor) && t.g.members[old.id] != nil {
		return false
	}
	fallback := assignorNames(t.s.d.Settings.Str("group.consumer.assignors"))[0]
	return t.g.preferred(fallback, nil, nil) != t.g.preferred(fallback, old, m)
}

// checkEpoch tells whether the member is where the coordinator thinks it is. A member that has not seen the answer which raised its epoch
// may repeat the one before, if it owns nothing that was taken away since.
func checkEpoch(m *consumerMember, req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	const message = "The consumer group member has a %s member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin."
	switch e := req.MemberEpoch; {
	case e == epochJoin:
		return nil
	case e > m.epoch:
		return refuse(kerr.FencedMemberEpoch, message, "greater", e, m.epoch)
	case e < m.epoch && (e != m.previousEpoch || !m.assigned.covers(req.Topics)):
		return refuse(kerr.FencedMemberEpoch, message, "smaller", e, m.epoch)
	}
	return nil
}

// covers tells whether all these partitions are among e; it is false for null.
func (e epochsOf) covers(topics []kmsg.ConsumerGroupHeartbeatRequestTopic) bool {
	if topics == nil {
		return false
	}
	for i := range topics {
		have, ok := e[topics[i].TopicID]
		if !ok {
			return false
		}
		for _, p := range topics[i].Partitions {
			if _, ok := have[p]; !ok {
				return false
			}
		}
	}
	return true
}

func (e epochsOf) response() *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
	for _, topic := range sortedTopics(e) {
		at := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
		at.TopicID, at.Partitions = topic, e.sortedPartitions(topic)
		a.Topics = append(a.Topics, at)
	}
	return &a
}

// updated is the member with what the request says of it. It returns m itself when there is nothing new.
func updated(m *consumerMember, c Client, req *kmsg.ConsumerGroupHeartbeatRequest) *consumerMember {
	n := *m
	n.instance = newer(m.instance, req.InstanceID)
	n.rack = newer(m.rack, req.RackID)
	n.assignor = newer(m.assignor, req.ServerAssignor)
	if req.RebalanceTimeoutMillis != -1 {
		n.rebalanceTimeoutMs = req.RebalanceTimeoutMillis
	}
	if req.SubscribedTopicNames != nil {
		n.topics = sortedNames(req.SubscribedTopicNames)
	}
	if req.SubscribedTopicRegex != nil && *req.SubscribedTopicRegex != m.regex {
		n.regex = strings.Clone(*req.SubscribedTopicRegex)
	}
	n.setClient(c)
	n.classic = nil
	if n.saysSame(m) {
		return m
	}
	return n.next()
}

func (m *consumerMember) setClient(c Client) {
	if m.clientID != c.ID {
		m.clientID = strings.Clone(c.ID)
	}
	if m.clientHost != c.Host {
		m.clientHost = strings.Clone(c.Host)
	}
}

// newer takes what was said over what was known.
func newer(known, said *string) *string {
	if said == nil || known != nil && *known == *said {
		return known
	}
	return cloneStringPtr(said)
}

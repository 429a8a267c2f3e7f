package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// simMember is a client of the consumer protocol as a good one is: it gives up what it is told to give up before it confirms it, takes
// what it is given, and drops everything when it is fenced.
type simMember struct {
	id       string
	instance *string
	topics   []string
	regex    string
	epoch    int32
	has      map[topicID]map[int32]bool
	mustSay  bool // what it owns changed, or it has joined anew
	classic  bool // speaks the classic protocol; epoch is its generation
	away     bool // left for good, or its session may have ended: nobody counts on it
	heard    time.Duration
	// target is what it was told to have; while it has anything beyond that, it is giving it up, and takes nothing.
	target map[topicID]map[int32]bool
}

// sim is a group under random members.
type sim struct {
	w       *consumerWorld
	rnd     *rand.Rand
	members []*simMember
	next    int
	trace   []string
	// waiting are heartbeats that are held back, at the shard that they were sent to.
	waiting map[storyCall]*simMember
	shard   *Shard
	calls   storyCall
}

// TestConsumerGroupNeverAssignsTwice: whatever members do, no two of them that the coordinator counts as alive hold one partition
// (group I3), the log folded again gives the same group, and once they are left in peace the group settles with everything assigned.
func TestConsumerGroupNeverAssignsTwice(t *testing.T) {
	for seed := range uint64(100) {
		s := newSim(t, seed)
		for i := range 120 {
			s.step()
			s.check(i%10 == 0)
		}
		s.settle()
	}
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{w: newConsumerWorld(t), rnd: rand.New(rand.NewPCG(seed, 848)), waiting: map[storyCall]*simMember{}}
	s.w.set["group.consumer.migration.policy"] = "upgrade" // without the way back, which ends the coordinator's part
	s.w.topics.set("foo", 5)
	s.w.topics.set("bar", 3)
	s.w.topics.set("baz", 4)
	if seed%3 == 0 {
		s.w.set["group.consumer.assignors"] = "range,uniform"
	}
	if seed%2 == 0 {
		s.w.set["consumer.assignment.interval.ms"] = "1000"
	}
	if seed%5 == 0 {
		s.w.refuse = func() bool {
			no := s.rnd.IntN(8) == 0
			if no {
				s.note("the log refuses")
			}
			return no
		}
	}
	return s
}

func (s *sim) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

func (s *sim) fail(format string, args ...any) {
	s.w.t.Helper()
	s.w.t.Fatalf("%s\nafter:\n%s\ngroup:\n%s", fmt.Sprintf(format, args...), strings.Join(s.trace, "\n"), strings.Join(s.w.showGroup(), "\n"))
}

func (s *sim) alive() (out []*simMember) {
	for _, m := range s.members {
		if !m.away {
			out = append(out, m)
		}
	}
	return out
}

func (s *sim) step() {
	alive := s.alive()
	switch n := s.rnd.IntN(20); {
	case n < 3 && len(alive) < 6:
		s.join()
	case n == 3 && len(alive) > 0:
		s.leave(alive[s.rnd.IntN(len(alive))])
	case n == 4 && len(alive) > 0:
		m := alive[s.rnd.IntN(len(alive))]
		m.topics, m.regex = s.subscription()
		s.beat(m, true)
	case n == 5:
		s.cluster()
	case n == 6:
		s.pass()
	case n == 7 && len(alive) > 0: // a member that is slow: the coordinator gives up on it, and it drops everything before its session ends
		m := alive[s.rnd.IntN(len(alive))]
		s.note("%s stops", m.id)
		m.away = true
	case n == 8:
		s.restart()
	case n < 11: // a moment: heartbeats that are held back are answered, or not yet
		refuse := s.w.refuse
		s.w.refuse = nil
		s.fireUntil(s.w.since + time.Duration(s.rnd.IntN(240))*time.Millisecond)
		s.w.refuse = refuse
	case len(alive) > 0:
		s.beat(alive[s.rnd.IntN(len(alive))], false)
	}
}

func (s *sim) subscription() ([]string, string) {
	var topics []string
	for _, t := range []string{"foo", "bar", "baz"} {
		if s.rnd.IntN(3) > 0 {
			topics = append(topics, t)
		}
	}
	if s.rnd.IntN(4) == 0 {
		return nil, "ba."
	}
	return topics, ""
}

func (s *sim) join() {
	m := &simMember{id: fmt.Sprintf("m%02d", s.next), has: map[topicID]map[int32]bool{}}
	s.next++
	m.topics, m.regex = s.subscription()
	if s.rnd.IntN(4) == 0 {
		instance := fmt.Sprintf("i%d", s.rnd.IntN(3))
		for _, o := range s.alive() {
			if o.instance != nil && *o.instance == instance {
				return // a good user does not give one id to two processes
			}
		}
		m.instance = &instance
	}
	if g := s.w.s.consumer("g"); g != nil && len(g.members) > g.classicMembers && m.instance == nil && m.regex == "" && s.rnd.IntN(3) == 0 {
		m.classic = true
	}
	s.members = append(s.members, m)
	s.beat(m, true)
}

func (s *sim) leave(m *simMember) {
	if m.classic {
		s.note("%s leaves", m.id)
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group = 5, "g"
		lm := kmsg.NewLeaveGroupRequestMember()
		lm.MemberID = m.id
		req.Members = append(req.Members, lm)
		m.away, m.has = true, nil
		s.deliver(s.w.do(s.w.s.LeaveGroup(s.w.now(), nil, req)))
		return
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = 1, "g", m.id, epochLeave, m.instance
	if m.instance != nil && s.rnd.IntN(2) == 0 {
		req.MemberEpoch = epochLeaveStatic
	}
	s.note("%s leaves with %d", m.id, req.MemberEpoch)
	m.away = true
	m.has = nil
	s.deliver(s.w.do(s.w.s.ConsumerGroupHeartbeat(s.w.now(), s.w.client(), nil, req)))
}

// beat sends a heartbeat; one that joins, or tells something new, is full.
func (s *sim) beat(m *simMember, full bool) {
	if m.giving() && s.rnd.IntN(2) == 0 {
		m.finish()
	}
	if m.classic {
		s.classicBeat(m, full)
		return
	}
	if s.waits(m) && s.rnd.IntN(10) > 0 {
		return
	}
	for c, o := range s.waiting { // the connection is gone, or the user wants something else
		if o == m {
			s.note("%s gives up waiting", m.id)
			delete(s.waiting, c)
			m.mustSay = true
		}
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = 1, "g", m.id, m.epoch, m.instance
	if full || m.epoch == 0 {
		req.SubscribedTopicNames, req.SubscribedTopicRegex = append([]string{}, m.topics...), &m.regex
		req.RebalanceTimeoutMillis = 60_000
	}
	if full || m.mustSay || m.epoch == 0 {
		req.Topics = m.owned()
	}
	s.calls++
	call := s.calls
	s.note("%v %s beats %d topics=%v %s owned=%v", s.w.since, m.id, req.MemberEpoch, req.SubscribedTopicNames, m.regex, req.Topics)
	s.waiting[call], s.shard = m, s.w.s
	s.deliver(s.w.do(s.w.s.ConsumerGroupHeartbeat(s.w.now(), s.w.client(), call, req)))
	if g := s.w.s.consumer("g"); s.waiting[call] != nil && (g == nil || g.held[m.id] == nil || g.held[m.id].to != call) {
		delete(s.waiting, call)
		m.mustSay = true // it can't know what the coordinator heard: it says all again, and its session goes on from the last answer
	}
}

// waits tells whether the member's last heartbeat is held back; a shard that was lost has failed all of them.
func (s *sim) waits(m *simMember) bool {
	if s.shard != s.w.s {
		for c, o := range s.waiting {
			delete(s.waiting, c)
			o.mustSay = true
		}
	}
	for _, o := range s.waiting {
		if o == m {
			return true
		}
	}
	return false
}

// deliver hands answers to who waits for them.
func (s *sim) deliver(replies []coordinator.Reply) {
	for _, r := range replies {
		c, _ := r.To.(storyCall)
		m := s.waiting[c]
		delete(s.waiting, c)
		if resp, ok := r.Response.(*kmsg.ConsumerGroupHeartbeatResponse); ok && m != nil && !m.away {
			s.hear(m, resp)
		}
	}
}

func (s *sim) hear(m *simMember, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	s.note("%v %s hears %s", s.w.since, m.id, s.w.showReply(resp))
	if resp.ErrorCode != 0 {
		m.epoch, m.has, m.target, m.mustSay = 0, map[topicID]map[int32]bool{}, nil, true
		return
	}
	m.epoch, m.mustSay, m.heard = resp.MemberEpoch, false, s.w.since
	if resp.Assignment != nil {
		target := map[topicID]map[int32]bool{}
		for _, t := range resp.Assignment.Topics {
			target[t.TopicID] = map[int32]bool{}
			for _, p := range t.Partitions {
				target[t.TopicID][p] = true
			}
		}
		m.take(target)
	}
}

func (m *simMember) owned() []kmsg.ConsumerGroupHeartbeatRequestTopic {
	p := partitionsOf{}
	for topic, list := range m.has {
		p.add(topic, slices.Collect(maps.Keys(list))...)
	}
	return owned(p)
}

// take hears of an assignment. To give up takes time: the application may still be at work.
func (m *simMember) take(target map[topicID]map[int32]bool) {
	m.target = target
	if !m.giving() {
		m.finish()
	}
}

func (m *simMember) giving() bool {
	for topic, list := range m.has {
		for p := range list {
			if !m.target[topic][p] {
				return true
			}
		}
	}
	return false
}

// finish gives up what is not to be kept, takes the rest, and has to say so.
func (m *simMember) finish() {
	m.has, m.mustSay = map[topicID]map[int32]bool{}, true
	for topic, list := range m.target {
		m.has[topic] = maps.Clone(list)
	}
}

// classicBeat sends a heartbeat of the classic protocol, and joins again when told to. A member that is told anything else is lost.
func (s *sim) classicBeat(m *simMember, join bool) {
	if !join && !m.mustSay {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 4, "g", m.id, m.epoch
		resp := s.w.do(s.w.s.Heartbeat(s.w.now(), storyCall(0), req))[0].Response.(*kmsg.HeartbeatResponse)
		s.note("%v %s classic heartbeat %d -> %s", s.w.since, m.id, m.epoch, s.w.showReply(resp))
		m.mustSay = resp.ErrorCode == kerr.RebalanceInProgress.Code
		if resp.ErrorCode != 0 && !m.mustSay {
			m.away, m.has = true, nil
			return
		}
		m.heard = s.w.since
		return
	}
	if m.giving() {
		m.finish() // before it joins
	}
	m.mustSay = true
	if s.w.s.consumer("g") == nil || s.w.s.consumer("g").empty() {
		m.away, m.has = true, nil
		return
	}
	req := s.w.joinOf(map[string]string{"member": "", "topics": strings.Join(m.topics, ",")})
	req.SessionTimeoutMillis = 45_000
	if m.epoch != 0 {
		req.MemberID = m.id
	}
	sub := kmsg.NewConsumerMemberMetadata()
	sub.Version, sub.Topics = 1, m.topics
	for _, o := range m.owned() {
		if name, ok := s.w.topics.TopicName(o.TopicID); ok {
			p := kmsg.NewConsumerMemberMetadataOwnedPartition()
			p.Topic, p.Partitions = name, o.Partitions
			sub.OwnedPartitions = append(sub.OwnedPartitions, p)
		}
	}
	for i := range req.Protocols {
		req.Protocols[i].Metadata = sub.AppendTo(nil)
	}
	for {
		replies := s.w.do(s.w.s.JoinGroup(s.w.now(), s.w.client(), storyCall(0), req))
		if len(replies) == 0 {
			m.away, m.has = true, nil // the log refused: this one gives up
			return
		}
		resp := replies[0].Response.(*kmsg.JoinGroupResponse)
		s.note("%v %s joins owned=%v -> %s", s.w.since, m.id, m.owned(), s.w.showReply(resp))
		if resp.ErrorCode == kerr.MemberIDRequired.Code {
			req.MemberID, m.id = resp.MemberID, resp.MemberID
			continue
		}
		if resp.ErrorCode != 0 {
			m.away, m.has = true, nil
			return
		}
		m.epoch, m.heard = resp.Generation, s.w.since
		break
	}
	s.classicSync(m)
}

func (s *sim) classicSync(m *simMember) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 5, "g", m.id, m.epoch
	resp := s.w.do(s.w.s.SyncGroup(s.w.now(), storyCall(0), req))[0].Response.(*kmsg.SyncGroupResponse)
	s.note("%v %s syncs -> %s", s.w.since, m.id, s.w.showReply(resp))
	if resp.ErrorCode != 0 {
		return // it joins again
	}
	m.mustSay = false
	a := kmsg.NewConsumerMemberAssignment()
	if err := a.ReadFrom(resp.MemberAssignment); err != nil {
		s.fail("%v", err)
	}
	target := map[topicID]map[int32]bool{}
	for _, t := range a.Topics {
		id, _ := s.w.topics.TopicID(t.Topic)
		target[id] = map[int32]bool{}
		for _, p := range t.Partitions {
			target[id][p] = true
		}
	}
	m.take(target)
	m.mustSay = false
}

// cluster changes the topics.
func (s *sim) cluster() {
	switch s.rnd.IntN(3) {
	case 0:
		id, ok := s.w.topics.TopicID("foo")
		if ok && s.w.topics.Partitions(id) < 9 {
			s.note("foo grows")
			s.w.topics.set("foo", s.w.topics.Partitions(id)+1)
		}
	case 1:
		if _, ok := s.w.topics.TopicID("bar"); ok {
			s.note("bar is deleted")
			s.w.topics.remove("bar")
		} else {
			s.note("bar is made")
			s.w.topics.set("bar", int32(1+s.rnd.IntN(5)))
		}
	case 2:
		s.note("bax is made")
		s.w.topics.set("bax", int32(1+s.rnd.IntN(3)))
	}
}

// pass lets time go by. Members whose sessions may have ended drop everything, as clients do that could not send heartbeats.
func (s *sim) pass() {
	d := time.Duration(s.rnd.IntN(70)) * time.Second
	s.note("%v pass", d)
	for _, m := range s.alive() {
		if s.w.since+d-m.heard < 44*time.Second {
			continue
		}
		if s.rnd.IntN(3) > 0 {
			s.beatThrough(m, d)
		} else {
			m.away, m.has = true, nil
			s.note("%s is lost", m.id)
		}
	}
	refuse := s.w.refuse
	s.w.refuse = nil // a reload would forget the heartbeats that are not sent here
	s.fireUntil(s.w.since + d)
	s.w.refuse = refuse
	for _, m := range s.members {
		if m.away {
			m.has = nil
		}
	}
}

// fireUntil moves the clock. A member that is thrown out since it did not give up in time (the poll interval of its application) has
// left by itself at that moment, as clients do.
func (s *sim) fireUntil(at time.Duration) {
	s.w.advance(at, func(key string, e coordinator.Effects) {
		s.deliver(e.Replies)
		t, _ := parseTimer(key)
		if len(e.Records) == 0 || t.what == timerHold {
			return
		}
		s.note("%v fires %s", s.w.since, showTimer(key))
		for _, m := range s.members {
			if m.id != t.member {
				continue
			}
			if t.what == timerSession && !m.away && m.epoch != 0 { // a static member that was fenced has to wait for this
				s.fail("%s is thrown out, but was heard of %v ago", m.id, s.w.since-m.heard)
			}
			m.away, m.has = true, nil
		}
	})
}

// beatThrough moves a member's deadline beyond the time that passes, as its heartbeats would.
func (s *sim) beatThrough(m *simMember, d time.Duration) {
	if c := s.w.s.groups["g"]; c != nil && c.consumer != nil && c.consumer.timers[m.id] != nil {
		c.consumer.timers[m.id].session = worldStart.Add(s.w.since + d + 45*time.Second)
		m.heard = s.w.since + d
	}
}

func (s *sim) restart() {
	s.note("restart")
	s.w.s, s.w.timers = s.w.reload(), map[string]time.Duration{}
	s.w.do(s.w.s.Loaded(s.w.now()))
}

// check looks for a partition that two members hold, and, if asked for, compares the group with one folded from the log.
func (s *sim) check(fold bool) {
	s.w.t.Helper()
	holder := map[slot]string{}
	for _, m := range s.members {
		for topic, list := range m.has {
			for p := range list {
				if other := holder[slot{topic, p}]; other != "" {
					s.fail("%s and %s hold partition %d of topic %d", other, m.id, p, topic[15])
				}
				holder[slot{topic, p}] = m.id
			}
		}
	}
	if !fold {
		return
	}
	now := s.w.showGroup()
	live := s.w.s
	s.w.s = s.w.reload()
	folded := s.w.showGroup()
	s.w.s = live
	if !slices.Equal(now, folded) {
		s.fail("the log folded again gives\n%s", strings.Join(folded, "\n"))
	}
}

// settle leaves the members in peace until the group is stable, and checks that every partition that somebody subscribes to is held.
func (s *sim) settle() {
	s.w.t.Helper()
	s.w.refuse = nil
	s.w.topics.version++
	// Heartbeats of the classic protocol do not compute assignments, as in Kafka: somebody has to speak the consumer protocol.
	m := &simMember{id: "last", topics: []string{"foo"}, has: map[topicID]map[int32]bool{}}
	s.members = append(s.members, m)
	s.beat(m, true)
	for range 40 {
		for _, m := range s.alive() {
			s.beat(m, false)
		}
		s.fireUntil(s.w.since + 5*time.Second)
		s.check(false)
	}
	s.check(true)
	g := s.w.s.consumer("g")
	if len(s.waiting) > 0 || len(g.held) > 0 {
		s.fail("%d heartbeats were never answered, %d are held", len(s.waiting), len(g.held))
	}
	if g == nil || g.stateName() != "Stable" || len(g.members) != len(s.alive()) {
		s.fail("the group does not settle")
	}
	held := map[slot]bool{}
	for _, m := range s.alive() {
		for topic, list := range m.has {
			for p := range list {
				held[slot{topic, p}] = true
			}
		}
	}
	for name := range g.names {
		id, ok := s.w.topics.TopicID(name)
		for p := range s.w.topics.Partitions(id) {
			if ok && !held[slot{id, p}] {
				s.fail("nobody holds partition %d of %s", p, name)
			}
		}
	}
}

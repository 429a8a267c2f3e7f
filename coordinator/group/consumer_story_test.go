package group

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

var updateConsumer = flag.Bool("update-consumer", false, "rewrite the stories of consumer groups by what the machine does")

// TestConsumerStories runs testdata/consumer/*.txt: events of one group g, each with the records, replies and timers it gives.
func TestConsumerStories(t *testing.T) {
	files, err := filepath.Glob("testdata/consumer/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := tellConsumerStory(t, string(want))
			if *updateConsumer {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("the story goes\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// tellConsumerStory runs the events of a story and returns it with what they give.
func tellConsumerStory(t *testing.T, text string) string {
	w := newConsumerWorld(t)
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		event, _, _ := strings.Cut(block, "\n----")
		out.WriteString(event + "\n----\n")
		line := event
		for strings.HasPrefix(line, "#") { // a comment before the event
			_, line, _ = strings.Cut(line, "\n")
		}
		for _, l := range w.event(strings.Fields(line)) {
			out.WriteString(l + "\n")
		}
		out.WriteString("\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// storyCall is the handle of a call: its number.
type storyCall int

func (storyCall) Complete(kmsg.Response) {}
func (storyCall) Fail(error)             {}

// event runs one event: its name, then name=value.
func (w *consumerWorld) event(words []string) []string {
	arg := map[string]string{}
	for _, word := range words[1:] {
		k, v, _ := strings.Cut(word, "=")
		arg[k] = v
	}
	if at, ok := arg["at"]; ok {
		d, err := time.ParseDuration(at)
		if err != nil {
			w.t.Fatal(err)
		}
		if words[0] != "advance" {
			w.since = d // timers that are due wait: they may come late
		}
	}
	switch words[0] {
	case "topic":
		n, err := strconv.Atoi(arg["partitions"])
		if err != nil {
			w.t.Fatal(err)
		}
		w.topics.set(arg["name"], int32(n))
		return nil
	case "delete-topic":
		w.topics.remove(arg["name"])
		return nil
	case "racks":
		w.topics.racks = strings.Split(arg["names"], ",")
		w.topics.version++
		return nil
	case "set":
		maps.Copy(w.set, arg)
		return nil
	case "heartbeat":
		req := w.heartbeatOf(arg)
		if resp := CheckConsumerGroupHeartbeat(req, w.set.Str("group.consumer.assignors")); resp != nil {
			return []string{w.showReply(resp)}
		}
		return w.tell(w.s.ConsumerGroupHeartbeat(w.now(), w.client(), nil, req))
	case "join":
		return w.tell(w.s.JoinGroup(w.now(), w.client(), w.call(arg), w.joinOf(arg)))
	case "sync":
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 5, "g", arg["member"], number(arg["generation"])
		req.InstanceID = optional(arg, "instance")
		if a, ok := arg["assign"]; ok {
			ga := kmsg.NewSyncGroupRequestGroupAssignment()
			ga.MemberID = arg["member"]
			m := kmsg.NewConsumerMemberAssignment()
			m.Topics = []kmsg.ConsumerMemberAssignmentTopic{}
			for topic, p := range w.parse(a) {
				mt := kmsg.NewConsumerMemberAssignmentTopic()
				mt.Topic, _ = w.topics.TopicName(topic)
				mt.Partitions = p
				m.Topics = append(m.Topics, mt)
			}
			ga.MemberAssignment = m.AppendTo(nil)
			req.GroupAssignment = append(req.GroupAssignment, ga)
		}
		return w.tell(w.s.SyncGroup(w.now(), w.call(arg), req))
	case "classic-heartbeat":
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 4, "g", arg["member"], number(arg["generation"])
		req.InstanceID = optional(arg, "instance")
		return w.tell(w.s.Heartbeat(w.now(), nil, req))
	case "leave":
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group = 5, "g"
		for _, id := range strings.Split(arg["members"], ",") {
			m := kmsg.NewLeaveGroupRequestMember()
			m.MemberID = id
			m.InstanceID = optional(arg, "instance")
			req.Members = append(req.Members, m)
		}
		return w.tell(w.s.LeaveGroup(w.now(), nil, req))
	case "advance":
		var out []string
		d, err := time.ParseDuration(arg["at"])
		if err != nil {
			w.t.Fatal(err)
		}
		w.advance(d, func(key string, e coordinator.Effects) {
			if lines := w.lines(e); len(lines) > 0 {
				out = append(out, fmt.Sprintf("%v %s", w.since, showTimer(key)))
				out = append(out, lines...)
			}
		})
		return out
	case "restart":
		w.s, w.timers = w.reload(), map[string]time.Duration{}
		return w.tell(w.s.Loaded(w.now()))
	case "commit":
		return []string{"commit " + w.commit(arg)}
	case "group":
		return w.showGroup()
	}
	w.t.Fatalf("event %q is not known", words[0])
	return nil
}

// call is the handle of an event that says which call it is.
func (w *consumerWorld) call(arg map[string]string) coordinator.Handle {
	if _, ok := arg["call"]; ok {
		return storyCall(number(arg["call"]))
	}
	return storyCall(0)
}

func number(s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		panic(err)
	}
	return int32(n)
}

func optional(arg map[string]string, name string) *string {
	if v, ok := arg[name]; ok {
		return &v
	}
	return nil
}

// parse reads foo:0,1;bar:2.
func (w *consumerWorld) parse(text string) partitionsOf {
	out := partitionsOf{}
	for _, part := range strings.Split(text, ";") {
		name, list, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		id, known := w.topics.TopicID(name)
		if !known {
			id = topicID{0: 9}
		}
		for _, p := range strings.Split(list, ",") {
			out.add(id, number(p))
		}
	}
	return out
}

func (w *consumerWorld) heartbeatOf(arg map[string]string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, "g", arg["member"], number(arg["epoch"])
	if v, ok := arg["version"]; ok {
		req.Version = int16(number(v))
	}
	req.InstanceID, req.RackID = optional(arg, "instance"), optional(arg, "rack")
	req.ServerAssignor, req.SubscribedTopicRegex = optional(arg, "assignor"), optional(arg, "regex")
	if req.MemberEpoch == 0 {
		req.Topics, req.RebalanceTimeoutMillis = []kmsg.ConsumerGroupHeartbeatRequestTopic{}, 60_000
	}
	if v, ok := arg["rebalance"]; ok {
		req.RebalanceTimeoutMillis = number(v)
	}
	if v, ok := arg["topics"]; ok {
		req.SubscribedTopicNames = []string{}
		if v != "" {
			req.SubscribedTopicNames = strings.Split(v, ",")
		}
	}
	if v, ok := arg["owned"]; ok {
		req.Topics = owned(w.parse(v))
	}
	return req
}

func owned(p partitionsOf) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	out := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, topic := range sortedTopics(p) {
		o := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		o.TopicID, o.Partitions = topic, p[topic]
		out = append(out, o)
	}
	return out
}

func (w *consumerWorld) joinOf(arg map[string]string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 9, "g", arg["member"], "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30_000, 60_000
	req.InstanceID = optional(arg, "instance")
	sub := kmsg.NewConsumerMemberMetadata()
	sub.Version = 1
	sub.Topics = strings.Split(arg["topics"], ",")
	for topic, p := range w.parse(arg["owned"]) {
		o := kmsg.NewConsumerMemberMetadataOwnedPartition()
		o.Topic, _ = w.topics.TopicName(topic)
		o.Partitions = p
		sub.OwnedPartitions = append(sub.OwnedPartitions, o)
	}
	for _, name := range []string{"range", "roundrobin"} {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, sub.AppendTo(nil)
		req.Protocols = append(req.Protocols, p)
	}
	return req
}

// commit asks whether a member may commit for one partition.
func (w *consumerWorld) commit(arg map[string]string) string {
	by := committer{member: arg["member"], generation: number(arg["epoch"]), version: 9, txn: arg["txn"] != ""}
	if v, ok := arg["version"]; ok {
		by.version = int16(number(v))
	}
	k := w.s.groups["g"].kind()
	if err := k.validateCommit(by); err != nil {
		return err.Message
	}
	for topic, p := range w.parse(arg["partition"]) {
		name, _ := w.topics.TopicName(topic)
		if err := k.mayCommit(by, topicPartition{name, p[0]}, topic); err != nil {
			return err.Message
		}
	}
	return "accepted"
}

// tell does what effects say and tells it.
func (w *consumerWorld) tell(e coordinator.Effects) []string {
	lines := w.lines(e)
	w.do(e)
	return lines
}

func (w *consumerWorld) lines(e coordinator.Effects) (out []string) {
	for _, r := range e.Records {
		out = append(out, "record "+w.showRecord(r))
	}
	for _, r := range e.Replies {
		text := w.showReply(r.Response)
		if c, ok := r.To.(storyCall); ok && c > 0 {
			text += fmt.Sprintf(" call=%d", c)
		}
		out = append(out, text)
	}
	for _, c := range e.Timers {
		if strings.HasPrefix(c.Key, timerExpiry) {
			continue
		}
		if c.At.IsZero() {
			out = append(out, "timer "+showTimer(c.Key)+" cancelled")
		} else {
			out = append(out, fmt.Sprintf("timer %s at %v", showTimer(c.Key), c.At.Sub(worldStart)))
		}
	}
	return out
}

func showTimer(key string) string {
	t, ok := parseTimer(key)
	if !ok {
		return key
	}
	return strings.TrimSpace(t.what + " " + t.member)
}

func (w *consumerWorld) showReply(resp kmsg.Response) string {
	code := func(c int16) string {
		if c == 0 {
			return ""
		}
		var e *kerr.Error
		if errors.As(kerr.ErrorForCode(c), &e) {
			return " " + e.Message
		}
		return " error " + strconv.Itoa(int(c))
	}
	switch r := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if r.ErrorCode != 0 {
			text := ""
			if r.ErrorMessage != nil {
				text = ": " + *r.ErrorMessage
			}
			return "reply" + code(r.ErrorCode) + text
		}
		text := fmt.Sprintf("reply member=%s epoch=%d", *r.MemberID, r.MemberEpoch)
		if r.Assignment != nil {
			p := partitionsOf{}
			for _, t := range r.Assignment.Topics {
				p.add(t.TopicID, t.Partitions...)
			}
			text += " assigned=" + w.show(p.withEpoch(0), false)
		}
		return text
	case *kmsg.JoinGroupResponse:
		text := fmt.Sprintf("reply member=%s", r.MemberID) + code(r.ErrorCode)
		if r.ErrorCode == 0 {
			text += fmt.Sprintf(" generation=%d protocol=%s leader=%s", r.Generation, *r.Protocol, r.LeaderID)
		}
		return text
	case *kmsg.SyncGroupResponse:
		return "reply" + code(r.ErrorCode) + " assigned=" + w.showAssignment(r.MemberAssignment)
	case *kmsg.HeartbeatResponse:
		return strings.TrimSpace("reply " + strings.TrimSpace(code(r.ErrorCode)))
	case *kmsg.LeaveGroupResponse:
		text := "reply" + code(r.ErrorCode)
		for _, m := range r.Members {
			text += fmt.Sprintf(" %s%s", m.MemberID, code(m.ErrorCode))
		}
		return text
	}
	return fmt.Sprintf("%+v", resp)
}

func (w *consumerWorld) showGroup() []string {
	g := w.s.groups["g"]
	if g == nil {
		return []string{"no group"}
	}
	out := []string{fmt.Sprintf("%s %s", g.kind().typeName(), g.kind().stateName())}
	if g.consumer == nil {
		for _, m := range g.classic.sorted() {
			out = append(out, fmt.Sprintf("%s %s", m.id, w.showAssignment(m.assignment)))
		}
		return out
	}
	c := g.consumer
	out[0] += fmt.Sprintf(" epoch=%d assigned=%d", c.epoch, c.assignmentEpoch)
	for _, m := range c.sorted() {
		out = append(out, fmt.Sprintf("%s epoch=%d %s has=%s gives=%s target=%s", m.id, m.epoch, stateText(m.state),
			w.show(m.assigned, true), w.show(m.revoking, true), w.show(c.targets[m.id].withEpoch(0), false)))
	}
	for _, p := range slices.Sorted(maps.Keys(c.regexes)) {
		out = append(out, fmt.Sprintf("regex %s %v", p, c.regexes[p].topics))
	}
	return out
}

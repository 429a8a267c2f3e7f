package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// classicEvents are what a story may tell; see the files in testdata/classic.
var classicEvents = map[string]func(w *classicStory, a args) []string{
	"set": func(w *classicStory, a args) []string {
		for k, v := range a {
			w.set[k] = v
		}
		return nil
	},
	"least-initial-delay": func(w *classicStory, a args) []string {
		d, err := time.ParseDuration(a["is"])
		if err != nil {
			w.t.Fatal(err)
		}
		w.s.d.LeastInitialDelay = d
		return nil
	},
	"topic": func(w *classicStory, a args) []string {
		w.topics.set(a["name"], int32(a.number("partitions", 1)))
		return nil
	},
	"delete-topic": func(w *classicStory, a args) []string {
		id, _ := w.topics.TopicID(a["name"])
		w.topics.remove(a["name"])
		return w.do(w.s.TopicsDeleted(map[string][16]byte{a["name"]: id}))
	},
	"wall": func(w *classicStory, a args) []string {
		d, err := time.ParseDuration(a["jumps"])
		if err != nil {
			w.t.Fatal(err)
		}
		w.wall += d
		return nil
	},
	"join": func(w *classicStory, a args) []string {
		w.members++
		c := Client{ID: "c", Host: "/h", FreshID: "m" + strconv.Itoa(w.members)}
		return w.do(w.s.JoinGroup(w.now(), c, w.call(), joinOf(a)))
	},
	"sync": func(w *classicStory, a args) []string {
		r := kmsg.NewPtrSyncGroupRequest()
		r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = 5, a.group(), a["member"], int32(a.number("generation", 0)), a.optional("instance")
		r.Protocol, r.ProtocolType = a.optional("protocol"), a.optional("type")
		for _, pair := range fields(a["assign"]) {
			m, as, _ := strings.Cut(pair, ":")
			ga := kmsg.NewSyncGroupRequestGroupAssignment()
			ga.MemberID, ga.MemberAssignment = m, []byte(as)
			r.GroupAssignment = append(r.GroupAssignment, ga)
		}
		return w.do(w.s.SyncGroup(w.now(), w.call(), r))
	},
	"heartbeat": func(w *classicStory, a args) []string {
		r := kmsg.NewPtrHeartbeatRequest()
		r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = 4, a.group(), a["member"], int32(a.number("generation", 0)), a.optional("instance")
		return w.do(w.s.Heartbeat(w.now(), w.call(), r))
	},
	"leave": func(w *classicStory, a args) []string {
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Version, r.Group = int16(a.number("v", 5)), a.group()
		r.MemberID = a["member"]
		for _, id := range fields(a["members"]) {
			m := kmsg.NewLeaveGroupRequestMember()
			member, instance, static := strings.Cut(id, "@")
			m.MemberID = member
			if static {
				m.InstanceID = &instance
			}
			r.Members = append(r.Members, m)
		}
		return w.do(w.s.LeaveGroup(w.now(), w.call(), r))
	},
	"commit": func(w *classicStory, a args) []string {
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = int16(a.number("v", 8)), a.group(), a["member"], int32(a.number("generation", -1)), a.optional("instance")
		r.RetentionTimeMillis = a.number("retention", -1)
		for _, o := range offsetsOf(a["offsets"]) {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = o.topic
			t.TopicID, _ = w.topics.TopicID(o.topic)
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.partition, o.offset, -1, a.optional("metadata")
			t.Partitions = append(t.Partitions, p)
			r.Topics = append(r.Topics, t)
		}
		return w.do(w.s.OffsetCommit(w.now(), w.call(), r))
	},
	"txn-commit": func(w *classicStory, a args) []string {
		r := kmsg.NewPtrTxnOffsetCommitRequest()
		r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = int16(a.number("v", 4)), a.group(), a["member"], int32(a.number("generation", -1)), a.optional("instance")
		r.ProducerID = a.number("producer", 1)
		for _, o := range offsetsOf(a["offsets"]) {
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic = o.topic
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = o.partition, o.offset, -1
			t.Partitions = append(t.Partitions, p)
			r.Topics = append(r.Topics, t)
		}
		return w.do(w.s.TxnOffsetCommit(w.now(), w.call(), r))
	},
	"end-txn": func(w *classicStory, a args) []string {
		txn := coordinator.Txn{ProducerID: a.number("producer", 1)}
		w.log = append(w.log, loggedRecord{txn: txn.ProducerID, marker: a["result"]})
		return w.do(w.s.EndTxn(w.now(), txn, a["result"] == "commit"))
	},
	"fetch": func(w *classicStory, a args) []string {
		r := kmsg.NewOffsetFetchRequestGroup()
		r.Group, r.MemberEpoch = a.group(), -1
		if parts, ok := a["partitions"]; ok {
			for _, o := range offsetsOf(parts) {
				t := kmsg.NewOffsetFetchRequestGroupTopic()
				t.Topic, t.Partitions = o.topic, []int32{o.partition}
				t.TopicID, _ = w.topics.TopicID(o.topic)
				r.Topics = append(r.Topics, t)
			}
		}
		resp := w.s.OffsetFetch(&r, a["stable"] != "")
		out := []string{"offsets " + errorName(resp.ErrorCode)}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				line := fmt.Sprintf("  %s-%d=%d %s", t.Topic, p.Partition, p.Offset, errorName(p.ErrorCode))
				if *p.Metadata != "" {
					line += " metadata=" + *p.Metadata
				}
				out = append(out, line)
			}
		}
		return out
	},
	"delete-offsets": func(w *classicStory, a args) []string {
		r := kmsg.NewPtrOffsetDeleteRequest()
		r.Group = a.group()
		for _, o := range offsetsOf(a["partitions"]) {
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = o.topic
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = o.partition
			t.Partitions = append(t.Partitions, p)
			r.Topics = append(r.Topics, t)
		}
		return w.do(w.s.OffsetDelete(w.call(), r))
	},
	"delete-group": func(w *classicStory, a args) []string { return w.do(w.s.DeleteGroups(w.call(), []string{a.group()})) },
	"describe": func(w *classicStory, a args) []string {
		g := w.s.DescribeGroup(a.group(), 6)
		line := fmt.Sprintf("group %s %s %s type=%q protocol=%q", g.Group, errorName(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
		for _, m := range g.Members {
			line += fmt.Sprintf(" %s:%s", m.MemberID, m.MemberAssignment)
		}
		return []string{line}
	},
	"list": func(w *classicStory, a args) (out []string) {
		for _, g := range w.s.ListGroups(fields(a["states"]), fields(a["types"])) {
			out = append(out, fmt.Sprintf("%s %s %s %q", g.Group, g.GroupType, g.GroupState, g.ProtocolType))
		}
		return out
	},
	// restart loads the log into a new shard; who waited is told nothing here.
	"restart": func(w *classicStory, _ args) (out []string) {
		for _, h := range w.s.Dropped() {
			out = append(out, fmt.Sprintf("dropped %d", h))
			delete(w.open, h.(callNumber))
		}
		w.s = New(Deps{Topics: w.topics, Settings: w.set})
		for _, l := range w.log {
			txn := coordinator.Txn{ProducerID: l.txn}
			switch {
			case l.marker != "":
				w.s.EndTxn(w.now(), txn, l.marker == "commit")
			case l.txn != 0:
				w.s.ApplyTxn(txn, l.rec)
			default:
				w.s.Apply(l.rec)
			}
		}
		clear(w.timers)
		return append(out, w.do(w.s.Loaded(w.now()))...)
	},
}

func fields(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

type storyOffset struct {
	topicPartition
	offset int64
}

// offsetsOf reads t-0:5,t-1:7; the offset may be left out.
func offsetsOf(s string) (out []storyOffset) {
	for _, f := range fields(s) {
		tp, offset, _ := strings.Cut(f, ":")
		i := strings.LastIndexByte(tp, '-')
		p, _ := strconv.Atoi(tp[i+1:])
		n, _ := strconv.ParseInt(offset, 10, 64)
		out = append(out, storyOffset{topicPartition{tp[:i], int32(p)}, n})
	}
	return out
}

func joinOf(a args) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID = int16(a.number("v", 9)), a.group(), a["member"], a.optional("instance")
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = a.ms("session", 10*time.Second), a.ms("rebalance", 60*time.Second)
	r.ProtocolType = "consumer"
	if t, ok := a["type"]; ok {
		r.ProtocolType = t
	}
	protocols := fields(a["protocols"])
	if _, ok := a["protocols"]; !ok {
		protocols = []string{"range"}
	}
	topics := fields(a["topics"])
	slices.Sort(topics)
	for _, name := range protocols {
		p := kmsg.NewJoinGroupRequestProtocol()
		m := kmsg.NewConsumerMemberMetadata()
		m.Topics = topics
		p.Name, p.Metadata = name, m.AppendTo(nil)
		r.Protocols = append(r.Protocols, p)
	}
	return r
}

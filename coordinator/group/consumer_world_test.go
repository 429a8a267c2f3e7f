package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// consumerWorld drives a shard as the runtime does: it applies records, keeps timers, moves the clock.
type consumerWorld struct {
	t      testing.TB
	s      *Shard
	topics *worldTopics
	set    worldSettings
	since  time.Duration
	timers map[string]time.Duration
	log    []coordinator.Record
	fresh  int
	// refuse, when set, tells whether the log refuses the next write.
	refuse func() bool
}

var worldStart = time.Unix(1_700_000_000, 0)

func newConsumerWorld(t testing.TB) *consumerWorld {
	w := &consumerWorld{t: t, topics: &worldTopics{ids: map[string]topicID{}, counts: map[topicID]int32{}}, timers: map[string]time.Duration{}}
	w.set = worldSettings{
		"group.consumer.max.size": "2147483647", "group.max.size": "2147483647", "group.consumer.assignors": "uniform,range",
		"group.consumer.migration.policy": "bidirectional", "group.min.session.timeout.ms": "6000", "group.max.session.timeout.ms": "1800000",
		"group.initial.rebalance.delay.ms": "0", "consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "5000",
		"consumer.assignment.interval.ms": "0", "offsets.retention.check.interval.ms": "600000", "offsets.retention.minutes": "10080",
		"offset.metadata.max.bytes": "4096", "group.consumer.regex.refresh.interval.ms": "600000",
	}
	w.s = w.shard()
	w.do(w.s.Loaded(w.now()))
	return w
}

func (w *consumerWorld) shard() *Shard {
	return New(Deps{Topics: w.topics, Settings: w.set})
}

func (w *consumerWorld) now() coordinator.Now {
	return coordinator.Now{Wall: worldStart.Add(w.since), Mono: worldStart.Add(w.since)}
}

// do does what effects say and returns the responses by handle.
func (w *consumerWorld) do(e coordinator.Effects) (out []coordinator.Reply) {
	refused := len(e.Records) > 0 && w.refuse != nil && w.refuse()
	defer func() {
		if refused && !e.Clean {
			w.s, w.timers = w.reload(), map[string]time.Duration{}
			w.do(w.s.Loaded(w.now()))
		}
	}()
	if !refused {
		for _, r := range e.Records {
			w.s.Apply(r)
			w.log = append(w.log, r)
		}
	}
	for _, c := range e.Timers {
		if c.At.IsZero() {
			delete(w.timers, c.Key)
		} else {
			w.timers[c.Key] = c.At.Sub(worldStart)
		}
	}
	if refused {
		return nil
	}
	return e.Replies
}

// advance moves the clock and fires what becomes due, in order.
func (w *consumerWorld) advance(to time.Duration, fired func(key string, e coordinator.Effects)) {
	for {
		due := slices.SortedFunc(maps.Keys(w.timers), func(a, b string) int {
			return cmp.Or(cmp.Compare(w.timers[a], w.timers[b]), cmp.Compare(a, b))
		})
		if len(due) == 0 || w.timers[due[0]] > to {
			break
		}
		key := due[0]
		w.since = max(w.since, w.timers[key])
		delete(w.timers, key)
		e := w.s.Fire(w.now(), key)
		w.do(e)
		if fired != nil {
			fired(key, e)
		}
	}
	w.since = max(w.since, to)
}

// reload folds the log into another shard, as a restart would.
func (w *consumerWorld) reload() *Shard {
	s := w.shard()
	for _, r := range w.log {
		s.Apply(r)
	}
	return s
}

func (w *consumerWorld) client() Client {
	w.fresh++
	return Client{ID: "cli", Host: "/10.0.0.1", FreshID: "fresh-" + strconv.Itoa(w.fresh)}
}

type worldSettings map[string]string

func (s worldSettings) Int(name string) int64 {
	n, err := strconv.ParseInt(s[name], 10, 64)
	if err != nil {
		panic("setting " + name + ": " + err.Error())
	}
	return n
}
func (s worldSettings) Str(name string) string            { return s[name] }
func (s worldSettings) GroupInt(_ string, n string) int64 { return s.Int(n) }

type worldTopics struct {
	ids     map[string]topicID
	counts  map[topicID]int32
	racks   []string
	made    byte
	version int64
}

func (t *worldTopics) set(name string, partitions int32) topicID {
	t.version++
	id, ok := t.ids[name]
	if !ok {
		t.made++
		id = topicID{15: t.made}
		t.ids[name] = id
	}
	t.counts[id] = partitions
	return id
}

func (t *worldTopics) remove(name string) {
	t.version++
	delete(t.counts, t.ids[name])
	delete(t.ids, name)
}

func (t *worldTopics) TopicID(name string) (topicID, bool) { id, ok := t.ids[name]; return id, ok }
func (t *worldTopics) TopicName(id topicID) (string, bool) {
	for name, have := range t.ids {
		if have == id {
			return name, true
		}
	}
	return "", false
}
func (t *worldTopics) Partitions(id topicID) int32   { return t.counts[id] }
func (t *worldTopics) Racks(topicID, int32) []string { return t.racks }
func (t *worldTopics) Names() []string               { return slices.Sorted(maps.Keys(t.ids)) }
func (t *worldTopics) Version() int64                { return t.version }

// show writes partitions as foo:0,1 bar:2; with epochs as foo:0@2,1@3.
func (w *consumerWorld) show(e epochsOf, epochs bool) string {
	var parts []string
	for _, topic := range sortedTopics(e) {
		name, ok := w.topics.TopicName(topic)
		if !ok {
			name = fmt.Sprintf("gone-%d", topic[15])
		}
		var l []string
		for _, p := range e.sortedPartitions(topic) {
			text := strconv.Itoa(int(p))
			if epochs {
				text += "@" + strconv.Itoa(int(e[topic][p]))
			}
			l = append(l, text)
		}
		parts = append(parts, name+":"+strings.Join(l, ","))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// showRecord writes a record on one line.
func (w *consumerWorld) showRecord(r coordinator.Record) string {
	key, err := record.ReadKey(record.GroupTopic, r.Key)
	if err != nil {
		w.t.Fatalf("key: %v", err)
	}
	var value record.Message
	if r.Value != nil {
		if value, _, err = record.ReadValue(record.GroupTopic, key.APIKey(), r.Value); err != nil {
			w.t.Fatalf("value: %v", err)
		}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(key.RecordName(), "ConsumerGroup"), "Key")
	switch k := key.(type) {
	case *record.ConsumerGroupMemberMetadataKey:
		name += " " + k.MemberID
	case *record.ConsumerGroupTargetAssignmentMemberKey:
		name += " " + k.MemberID
	case *record.ConsumerGroupCurrentMemberAssignmentKey:
		name += " " + k.MemberID
	case *record.ConsumerGroupRegularExpressionKey:
		name += " " + k.RegularExpression
	}
	if value == nil {
		return name + " deleted"
	}
	return name + w.showValue(value)
}

func (w *consumerWorld) showValue(value record.Message) string {
	opt := func(label string, s *string) string {
		if s == nil || *s == "" {
			return ""
		}
		return " " + label + "=" + *s
	}
	switch v := value.(type) {
	case *record.ConsumerGroupMemberMetadataValue:
		text := fmt.Sprintf(" topics=%v", v.SubscribedTopicNames) + opt("regex", v.SubscribedTopicRegex) + opt("instance", v.InstanceID) +
			opt("rack", v.RackID) + opt("assignor", v.ServerAssignor)
		if v.ClassicMemberMetadata != nil {
			text += " classic"
		}
		return text
	case *record.ConsumerGroupMetadataValue:
		return fmt.Sprintf(" epoch=%d hashed=%t", v.Epoch, v.MetadataHash != 0)
	case *record.ConsumerGroupTargetAssignmentMetadataValue:
		return fmt.Sprintf(" epoch=%d", v.AssignmentEpoch)
	case *record.ConsumerGroupTargetAssignmentMemberValue:
		p := partitionsOf{}
		for _, tp := range v.TopicPartitions {
			p.add(tp.TopicID, tp.Partitions...)
		}
		return " " + w.show(p.withEpoch(0), false)
	case *record.ConsumerGroupCurrentMemberAssignmentValue:
		return fmt.Sprintf(" epoch=%d previous=%d %s has=%s gives=%s", v.MemberEpoch, v.PreviousMemberEpoch, stateText(memberState(v.State)),
			w.show(epochsFrom(v.AssignedPartitions, 0), true), w.show(epochsFrom(v.PartitionsPendingRevocation, 0), true))
	case *record.ConsumerGroupRegularExpressionValue:
		return fmt.Sprintf(" topics=%v", v.Topics)
	case *record.GroupMetadataValue:
		ids := make([]string, len(v.Members))
		for i, m := range v.Members {
			ids[i] = m.MemberID + "=" + w.showAssignment(m.Assignment)
		}
		protocol := "-"
		if v.Protocol != nil {
			protocol = *v.Protocol
		}
		return fmt.Sprintf(" generation=%d protocol=%s members=%v", v.Generation, protocol, ids)
	}
	return fmt.Sprintf(" %+v", value)
}

func stateText(s memberState) string {
	switch s {
	case memberStable:
		return "stable"
	case memberUnrevoked:
		return "unrevoked"
	case memberUnreleased:
		return "unreleased"
	}
	return "unknown"
}

// showAssignment writes an assignment of the classic protocol.
func (w *consumerWorld) showAssignment(b []byte) string {
	a := kmsg.NewConsumerMemberAssignment()
	if len(b) == 0 {
		return "[]"
	}
	if err := a.ReadFrom(b); err != nil {
		return err.Error()
	}
	var out []string
	for _, t := range a.Topics {
		out = append(out, fmt.Sprintf("%s:%v", t.Topic, t.Partitions))
	}
	return fmt.Sprint(out)
}

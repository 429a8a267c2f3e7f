package group

import (
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
	"github.com/kaja-mq/kaja/coordinator/record"
)

var updateClassic = flag.Bool("update-classic", false, "rewrite the stories of classic groups and offsets by what the machine does")

// TestClassicStories runs testdata/classic/*.txt: events of group g, each with the records, answers and timers it gives. Member ids are
// given out as m1, m2 …; a call has a number, by which its answer names it. After each event the log is folded into another shard, which
// must know the same.
func TestClassicStories(t *testing.T) {
	files, err := filepath.Glob("testdata/classic/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := newClassicStory(t).tell(string(want))
			if *updateClassic {
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

// callNumber is the handle of a call.
type callNumber int

func (callNumber) Complete(kmsg.Response) {}
func (callNumber) Fail(error)             {}

// classicStory drives a shard as the runtime does.
type classicStory struct {
	t      testing.TB
	s      *Shard
	topics *worldTopics
	set    worldSettings
	since  time.Duration
	wall   time.Duration // ahead of since by jumps of the wall clock
	timers map[string]time.Duration
	log    []loggedRecord
	open   map[callNumber]bool
	members,
	calls int
}

// loggedRecord is a line of the log; txn 0 is none, a marker has no record.
type loggedRecord struct {
	rec    coordinator.Record
	txn    int64
	marker string
}

func newClassicStory(t testing.TB) *classicStory {
	w := &classicStory{t: t, topics: &worldTopics{ids: map[string]topicID{}, counts: map[topicID]int32{}}, timers: map[string]time.Duration{}, open: map[callNumber]bool{}}
	w.set = worldSettings{
		"group.max.size": "2147483647", "group.min.session.timeout.ms": "6000", "group.max.session.timeout.ms": "1800000",
		"group.initial.rebalance.delay.ms": "3000", "offsets.retention.check.interval.ms": "600000", "offsets.retention.minutes": "10080",
		"offset.metadata.max.bytes": "10", "group.consumer.assignors": "uniform,range", "group.consumer.migration.policy": "disabled",
	}
	w.s = New(Deps{Topics: w.topics, Settings: w.set})
	w.do(w.s.Loaded(w.now()))
	return w
}

func (w *classicStory) now() coordinator.Now {
	return coordinator.Now{Wall: worldStart.Add(w.since + w.wall), Mono: worldStart.Add(w.since)}
}

// do does what effects say and returns it as text.
func (w *classicStory) do(e coordinator.Effects) (out []string) {
	for _, r := range e.Records {
		r.Offset = int64(len(w.log))
		l := loggedRecord{rec: r}
		text := "record " + w.showRecord(r)
		if e.Txn != nil {
			l.txn = e.Txn.ProducerID
			text += fmt.Sprintf(" within transaction of %d", l.txn)
			w.s.ApplyTxn(*e.Txn, r)
		} else {
			w.s.Apply(r)
		}
		w.log = append(w.log, l)
		out = append(out, text)
	}
	for _, r := range e.Replies {
		n := r.To.(callNumber)
		if !w.open[n] {
			w.t.Errorf("call %d is answered twice, or was never made", n)
		}
		delete(w.open, n)
		out = append(out, fmt.Sprintf("reply %d %s", n, w.showResponse(r.Response)))
	}
	for _, c := range e.Timers {
		key := classicTimer(c.Key)
		if c.At.IsZero() {
			if _, ok := w.timers[c.Key]; ok {
				out = append(out, "timer off "+key)
			}
			delete(w.timers, c.Key)
			continue
		}
		w.timers[c.Key] = c.At.Sub(worldStart)
		if key != timerExpiry {
			out = append(out, "timer set "+key+" at="+w.timers[c.Key].String())
		}
	}
	return out
}

func classicTimer(key string) string {
	t, _ := parseTimer(key)
	if t.member == "" {
		return t.what
	}
	return t.what + "/" + t.member
}

func (w *classicStory) tell(text string) string {
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		event, _, _ := strings.Cut(block, "\n----")
		out.WriteString(event + "\n----\n")
		line := event
		for strings.HasPrefix(line, "#") {
			_, line, _ = strings.Cut(line, "\n")
		}
		for _, l := range w.event(strings.Fields(line)) {
			out.WriteString(l + "\n")
		}
		out.WriteString("\n")
		w.checkFold(line)
		w.checkCalls(line)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// args are the name=value words of an event.
type args map[string]string

func (a args) number(name string, or int64) int64 {
	if a[name] == "" {
		return or
	}
	n, err := strconv.ParseInt(a[name], 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (a args) ms(name string, or time.Duration) int32 {
	if a[name] != "" {
		d, err := time.ParseDuration(a[name])
		if err != nil {
			panic(err)
		}
		or = d
	}
	return int32(or.Milliseconds())
}

func (a args) optional(name string) *string {
	if v, ok := a[name]; ok {
		return &v
	}
	return nil
}

func (a args) group() string {
	if g, ok := a["group"]; ok {
		return g
	}
	return "g"
}

func (w *classicStory) call() callNumber {
	w.calls++
	w.open[callNumber(w.calls)] = true
	return callNumber(w.calls)
}

func (w *classicStory) event(words []string) []string {
	arg := args{}
	for _, word := range words[1:] {
		k, v, _ := strings.Cut(word, "=")
		arg[k] = v
	}
	if at, ok := arg["at"]; ok {
		d, err := time.ParseDuration(at)
		if err != nil {
			w.t.Fatal(err)
		}
		if words[0] == "wait" {
			return w.wait(d)
		}
		w.since = d
	}
	if f, ok := classicEvents[words[0]]; ok {
		return f(w, arg)
	}
	w.t.Fatalf("unknown event %q", words[0])
	return nil
}

// wait moves the clocks and fires what becomes due.
func (w *classicStory) wait(to time.Duration) (out []string) {
	for {
		due := slices.SortedFunc(maps.Keys(w.timers), func(a, b string) int {
			if w.timers[a] != w.timers[b] {
				return int(w.timers[a] - w.timers[b])
			}
			return strings.Compare(a, b)
		})
		if len(due) == 0 || w.timers[due[0]] > to {
			break
		}
		w.since = max(w.since, w.timers[due[0]])
		delete(w.timers, due[0])
		if done := w.do(w.s.Fire(w.now(), due[0])); len(done) > 0 {
			out = append(out, fmt.Sprintf("at %v %s:", w.since, classicTimer(due[0])))
			out = append(out, done...)
		}
	}
	w.since = to
	return out
}

// checkFold folds the log into another shard: its hard state must be that of the one that serves, unless that is in the middle of a rebalance.
func (w *classicStory) checkFold(event string) {
	other := New(Deps{Topics: w.topics, Settings: w.set})
	for _, l := range w.log {
		txn := coordinator.Txn{ProducerID: l.txn}
		switch {
		case l.marker != "":
			other.EndTxn(w.now(), txn, l.marker == "commit")
		case l.txn != 0:
			other.ApplyTxn(txn, l.rec)
		default:
			other.Apply(l.rec)
		}
	}
	if got, want := hardState(other, w.s), hardState(w.s, w.s); got != want {
		w.t.Errorf("after %q the log folds to\n%s\nbut it serves\n%s", event, got, want)
	}
}

// checkCalls: what has not been answered is parked, once.
func (w *classicStory) checkCalls(event string) {
	parked := w.s.Dropped()
	if len(parked) != len(w.open) {
		w.t.Errorf("after %q %d calls wait for an answer, %v are parked", event, len(w.open), parked)
	}
	for _, h := range parked {
		if !w.open[h.(callNumber)] {
			w.t.Errorf("after %q call %d is parked, but was answered", event, h)
		}
	}
}

// hardState is what a restart must know; of groups that are rebalancing by the second shard nothing can be said.
func hardState(s, serving *Shard) string {
	var out strings.Builder
	for _, g := range s.sortedGroups() {
		live := serving.groups[g.id]
		if g.classic == nil || live == nil || live.classic == nil || live.classic.state == statePreparing || live.classic.state == stateCompleting {
			continue
		}
		c := g.classic
		if c.state == stateEmpty && c.protocolType == "" && s.offsets.groups[g.id] == nil {
			continue // made by a refused commit, or waiting for its first member
		}
		fmt.Fprintf(&out, "%s %s generation=%d type=%q protocol=%q leader=%q topics=%v\n", g.id, c.state, c.generation, c.protocolType, c.protocolText(), c.leader,
			slices.Sorted(maps.Keys(c.subscribed)))
		for _, m := range c.sorted() {
			instance := "-"
			if m.instance != nil {
				instance = *m.instance
			}
			fmt.Fprintf(&out, "  %s %s %s%s %v %v %q %q\n", m.id, instance, m.clientID, m.clientHost, m.sessionTimeout, m.rebalanceTimeout, m.metadataOf(c.protocolText()), m.assignment)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.offsets.groups)) {
		o := s.offsets.groups[id]
		for _, tp := range o.all(true) {
			c, ok := o.get(tp)
			fmt.Fprintf(&out, "%s %v %v %t unstable=%t\n", id, tp, c, ok, o.unstable(tp))
		}
	}
	return out.String()
}

func (w *classicStory) showRecord(r coordinator.Record) string {
	key, value, ok := decode(r)
	if !ok {
		w.t.Fatalf("unreadable record %v", r)
	}
	switch k := key.(type) {
	case *record.OffsetCommitKey:
		text := fmt.Sprintf("offset %s %s-%d", k.Group, k.Topic, k.Partition)
		if value == nil {
			return text + " deleted"
		}
		v := value.(*record.OffsetCommitValue)
		text += fmt.Sprintf("=%d", v.Offset)
		if v.Metadata != "" {
			text += " metadata=" + v.Metadata
		}
		if v.ExpireTimestamp >= 0 {
			text += fmt.Sprintf(" expires=+%v", time.Duration(v.ExpireTimestamp-v.CommitTimestamp)*time.Millisecond)
		}
		return text
	case *record.GroupMetadataKey:
		if value == nil {
			return "group " + k.Group + " deleted"
		}
		v := value.(*record.GroupMetadataValue)
		text := fmt.Sprintf("group %s generation=%d", k.Group, v.Generation)
		if v.Protocol != nil {
			text += " protocol=" + *v.Protocol
		}
		if v.Leader != nil {
			text += " leader=" + *v.Leader
		}
		for _, m := range v.Members {
			text += fmt.Sprintf(" %s:%s", m.MemberID, m.Assignment)
		}
		return text
	}
	return fmt.Sprintf("%s %+v", key.RecordName(), value)
}

func errorName(code int16) string {
	if err := kerr.TypedErrorForCode(code); err != nil {
		return err.Message
	}
	return "NONE"
}

func (w *classicStory) showResponse(r kmsg.Response) string {
	str := func(label string, s *string) string {
		if s == nil {
			return ""
		}
		return " " + label + "=" + *s
	}
	switch r := r.(type) {
	case *kmsg.JoinGroupResponse:
		text := errorName(r.ErrorCode)
		if r.MemberID != "" {
			text += " member=" + r.MemberID
		}
		if r.ErrorCode != 0 {
			return text
		}
		text += fmt.Sprintf(" generation=%d leader=%s", r.Generation, r.LeaderID) + str("protocol", r.Protocol)
		if r.SkipAssignment {
			text += " skip-assignment"
		}
		for _, m := range r.Members {
			text += " " + m.MemberID
		}
		return text
	case *kmsg.SyncGroupResponse:
		if r.ErrorCode != 0 {
			return errorName(r.ErrorCode)
		}
		return fmt.Sprintf("NONE assignment=%s", r.MemberAssignment) + str("protocol", r.Protocol)
	case *kmsg.HeartbeatResponse:
		return errorName(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		text := errorName(r.ErrorCode)
		for _, m := range r.Members {
			text += " " + m.MemberID + str("instance", m.InstanceID) + ":" + errorName(m.ErrorCode)
		}
		return text
	case *kmsg.OffsetCommitResponse:
		var text []string
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				text = append(text, fmt.Sprintf("%s-%d:%s", t.Topic, p.Partition, errorName(p.ErrorCode)))
			}
		}
		return strings.Join(text, " ")
	case *kmsg.TxnOffsetCommitResponse:
		var text []string
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				text = append(text, fmt.Sprintf("%s-%d:%s", t.Topic, p.Partition, errorName(p.ErrorCode)))
			}
		}
		return strings.Join(text, " ")
	case *kmsg.OffsetDeleteResponse:
		text := errorName(r.ErrorCode)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				text += fmt.Sprintf(" %s-%d:%s", t.Topic, p.Partition, errorName(p.ErrorCode))
			}
		}
		return text
	case *kmsg.DeleteGroupsResponse:
		return errorName(r.Groups[0].ErrorCode)
	}
	return fmt.Sprintf("%+v", r)
}

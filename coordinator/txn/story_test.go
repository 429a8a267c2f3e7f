package txn

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

var update = flag.Bool("update", false, "rewrite the stories by what the machine does")

// TestStories runs testdata/*.txt: events, each with the records, replies, markers and timers it gives.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := tell(t, string(want))
			if *update {
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

// tell runs the events of a story and returns it with what they give. A comment stands before its event.
func tell(t *testing.T, text string) string {
	w := newWorld(t)
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
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// world is a shard with a clock, producer ids and a log.
type world struct {
	t     *testing.T
	s     *Shard
	set   settings
	level int16
	since time.Duration
	next  int64 // producer id
	log   []coordinator.Record
}

type settings map[string]int64

func (s settings) Int(name string) int64 { return s[name] }

func newWorld(t *testing.T) *world {
	w := &world{t: t, level: 2, next: 100, set: settings{
		"transaction.max.timeout.ms":                                  900_000,
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
		"transaction.remove.expired.transaction.cleanup.interval.ms":  3_600_000,
		"transactional.id.expiration.ms":                              604_800_000,
	}}
	w.s = w.shard()
	return w
}

func (w *world) shard() *Shard {
	return New(Deps{Epoch: 7, Settings: w.set, Level: func() int16 { return w.level }, Outbox: outbox{}})
}

// The handles of a story.
type (
	call    string
	outbox  struct{}
	sending struct{ Ending }
	wantsID string
	// answered is a response with its outcome.
	answered struct {
		kmsg.EndTxnResponse
		o Outcome
	}
)

func (call) Complete(kmsg.Response)    {}
func (call) Fail(error)                {}
func (sending) Complete(kmsg.Response) {}
func (sending) Fail(error)             {}
func (wantsID) Complete(kmsg.Response) {}
func (wantsID) Fail(error)             {}

func (outbox) Markers(e Ending) coordinator.Handle  { return sending{e} }
func (outbox) FreshID(id string) coordinator.Handle { return wantsID(id) }

func answer(o Outcome) kmsg.Response { return &answered{o: o} }

var start = time.UnixMilli(1_000_000_000_000)

func (w *world) now() coordinator.Now {
	return coordinator.Now{Wall: start.Add(w.since), Mono: start.Add(w.since)}
}

// event runs one event: its name, then name=value. at=… moves the clock first.
func (w *world) event(words []string) []string {
	arg := map[string]string{"id": "t", "epoch": "0", "pid": "-1", "commit": "true", "version": "2"}
	for _, word := range words[1:] {
		k, v, _ := strings.Cut(word, "=")
		arg[k] = v
	}
	if at, ok := arg["at"]; ok {
		d, err := time.ParseDuration(at)
		if err != nil {
			w.t.Fatal(err)
		}
		w.since = d
	}
	h := call(arg["call"])
	p := Producer{arg["id"], w.number(arg["pid"]), int16(w.number(arg["epoch"]))}
	switch words[0] {
	case "level":
		w.level = int16(w.number(arg["is"]))
		return nil
	case "ids": // the next fresh producer id
		w.next = w.number(arg["next"])
		return nil
	case "init":
		r := InitRequest{TransactionalID: p.TransactionalID, TimeoutMs: 60_000, ProducerID: p.ProducerID, ProducerEpoch: noProducerEpoch}
		if r.recovers() {
			r.ProducerEpoch = p.ProducerEpoch
		}
		if ms, ok := arg["timeout"]; ok {
			r.TimeoutMs = int32(w.number(ms))
		}
		return w.withID(func(fresh int64) (coordinator.Effects, bool) { return w.s.InitProducerID(w.now(), h, answer, r, fresh) })
	case "end":
		r := EndRequest{Producer: p, Commit: arg["commit"] == "true", Version: int16(w.number(arg["version"]))}
		return w.withID(func(fresh int64) (coordinator.Effects, bool) { return w.s.End(w.now(), h, answer, r, fresh) })
	case "add":
		e, err := w.s.AddPartitions(w.now(), p, w.partitions(arg["partitions"]), int16(w.number(arg["version"])))
		e.Replies = append(e.Replies, coordinator.Reply{To: h, Response: answer(Outcome{Err: err})})
		return w.done(e)
	case "verify":
		var out []string
		list := w.partitions(arg["partitions"])
		for i, err := range w.s.Verify(p, list) {
			out = append(out, fmt.Sprintf("%s-%d %v", list[i].Topic, list[i].Partition, errText(Outcome{Err: err})))
		}
		return out
	case "complete":
		return w.done(w.s.Complete(w.now(), p))
	case "delayed":
		return w.done(w.s.Delayed(p))
	case "expire":
		w.next++
		return w.done(w.s.Expire(w.now(), arg["id"], w.next-1))
	case "fire":
		return w.done(w.s.Fire(w.now(), arg["timer"]))
	case "describe":
		d, found := w.s.Describe(arg["id"])
		if !found {
			return []string{"not found"}
		}
		return []string{fmt.Sprintf("%v producer=%d/%d timeout=%d start=%s %s", d.State, d.ProducerID, d.ProducerEpoch, d.TimeoutMs, w.when(d.StartMs), names(d.Partitions))}
	case "drop":
		var out []string
		for _, h := range w.s.Dropped() {
			out = append(out, fmt.Sprintf("%v fails", h))
		}
		return out
	case "written": // by somebody before
		state, ok := StateOf(arg["state"])
		if !ok {
			w.t.Fatalf("unknown state %q", arg["state"])
		}
		t := &transaction{id: arg["id"], state: state, producerID: p.ProducerID, prevProducerID: p.ProducerID, nextProducerID: noProducerID, epoch: p.ProducerEpoch, timeoutMs: 60_000, startMs: -1}
		if list, ok := arg["partitions"]; ok {
			t.partitions, t.startMs = w.partitions(list), w.now().WallMs()
		}
		if ms, ok := arg["timeout"]; ok {
			t.timeoutMs = int32(w.number(ms))
		}
		rec := recordOf(t, w.level)
		w.log = append(w.log, rec)
		w.s.Apply(rec)
		return nil
	case "restart": // the log makes the shard anew
		w.s = w.shard()
		for _, rec := range w.log {
			w.s.Apply(rec)
		}
		return w.done(w.s.Loaded(w.now()))
	}
	w.t.Fatalf("unknown event %q", words[0])
	return nil
}

func (w *world) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// partitions reads "a-0,b-1".
func (w *world) partitions(s string) (list []Partition) {
	for _, name := range strings.Split(s, ",") {
		i := strings.LastIndexByte(name, '-')
		list = append(list, Partition{name[:i], int32(w.number(name[i+1:]))})
	}
	return list
}

// withID runs a step, again with a fresh producer id if it wants one.
func (w *world) withID(step func(fresh int64) (coordinator.Effects, bool)) []string {
	e, needsID := step(noProducerID)
	if !needsID {
		return w.done(e)
	}
	if len(e.Records)+len(e.Replies)+len(e.Timers) > 0 {
		w.t.Fatal("a step that needs an id has done something")
	}
	w.next++
	e, _ = step(w.next - 1)
	return append([]string{fmt.Sprintf("takes producer id %d", w.next-1)}, w.done(e)...)
}

// done does what the runtime does, and tells it.
func (w *world) done(e coordinator.Effects) (out []string) {
	for _, rec := range e.Records {
		id, v, ok := decode(rec)
		if !ok {
			w.t.Fatalf("unreadable record %q", rec.Key)
		}
		if v == nil {
			out = append(out, "record "+id+" tombstone")
		} else {
			var t transaction
			t.set(v)
			line := fmt.Sprintf("record %s %v producer=%d/%d previous=%d", id, t.state, t.producerID, t.epoch, t.prevProducerID)
			if t.nextProducerID != noProducerID {
				line += fmt.Sprintf(" next=%d", t.nextProducerID)
			}
			out = append(out, fmt.Sprintf("%s version=%d start=%s %s", line, t.version, w.when(t.startMs), names(t.partitions)))
		}
		w.log = append(w.log, rec)
		w.s.Apply(rec)
	}
	for _, r := range e.Replies {
		switch to := r.To.(type) {
		case sending:
			out = append(out, fmt.Sprintf("markers %s producer=%d/%d commit=%v coordinator=%d version=%d %s",
				to.TransactionalID, to.ProducerID, to.ProducerEpoch, to.Commit, to.CoordinatorEpoch, to.MarkerVersion, names(to.Partitions)))
		case wantsID:
			out = append(out, fmt.Sprintf("wants a producer id for %s", string(to)))
		default:
			o := r.Response.(*answered).o
			line := fmt.Sprintf("reply %v %s", to, errText(o))
			if o.Err == nil && (o.ProducerID != 0 || o.ProducerEpoch != 0) {
				line += fmt.Sprintf(" producer=%d/%d", o.ProducerID, o.ProducerEpoch)
			}
			out = append(out, line)
		}
	}
	for _, t := range e.Timers {
		out = append(out, fmt.Sprintf("timer %s at=%v", t.Key, t.At.Sub(start)))
	}
	return out
}

func errText(o Outcome) string {
	if o.Err == nil {
		return "OK"
	}
	return o.Err.Message
}

func (w *world) when(ms int64) string {
	if ms < 0 {
		return "-"
	}
	return time.UnixMilli(ms).Sub(start).String()
}

func names(list []Partition) string {
	var s []string
	for _, p := range list {
		s = append(s, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
	}
	slices.Sort(s)
	return "[" + strings.Join(s, " ") + "]"
}

package handler

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestFetchSessionScenarios runs testdata/fetch_sessions.txt. A paragraph is a story on a cache of its own: lines of input, and after "----" what
// came of each.
//
//	cache slots=N
//	fetch session=S epoch=E [ids] [follower] [parts=a/0@5,b/0] [forget=a/0]   begins a fetch; what its log says is given by
//	has a/0 hw=N start=N bytes=N error=CODE                                  before it, and stays until changed
//	again session=S epoch=E …                                                like fetch, but another request of the session comes between
//	advance 3m
func TestFetchSessionScenarios(t *testing.T) {
	const name = "testdata/fetch_sessions.txt"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, paragraph := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		in, _, _ := strings.Cut(paragraph, "\n----")
		out = append(out, in+"\n----\n"+runSessions(t, in))
	}
	got := strings.Join(out, "\n\n") + "\n"
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Errorf("%s differs (-update rewrites it); got\n%s", name, got)
	}
}

// sessionStory is a cache and what the logs say.
type sessionStory struct {
	t     *testing.T
	cache *FetchSessions
	now   time.Time
	logs  map[string]fetchEntry
	next  int32
}

func runSessions(t *testing.T, in string) string {
	s := &sessionStory{t: t, now: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC), logs: map[string]fetchEntry{}}
	var out []string
	for _, line := range strings.Split(in, "\n") {
		f := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(f) == 0 {
			continue
		}
		args := map[string]string{}
		for _, a := range f[1:] {
			k, v, _ := strings.Cut(a, "=")
			args[k] = v
		}
		switch f[0] {
		case "cache":
			slots := int(num(args["slots"]))
			s.cache = NewFetchSessions(func() int { return slots }, func() int32 { s.next++; return s.next })
		case "advance":
			d, err := time.ParseDuration(f[1])
			if err != nil {
				t.Fatal(err)
			}
			s.now = s.now.Add(d)
		case "has":
			e := s.logs[f[1]]
			e.res.HighWatermark, e.res.LogStartOffset = num(args["hw"]), num(args["start"])
			e.res.Range, e.err = nil, nil
			if n := num(args["bytes"]); n > 0 {
				e.res.Range = fakeRange(n)
			}
			if c := num(args["error"]); c != 0 {
				e.err = kerr.ErrorForCode(int16(c))
				e.res.HighWatermark, e.res.LogStartOffset = -1, -1
			}
			s.logs[f[1]] = e
		case "fetch", "again":
			out = append(out, s.fetch(args, f[0] == "again"))
		default:
			t.Fatal(line)
		}
	}
	return strings.Join(out, "\n")
}

func num(s string) (n int64) {
	fmt.Sscan(s, &n)
	return n
}

// fakeRange is records of which only the length matters.
type fakeRange int

func (r fakeRange) Len() int                            { return int(r) }
func (fakeRange) ReadAt([]byte, int64) (int, error)     { return 0, nil }
func (fakeRange) ReadNoWait([]byte, int64) (int, error) { return 0, nil }
func (fakeRange) Hot() bool                             { return true }
func (fakeRange) Fd() (fd uintptr, pos int64, ok bool)  { return 0, 0, false }
func (fakeRange) Release()                              {}

func (s *sessionStory) fetch(args map[string]string, overtaken bool) string {
	_, ids := args["ids"]
	_, follower := args["follower"]
	q := &sessionRequest{id: int32(num(args["session"])), epoch: int32(num(args["epoch"])), usesIDs: ids}
	for _, want := range split(args["parts"]) {
		q.partitions = append(q.partitions, wanted(want, ids))
	}
	for _, want := range split(args["forget"]) {
		p := wanted(want, ids)
		q.forgotten = append(q.forgotten, p.key())
	}
	ctx, err := s.cache.begin(q, s.now)
	if err != nil {
		return "error " + err.(*kerr.Error).Message
	}
	var entries []fetchEntry
	if ctx.kind == sessionIncremental {
		entries = ctx.load(nil)
	} else {
		for _, p := range q.partitions {
			entries = append(entries, fetchEntry{fetchPartition: p})
		}
	}
	for i := range entries {
		l := s.logs[entries[i].topic+"/"+fmt.Sprint(entries[i].partition)]
		entries[i].res, entries[i].err = l.res, l.err
	}
	if overtaken {
		next := sessionRequest{id: q.id, epoch: ctx.epoch, usesIDs: ids}
		if _, err := s.cache.begin(&next, s.now); err != nil {
			s.t.Fatal(err)
		}
	}
	head := "sessionless"
	switch ctx.kind {
	case sessionFull:
		head = fmt.Sprint("session ", s.cache.create(entries, ids, follower, s.now))
	case sessionIncremental:
		head = fmt.Sprint("session ", ctx.session.id)
		if err := ctx.keep(entries); err != nil {
			return head + " error " + err.(*kerr.Error).Message
		}
	}
	for _, e := range entries {
		if !e.skip {
			head += fmt.Sprintf(" %s/%d@%d", e.topic, e.partition, e.offset)
		}
	}
	return head + fmt.Sprintf(" (of %d)", s.cache.Len())
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func wanted(want string, ids bool) fetchPartition {
	topic, partition, offset := parseWant(want)
	p := fetchPartition{topic: topic, partition: partition, offset: offset, maxBytes: 1 << 20, leaderEpoch: -1, lastFetchedEpoch: -1}
	if ids {
		p.id = topicIDOf(topic)
	}
	return p
}

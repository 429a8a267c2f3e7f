package storage

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// producerScript drives the producers of one partition; testdata/producers.txt says what comes of it.
type producerScript struct {
	fs  *vfs.Mem
	p   *producers
	x   *txnIndex
	log []batch.Batch // what was appended, for replays
	leo int64
}

func newScript(t *testing.T) *producerScript {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("t-0"); err != nil {
		t.Fatal(err)
	}
	s := &producerScript{fs: fs}
	s.open(t)
	return s
}

func (s *producerScript) open(t *testing.T) {
	t.Helper()
	s.p = newProducers(producersConfig{FS: s.fs, Dir: "t-0", Name: "t-0", ExpirationMs: 1000})
	if err := s.p.open(); err != nil {
		t.Fatal(err)
	}
	x, err := openTxnIndex(s.fs, "t-0/00000000000000000000.txnindex", 0)
	if err != nil {
		t.Fatal(err)
	}
	s.x = x
}

// args are a command's name=value words.
type args map[string]string

func (a args) num(name string, none int64) int64 {
	if v, ok := a[name]; ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	return none
}

func (a args) batch(leo int64) batch.Batch {
	o := batch.PlainOptions(leo, 0)
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = a.num("pid", 1), int16(a.num("epoch", 0)), int32(a.num("seq", 0))
	_, o.Transactional = a["txn"]
	b := batch.NewBuilder(nil, o)
	for i := range a.num("n", 1) {
		b.Append(leo+i, a.num("at", 100), nil, []byte("v"))
	}
	raw, err := b.Finish()
	if err != nil {
		panic(err)
	}
	return raw
}

func (a args) check() producerCheck {
	origin := map[string]Origin{"": OriginClient, "client": OriginClient, "coordinator": OriginCoordinator, "replication": OriginReplication}[a["origin"]]
	_, unverified := a["unverified"]
	return producerCheck{Origin: origin, Verified: !unverified, TransactionVersion: int16(a.num("tv", 0))}
}

// refusal is the name of the code that a client sees.
func refusal(err error) string {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Message + "\n"
	}
	return "error " + err.Error() + "\n"
}

func (s *producerScript) append(b batch.Batch, c producerCheck) string {
	dup, found, err := s.p.analyze(b, c)
	switch {
	case err != nil:
		return refusal(err)
	case found:
		return fmt.Sprintf("duplicate of %d..%d at %d\n", dup.firstOffset(), dup.lastOffset, dup.timestamp)
	}
	if err := s.p.apply(b.LastOffset(), s.x); err != nil {
		return "error " + err.Error() + "\n"
	}
	s.log = append(s.log, b)
	s.leo = b.NextOffset()
	return fmt.Sprintf("%d..%d\n", b.BaseOffset(), b.LastOffset())
}

func (s *producerScript) run(t *testing.T, verb string, a args) string {
	check := func(err error) string {
		if err != nil {
			return "error " + err.Error() + "\n"
		}
		return ""
	}
	switch verb {
	case "data":
		return s.append(a.batch(s.leo), a.check())
	case "commit", "abort":
		c := a.check()
		if a["origin"] == "" {
			c.Origin = OriginCoordinator
		}
		m := batch.Batch(batch.AppendMarker(nil, a.num("pid", 1), int16(a.num("epoch", 0)), batch.Marker{
			Commit: verb == "commit", CoordinatorEpoch: int32(a.num("coordinator", 0)), Timestamp: a.num("at", 100)}))
		m.SetBaseOffset(s.leo)
		return s.append(m, c)
	case "verify":
		guard, err := s.p.startVerification(a.num("pid", 1), int16(a.num("epoch", 0)), int32(a.num("seq", 0)), a["bump"] != "", a.num("at", 100))
		if err != nil {
			return refusal(err)
		}
		return fmt.Sprintf("guard %d verified %v\n", guard, s.p.verified(a.num("pid", 1), guard))
	case "hw":
		s.p.onHighWatermark(a.num("at", 0))
		return ""
	case "start":
		s.p.onLogStartIncremented(a.num("at", 0))
		return ""
	case "expire":
		s.p.removeExpired(a.num("at", 0))
		return ""
	case "snapshot":
		take := s.p.takeSnapshot
		if a["unsynced"] != "" {
			take = s.p.takeSnapshotUnsynced
		}
		wrote, err := take()
		return fmt.Sprintf("wrote %v\n", wrote) + check(err)
	case "truncate":
		return s.truncate(t, a)
	case "fully":
		s.log, s.leo = nil, a.num("at", 0)
		return check(s.p.truncateFully(s.leo))
	case "reopen":
		s.open(t)
		return check(s.reload(a))
	case "damage":
		return check(s.fs.WriteFile(s.p.snapshotPath(a.num("at", 0)), []byte("nonsense")))
	case "stray":
		return check(s.p.removeStraySnapshots([]int64{a.num("a", 0), a.num("b", 0)}))
	case "state":
		return s.state()
	}
	t.Fatalf("unknown command %q", verb)
	return ""
}

func (s *producerScript) truncate(t *testing.T, a args) string {
	s.leo = a.num("at", 0)
	keep := s.log[:0]
	for _, b := range s.log {
		if b.LastOffset() < s.leo {
			keep = append(keep, b)
		}
	}
	s.log = keep
	if err := s.x.truncateTo(s.leo); err != nil {
		t.Fatal(err)
	}
	if err := s.reload(a); err != nil {
		return "error " + err.Error() + "\n"
	}
	return ""
}

func (s *producerScript) reload(a args) error {
	if err := s.p.truncateAndReload(a.num("start", 0), s.leo, a.num("now", 100)); err != nil {
		return err
	}
	for _, b := range s.log {
		if b.BaseOffset() >= s.p.mapEndOffset() {
			if err := s.p.replay(b, nil); err != nil {
				return err
			}
		}
	}
	s.p.setMapEndOffset(s.leo)
	return nil
}

func (s *producerScript) state() string {
	var out strings.Builder
	for _, st := range s.p.states() {
		e := s.p.entries[st.ProducerID]
		fmt.Fprintf(&out, "pid %d epoch %d seq %d time %d coordinator %d txn %d batches", st.ProducerID, st.ProducerEpoch,
			st.LastSequence, st.LastTimestamp, st.CoordinatorEpoch, st.CurrentTxnStartOffset)
		for _, b := range e.batches[:e.n] {
			fmt.Fprintf(&out, " %d:%d..%d", b.firstSeq(), b.firstOffset(), b.lastOffset)
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "end %d", s.p.mapEndOffset())
	if off, ok := s.p.firstUnstableOffset(); ok {
		fmt.Fprintf(&out, " unstable %d", off)
	}
	if off, ok := s.p.firstUndecidedOffset(); ok {
		fmt.Fprintf(&out, " undecided %d", off)
	}
	fmt.Fprintf(&out, " snapshots %v aborted %v\n", s.p.snapshots, s.x.entries)
	return out.String()
}

// TestProducerScript replays testdata/producers.txt: stories of commands, each with what follows from it.
// KAJA_UPDATE=1 in the environment rewrites the file.
func TestProducerScript(t *testing.T) {
	const file = "testdata/producers.txt"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := newScript(t)
	skipping := false
	for line := range strings.Lines(string(raw)) {
		switch {
		case strings.HasPrefix(line, "> "):
			skipping = true
			out.WriteString(line)
			words := strings.Fields(line[2:])
			a := args{}
			for _, w := range words[1:] {
				k, v, _ := strings.Cut(w, "=")
				a[k] = v
			}
			out.WriteString(s.run(t, words[0], a))
		case strings.HasPrefix(line, "#"):
			s, skipping = newScript(t), false
			out.WriteString("\n" + line)
		case !skipping && strings.TrimSpace(line) != "":
			out.WriteString(line)
		}
	}
	got := strings.TrimPrefix(out.String(), "\n")
	if os.Getenv("KAJA_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(raw) {
		t.Errorf("%s differs from what the producers do (KAJA_UPDATE=1 rewrites it):\n%s", file, firstDifference(got, string(raw)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	return "it is longer"
}

func TestLateTransaction(t *testing.T) {
	s := newScript(t)
	if s.p.hasLateTransaction(1<<40, 0) {
		t.Error("late without a transaction")
	}
	s.run(t, "data", args{"txn": "", "at": "1000"})
	f := func(now int64, want bool) {
		t.Helper()
		if got := s.p.hasLateTransaction(now, 60_000); got != want {
			t.Errorf("at %d: %v", now, got)
		}
	}
	f(1000+360_000, false)
	f(1000+360_001, true)
	s.run(t, "commit", args{})
	f(1<<40, false)
}

// A duplicate and a fresh batch of a known producer cost no allocation to tell apart.
func TestAnalyzeAllocatesNothing(t *testing.T) {
	s := newScript(t)
	s.run(t, "data", args{"seq": "0", "n": "2"})
	dup, next := args{"seq": "0", "n": "2"}.batch(2), args{"seq": "2", "n": "2"}.batch(2)
	allocs := testing.AllocsPerRun(100, func() {
		if _, found, err := s.p.analyze(dup, producerCheck{}); !found || err != nil {
			t.Fatal("no duplicate")
		}
		if _, found, err := s.p.analyze(next, producerCheck{}); found || err != nil {
			t.Fatal("refused")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

package groups

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

// event is an offset that a member was given, or one below which all was committed, at a time in microseconds.
type event struct {
	offset, at int64
	member     int
}

// group collects what its members say.
type group struct {
	t       *testing.T
	command []string
	topic   string // also the group's name
	// moves says that the group changes its protocol: a commit at that moment is refused, and the member goes on from the one before.
	moves bool

	mu      sync.Mutex
	news    *sync.Cond
	members []*member
	gots    map[int32][]event // guarded by mu
	commits map[int32][]event // guarded by mu
}

// member is a process.
type member struct {
	g     *group
	id    int
	cmd   *exec.Cmd
	stdin io.WriteCloser
	exit  chan struct{} // closed when the process has ended and all it said was heard
	own   []int32       // guarded by g.mu
	count int           // guarded by g.mu
	last  []string      // its last words, guarded by g.mu
	// woken is when the member went on after a pause, in microseconds; guarded by g.mu.
	woken int64
}

func newGroup(t *testing.T, command, topic string) *group {
	g := &group{t: t, command: strings.Fields(command), topic: topic, gots: map[int32][]event{}, commits: map[int32][]event{}}
	g.news = sync.NewCond(&g.mu)
	return g
}

func itoa(i int) string { return strconv.Itoa(i) }

func (g *group) start() *member {
	g.t.Helper()
	m := &member{g: g, id: len(g.members) + 1, exit: make(chan struct{})}
	m.cmd = exec.Command(g.command[0], append(slices.Clone(g.command[1:]), corpus.Bootstrap(g.t), g.topic, g.topic)...)
	var err error
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		g.t.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	m.cmd.Stderr = m.cmd.Stdout
	if err := m.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.members = append(g.members, m)
	go func() {
		defer close(m.exit)
		for s := bufio.NewScanner(out); s.Scan(); {
			g.hear(m, s.Text())
		}
		_ = m.cmd.Wait() // how it ended is asked by close
	}()
	return m
}

// hear understands a member's line.
func (g *group) hear(m *member, line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var p int32
	e := event{member: m.id}
	if _, err := fmt.Sscanf(line, "got %d %d %d", &p, &e.offset, &e.at); err == nil {
		g.gots[p] = append(g.gots[p], e)
		m.count++
	} else if _, err := fmt.Sscanf(line, "committed %d %d %d", &p, &e.offset, &e.at); err == nil {
		g.commits[p] = append(g.commits[p], e)
	} else if ps, is := strings.CutPrefix(line, "own"); is {
		m.own = nil
		for _, f := range strings.FieldsFunc(ps, func(r rune) bool { return r == ' ' || r == ',' }) {
			n, err := strconv.Atoi(f)
			if err != nil {
				g.t.Errorf("member %d says %q", m.id, line)
			}
			m.own = append(m.own, int32(n))
		}
	} else if m.last = append(m.last, line); len(m.last) > 10 {
		m.last = m.last[1:]
	}
	g.news.Broadcast()
}

func (g *group) commit(p int32, offset, at int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.commits[p] = append(g.commits[p], event{offset: offset, at: at})
	g.news.Broadcast()
}

// wait waits until nothing is lacking.
func (g *group) wait(what string, lacking func() string) {
	g.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		late = true
		g.news.Broadcast()
	})
	defer timer.Stop()
	for {
		lack := lacking()
		g.mu.Lock()
		if lack == "" {
			g.mu.Unlock()
			return
		}
		if late {
			for _, m := range g.members {
				g.t.Logf("member %d owns %v, got %d records, says %s", m.id, m.own, m.count, strings.Join(m.last, "\n"))
			}
			g.mu.Unlock()
			g.t.Fatalf("%s: in %v not reached: %s", what, patience, lack)
		}
		g.news.Wait()
		g.mu.Unlock()
	}
}

// owned waits until these members share all partitions, each with some.
func (g *group) owned(what string, ms ...*member) {
	g.t.Helper()
	g.wait(what, func() string {
		g.mu.Lock()
		defer g.mu.Unlock()
		var all []int32
		for _, m := range ms {
			if len(m.own) == 0 {
				return fmt.Sprintf("member %d owns nothing", m.id)
			}
			all = append(all, m.own...)
		}
		slices.Sort(all)
		if !slices.Equal(all, []int32{0, 1, 2, 3, 4, 5}) {
			return fmt.Sprintf("together they own %v", all)
		}
		return ""
	})
}

// received waits until each of these got n records more.
func (g *group) received(n int, ms ...*member) {
	g.t.Helper()
	g.mu.Lock()
	from := map[*member]int{}
	for _, m := range ms {
		from[m] = m.count
	}
	g.mu.Unlock()
	g.wait(fmt.Sprintf("%d records", n), func() string {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, m := range ms {
			if m.count < from[m]+n {
				return fmt.Sprintf("member %d got %d", m.id, m.count-from[m])
			}
		}
		return ""
	})
}

// lacks says which offset below the ends nobody was given.
func (g *group) lacks(ends []int64) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, end := range ends {
		seen := map[int64]bool{}
		for _, e := range g.gots[int32(p)] {
			seen[e.offset] = true
		}
		missing := int(end) - len(seen)
		for o := range end {
			if !seen[o] {
				return fmt.Sprintf("%d records of partition %d, the first at offset %d, the end is %d", missing, p, o, end)
			}
		}
	}
	return ""
}

// sleepy is for how long a member that was paused may go on with what it had fetched before, in microseconds.
const sleepy = 5_000_000

// judge: nothing that was committed is delivered afterwards, and nothing twice that went to a member that lives.
func (g *group) judge() {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	twice := 0
	for p, gots := range g.gots {
		seen := map[int64]event{}
		commits := slices.Clone(g.commits[p])
		slices.SortFunc(commits, func(a, b event) int { return int(a.at - b.at) })
		slices.SortStableFunc(gots, func(a, b event) int { return int(a.at - b.at) })
		committed, i := event{}, 0
		for _, e := range gots {
			for ; i < len(commits) && commits[i].at < e.at; i++ {
				if commits[i].offset > committed.offset {
					committed = commits[i]
				}
			}
			if w := g.members[e.member-1].woken; w != 0 && e.at >= w && e.at < w+sleepy {
				continue
			}
			first, again := seen[e.offset]
			if again {
				twice++
			}
			seen[e.offset] = e
			if e.offset < committed.offset {
				g.t.Errorf("partition %d: offset %d delivered to member %d, %d µs after %d was committed by member %d (first to member %d)",
					p, e.offset, e.member, e.at-committed.at, committed.offset, committed.member, first.member)
			}
			// While a group changes its protocol a member may lose what it has not committed yet (its commit comes too late for the new
			// epoch): such records come again, committed ones never, which is judged above.
			if g.moves {
				continue
			}
			if again && first.member != 1 && g.members[first.member-1].woken == 0 {
				g.t.Errorf("partition %d: offset %d delivered to member %d and to member %d, the first was neither killed nor stopped", p, e.offset, first.member, e.member)
			}
		}
	}
	g.t.Logf("%d records were delivered twice, not committed", twice)
}

// kill is kill -9: the socket closes, nobody leaves the group.
func (m *member) kill() {
	m.g.t.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		m.g.t.Fatal(err)
	}
	<-m.exit
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.own = nil
}

// pause stops the process, resume lets it go on.
func (m *member) pause() { m.signal(syscall.SIGSTOP) }

func (m *member) resume() {
	m.g.mu.Lock()
	m.woken = time.Now().UnixMicro()
	m.g.mu.Unlock()
	m.signal(syscall.SIGCONT)
}

func (m *member) signal(s syscall.Signal) {
	m.g.t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.g.t.Fatal(err)
	}
}

// close asks the member to leave and waits for its end.
func (m *member) close() {
	m.g.t.Helper()
	if _, err := io.WriteString(m.stdin, "close\n"); err != nil {
		m.g.t.Errorf("member %d does not listen: %v", m.id, err)
	}
	select {
	case <-m.exit:
		if c := m.cmd.ProcessState.ExitCode(); c != 0 {
			m.g.t.Errorf("member %d ended with %d: %v", m.id, c, m.last)
		}
	case <-time.After(patience):
		m.g.t.Errorf("member %d does not close", m.id)
	}
}

// end kills what is left.
func (g *group) end() {
	for _, m := range g.members {
		_ = m.cmd.Process.Kill() // it may have ended
		<-m.exit
	}
}

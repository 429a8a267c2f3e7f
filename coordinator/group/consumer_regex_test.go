package group

import (
	"fmt"
	"regexp"
	"testing"
	"time"
)

// The wording is that of Apache Kafka 4.4.0, asked for each of these.
func TestRegexFault(t *testing.T) {
	f := func(pattern, want string) {
		t.Helper()
		if got := regexFault(pattern); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
	f("a.*", "")
	f("[", "missing closing ]")
	f("a)", "regexp/syntax: internal error")
	f("(a", "missing closing )")
	f("a**", "invalid nested repetition operator")
	f("a{2000}", "invalid repeat count")
	f(`\`, "trailing backslash at end of expression")
	f("[z-a]", "invalid character class range")
	f("(?P<n>a)(?P<n>b)", "duplicate capture group name")
	f(`\8`, "invalid escape sequence")
	f("(?<n", "invalid named capture")
	f("*", "missing argument to repetition operator")
	f("[[:foo:]]", "invalid character class range")
	f("(?i", "invalid or unsupported Perl syntax")
	f("(?z)", "invalid or unsupported Perl syntax")
}

func TestRegexMatchesWholeNames(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		re := regexp.MustCompile(pattern)
		re.Longest()
		if got := matchesAll(re, name); got != want {
			t.Errorf("%s on %s: got %t", pattern, name, got)
		}
	}
	f("a|ab", "ab", true) // the first alternative alone would not do
	f("ab", "xab", false)
	f("ab", "abx", false)
	f("(a|b)*", "abba", true)
	f("^ab$", "ab", true)
	f("b*", "ab", false)
	f(`\Qa.b`, "a.b", true)
	f("(?i)AB", "ab", true)
}

// Many topics are matched piece by piece, each in an event of its own, and the group hears of them when all is done.
func TestRegexResolvesInPieces(t *testing.T) {
	w := newConsumerWorld(t)
	for i := range 2*regexPiece + 10 {
		w.topics.set(fmt.Sprintf("t%d", i), 1)
	}
	w.event([]string{"heartbeat", "member=a", "epoch=0", "regex=t.*9"})
	for piece := range 3 {
		key := timerKey(timerRegex, "g", "")
		if at, ok := w.timers[key]; !ok || at != w.since {
			t.Fatalf("piece %d: timer at %v (%t), now %v", piece, at, ok, w.since)
		}
		if got := len(w.s.consumer("g").regexes); got != 0 {
			t.Fatalf("piece %d: resolved already", piece)
		}
		delete(w.timers, key)
		w.do(w.s.Fire(w.now(), key))
	}
	r := w.s.consumer("g").regexes["t.*9"]
	if r == nil || len(r.topics) != 201 {
		t.Fatalf("got %+v, want 201 topics", r)
	}
	if w.s.consumer("g").resolving != nil {
		t.Error("still resolving")
	}
	w.since += time.Second
	if lines := w.event([]string{"heartbeat", "member=a", "epoch=1"}); len(lines) != 4 {
		t.Errorf("the member is not assigned: %v", lines)
	}
}

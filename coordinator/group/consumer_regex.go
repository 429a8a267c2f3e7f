package group

import (
	"errors"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator/record"
)

// Subscriptions by regular expression (KIP-848, RE2 syntax). A heartbeat only checks a new expression; the topics that match are found
// piece by piece in timer events and written as records, so that neither a heartbeat nor another group waits for it.

const (
	// regexMinRefresh is how often a group's expressions are resolved at most (GroupMetadataManager: REGEX_BATCH_REFRESH_MIN_INTERVAL_MS).
	regexMinRefresh = 10 * time.Second
	// regexPiece is how many topic names are matched in one event: about a millisecond of work.
	regexPiece = 1000
)

// resolvedRegex is what an expression matched.
type resolvedRegex struct {
	topics  []string // ascending
	version int64    // of the cluster's topics
	atMs    int64    // wall clock
}

// regexResolution is under way.
type regexResolution struct {
	patterns []string
	compiled []*regexp.Regexp // nil for one that can't be read
	names    []string         // still to be matched
	found    [][]string       // by pattern
	version  int64
	atMs     int64
}

// regexStatus is what a heartbeat did to its member's regular expression.
type regexStatus uint8

const (
	regexUnchanged regexStatus = iota
	regexUpdated               // and its topics are not known yet
	regexResolved              // and the group's topics change at once
)

// updateRegex looks after the group's expressions when old is replaced by m.
func (t *turn) updateRegex(old, m *consumerMember) (regexStatus, *refusal) {
	g, status, fresh := t.g, regexUnchanged, false
	if old.regex != m.regex {
		status = regexUpdated
		if old.regex != "" && g.patterns[old.regex] == 1 {
			t.write(tombstone(&record.ConsumerGroupRegularExpressionKey{GroupID: g.id, RegularExpression: old.regex}))
		}
		switch {
		case m.regex != "" && g.patterns[m.regex] == 0:
			if r := checkRegex(m.regex); r != nil {
				return status, r
			}
			fresh = true
		case m.regex == "", g.regexes[m.regex] != nil:
			status = regexResolved
		}
	}
	if !fresh && len(g.patterns) == 0 || g.resolving != nil {
		return status, nil
	}
	nowMs, version, last := t.now.WallMs(), t.s.d.Topics.Version(), g.lastResolved()
	// How old they may get when nothing changes: what a client may see can change without a change of topics.
	oldest := millis(int32(t.s.d.Settings.Int("group.consumer.regex.refresh.interval.ms")))
	age := oldest + 1
	if last != nil && nowMs >= last.atMs { // a clock that was set back makes it old
		age = time.Duration(nowMs-last.atMs) * time.Millisecond
	}
	if age <= regexMinRefresh {
		return status, nil
	}
	patterns, _, _ := t.subscriptionsWith(old, m)
	if len(patterns) == 0 || !fresh && len(patterns) == len(g.regexes) && last != nil && last.version == version && age <= oldest {
		return status, nil
	}
	g.resolving = &regexResolution{patterns: slices.Sorted(maps.Keys(patterns))}
	setTimer(&t.e, timerKey(timerRegex, g.id, ""), t.now.Mono)
	return status, nil
}

// lastResolved is any of the expressions: all are resolved at once.
func (g *consumerGroup) lastResolved() *resolvedRegex {
	for _, r := range g.regexes {
		return r
	}
	return nil
}

func checkRegex(pattern string) *refusal {
	fault := regexFault(pattern)
	if fault == "" {
		return nil
	}
	return refuse(kerr.InvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %s.", pattern, fault)
}

// regexFault is what is wrong with an expression, empty when nothing: in the words, and by the rules, of RE2/J. Kafka's library is a port of
// Go's, but has no name for a parenthesis too many and refuses a name that is used twice (Apache Kafka 4.4 observed).
func regexFault(pattern string) string {
	re, err := regexp.Compile(pattern)
	var e *syntax.Error
	switch {
	case err == nil:
		names := slices.DeleteFunc(re.SubexpNames(), func(n string) bool { return n == "" })
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) < len(names) {
			return "duplicate capture group name"
		}
		return ""
	case !errors.As(err, &e):
		return err.Error()
	case e.Code == syntax.ErrUnexpectedParen:
		return "regexp/syntax: internal error"
	}
	return e.Code.String()
}

// resolve does a piece of the group's resolution, and what follows of it when all is done.
func (t *turn) resolve() {
	r := t.g.resolving
	if r == nil {
		return
	}
	if r.compiled == nil {
		r.start(t.s.d.Topics, t.now.WallMs())
	}
	n := min(regexPiece, len(r.names))
	for _, name := range r.names[:n] {
		for i, re := range r.compiled {
			if re != nil && matchesAll(re, name) {
				r.found[i] = append(r.found[i], name)
			}
		}
	}
	if r.names = r.names[n:]; len(r.names) > 0 {
		setTimer(&t.e, timerKey(timerRegex, t.g.id, ""), t.now.Mono)
		return
	}
	t.g.resolving = nil
	t.resolved(r)
}

func (r *regexResolution) start(topics Topics, nowMs int64) {
	r.version, r.atMs, r.names = topics.Version(), nowMs, topics.Names()
	r.found = make([][]string, len(r.patterns))
	r.compiled = make([]*regexp.Regexp, len(r.patterns))
	for i, p := range r.patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			continue // of a record that was written before the syntax changed
		}
		re.Longest()
		r.compiled[i] = re
	}
}

// matchesAll tells whether the whole name matches: the expression has been set to prefer the longest match.
func matchesAll(re *regexp.Regexp, name string) bool {
	at := re.FindStringIndex(name)
	return at != nil && at[0] == 0 && at[1] == len(name)
}

// resolved writes what expressions that are still in use match. The group gets a new epoch if that changed.
func (t *turn) resolved(r *regexResolution) {
	g := t.g
	names, changed := maps.Clone(g.names), false
	for i, pattern := range r.patterns {
		if g.patterns[pattern] == 0 {
			continue
		}
		fresh := &resolvedRegex{topics: r.found[i], version: r.version, atMs: r.atMs}
		slices.Sort(fresh.topics)
		var before []string
		if old := g.regexes[pattern]; old != nil {
			before = old.topics
		}
		if !slices.Equal(before, fresh.topics) {
			changed = true
			countPatterns(names, before, -1)
			countPatterns(names, fresh.topics, +1)
		}
		t.write(regexRecord(g.id, pattern, fresh))
	}
	hash := groupHash(t.s.d.Topics, names)
	if changed || hash != g.metadataHash {
		t.write(epochRecord(g.id, g.epoch+1, hash))
	}
}

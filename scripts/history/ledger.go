package main

import (
	"fmt"
	"sync"
)

// outcome is what is known of a transaction. It is noted before the request that may bring it about leaves.
type outcome int

const (
	open outcome = iota
	committing
	committed
	aborting
	aborted
	either // a retry was fenced: the first try may have been heard
)

// mayShow: a reader of committed records may have got it.
func (o outcome) mayShow() bool { return o == committing || o == committed || o == either }

// transaction is one transaction of a writer, as the writer knows it.
type transaction struct {
	writer string
	number int
	state  outcome  // guarded by ledger.mu
	values []string // guarded by ledger.mu: acknowledged
	offset int64    // committed for the writer's group; -1 none
}

func (t *transaction) String() string { return fmt.Sprintf("transaction %d of %s", t.number, t.writer) }

// sent is a record that a writer has sent.
type sent struct {
	txn       *transaction // nil without one
	writer    string
	number    int   // of the writer's record
	partition int32 // where it belongs
	offset    int64 // -1 until acknowledged
	zombie    bool  // sent by a fenced producer: it must be nowhere
}

// ledger is what writers have done and found wrong.
type ledger struct {
	mu                      sync.Mutex
	sent                    map[string]*sent // guarded by mu; by value
	txns                    []*transaction   // guarded by mu
	problems                []string         // guarded by mu
	broken                  chan struct{}    // closed at the first problem
	resent, fenced, zombies int              // guarded by mu
	ended                   int              // guarded by mu; transactions whose end was answered
}

func newLedger() *ledger { return &ledger{sent: map[string]*sent{}, broken: make(chan struct{})} }

// problem notes what must not be.
func (l *ledger) problem(format string, args ...any) {
	for _, a := range args {
		if a == over {
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) == 0 {
		close(l.broken)
	}
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

func (l *ledger) begin(writer string, number int) *transaction {
	t := &transaction{writer: writer, number: number, offset: -1}
	l.mu.Lock()
	l.txns = append(l.txns, t)
	l.mu.Unlock()
	return t
}

func (l *ledger) becomes(t *transaction, o outcome) {
	l.mu.Lock()
	t.state = o
	if o == committed || o == aborted {
		l.ended++
	}
	l.mu.Unlock()
}

// progress grows with each transaction that ends.
func (l *ledger) progress() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

func (l *ledger) count(n *int) {
	l.mu.Lock()
	*n++
	l.mu.Unlock()
}

func (l *ledger) send(s sent, values []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range values {
		one := s
		one.number, one.offset = s.number+i, -1
		l.sent[v] = &one
	}
}

// acked notes where records are.
func (l *ledger) acked(t *transaction, values []string, base int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range values {
		l.sent[v].offset = base + int64(i)
	}
	if t != nil {
		t.values = append(t.values, values...)
	}
}

// shown checks a record at the moment at which a reader gets it.
func (l *ledger) shown(at int32, offset int64, value string, isolated bool) {
	l.mu.Lock()
	s := l.sent[value]
	var state outcome
	if s != nil && s.txn != nil {
		state = s.txn.state
	}
	l.mu.Unlock()
	switch {
	case s == nil:
		l.problem("partition %d offset %d: a record that nobody sent: %q", at, offset, value)
	case s.partition != at:
		l.problem("partition %d offset %d: %s was sent to partition %d", at, offset, value, s.partition)
	case s.zombie:
		l.problem("partition %d offset %d: %s was sent by a fenced producer", at, offset, value)
	case isolated && s.txn != nil && !state.mayShow():
		l.problem("partition %d offset %d: a reader of committed records got %s of %v, which is %s", at, offset, value, s.txn, [...]string{open: "open", aborting: "being aborted", aborted: "aborted"}[state])
	}
}

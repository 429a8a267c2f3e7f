package handler

import (
	"github.com/kaja-mq/kaja/replica"
)

// fetchEntry is a partition of a fetch on its way to the response.
type fetchEntry struct {
	fetchPartition
	cached   *sessionPartition // of an incremental fetch
	replica  *replica.Partition
	early    bool // refused before the log was asked: an error that does not end a wait
	skip     bool // not in the response
	err      error
	res      replica.ReadResult
	aborted  bool // the list of aborted transactions is not null
	leader   int32
	leaderAt int32 // epoch
}

// size is the bytes of records in the answer.
func (e *fetchEntry) size() int {
	if e.res.Range == nil {
		return 0
	}
	return e.res.Range.Len()
}

// fetchBudget divides the bytes of a response among its partitions, in their order.
type fetchBudget struct {
	left   int
	minOne bool // nothing has been read yet: the first batch comes whole, whatever the limits
}

// ask is what a partition may read.
func (b *fetchBudget) ask(partitionMax int32) (maxBytes int, minOne bool) {
	return min(max(int(partitionMax), 0), b.left), b.minOne
}

// took counts what a partition did read.
func (b *fetchBudget) took(n int) {
	if n > 0 {
		b.minOne = false
	}
	b.left = max(b.left-n, 0)
}

// fetchLimits are the bounds of a whole fetch.
type fetchLimits struct {
	maxBytes, minBytes int
	wait               bool // max_wait above 0
}

// limitsOf bounds a request's wishes by fetch.max.bytes.
func limitsOf(maxWaitMs, minBytes, maxBytes int32, fetchMaxBytes int64) fetchLimits {
	l := fetchLimits{maxBytes: int(min(int64(maxBytes), fetchMaxBytes)), wait: maxWaitMs > 0}
	l.minBytes = min(int(minBytes), l.maxBytes)
	return l
}

// fetchProgress is what reading the partitions has given so far.
type fetchProgress struct {
	asked    int // partitions whose log was asked
	bytes    int
	failed   bool // a log refused
	diverges bool
}

// count takes an entry into account.
func (p *fetchProgress) count(e *fetchEntry) {
	if e.early {
		return
	}
	p.asked++
	p.bytes += e.size()
	p.failed = p.failed || e.err != nil
	p.diverges = p.diverges || e.res.Diverges
}

// answers tells whether a fetch is answered at once: it does not want to wait or has nothing to wait for, has enough, or found
// something that its reader must know. Partitions that were refused before the log was asked (unknown topics) do not count.
func (l fetchLimits) answers(p fetchProgress) bool {
	return !l.wait || p.asked == 0 || p.bytes >= l.minBytes || p.failed || p.diverges
}

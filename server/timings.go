package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/metric"
	"github.com/kaja-mq/kaja/protocol"
)

// timings measures requests: two looks at the clock each, a third for those that park. All its methods do nothing on nil, which is what a
// broker without a console has.
type timings struct {
	clock clock.Clock
	start time.Time
	apis  [protocol.MaxKey + 1]atomic.Pointer[apiTimings]
	// followers are the fetches of other brokers, which are not among those of their API.
	followers apiTimings
	busy      atomic.Int64 // ns of work on requests, over all loops

	mu     sync.Mutex // one look at a time
	looked time.Time  // when busy was last asked for; guarded by mu
	was    int64      // busy then; guarded by mu
}

// apiTimings is what is known of one API.
type apiTimings struct {
	byVersion            [maxVersion + 1]atomic.Int64
	total, local, remote metric.Histogram
	window               window // guarded by timings.mu
}

// maxVersion is above the highest version of any API of 4.4.0 (Fetch has 18); later ones would be counted as this.
const maxVersion = 31

// callTiming goes with a call; it belongs to the connection's loop.
type callTiming struct {
	began, parked time.Duration // since timings.start
	follower      bool          // a Fetch of another broker
}

func newTimings(clk clock.Clock) *timings {
	now := clk.Mono()
	return &timings{clock: clk, start: now, looked: now}
}

func (t *timings) now() time.Duration { return t.clock.Mono().Sub(t.start) }

// began is told before the handler runs.
func (t *timings) began(k *call) {
	if t != nil {
		k.timing = callTiming{began: t.now(), parked: -1}
	}
}

// parked is told when the handler has returned without an answer.
func (t *timings) parked(k *call) {
	if t != nil {
		k.timing.parked = t.now()
	}
}

// ended is told when there is an answer.
func (t *timings) ended(k *call) {
	if t == nil {
		return
	}
	total := t.now() - k.timing.began
	local := total
	if k.timing.parked >= 0 {
		local = k.timing.parked - k.timing.began
	}
	t.busy.Add(int64(local))
	a := t.api(k.header.Key)
	if k.timing.follower {
		a = &t.followers
	}
	if a == nil {
		return
	}
	a.byVersion[min(max(k.header.Version, 0), maxVersion)].Add(1)
	a.total.Observe(total)
	a.local.Observe(local)
	a.remote.Observe(total - local)
}

// api is where an API is counted, made when it is first asked for; nil for a key that Kafka does not have.
func (t *timings) api(key int16) *apiTimings {
	if key < 0 || int(key) >= len(t.apis) {
		return nil
	}
	p := &t.apis[key]
	if a := p.Load(); a != nil {
		return a
	}
	p.CompareAndSwap(nil, &apiTimings{})
	return p.Load()
}

// idle is the part of the time since the last look that loops had no request, 0 to 1.
func (t *timings) idle(loops int) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, busy := t.clock.Mono(), t.busy.Load()
	span := now.Sub(t.looked) * time.Duration(loops)
	work := busy - t.was
	if span <= 0 {
		return 1
	}
	t.looked, t.was = now, busy
	return min(max(1-float64(work)/float64(span), 0), 1)
}

// window lets quantiles speak of the last minutes instead of all time: it keeps two earlier looks.
type window struct {
	at           time.Time
	older, newer [3]metric.Distribution
}

// windowSpan is how old the looks grow: quantiles are over the last five to ten minutes, about what Kafka's decaying samples cover.
const windowSpan = 5 * time.Minute

// FromFollower is told by the handler of Fetch when the fetch is another broker's.
func (k *call) FromFollower() { k.timing.follower = true }

// recent is what came after the older look, and moves the looks on.
func (w *window) recent(now time.Time, d [3]metric.Distribution) (out [3]metric.Distribution) {
	if w.at.IsZero() {
		w.at = now
	}
	if now.Sub(w.at) >= windowSpan {
		w.older, w.newer, w.at = w.newer, d, now
	}
	for i := range d {
		out[i] = d[i].Since(w.older[i])
	}
	return out
}

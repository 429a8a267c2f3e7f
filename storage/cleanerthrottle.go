package storage

import (
	"sync"
	"time"
)

// throttlePeriod is over how long the rate of I/O is looked at before it counts, as in Kafka.
const throttlePeriod = 300 * time.Millisecond

// cleanThrottle holds the cleaner's I/O below log.cleaner.io.max.bytes.per.second.
type cleanThrottle struct {
	mu    sync.Mutex
	since time.Time // guarded by mu: start of the period, zero before the first
	bytes float64   // guarded by mu: in it
}

// used counts bytes and says how long to pause; a rate of 0 is no bound.
func (t *cleanThrottle) used(now time.Time, n int64, rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = now
	}
	t.bytes += float64(n)
	elapsed := now.Sub(t.since)
	wait := max(time.Duration(t.bytes/rate*float64(time.Second))-elapsed, 0)
	if elapsed < throttlePeriod && wait < throttlePeriod {
		return 0
	}
	t.since, t.bytes = now.Add(wait), 0
	return wait
}

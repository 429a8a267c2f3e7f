package metric

import (
	"sync"
	"sync/atomic"
)

// Traffic is what goes in and out of a broker's topics. A nil one counts nothing.
type Traffic struct {
	mu     sync.Mutex
	topics map[string]*Topic // guarded by mu
	gone   Counts            // of topics that are no more; guarded by mu
}

// Topic is the traffic of one topic. A nil one counts nothing.
type Topic struct {
	messagesIn, bytesIn, bytesOut      atomic.Int64
	produces, fetches                  atomic.Int64
	failedProduces, failedFetches      atomic.Int64
	replicationBytesIn, replicationOut atomic.Int64
}

// Counts are a topic's counters at an instant: records and bytes of record batches as they are stored; requests are counted once per
// partition that they name.
type Counts struct {
	MessagesIn, BytesIn, BytesOut           int64
	Produces, Fetches                       int64
	FailedProduces, FailedFetches           int64
	ReplicationBytesIn, ReplicationBytesOut int64
}

// NewTraffic counts from zero.
func NewTraffic() *Traffic { return &Traffic{topics: map[string]*Topic{}} }

// Topic is where the topic's traffic is counted; keep it.
func (t *Traffic) Topic(name string) *Topic {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.topics[name]
	if c == nil {
		c = &Topic{}
		t.topics[name] = c
	}
	return c
}

// Appended counts a client's batches in the log.
func (c *Topic) Appended(records, bytes int64) {
	if c != nil {
		c.messagesIn.Add(records)
		c.bytesIn.Add(bytes)
	}
}

// Replicated counts batches copied from a leader.
func (c *Topic) Replicated(bytes int64) {
	if c != nil {
		c.replicationBytesIn.Add(bytes)
	}
}

// Produced counts a partition of a Produce request.
func (c *Topic) Produced(failed bool) {
	if c == nil {
		return
	}
	c.produces.Add(1)
	if failed {
		c.failedProduces.Add(1)
	}
}

// Fetched counts a partition of a Fetch request and the bytes that were sent for it, to a follower or to a consumer.
func (c *Topic) Fetched(bytes int64, follower, failed bool) {
	if c == nil {
		return
	}
	c.fetches.Add(1)
	switch {
	case failed:
		c.failedFetches.Add(1)
	case bytes == 0:
	case follower:
		c.replicationOut.Add(bytes)
	default:
		c.bytesOut.Add(bytes)
	}
}

func (c *Topic) load() Counts {
	return Counts{
		MessagesIn: c.messagesIn.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		Produces: c.produces.Load(), Fetches: c.fetches.Load(),
		FailedProduces: c.failedProduces.Load(), FailedFetches: c.failedFetches.Load(),
		ReplicationBytesIn: c.replicationBytesIn.Load(), ReplicationBytesOut: c.replicationOut.Load(),
	}
}

// Add counts o too.
func (c *Counts) Add(o Counts) {
	c.MessagesIn += o.MessagesIn
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
	c.Produces += o.Produces
	c.Fetches += o.Fetches
	c.FailedProduces += o.FailedProduces
	c.FailedFetches += o.FailedFetches
	c.ReplicationBytesIn += o.ReplicationBytesIn
	c.ReplicationBytesOut += o.ReplicationBytesOut
}

// Load reads all counters: the broker's sum and that of each topic that exists. What topics without existence have counted goes into the
// sum; their counters are forgotten.
func (t *Traffic) Load(exists func(topic string) bool) (sum Counts, topics map[string]Counts) {
	topics = map[string]Counts{}
	if t == nil {
		return sum, topics
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, c := range t.topics {
		n := c.load()
		if !exists(name) {
			delete(t.topics, name)
			t.gone.Add(n)
			continue
		}
		topics[name] = n
		sum.Add(n)
	}
	sum.Add(t.gone)
	return sum, topics
}

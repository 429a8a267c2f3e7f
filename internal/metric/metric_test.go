package metric

import (
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	for i := range bucketCount - 1 {
		lo, hi := lowerBound(i), upperBound(i)
		if lo >= hi || bucketOf(lo) != i || bucketOf(hi-1) != i || bucketOf(hi) != i+1 {
			t.Errorf("bucket %d from %v to %v: its bounds are in %d, %d, %d", i, lo, hi, bucketOf(lo), bucketOf(hi-1), bucketOf(hi))
		}
	}
	if bucketOf(-1) != 0 || bucketOf(1<<62) != bucketCount-1 {
		t.Error("out of range")
	}
}

func TestQuantile(t *testing.T) {
	var h Histogram
	if _, ok := h.Load().Quantile(.5); ok {
		t.Error("a quantile of nothing")
	}
	h.Observe(time.Hour) // long ago
	before := h.Load()
	for i := range 1000 {
		h.Observe(time.Duration(i+1) * 10 * time.Microsecond)
	}
	d := h.Load().Since(before)
	if twice := d.Plus(d); twice.Count != 2000 || twice.Since(d) != d {
		t.Error("a sum is not that of its parts")
	}
	f := func(q float64, want time.Duration) {
		t.Helper()
		got, ok := d.Quantile(q)
		if off := float64(got-want) / float64(want); !ok || off < -.13 || off > .13 {
			t.Errorf("quantile %v: %v, want about %v", q, got, want)
		}
	}
	f(.5, 5*time.Millisecond)
	f(.99, 9900*time.Microsecond)
	f(1, 10*time.Millisecond)
	f(0, 10*time.Microsecond)
	if d.Count != 1000 || d.Sum != 10*time.Microsecond*1000*1001/2 {
		t.Errorf("count %d, sum %v", d.Count, d.Sum)
	}
}

func TestTraffic(t *testing.T) {
	tr := NewTraffic()
	a := tr.Topic("a")
	a.Appended(3, 100)
	a.Produced(false)
	a.Produced(true)
	a.Fetched(70, false, false)
	a.Fetched(80, true, false)
	a.Fetched(90, false, true)
	a.Replicated(5)
	tr.Topic("b").Appended(1, 10)
	want := Counts{MessagesIn: 3, BytesIn: 100, BytesOut: 70, Produces: 2, FailedProduces: 1, Fetches: 3, FailedFetches: 1, ReplicationBytesIn: 5, ReplicationBytesOut: 80}
	sum, topics := tr.Load(func(string) bool { return true })
	if topics["a"] != want || len(topics) != 2 || sum.MessagesIn != 4 || sum.BytesIn != 110 {
		t.Errorf("sum %+v, topics %+v", sum, topics)
	}
	for range 2 { // b is gone, and still in the sum
		sum, topics = tr.Load(func(name string) bool { return name == "a" })
		if len(topics) != 1 || sum.MessagesIn != 4 {
			t.Errorf("sum %+v, topics %+v", sum, topics)
		}
	}
	var none *Traffic
	none.Topic("x").Appended(1, 1)
	none.Topic("x").Produced(true)
	none.Topic("x").Fetched(1, true, true)
	none.Topic("x").Replicated(1)
	if sum, topics := none.Load(nil); sum != (Counts{}) || len(topics) != 0 {
		t.Error("a nil Traffic counts")
	}
}

// TestAllocations: counting is atomics only.
func TestAllocations(t *testing.T) {
	var h Histogram
	c := NewTraffic().Topic("a")
	if n := testing.AllocsPerRun(100, func() {
		h.Observe(time.Millisecond)
		c.Appended(1, 2)
		c.Produced(false)
		c.Fetched(1, false, false)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

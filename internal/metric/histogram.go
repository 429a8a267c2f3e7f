package metric

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Buckets are four to an octave, from firstBucket (1 µs) to more than a minute: a quantile is at most a quarter off.
const (
	subBits     = 2
	firstBit    = 10
	octaves     = 27
	bucketCount = octaves<<subBits + 1
)

// Histogram counts durations. The zero value is ready; it must not be copied.
type Histogram struct {
	buckets [bucketCount]atomic.Int64
	sum     atomic.Int64 // ns
}

// Observe counts a duration; a negative one counts as 0.
func (h *Histogram) Observe(d time.Duration) {
	h.buckets[bucketOf(d)].Add(1)
	h.sum.Add(int64(max(d, 0)))
}

func bucketOf(d time.Duration) int {
	if d < 1<<firstBit {
		return 0
	}
	e := bits.Len64(uint64(d)) - 1
	sub := int(uint64(d)>>(e-subBits)) & (1<<subBits - 1)
	return min((e-firstBit)<<subBits+sub+1, bucketCount-1)
}

// upperBound is the first duration above a bucket.
func upperBound(i int) time.Duration {
	if i == 0 {
		return 1 << firstBit
	}
	e, sub := (i-1)>>subBits+firstBit, (i-1)&(1<<subBits-1)
	return time.Duration(1<<subBits+sub+1) << (e - subBits)
}

func lowerBound(i int) time.Duration {
	if i == 0 {
		return 0
	}
	return upperBound(i - 1)
}

// Distribution is what a histogram held at an instant.
type Distribution struct {
	buckets [bucketCount]int64
	// Count of durations, and their Sum.
	Count int64
	Sum   time.Duration
}

// Load reads the histogram; counts that come in meanwhile may be in or not.
func (h *Histogram) Load() (d Distribution) {
	for i := range h.buckets {
		d.buckets[i] = h.buckets[i].Load()
		d.Count += d.buckets[i]
	}
	d.Sum = time.Duration(h.sum.Load())
	return d
}

// Plus joins two histograms.
func (d Distribution) Plus(o Distribution) Distribution {
	for i := range d.buckets {
		d.buckets[i] += o.buckets[i]
	}
	d.Count += o.Count
	d.Sum += o.Sum
	return d
}

// Since is what came after an earlier look at the same histogram.
func (d Distribution) Since(earlier Distribution) Distribution {
	for i := range d.buckets {
		d.buckets[i] -= earlier.buckets[i]
	}
	d.Count -= earlier.Count
	d.Sum -= earlier.Sum
	return d
}

// Quantile is the duration below which the part q (0 to 1) lies; false when nothing was counted.
func (d Distribution) Quantile(q float64) (time.Duration, bool) {
	if d.Count <= 0 {
		return 0, false
	}
	rank := int64(math.Ceil(q * float64(d.Count)))
	rank = min(max(rank, 1), d.Count)
	for i, n := range d.buckets {
		if rank > n {
			rank -= n
			continue
		}
		lo, hi := lowerBound(i), upperBound(i)
		return lo + time.Duration(float64(hi-lo)*float64(rank)/float64(n)), true
	}
	return upperBound(bucketCount - 1), true
}

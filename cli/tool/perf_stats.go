package tool

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

const (
	maxLatencySamples = 500_000 // as many latencies are kept for the percentiles; beyond that, each n-th
	bytesPerMB        = 1024 * 1024
)

// perfStats counts what a producer sent and prints it in intervals and at the end, as ProducerPerformance does. One goroutine at a time.
type perfStats struct {
	out       io.Writer
	start     time.Time
	sampling  int64
	latencies []int
	iteration int64
	interval  time.Duration

	count, bytes, totalLatency int64
	maxLatency                 int

	windowStart                                  time.Time
	windowCount, windowBytes, windowTotalLatency int64
	windowMaxLatency                             int

	steady bool // counts what comes after the warm-up
	quiet  bool // another one prints the intervals from now on
}

func newPerfStats(out io.Writer, now time.Time, records int64, interval time.Duration, steady bool) *perfStats {
	return &perfStats{out: out, start: now, windowStart: now, sampling: max(records/min(records, maxLatencySamples), 1), interval: interval, steady: steady}
}

// record counts a record that was acknowledged at now. The latency is in milliseconds.
func (s *perfStats) record(latency, size int, now time.Time) {
	s.count++
	s.bytes += int64(size)
	s.totalLatency += int64(latency)
	s.maxLatency = max(s.maxLatency, latency)
	s.windowCount++
	s.windowBytes += int64(size)
	s.windowTotalLatency += int64(latency)
	s.windowMaxLatency = max(s.windowMaxLatency, latency)
	if s.iteration%s.sampling == 0 {
		s.latencies = append(s.latencies, latency)
	}
	if now.Sub(s.windowStart) >= s.interval {
		if s.steady && s.count == s.windowCount {
			fmt.Fprintln(s.out, "In steady state.")
		}
		if !s.quiet {
			s.printWindow(now)
		}
		s.windowStart = now
		s.windowCount, s.windowBytes, s.windowTotalLatency, s.windowMaxLatency = 0, 0, 0, 0
	}
	s.iteration++
}

// rates are records and MB per second over d, counted in whole milliseconds.
func rates(count, bytes int64, d time.Duration) (records, megabytes float64) {
	ms := float64(d.Milliseconds())
	return 1000 * float64(count) / ms, 1000 * float64(bytes) / ms / bytesPerMB
}

func (s *perfStats) printWindow(now time.Time) {
	records, megabytes := rates(s.windowCount, s.windowBytes, now.Sub(s.windowStart))
	fmt.Fprintf(s.out, "%d records sent, %s records/sec (%s MB/sec), %s ms avg latency, %s ms max latency.\n", s.windowCount,
		javaFixed(records, 1), javaFixed(megabytes, 2), javaFixed(float64(s.windowTotalLatency)/float64(s.windowCount), 1), javaFixed(float64(s.windowMaxLatency), 1))
}

// printTotal prints the last line.
func (s *perfStats) printTotal(now time.Time) {
	records, megabytes := rates(s.count, s.bytes, now.Sub(s.start))
	p := percentiles(s.latencies, 0.5, 0.95, 0.99, 0.999)
	state := ""
	if s.steady {
		state = " steady state"
	}
	fmt.Fprintf(s.out, "%d%s records sent, %s records/sec (%s MB/sec), %s ms avg latency, %s ms max latency, %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.\n",
		s.count, state, javaFixed(records, 6), javaFixed(megabytes, 2), javaFixed(float64(s.totalLatency)/float64(s.count), 2),
		javaFixed(float64(s.maxLatency), 2), p[0], p[1], p[2], p[3])
}

// percentiles of latencies, which it sorts; 0 where there are none.
func percentiles(latencies []int, at ...float64) []int {
	slices.Sort(latencies)
	out := make([]int, len(at))
	for i, p := range at {
		if len(latencies) > 0 {
			out[i] = latencies[int(p*float64(len(latencies)))]
		}
	}
	return out
}

// javaFixed is Java's %.nf: half up, and names for what is no number.
func javaFixed(v float64, digits int) string {
	switch s := javaFloating(v, 64); s {
	case "NaN", "Infinity", "-Infinity":
		return s
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

package tool

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// A run of 4 records over two seconds with a window of one, and a steady state after the first.
func TestPerfStats(t *testing.T) {
	var out strings.Builder
	start := time.Unix(100, 0)
	all, steady := newPerfStats(&out, start, 4, time.Second, false), newPerfStats(&out, start, 3, time.Second, true)
	for i, latency := range []int{10, 20, 30, 40} {
		now := start.Add(time.Duration(i+1) * 500 * time.Millisecond)
		all.record(latency, 1<<20, now)
		if i == 0 {
			all.quiet = true
			continue
		}
		steady.record(latency, 1<<20, now)
	}
	end := start.Add(2 * time.Second)
	all.printTotal(end)
	steady.printTotal(end)
	want := `In steady state.
1 records sent, 1.0 records/sec (1.00 MB/sec), 20.0 ms avg latency, 20.0 ms max latency.
2 records sent, 2.0 records/sec (2.00 MB/sec), 35.0 ms avg latency, 40.0 ms max latency.
4 records sent, 2.000000 records/sec (2.00 MB/sec), 25.00 ms avg latency, 40.00 ms max latency, 30 ms 50th, 40 ms 95th, 40 ms 99th, 40 ms 99.9th.
3 steady state records sent, 1.500000 records/sec (1.50 MB/sec), 30.00 ms avg latency, 40.00 ms max latency, 30 ms 50th, 40 ms 95th, 40 ms 99th, 40 ms 99.9th.
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The numbers are those of java.util.SplittableRandom(seed).
func TestSplittableRandom(t *testing.T) {
	f := func(seed uint64, bound int32, want string) {
		t.Helper()
		r := splittableRandom{seed}
		var got []string
		for range 8 {
			got = append(got, fmt.Sprint(r.below(bound)))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("seed %d below %d: got %s, want %s", seed, bound, s, want)
		}
	}
	f(0, 26, "24 16 7 7 13 4 1 18")
	f(0, 16, "13 9 11 2 10 5 15 1")
	f(math.MaxUint64, math.MaxInt32, "1343976908 247978065 234860623 297140415 924429687 34179570 654294506 1151122489")
	f(7, 1<<30+1, "349607553 784385053 493486521 527000107 884477684 356735844 898931233 504971830")
}

func TestFormatJavaDate(t *testing.T) {
	at := time.Date(2026, 12, 1, 0, 5, 9, 7_000_000, time.FixedZone("", 3600))
	f := func(pattern, want string) {
		t.Helper()
		got, err := formatJavaDate(pattern, at)
		if err != nil {
			got = javaToString(err)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
	f("yyyy-MM-dd HH:mm:ss:SSS", "2026-12-01 00:05:09:007")
	f("yy d M, MMM MMMM EEE EEEE u D", "26 1 12, Dec December Tue Tuesday 2 335")
	f("h K k a X XX Z", "12 0 24 AM +01 +0100 +0100")
	f("yyyy'T''x'HH", "2026T'x00")
	f("''", "'")
	f("b", "java.lang.IllegalArgumentException: Illegal pattern character 'b'")
	f("'x", "java.lang.IllegalArgumentException: Unterminated quote")
}

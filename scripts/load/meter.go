package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// meter takes a process's CPU time between start and stop.
type meter struct {
	pid          int
	begin        time.Time
	ticks, exact float64
	own          float64
}

func startMeter(pid int) *meter {
	if pid > 0 {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // the peak starts anew; without the right to, it is that of the process's life
	}
	return &meter{pid: pid, begin: time.Now(), ticks: tickCPU(pid), exact: threadCPU(pid), own: tickCPU(os.Getpid())}
}

// tickSlack is by how much the two clocks of a process may differ: three ticks of 10 ms.
const tickSlack = 0.03

// cpu is what the process has spent since the start: the sum over its threads, which is exact, unless threads have ended meanwhile.
func (m *meter) cpu() float64 {
	ticks, exact := tickCPU(m.pid)-m.ticks, threadCPU(m.pid)-m.exact
	if math.Abs(ticks-exact) > tickSlack+0.02*ticks {
		return ticks
	}
	return exact
}

// stop notes what has been spent: time, the broker's CPU seconds and memory, and the generator's own CPU seconds.
func (m *meter) stop(f figures) (cpu float64) {
	f["wall_s"] = round(time.Since(m.begin).Seconds(), 3)
	f["client_cpu_s"] = round(tickCPU(os.Getpid())-m.own, 2)
	if m.pid == 0 {
		return 0
	}
	cpu = m.cpu()
	f["cpu_s"], f["rss_mib"], f["peak_mib"] = round(cpu, 4), round(residentMiB(m.pid), 1), round(statusMiB(m.pid, "VmHWM:"), 1)
	return cpu
}

// perGiB and perRequest are the two figures that loads are compared by.
func (f figures) perGiB(cpu float64, bytes int64) {
	gib := float64(bytes) / (1 << 30)
	f["gib"], f["cpu_s_per_gib"] = round(gib, 3), round(cpu/gib, 3)
	f["mib_per_s"] = round(gib*1024/f["wall_s"].(float64), 1)
}

func (f figures) perRequest(cpu float64, n int) {
	f["requests"], f["cpu_us_per_request"] = n, round(cpu*1e6/float64(n), 2)
}

// latencies notes quantiles in milliseconds.
func (f figures) latencies(l []time.Duration) {
	if len(l) == 0 {
		return
	}
	slices.Sort(l)
	at := func(q float64) float64 {
		return round(float64(l[min(int(q*float64(len(l))), len(l)-1)].Microseconds())/1000, 3)
	}
	f["p50_ms"], f["p99_ms"], f["max_ms"] = at(.5), at(.99), at(1)
}

func round(v float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(v*p) / p
}

// threadCPU sums the run time of the living threads in seconds, exact to the nanosecond.
func threadCPU(pid int) float64 {
	if pid == 0 {
		return 0
	}
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well-formed
	var sum float64
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil { // a thread may end at any time
			var ns float64
			_, _ = fmt.Sscan(string(b), &ns)
			sum += ns
		}
	}
	return sum / 1e9
}

// tickCPU is user and system time of a process in seconds, ended threads included, in ticks of 10 ms.
func tickCPU(pid int) float64 {
	if pid == 0 {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	s := string(b)
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	var user, system float64
	_, _ = fmt.Sscan(fields[11], &user)
	_, _ = fmt.Sscan(fields[12], &system)
	return (user + system) / 100
}

// residentMiB is the resident memory of a process.
func residentMiB(pid int) float64 { return statusMiB(pid, "VmRSS:") }

// statusMiB is a size from /proc/PID/status.
func statusMiB(pid int, field string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, field); ok {
			var kib float64
			_, _ = fmt.Sscan(rest, &kib)
			return kib / 1024
		}
	}
	return 0
}

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// bound is what a load may cost. Counts come from /proc/PID/io: calls that read or write (sendfile is both), and the bytes that went through
// them; they are the same in every run but for how the network cuts requests. CPU is compared with the kernel's own cost in the same run.
type bound struct {
	name, args    string
	reads, writes float64 // calls per request
	copied        float64 // bytes read and written by calls, per byte of records; 0: not bounded
	floor         string  // figure of scripts/floor
	times         float64 // CPU at most so many times the floor; 0: none
}

// cpuSlack is what a shared machine gets on top of the bound of CPU.
const cpuSlack = 1.5

// gateTries is how often CPU is measured until it is within its bound: others on the machine only add to it.
const gateTries = 4

func bounds() []bound {
	return []bound{
		{name: "one record", args: "small -topic g1 -seconds 1", reads: 1, writes: 2, floor: "write_100B_us", times: 1.3},
		{name: "one record, pipelined", args: "small -topic g2 -seconds 1 -conns 4 -inflight 32", reads: 0.2, writes: 1.2},
		{name: "Metadata", args: "small -topic g1 -seconds 0.5 -request metadata", reads: 1, writes: 1, floor: "write_100B_us", times: 1.3},
		{name: "ApiVersions", args: "small -topic g1 -seconds 0.5 -request apiversions", reads: 1, writes: 1, floor: "write_100B_us", times: 1.3},
		{name: "empty Fetch", args: "small -topic g0 -seconds 0.5 -request fetch", reads: 1, writes: 1, floor: "write_100B_us", times: 1.3},
		{name: "Fetch of one record", args: "small -topic g1 -seconds 0.5 -request fetch", reads: 3, writes: 1, floor: "write_100B_us", times: 1.3},
		{name: "Heartbeat", args: "small -topic g1 -seconds 0.5 -request heartbeat", reads: 1, writes: 1, floor: "write_100B_us", times: 1.3},
		{name: "OffsetCommit", args: "small -topic g1 -seconds 0.5 -request commit", reads: 1, writes: 2, floor: "write_100B_us", times: 1.5},
		{name: "produce 16 KiB", args: "produce -topic g3 -batch 16384 -mib 64 -conns 2", reads: 1.2, writes: 2.1, copied: 2.1, floor: "write_16KiB", times: 1.6},
		{name: "produce 64 KiB", args: "produce -topic g4 -mib 128 -conns 2", reads: 3, writes: 2.1, copied: 2.1, floor: "write_64KiB", times: 1.8},
		{name: "produce 1 MiB", args: "produce -topic g5 -batch 1048000 -mib 128 -conns 2 -inflight 2", reads: 20, writes: 2.1, copied: 2.1, floor: "write_1MiB", times: 1.8},
		{name: "fetch 64 KiB", args: "fetch -topic g4 -mib 128 -conns 2 -max 65536", reads: 3.1, writes: 1.1, copied: 2.1, floor: "send_64KiB", times: 1.6},
		{name: "fetch 1 MiB", args: "fetch -topic g4 -mib 256 -conns 2", reads: 8, writes: 6, floor: "send_1MiB", times: 1.5},
		{name: "fetch 16 MiB", args: "fetch -topic g4 -mib 512 -conns 2 -max 16777216", reads: 90, writes: 90, floor: "send_16MiB", times: 1.5},
	}
}

// gate checks one broker against the bounds and prints a line for each, and how many passed.
func (c *comparison) gate(floor, dir string, b *broker) error {
	if err := c.measureFloor(floor, dir); err != nil {
		return err
	}
	if err := b.start(); err != nil {
		return err
	}
	if _, err := c.load(b, "first", "-topic", "gate-first"); err != nil {
		return err
	}
	passed, failed := 0, 0
	for _, x := range bounds() {
		wrong, err := c.within(b, x)
		if err != nil {
			return err
		}
		if wrong == "" {
			passed++
			continue
		}
		failed++
		fmt.Printf("FAIL: %s: %s\n", x.name, wrong)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d loads cost more than they may", failed)
	}
	return nil
}

// within says what of a load was over its bound in each try, "" when one try was within all.
func (c *comparison) within(b *broker, x bound) (wrong string, err error) {
	least := math.Inf(1)
	for range gateTries {
		if err := c.warmMemory(); err != nil {
			return "", err
		}
		before, err := callsOf(b.cmd.Process.Pid)
		if err != nil {
			return "", err
		}
		f, err := c.load(b, strings.Fields(x.args)...)
		if err != nil {
			return "", err
		}
		after, err := callsOf(b.cmd.Process.Pid)
		if err != nil {
			return "", err
		}
		wrong = ""
		n, _ := f.number("requests")
		over := func(unit string, got, most float64) {
			if most > 0 && got > most+0.05 {
				wrong += fmt.Sprintf("%.2f %s, at most %.2f; ", got, unit, most)
			}
		}
		reads, writes := (after["syscr"]-before["syscr"])/n, (after["syscw"]-before["syscw"])/n
		over("reading calls a request", reads, x.reads)
		over("writing calls a request", writes, x.writes)
		gib, _ := f.number("gib")
		copied := (after["rchar"] - before["rchar"] + after["wchar"] - before["wchar"]) / (gib * (1 << 30))
		if x.copied > 0 {
			over("bytes through calls a byte", copied, x.copied)
		}
		line := fmt.Sprintf("%-24s reads %6.2f  writes %6.2f", x.name, reads, writes)
		if x.copied > 0 {
			line += fmt.Sprintf("  copied %5.2f", copied)
		}
		if floor := c.floor[x.floor]; floor > 0 {
			figure := perGiB
			if strings.HasSuffix(x.floor, "_us") {
				figure = perRequest
			}
			cpu, _ := f.number(figure)
			least = min(least, cpu/floor)
			over("times the kernel's CPU", least, x.times*cpuSlack)
			line += fmt.Sprintf("  CPU %5.2f × floor", cpu/floor)
		}
		fmt.Println(line)
		if wrong == "" {
			return "", nil
		}
	}
	return strings.TrimSuffix(wrong, "; "), nil
}

// callsOf are a process's calls and bytes so far.
func callsOf(pid int) (map[string]float64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "io"))
	if err != nil {
		return nil, fmt.Errorf("count system calls: %w", err)
	}
	m := map[string]float64{}
	for line := range strings.SplitSeq(string(b), "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			if m[name], err = strconv.ParseFloat(value, 64); err != nil {
				return nil, fmt.Errorf("count system calls: %w", err)
			}
		}
	}
	return m, nil
}

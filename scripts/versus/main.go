package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	c := &comparison{values: map[string][2][]float64{}, memory: map[string][2]float64{}, failed: map[string]string{}}
	port := flag.Int("port", 19480, "port of the other broker; Kafka takes the next (and that plus 10,000)")
	only := flag.String("only", "", "regular expression over the loads' names")
	dir := flag.String("dir", "", "where the data goes (default: a temporary directory)")
	out := flag.String("out", "", "Markdown to write; a plot of the same name ends in .svg")
	flag.IntVar(&c.rounds, "rounds", 5, "rounds")
	flag.IntVar(&c.warm, "warm", 1, "rounds at the start that do not count: they warm the JVM")
	flag.DurationVar(&c.limit, "limit", 0, "begin no load after this time, once each has a round that counts (0: all rounds)")
	flag.BoolVar(&c.recovery, "recovery", true, "kill and stop the brokers at the end, and measure how they come back")
	flag.BoolVar(&c.gating, "gate", false, "without Kafka: check system calls, bytes copied and CPU beside the kernel's, in less than a minute")
	flag.Parse()
	if err := c.run(*port, *only, *dir, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(1)
	}
}

// comparison is one run. Index 0 is Kafka, 1 the other broker.
type comparison struct {
	rounds, warm int
	limit        time.Duration
	recovery     bool
	gating       bool
	generator    string
	brokers      [2]*broker
	values       map[string][2][]float64 // by step
	memory       map[string][2]float64   // peak resident MiB in any round, by step
	scratch      string                  // a file on the brokers' disk
	failed       map[string]string
	floor        map[string]float64
	extra        []row // measured once
}

// row is a line of the table.
type row struct {
	name, unit   string
	kafka, other float64
	least        float64 // other's least figure over Kafka's least; 0 where there is one figure
	memory       float64 // the other broker's peak resident MiB; 0 not measured
	goal         string
	met          string
}

func (c *comparison) run(port int, only, dir, out string, command []string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	root, err := repository()
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "versus-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	c.generator, c.scratch = filepath.Join(dir, "load"), filepath.Join(dir, "scratch")
	floor := filepath.Join(dir, "floor")
	for bin, pkg := range map[string]string{c.generator: "./scripts/load", floor: "./scripts/floor", filepath.Join(dir, "kaja"): "."} {
		if err := build(root, bin, pkg); err != nil {
			return err
		}
	}
	if len(command) == 0 {
		command = []string{filepath.Join(dir, "kaja"), "serve", "--override", "listeners=PLAINTEXT://127.0.0.1:{port}", "--override", "log.dirs={dir}", "--override", "log.cleaner.backoff.ms=200"}
	}
	var kafka []string
	if !c.gating {
		if kafka, err = kafkaCommand(root); err != nil {
			return err
		}
	}
	c.brokers = [2]*broker{
		{name: "kafka", command: kafka, port: port + 1, dir: filepath.Join(dir, "kafka-data")},
		{name: "other", command: command, port: port, dir: filepath.Join(dir, "other-data")},
	}
	defer func() {
		for _, b := range c.brokers {
			_, _ = b.stop(syscall.SIGKILL) // the end of the run: nothing of it is kept
		}
	}()
	if c.gating {
		return c.gate(floor, dir, c.brokers[1])
	}
	if err := c.begin(); err != nil {
		return err
	}
	var chosen []step
	for _, s := range steps() {
		if pattern.MatchString(s.name) {
			chosen = append(chosen, s)
		}
	}
	if err := c.measureFloor(floor, dir); err != nil {
		return err
	}
	end := time.Now().Add(c.limit)
	for r := range c.rounds {
		for _, s := range chosen {
			if c.limit > 0 && r > c.warm && time.Now().After(end) {
				break // every load has one round that counts
			}
			if !s.last {
				c.step(s, r)
			}
		}
	}
	for _, s := range chosen {
		if s.last {
			c.step(s, c.rounds-1)
		}
	}
	if c.recovery {
		if err := c.comeBack(); err != nil {
			return err
		}
	}
	rows := c.table(chosen)
	fmt.Print(markdownTable(rows))
	for _, name := range slices.Sorted(maps.Keys(c.failed)) {
		fmt.Fprintf(os.Stderr, "failed: %s: %s\n", name, c.failed[name])
	}
	if out == "" {
		return nil
	}
	return c.write(out, rows)
}

func repository() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("run it within the repository")
	}
	return filepath.Dir(mod), nil
}

func build(root, bin, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, pkg)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	return nil
}

// begin starts both and measures what it takes until a new topic takes a record.
func (c *comparison) begin() error {
	var first [2]figures
	for i, b := range c.brokers {
		if err := b.start(); err != nil {
			return err
		}
		f, err := c.load(b, "first", "-topic", "versus-first", "-begun", strconv.FormatInt(b.begun.UnixNano(), 10))
		if err != nil {
			return err
		}
		first[i] = f
	}
	c.pair("start → first acks=all record in a new topic", "s", "first_s", first, "≤ 0.05 s", func(_, o float64) bool { return o <= 0.05 })
	c.pair("the same", "CPU-s", "cpu_s", first, "≤ 0.1", func(_, o float64) bool { return o <= 0.1 })
	c.pair("resident after it", "MiB", "rss_mib", first, "≤ 20 MiB", func(_, o float64) bool { return o <= 20 })
	var idle, held [2]figures
	for i, b := range c.brokers {
		var err error
		if idle[i], err = c.load(b, "idle", "-seconds", "15"); err != nil {
			return err
		}
		if held[i], err = c.load(b, "conns", "-conns", "5000", "-hold", "1"); err != nil {
			return err
		}
	}
	c.pair("idle", "ms CPU a second", "cpu_ms_per_s", idle, "≤ 1 ms", func(_, o float64) bool { return o <= 1 })
	c.pair("5,000 idle connections", "KiB each", "kib_per_conn", held, "≤ 4 KiB", func(_, o float64) bool { return o <= 4 })
	return nil
}

// pair adds a row for a figure that was taken once.
func (c *comparison) pair(name, unit, figure string, f [2]figures, goal string, met func(kafka, other float64) bool) {
	k, _ := f[0].number(figure)
	o, _ := f[1].number(figure)
	r := row{name: name, unit: unit, kafka: k, other: o, goal: goal}
	if met != nil {
		r.met = verdict(met(k, o))
	}
	c.extra = append(c.extra, r)
}

func verdict(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

func (c *comparison) measureFloor(bin, dir string) error {
	cmd := exec.Command(bin, "-dir", dir, "-mib", "128", "-conns", "2")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	return json.Unmarshal(out, &c.floor)
}

// step runs one load on both; who comes first changes with the round.
func (c *comparison) step(s step, round int) {
	for n := range c.brokers {
		i := (n + round) % len(c.brokers)
		if c.failed[s.name] != "" {
			return
		}
		if err := c.warmMemory(); err != nil {
			c.failed[s.name] = err.Error()
			return
		}
		args := strings.Fields(strings.NewReplacer("{r}", strconv.Itoa(round), "{dir}", c.brokers[i].dir).Replace(s.args))
		f, err := c.load(c.brokers[i], args...)
		if err != nil {
			c.failed[s.name] = c.brokers[i].name + ": " + err.Error()
			return
		}
		for _, x := range append([]step{s}, s.also...) {
			if v, ok := f.number(x.figure); ok {
				values := c.values[x.name]
				values[i] = append(values[i], v)
				c.values[x.name] = values
			}
		}
		if v, ok := f.number("peak_mib"); ok {
			m := c.memory[s.name]
			m[i] = max(m[i], v)
			c.memory[s.name] = m
		}
	}
	values := c.values[s.name]
	fmt.Fprintf(os.Stderr, "round %d  %-48s kafka %10.3f  other %10.3f %s\n", round, s.name, last(values[0]), last(values[1]), s.unit)
}

// warmBytes is what warmMemory touches: more than a load writes.
const warmBytes = 256 << 20

// warmMemory writes a file and removes it, so that the pages that the next load's files get were in use a moment ago. A virtual machine that
// gives free memory back to its host pays for each page that it takes again, up to five times what a broker takes to fill it, and whoever
// happens to get such pages would look the slower one.
func (c *comparison) warmMemory() error {
	f, err := os.Create(c.scratch)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for n := 0; n < warmBytes && err == nil; n += len(block) {
		_, err = f.Write(block)
	}
	return errors.Join(err, f.Close(), os.Remove(c.scratch))
}

func last(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return v[len(v)-1]
}

// recoveryMiB is how much lies in the log when the brokers are killed.
const recoveryMiB = 2048

// comeBack kills both under 16 partitions of data, in directories of their own, then stops and starts them cleanly.
func (c *comparison) comeBack() error {
	var killed, clean [2]figures
	var stops [2]figures
	for _, b := range c.brokers {
		if _, err := b.stop(syscall.SIGTERM); err != nil {
			return err
		}
		b.dir += "-back"
	}
	for i, b := range c.brokers {
		if err := b.start(); err != nil {
			return err
		}
		if _, err := c.load(b, "first", "-topic", "versus-first"); err != nil {
			return err
		}
		if _, err := c.load(b, "produce", "-topic", "versus-back", "-partitions", "16", "-conns", "4", "-mib", strconv.Itoa(recoveryMiB)); err != nil {
			return err
		}
		for _, how := range []struct {
			sig syscall.Signal
			to  *figures
		}{{syscall.SIGKILL, &killed[i]}, {syscall.SIGTERM, &clean[i]}} {
			took, err := b.stop(how.sig)
			if err != nil {
				return err
			}
			if how.sig == syscall.SIGTERM {
				stops[i] = figures{"stop_s": took.Seconds()}
			}
			if err := b.start(); err != nil {
				return err
			}
			f, err := c.load(b, "first", "-topic", "versus-back", "-partitions", "16", "-begun", strconv.FormatInt(b.begun.UnixNano(), 10))
			if err != nil {
				return err
			}
			*how.to = f
		}
	}
	c.pair("kill -9 with 2 GiB in 16 partitions → first record", "s", "first_s", killed, "≤ 1.5 s", func(_, o float64) bool { return o <= 1.5 })
	c.pair("the same", "CPU-s", "cpu_s", killed, "≤ 0.3 a GiB", func(_, o float64) bool { return o <= 0.3*recoveryMiB/1024 })
	c.pair("clean stop", "s", "stop_s", stops, "", nil)
	c.pair("clean start → first record", "s", "first_s", clean, "≤ 0.1 s", func(_, o float64) bool { return o <= 0.1 })
	return nil
}

func (c *comparison) table(chosen []step) []row {
	rows := slices.Clone(c.extra)
	for _, s := range chosen {
		if c.failed[s.name] != "" {
			continue
		}
		for _, x := range append([]step{s}, s.also...) {
			if v := c.values[x.name]; len(v[0]) > 0 && len(v[1]) > 0 {
				rows = append(rows, c.row(x, v))
			}
		}
	}
	return rows
}

// row judges a load. What disturbs a run (others on the machine, the host) only adds, so the least figures of both are compared; the medians
// tell how far they were from that.
func (c *comparison) row(s step, v [2][]float64) row {
	kafka, other := slices.Min(c.counting(v[0])), slices.Min(c.counting(v[1]))
	r := row{name: s.name, unit: s.unit, kafka: c.median(v[0]), other: c.median(v[1]), memory: c.memory[s.name][1]}
	if kafka > 0 {
		r.least = other / kafka
	}
	ok := true
	if s.goal > 0 {
		r.goal = fmt.Sprintf("≤ %.2f ×", s.goal)
		ok = other <= s.goal*kafka
	}
	if s.most > 0 {
		r.goal = strings.TrimPrefix(fmt.Sprintf("%s, ≤ %v", r.goal, s.most), ", ")
		ok = ok && other <= s.most
	}
	if f := c.floor[s.floor]; f > 0 {
		r.goal = strings.TrimPrefix(r.goal+fmt.Sprintf(", floor %.2f", f), ", ")
		if s.max > 0 {
			r.goal += fmt.Sprintf(" (≤ %.1f ×)", s.max)
			ok = ok && other <= s.max*f
		}
	}
	if s.goal > 0 || s.most > 0 || s.max > 0 {
		r.met = verdict(ok)
	}
	return r
}

// counting are the rounds that count.
func (c *comparison) counting(v []float64) []float64 { return v[min(c.warm, len(v)-1):] }

// median is that of the rounds that count.
func (c *comparison) median(v []float64) float64 {
	v = slices.Sorted(slices.Values(c.counting(v)))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

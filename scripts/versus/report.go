package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func markdownTable(rows []row) string {
	var b strings.Builder
	b.WriteString("| load | unit | Kafka | kaja | ratio | of the least | goal | met | MiB |\n|---|---|--:|--:|--:|--:|---|---|--:|\n")
	for _, r := range rows {
		ratio := ""
		if r.kafka > 0 {
			ratio = fmt.Sprintf("%.2f", r.other/r.kafka)
		}
		least, memory := "", ""
		if r.least > 0 {
			least = fmt.Sprintf("%.2f", r.least)
		}
		if r.memory > 0 {
			memory = fmt.Sprintf("%.0f", r.memory)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name, r.unit, short(r.kafka), short(r.other), ratio, least, r.goal, r.met, memory)
	}
	return b.String()
}

// short gives three digits or so.
func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// write replaces the page and its plot.
func (c *comparison) write(name string, rows []row) error {
	svg := strings.TrimSuffix(name, filepath.Ext(name)) + ".svg"
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance beside Apache Kafka 4.4.0

Written by `+"`make bench-versus`"+`. Both brokers ran side by side on the same disk; %d rounds of each load in changing order, the first %d (the JVM warms up)
left out. "Kafka" and "kaja" are medians, "ratio" that of the medians; what disturbs a run only adds to it, so goals are judged by the ratio "of the least" figures.
CPU is user and system time of the broker's process: it holds on a busy machine, while seconds of waiting mean little there. "MiB" is kaja's largest
resident memory under the load (at most 100 is the goal). Before each load a file is written and removed, so that both brokers fill pages that the machine has at hand.
"Floor" is what the kernel alone takes to receive, checksum and write (or to send) the same bytes, measured in the same run by `+"`scripts/floor`"+`.

Machine: %s, %d processors, Linux %s.

![kaja's cost as a share of Kafka's](%s)

`, c.rounds, min(c.warm, c.rounds-1), runtime.GOARCH, runtime.NumCPU(), kernel(), filepath.Base(svg))
	b.WriteString(markdownTable(rows))
	b.WriteString("\nThe loads are those of `scripts/versus/loads.go`, the generator is `scripts/load`.\n")
	b.WriteString(remarks(name))
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(svg, []byte(plot(rows)), 0o644)
}

// remarks are what people wrote below the table: everything from the page's first heading of the second level on. It stays.
func remarks(name string) string {
	old, err := os.ReadFile(name)
	if err != nil {
		return "" // a new page
	}
	if i := strings.Index(string(old), "\n## "); i >= 0 {
		return string(old[i:])
	}
	return ""
}

func kernel() string {
	out, err := exec.Command("uname", "-r").Output()
	if err != nil {
		return "of unknown version"
	}
	return strings.TrimSpace(string(out))
}

// plot draws each load's ratio as a bar; Kafka is the line at 1.
func plot(rows []row) string {
	const left, width, line = 330, 420, 22
	var bars strings.Builder
	y := 40
	for _, r := range rows {
		if r.kafka <= 0 {
			continue
		}
		ratio := r.other / r.kafka
		if r.least > 0 {
			ratio = r.least
		}
		colour := "#2a7f62"
		if r.met == "no" {
			colour = "#c0702a"
		}
		w := min(ratio, 1.2) * width / 1.2
		fmt.Fprintf(&bars, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="14" fill="%s"/><text x="%.1f" y="%d">%.2f</text>`+"\n",
			left-8, y+12, escape(r.name+", "+r.unit), left, y, max(w, 1), colour, left+max(w, 1)+5, y+12, ratio)
		y += line
	}
	one := left + width/1.2
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">
<rect width="100%%" height="100%%" fill="white"/>
<text x="%d" y="20" font-size="13">kaja's cost as a share of Apache Kafka 4.4.0's (shorter is better; orange: goal not met)</text>
%s<line x1="%.1f" y1="34" x2="%.1f" y2="%d" stroke="#888" stroke-dasharray="3 3"/><text x="%.1f" y="%d" fill="#666">Kafka</text>
</svg>
`, left+width+60, y+24, 10, bars.String(), one, one, y, one-14, y+14)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// line is a record of a list.
type line struct {
	partition  int
	offset     int64
	key, value string
}

// mostFaults bounds how many faults are told.
const mostFaults = 10

func readFile(name string) ([]line, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var ls []line
	for i, s := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		f := strings.Split(s, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s:%d: %q is no record", name, i+1, s)
		}
		p, err1 := strconv.Atoi(f[0])
		o, err2 := strconv.ParseInt(f[1], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		ls = append(ls, line{p, o, f[2], f[3]})
	}
	return ls, nil
}

func checkFiles(names []string, check func([]line) error) error {
	for _, name := range names {
		ls, err := readFile(name)
		if err != nil {
			return err
		}
		if err := check(ls); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkCopies: every partition holds the numbers 0 to count-1, each once and in this order, with their sentences.
func checkCopies(ls []line, partitions, count int) error {
	var bad faults
	next := make([]int, partitions)
	for _, l := range ls {
		i, err := strconv.Atoi(l.key)
		switch {
		case err != nil || l.partition < 0 || l.partition >= partitions:
			bad.add("a foreign record: %v", l)
			continue
		case i < next[l.partition]:
			bad.add("partition %d offset %d: %d again, or late; %d was expected", l.partition, l.offset, i, next[l.partition])
		case i > next[l.partition]:
			bad.add("partition %d offset %d: %d, but %d was expected", l.partition, l.offset, i, next[l.partition])
		case l.value != sentence(l.partition, i):
			bad.add("partition %d offset %d: record %d holds %q", l.partition, l.offset, i, l.value)
		}
		next[l.partition] = max(next[l.partition], i+1)
	}
	for p, n := range next {
		if n != count {
			bad.add("partition %d holds numbers up to %d, not %d", p, n-1, count-1)
		}
	}
	return bad.err()
}

// checkCounts: the counts of each word of in are told as 1, 2, … in this order, up to how often the word is in in.
func checkCounts(in, ls []line) error {
	var bad faults
	want := map[string]int{}
	for _, l := range in {
		for _, w := range strings.Fields(l.value) {
			want[w]++
		}
	}
	got := map[string]int{}
	for _, l := range ls {
		n, err := strconv.Atoi(l.value)
		if err != nil || want[l.key] == 0 {
			bad.add("a foreign record: %v", l)
			continue
		}
		if n != got[l.key]+1 {
			bad.add("partition %d offset %d: %s is %d after %d", l.partition, l.offset, l.key, n, got[l.key])
		}
		got[l.key] = n
	}
	for w, n := range want {
		if got[w] != n {
			bad.add("%s was counted %d times, and is there %d times", w, got[w], n)
		}
	}
	return bad.err()
}

// faults are the first few faults, and how many there are.
type faults struct {
	told []string
	n    int
}

func (f *faults) add(format string, args ...any) {
	if f.n++; f.n <= mostFaults {
		f.told = append(f.told, fmt.Sprintf(format, args...))
	}
}

func (f *faults) err() error {
	if f.n == 0 {
		return nil
	}
	return fmt.Errorf("%d faults:\n  %s", f.n, strings.Join(f.told, "\n  "))
}

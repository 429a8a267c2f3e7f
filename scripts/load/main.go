package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// mode is one kind of load: it adds its flags and returns what runs after they are parsed.
type mode func(f *flag.FlagSet, o *options) func() (figures, error)

// options are what every mode has.
type options struct {
	addr       string
	pid        int
	topic      string
	partitions int
	conns      int
	fresh      bool
}

// figures are what a run prints.
type figures map[string]any

func modes() map[string]mode {
	return map[string]mode{
		"produce": produceMode, "fetch": fetchMode, "catchup": catchupMode, "small": smallMode, "tail": tailMode, "conns": connsMode, "idle": idleMode,
		"first": firstMode, "topics": topicsMode, "group": groupMode, "compact": compactMode,
		"groups": groupsMode, "offsets": offsetsMode,
	}
}

func main() {
	all := modes()
	if len(os.Args) < 2 || all[os.Args[1]] == nil {
		names := make([]string, 0, len(all))
		for n := range all {
			names = append(names, n)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: load %s -addr HOST:PORT [-pid PID] [flags]\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	if err := run(os.Args[1], all[os.Args[1]], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "load %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func run(name string, m mode, args []string) error {
	var o options
	f := flag.NewFlagSet("load "+name, flag.ExitOnError)
	f.StringVar(&o.addr, "addr", "127.0.0.1:9092", "the broker's address")
	f.IntVar(&o.pid, "pid", 0, "the broker's process, to measure it (0: not measured)")
	f.StringVar(&o.topic, "topic", "load", "topic, made if it is missing")
	f.IntVar(&o.partitions, "partitions", 1, "partitions of the topic")
	f.IntVar(&o.conns, "conns", 1, "connections")
	f.BoolVar(&o.fresh, "fresh", false, "append the time to the topic's name")
	start := m(f, &o)
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.fresh {
		o.topic = fmt.Sprintf("%s-%d", o.topic, time.Now().UnixNano())
	}
	got, err := start()
	if err != nil {
		return err
	}
	got["mode"] = name
	line, err := json.Marshal(got)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

// Command eos is what scripts/eos needs besides Kafka's own programs: a source of records, a transactional copier by kgo, and the judge.
//
//	eos feed HOST:PORT SECONDS COUNT TOPIC...   writes COUNT numbered records to each partition, evenly over SECONDS
//	eos copy HOST:PORT IN OUT GROUP ID TIMEOUT  copies IN to OUT in transactions of a group (time-out in ms), until it is ended
//	eos await HOST:PORT TOPIC COUNT             waits until readers of committed records see COUNT of them
//	eos list HOST:PORT TOPIC                    the committed records as lines: partition, offset, key, value
//	eos check copies PARTITIONS COUNT FILE      the list holds each number once, in order, in every partition
//	eos check counts INPUT FILE                 the list holds every word's counts 1, 2, … n once, in order; n by the list INPUT
//
// A record's key is its number in its partition, its value a sentence of three words. check speaks to no broker, so that it can be shown a
// list with a planted fault. It owns nothing and runs on one goroutine. Exit 1: something is wrong with what was read.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

var errUsage = errors.New("usage: eos feed|copy|await|list|check ARG…, see the head of main.go")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "eos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case verb == "feed" && len(args) >= 5:
		seconds, err1 := strconv.Atoi(args[2])
		count, err2 := strconv.Atoi(args[3])
		return errors.Join(err1, err2, feed(ctx, args[1], seconds, count, args[4:]))
	case verb == "copy" && len(args) == 7:
		ms, err := strconv.Atoi(args[6])
		return errors.Join(err, copyGroup(ctx, args[1], route{in: args[2], out: args[3], group: args[4], id: args[5], timeout: time.Duration(ms) * time.Millisecond}))
	case verb == "await" && len(args) == 4:
		count, err := strconv.Atoi(args[3])
		return errors.Join(err, await(ctx, args[1], args[2], count))
	case verb == "list" && len(args) == 3:
		return list(ctx, args[1], args[2], os.Stdout)
	case verb == "check" && len(args) == 5 && args[1] == "copies":
		partitions, err1 := strconv.Atoi(args[2])
		count, err2 := strconv.Atoi(args[3])
		return errors.Join(err1, err2, checkFiles(args[4:], func(f []line) error { return checkCopies(f, partitions, count) }))
	case verb == "check" && len(args) == 4 && args[1] == "counts":
		in, err := readFile(args[2])
		return errors.Join(err, checkFiles(args[3:], func(f []line) error { return checkCounts(in, f) }))
	}
	return errUsage
}

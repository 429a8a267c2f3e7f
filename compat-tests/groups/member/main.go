// Command member is the member of a consumer group: member CLIENT BOOTSTRAP TOPIC GROUP, for the Go clients. It consumes the topic from its
// start, commits after every few records, and says on standard output, as the members of the other languages do too
//
//	own 0,3             the partitions that it has from now on
//	got 3 17 TIME       a record of partition 3 with offset 17, TIME in microseconds since 1970
//	committed 3 18 TIME the commit of offset 18 was acknowledged (where the client tells)
//
// A line "close" on standard input makes it leave the group and end, the end of the input makes it end at once.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// session is the session timeout, the least that brokers allow; heartbeat the interval.
const session, heartbeat = 6 * time.Second, time.Second

// setting is what a member is started with.
type setting struct {
	bootstrap, topic, group string
}

func main() {
	clients := map[string]func(context.Context, setting) error{
		"kgo-classic":  func(ctx context.Context, s setting) error { return runKgo(ctx, s, false) },
		"kgo-consumer": func(ctx context.Context, s setting) error { return runKgo(ctx, s, true) },
		"sarama":       runSarama,
		"kafkago":      runKafkaGo,
	}
	if len(os.Args) != 5 || clients[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: member kgo-classic|kgo-consumer|sarama|kafkago BOOTSTRAP TOPIC GROUP")
		os.Exit(2)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with the process
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			if in.Text() == "close" {
				cancel()
			}
		}
		if ctx.Err() == nil {
			os.Exit(1)
		}
	}()
	if err := clients[os.Args[1]](ctx, setting{os.Args[2], os.Args[3], os.Args[4]}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func sayGot(partition int32, offset int64) {
	fmt.Printf("got %d %d %d\n", partition, offset, time.Now().UnixMicro())
}

func sayCommitted(partition int32, next int64) {
	fmt.Printf("committed %d %d %d\n", partition, next, time.Now().UnixMicro())
}

// owned is the set of partitions that the member has.
type owned struct {
	mu  sync.Mutex
	all []int32 // guarded by mu
}

// change takes away and adds, and says what is there then.
func (o *owned) change(minus, plus []int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = slices.DeleteFunc(o.all, func(p int32) bool { return slices.Contains(minus, p) })
	o.all = append(o.all, plus...)
	slices.Sort(o.all)
	fmt.Println("own", strings.Trim(strings.ReplaceAll(fmt.Sprint(o.all), " ", ","), "[]"))
}

// Command member is the member of a consumer group by librdkafka: member classic|consumer BOOTSTRAP TOPIC GROUP. It talks as groups/member says.
package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: member classic|consumer BOOTSTRAP TOPIC GROUP")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(protocol, bootstrap, topic, group string) error {
	cfg := kafka.ConfigMap{"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol, "enable.auto.commit": false, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 200}
	if protocol == "classic" {
		cfg["session.timeout.ms"], cfg["heartbeat.interval.ms"] = 6000, 1000
	}
	c, err := kafka.NewConsumer(&cfg)
	if err != nil {
		return err
	}
	if err := c.Subscribe(topic, nil); err != nil {
		return err
	}
	var closing atomic.Bool
	go func() { // ends with the process
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			if in.Text() == "close" {
				closing.Store(true)
			}
		}
		if !closing.Load() {
			os.Exit(1)
		}
	}()
	own := "?"
	for !closing.Load() {
		ev := c.Poll(100)
		if now := assignment(c); now != own {
			own = now
			fmt.Println("own", own)
		}
		switch m := ev.(type) {
		case *kafka.Message:
			if m.TopicPartition.Error != nil {
				fmt.Println("message:", m.TopicPartition.Error)
				continue
			}
			fmt.Printf("got %d %d %d\n", m.TopicPartition.Partition, m.TopicPartition.Offset, time.Now().UnixMicro())
			if _, err := c.CommitMessage(m); err != nil {
				fmt.Println("commit:", err)
				continue
			}
			fmt.Printf("committed %d %d %d\n", m.TopicPartition.Partition, m.TopicPartition.Offset+1, time.Now().UnixMicro())
		case kafka.Error:
			fmt.Println("error:", m)
		}
	}
	return c.Close()
}

func assignment(c *kafka.Consumer) string {
	tps, err := c.Assignment()
	if err != nil {
		return ""
	}
	var ps []int32
	for _, tp := range tps {
		ps = append(ps, tp.Partition)
	}
	slices.Sort(ps)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ps), " ", ","), "[]")
}

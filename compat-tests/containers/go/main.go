// Command go starts the image by Testcontainers' module for Go, produces and consumes. One line for each case, PASS or FAIL.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/testcontainers/testcontainers-go/modules/kafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	failed := 0
	for _, image := range []string{"confluentinc/confluent-local:7.5.0", "confluentinc/confluent-local:8.4.0", "localhost/kaja:4.4.0"} {
		name := "go " + image
		begin := time.Now()
		if err := run(image); err != nil {
			fmt.Printf("FAIL %s: %v\n", name, err)
			failed++
			continue
		}
		fmt.Printf("PASS %s (%.1f s)\n", name, time.Since(begin).Seconds())
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(image string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	begin := time.Now()
	c, err := kafka.Run(ctx, image)
	if c != nil {
		defer func() { err = errors.Join(err, c.Terminate(context.Background())) }()
	}
	if err != nil {
		return err
	}
	fmt.Printf("  ready after %.2f s\n", time.Since(begin).Seconds())
	if strings.HasPrefix(image, "confluentinc/") && c.ClusterID != "4L6g3nShT-eMCtK--X86sw" {
		return fmt.Errorf("cluster id %q", c.ClusterID)
	}
	brokers, err := c.Brokers(ctx)
	if err != nil {
		return err
	}
	return copyOne(ctx, brokers)
}

// copyOne produces a record and reads it back.
func copyOne(ctx context.Context, brokers []string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("modules"), kgo.ConsumeTopics("modules"), kgo.ConsumerGroup("g"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.ProduceSync(ctx, kgo.StringRecord("hello")).FirstErr(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	f := cl.PollFetches(ctx)
	if err := f.Err(); err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	if got := string(f.Records()[0].Value); got != "hello" {
		return fmt.Errorf("consumed %q, want hello", got)
	}
	return nil
}

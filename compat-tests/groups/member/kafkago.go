package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	kafka "github.com/segmentio/kafka-go"
)

// runKafkaGo is a member by kafka-go, with its ConsumerGroup, which tells the assignments.
func runKafkaGo(ctx context.Context, s setting) error {
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: s.group, Brokers: []string{s.bootstrap}, Topics: []string{s.topic}, StartOffset: kafka.FirstOffset, SessionTimeout: session, RebalanceTimeout: session, HeartbeatInterval: heartbeat})
	if err != nil {
		return err
	}
	var mine owned
	for ctx.Err() == nil {
		gen, err := g.Next(ctx)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				fmt.Println("next:", err)
			}
			continue
		}
		var had []int32
		for p := range int32(100) {
			had = append(had, p)
		}
		var ps []int32
		for _, a := range gen.Assignments[s.topic] {
			ps = append(ps, int32(a.ID))
			gen.Start(func(ctx context.Context) { readKafkaGo(ctx, s, gen, a) })
		}
		mine.change(had, ps)
	}
	return g.Close()
}

// readKafkaGo reads one partition while the generation lasts.
func readKafkaGo(ctx context.Context, s setting, gen *kafka.Generation, a kafka.PartitionAssignment) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.bootstrap}, Topic: s.topic, Partition: a.ID, MaxWait: 200 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(a.Offset); err != nil {
		fmt.Println("set offset:", err)
		return
	}
	for {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return // the generation is over
		}
		sayGot(int32(m.Partition), m.Offset)
		if err := gen.CommitOffsets(map[string]map[int]int64{s.topic: {m.Partition: m.Offset + 1}}); err != nil {
			fmt.Println("commit:", err)
			continue
		}
		sayCommitted(int32(m.Partition), m.Offset+1)
	}
}

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// runSarama is a member by sarama.
func runSarama(ctx context.Context, s setting) error {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond // commits by hand from several claims at once block each other for ever
	c.Consumer.Group.Session.Timeout, c.Consumer.Group.Heartbeat.Interval = session, heartbeat
	g, err := sarama.NewConsumerGroup([]string{s.bootstrap}, s.group, c)
	if err != nil {
		return err
	}
	h := &saramaHandler{topic: s.topic}
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{s.topic}, h); err != nil && ctx.Err() == nil {
			fmt.Println("consume:", err)
		}
	}
	return g.Close()
}

// saramaHandler says what comes. Sarama commits by itself and does not tell what.
type saramaHandler struct {
	topic string
	mine  owned
}

func (h *saramaHandler) Setup(s sarama.ConsumerGroupSession) error {
	h.mine.change(nil, s.Claims()[h.topic])
	return nil
}

func (h *saramaHandler) Cleanup(s sarama.ConsumerGroupSession) error {
	h.mine.change(s.Claims()[h.topic], nil)
	return nil
}

func (h *saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-s.Context().Done():
			return nil
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			sayGot(m.Partition, m.Offset)
			s.MarkMessage(m, "")
		}
	}
}

package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/replica"
)

// Content is what a broker starts with: topics that it makes if they are missing, and the first records of those that it makes. A topic that
// is there stays as it is, so that a restart changes nothing.
type Content struct {
	topics []contentTopic
	names  map[string]bool
}

// contentTopic is a topic that is wanted; at is where it stands, for messages.
type contentTopic struct {
	at, name   string
	partitions int32 // -1 is num.partitions
	replicas   int16 // -1 is default.replication.factor
	configs    []contentConfig
	records    []contentRecord
}

type contentConfig struct{ name, value string }

type contentRecord struct {
	at         string
	key, value []byte // nil is null
	headers    []batch.Header
	partition  int32 // -1: by the key
	timestamp  int64 // milliseconds, -1: now
}

// Topics are the names of the topics that are wanted, in their order.
func (c *Content) Topics() []string {
	var out []string
	for i := range c.topics {
		out = append(out, c.topics[i].name)
	}
	return out
}

// add takes a topic unless one of that name is in already, which it reports.
func (c *Content) add(t contentTopic) bool {
	if c.names[t.name] {
		return false
	}
	if c.names == nil {
		c.names = map[string]bool{}
	}
	c.names[t.name] = true
	c.topics = append(c.topics, t)
	return true
}

// applyContent makes what is missing, before clients are let in. An error names the place of what cannot be made; topics are checked together
// before the first is made, so that a start with an error leaves none without its records.
func (b *Broker) applyContent() error {
	if b.o.Content == nil {
		return nil
	}
	var missing []*contentTopic
	for i := range b.o.Content.topics {
		t := &b.o.Content.topics[i]
		if b.Image().Topic(t.name) == nil {
			missing = append(missing, t)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for _, only := range []bool{true, false} {
		if err := b.createContent(missing, only); err != nil {
			return err
		}
	}
	records := 0
	for _, t := range missing {
		if err := b.seed(t); err != nil {
			b.dropContent(missing)
			return err
		}
		records += len(t.records)
	}
	total := len(b.o.Content.topics)
	b.o.Content = nil // its records may be large
	log := b.component("content")
	log.Info().Int("topics", len(missing)).Int("records", records).Int("there_before", total-len(missing)).Msg("content is in place")
	return nil
}

// dropContent takes back topics that were just made: with records refused they would be found by the next start, which leaves them as they are.
func (b *Broker) dropContent(topics []*contentTopic) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 6, contentTimeoutMs
	for _, t := range topics {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = &t.name
		req.Topics = append(req.Topics, rt)
	}
	done := make(chan *kmsg.DeleteTopicsResponse, 1)
	b.control.DeleteTopics(req, func(r *kmsg.DeleteTopicsResponse) { done <- r })
	for _, r := range (<-done).Topics {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			log := b.component("content")
			log.Warn().Str("topic", *r.Topic).Err(err).Msg("the topic stays without its records; delete it before the next start")
		}
	}
}

// internalTopic: the broker's own topics, which it makes with the settings that they must have.
func internalTopic(name string) bool {
	return name == offsetsTopic || name == txnStateTopic || name == "__share_group_state" || name == metadataTopic
}

// internalProblem is why a topic of the broker's own is not made by content: it would be without the settings that it must have.
func internalProblem(name string) string {
	return name + " is a topic of the broker's own, which makes it when it is needed; settings such as offsets.topic.num.partitions say how"
}

// contentTimeoutMs is what a request of ours gives the controller.
const contentTimeoutMs = 30_000

func (b *Broker) createContent(topics []*contentTopic, validateOnly bool) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis, req.ValidateOnly = 7, contentTimeoutMs, validateOnly
	at := map[string]*contentTopic{}
	for _, t := range topics {
		at[t.name] = t
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, t.partitions, t.replicas
		for _, c := range t.configs {
			rc := kmsg.NewCreateTopicsRequestTopicConfig()
			rc.Name, rc.Value = c.name, &c.value
			rt.Configs = append(rt.Configs, rc)
		}
		req.Topics = append(req.Topics, rt)
	}
	done := make(chan *kmsg.CreateTopicsResponse, 1)
	b.control.CreateTopics(req, func(r *kmsg.CreateTopicsResponse) { done <- r })
	for _, r := range (<-done).Topics {
		err := kerr.ErrorForCode(r.ErrorCode)
		if err == nil || r.ErrorCode == kerr.TopicAlreadyExists.Code {
			continue
		}
		return fmt.Errorf("%s: topic %s: %s", at[r.Topic].at, r.Topic, contentProblem(at[r.Topic], r, b.Image().BrokerCount()))
	}
	return nil
}

// contentProblem says in one sentence why a topic cannot be made, and what to do where that is known.
func contentProblem(t *contentTopic, r kmsg.CreateTopicsResponseTopic, brokers int) string {
	if r.ErrorCode == kerr.InvalidReplicationFactor.Code && int(t.replicas) > brokers {
		return fmt.Sprintf("%d replicas are more than there are brokers (%d); write %d", t.replicas, brokers, brokers)
	}
	if r.ErrorMessage != nil {
		return strings.TrimSuffix(*r.ErrorMessage, ".")
	}
	return kerr.ErrorForCode(r.ErrorCode).Error()
}

// seedBatchBytes is from what size on records go into another batch: below every limit of messages that makes sense.
const seedBatchBytes = 256 << 10

// seed writes the first records of a topic that was just made.
func (b *Broker) seed(t *contentTopic) error {
	if len(t.records) == 0 {
		return nil
	}
	topic := b.Image().Topic(t.name)
	if topic == nil {
		return fmt.Errorf("%s: topic %s is gone again", t.at, t.name)
	}
	n := int32(len(topic.Partitions))
	parts := make([]seeding, n)
	now, keyless := b.o.Clock.Wall().UnixMilli(), int32(0)
	for i := range t.records {
		r := &t.records[i]
		p := r.partition
		switch {
		case p >= n:
			return fmt.Errorf("%s: topic %s has %d partitions, numbered from 0; there is no %d", r.at, t.name, n, p)
		case p < 0 && r.key != nil:
			p = keyPartition(r.key, n)
		case p < 0:
			p = keyless % n
			keyless++
		}
		if r.timestamp < 0 {
			r.timestamp = now
		}
		if err := b.seedOne(&parts[p], topic.ID, p, r); err != nil {
			return err
		}
	}
	for p := range parts {
		if err := b.seedFlush(&parts[p], topic.ID, int32(p)); err != nil {
			return err
		}
	}
	return nil
}

// seeding is the batch that is being built for a partition.
type seeding struct {
	*batch.Builder
	first string // where its first record stands
}

func (b *Broker) seedOne(s *seeding, topic [16]byte, partition int32, r *contentRecord) error {
	if s.Builder == nil {
		s.Builder, s.first = batch.NewBuilder(nil, batch.PlainOptions(0, -1)), r.at
	}
	s.Append(int64(s.Count()), r.timestamp, r.key, r.value, r.headers...)
	if s.Size() < seedBatchBytes {
		return nil
	}
	return b.seedFlush(s, topic, partition)
}

func (b *Broker) seedFlush(s *seeding, topic [16]byte, partition int32) error {
	if s.Builder == nil {
		return nil
	}
	at := s.first
	data, err := s.Finish()
	*s = seeding{}
	if err != nil {
		return fmt.Errorf("%s: build a batch: %w", at, err)
	}
	p := b.replicas.Partition(topic, partition)
	if p == nil {
		return fmt.Errorf("%s: partition %d is led by another broker: give the content to that one", at, partition)
	}
	r, err := p.Append(data, replica.AppendOptions{Acks: -1, Version: seedVersion, LeaderEpoch: -1, Verified: true})
	if err == nil && r.Pending {
		done := make(chan error, 1)
		p.Await(&replica.AckWaiter{Acks: -1, NextOffset: r.NextOffset, Done: func(err error) { done <- err }})
		err = <-done
	}
	var refused *replica.InvalidRecordsError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("%s: from here on records are refused: %s", at, refused.Message)
	case err != nil:
		return fmt.Errorf("%s: from here on records are refused: %w", at, err)
	}
	return nil
}

// seedVersion is the version of Produce that records are written as.
const seedVersion = 12

// keyPartition is where Kafka's own clients put a key: murmur2 with their seed, without the sign.
func keyPartition(key []byte, partitions int32) int32 {
	const seed, m = 0x9747b28c, 0x5bd1e995
	h := uint32(seed) ^ uint32(len(key))
	for len(key) >= 4 {
		k := uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h = h*m ^ k
		key = key[4:]
	}
	for i := len(key) - 1; i >= 0; i-- {
		h ^= uint32(key[i]) << (8 * i)
	}
	if len(key) > 0 {
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return int32(h&0x7fffffff) % partitions
}

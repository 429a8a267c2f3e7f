package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// known is a topic whose last acknowledged change is known. A change that was cut off by a kill may have happened or not: its topic is
// then forgotten.
type known struct {
	id        kadm.TopicID
	retention string
}

// catalog changes topics and configs while the broker is killed, and remembers what was acknowledged.
type catalog struct {
	addr    string
	adm     *kadm.Client
	topics  map[string]known
	deleted []string
	next    int
	made    int
	altered int
}

func (c *catalog) open(addr string) error {
	c.addr = addr
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0)) // a second try of a change would hide what became of the first
	if err != nil {
		return err
	}
	c.adm = kadm.NewClient(cl)
	c.topics = map[string]known{}
	return nil
}

// change makes, alters and deletes topics until ctx ends.
func (c *catalog) change(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		c.create(ctx)
		for name := range c.topics {
			if ctx.Err() != nil {
				break
			}
			if rnd.IntN(4) == 0 {
				c.delete(ctx, name)
			} else {
				c.alter(ctx, name, strconv.Itoa(1_000_000+rnd.IntN(1_000_000)))
			}
			break
		}
	}
}

func (c *catalog) create(ctx context.Context) {
	name := fmt.Sprintf("kill-topic-%d", c.next)
	c.next++
	retention := "5000000"
	resp, err := c.adm.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &retention}, name)
	if err == nil && resp.Err == nil {
		c.topics[name] = known{resp.ID, retention}
		c.made++
	}
}

func (c *catalog) alter(ctx context.Context, name, retention string) {
	t := c.topics[name]
	delete(c.topics, name)
	rs, err := c.adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &retention}}, name)
	if err == nil && rs[0].Err == nil {
		t.retention = retention
		c.topics[name] = t
		c.altered++
	}
}

func (c *catalog) delete(ctx context.Context, name string) {
	delete(c.topics, name)
	resp, err := c.adm.DeleteTopic(ctx, name)
	if err == nil && resp.Err == nil {
		c.deleted = append(c.deleted, name)
	}
}

// check compares what is there with what was acknowledged.
func (c *catalog) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	there, err := adm.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for name, want := range c.topics {
		d, ok := there[name]
		if !ok || d.Err != nil || d.ID != want.id || len(d.Partitions) != 2 {
			return fmt.Errorf("topic %s, made with id %v, is now %+v", name, want.id, d)
		}
		for _, p := range d.Partitions {
			if p.Err != nil && !errors.Is(p.Err, kerr.LeaderNotAvailable) {
				return fmt.Errorf("topic %s partition %d: %w", name, p.Partition, p.Err)
			}
		}
		if err := checkConfig(ctx, adm, name, want.retention); err != nil {
			return err
		}
	}
	for _, name := range c.deleted {
		if there.Has(name) {
			return fmt.Errorf("topic %s was deleted and is there again", name)
		}
	}
	return nil
}

func checkConfig(ctx context.Context, adm *kadm.Client, name, want string) error {
	rs, err := adm.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return fmt.Errorf("configs of %s: %w", name, err)
	}
	for _, cfg := range rs[0].Configs {
		if cfg.Key == "retention.ms" && cfg.MaybeValue() != want {
			return fmt.Errorf("topic %s: retention.ms was set to %s and is %s", name, want, cfg.MaybeValue())
		}
	}
	return nil
}

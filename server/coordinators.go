package server

import (
	"sync/atomic"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/replica"
)

// offsetsTopic is the internal topic of groups and offsets.
const offsetsTopic = "__consumer_offsets"

// coordinators are the runtimes of the internal topics whose partitions this broker leads.
type coordinators struct {
	b      *Broker
	groups *coordinator.Runtime[*group.Shard]
	log    *internalLog // of __consumer_offsets
	topics topicsVersion
	txns   *transactions
}

func newCoordinators(b *Broker) *coordinators {
	c := &coordinators{b: b, log: &internalLog{b: b, name: offsetsTopic, codec: func() batch.Codec {
		return batch.Codec(b.settings.Load().Int("offsets.topic.compression.codec"))
	}}}
	c.groups = coordinator.New(coordinator.Options[*group.Shard]{
		Topic: offsetsTopic,
		New: func(partition, _ int32) *group.Shard {
			return group.New(group.Deps{Partition: partition, Topics: topicsView{b, &c.topics}, Settings: settingsView{b},
				LeastInitialDelay: group.DefaultLeastInitialDelay})
		},
		Writer: c.log,
		Clock:  b.o.Clock,
		Wheel:  b.wheel,
		Log:    b.component("group-coordinator"),
		Go:     b.engine.workers.submit,
	})
	c.txns = newTransactions(b, c.groups)
	return c
}

// role makes this broker the coordinator of what it leads. It runs before the image with the change is visible to clients.
func (c *coordinators) role(p *replica.Partition, r replica.Role) {
	switch p.Topic() {
	case offsetsTopic:
	case txnStateTopic:
		c.txns.role(p, r)
		return
	default:
		return
	}
	if r != replica.RoleLeader {
		c.groups.Resign(p.Index())
		return
	}
	c.log.partitions.Store(p.Index(), p)
	_, epoch := p.Leader()
	c.groups.Elect(p.Index(), epoch)
}

// changed hears of a new image, before clients see it, on the controller's goroutine.
func (c *coordinators) changed(d *metadata.Delta) { c.topics.changed(d) }

// deleted forgets the offsets of topics that are gone. It runs after clients see the image, on the controller's goroutine; whoever deleted a
// topic is answered later.
func (c *coordinators) deleted(d *metadata.Delta) {
	gone := map[string][16]byte{}
	for _, t := range d.Topics {
		if t.New == nil && t.Old != nil {
			gone[t.Old.Name] = t.Old.ID
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, p := range c.groups.Partitions() {
		c.groups.Later(p, func(s *group.Shard, _ coordinator.Now) coordinator.Effects { return s.TopicsDeleted(gone) })
	}
}

func (c *coordinators) close() {
	c.txns.Close()
	c.groups.Close()
}

// topicsView shows the machines the topics of the newest image.
type topicsView struct {
	b       *Broker
	version *topicsVersion
}

func (v topicsView) TopicID(name string) (id [16]byte, ok bool) {
	if t := v.b.newest.Load().Topic(name); t != nil {
		return t.ID, true
	}
	return id, false
}

func (v topicsView) TopicName(id [16]byte) (name string, ok bool) {
	if t := v.b.newest.Load().TopicByID(id); t != nil {
		return t.Name, true
	}
	return "", false
}

func (v topicsView) Partitions(id [16]byte) int32 {
	if t := v.b.newest.Load().TopicByID(id); t != nil {
		return int32(len(t.Partitions))
	}
	return 0
}

func (v topicsView) Racks(id [16]byte, partition int32) (racks []string) {
	img := v.b.newest.Load()
	t := img.TopicByID(id)
	if t == nil || t.Partition(partition) == nil {
		return nil
	}
	for _, r := range t.Partition(partition).Replicas {
		if b := img.Broker(r); b != nil && b.Rack != nil {
			racks = append(racks, *b.Rack)
		}
	}
	return racks
}

func (v topicsView) Names() (names []string) {
	img := v.b.newest.Load()
	names = make([]string, 0, img.TopicCount())
	for t := range img.Topics() {
		names = append(names, t.Name)
	}
	return names
}

func (v topicsView) Version() int64 { return v.version.Load() }

// settingsView shows the machines the properties as they are now.
type settingsView struct{ b *Broker }

func (v settingsView) Int(name string) int64  { return v.b.settings.Load().Int(name) }
func (v settingsView) Str(name string) string { return v.b.settings.Load().Str(name) }

func (v settingsView) GroupInt(group, name string) int64 {
	return config.GroupOf(v.b.settings.Load(), v.b.newest.Load().Config(metadata.ResourceGroup, group)).Int(name)
}

// topicsVersion counts changes of topics and of what their partitions' racks depend on.
type topicsVersion struct{ atomic.Int64 }

func (v *topicsVersion) changed(d *metadata.Delta) {
	if len(d.Topics) > 0 || len(d.Brokers) > 0 {
		v.Add(1)
	}
}

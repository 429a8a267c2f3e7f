package replica

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/metric"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/storage"
)

// Options make a Manager.
type Options struct {
	NodeID int32
	Store  Store
	Clock  clock.Clock
	Wheel  *wheel.Wheel // deadlines of parked fetches
	Log    zerolog.Logger
	// OnRole, if set, hears on the goroutine of ApplyDelta, without locks, which partitions this broker leads, follows or has lost,
	// after they serve: coordinators load and drop their shards by it.
	OnRole func(p *Partition, role Role)
	// Traffic, if set, counts what clients write.
	Traffic *metric.Traffic
}

// shardCount of the table of partitions, one for each value of a byte: a change copies one shard, a look-up takes no lock.
const shardCount = 256

// Manager holds this broker's partitions.
type Manager struct {
	o      Options
	mu     sync.Mutex // one change of assignments at a time
	shards [shardCount]atomic.Pointer[map[TopicID]*topic]
	failed map[string]bool // guarded by mu; log directories that went offline
	closed bool            // guarded by mu
}

// topic is the local partitions of a topic; never changed once published.
type topic struct {
	name       string
	partitions []*Partition // by partition; nil where there is no replica here
}

// New makes a manager without partitions; ApplyDelta brings them.
func New(o Options) *Manager {
	m := &Manager{o: o, failed: map[string]bool{}}
	for i := range m.shards {
		m.shards[i].Store(&map[TopicID]*topic{})
	}
	return m
}

func (m *Manager) shard(id TopicID) *atomic.Pointer[map[TopicID]*topic] {
	return &m.shards[id[0]^id[7]^id[15]]
}

// Partition finds a local partition, nil if this broker has none.
func (m *Manager) Partition(id TopicID, partition int32) *Partition {
	t := (*m.shard(id).Load())[id]
	if t == nil || partition < 0 || int(partition) >= len(t.partitions) {
		return nil
	}
	return t.partitions[partition]
}

// Partitions calls f for each local partition, in no order, until it returns false.
func (m *Manager) Partitions(f func(*Partition) bool) {
	for i := range m.shards {
		for _, t := range *m.shards[i].Load() {
			for _, p := range t.partitions {
				if p != nil && !f(p) {
					return
				}
			}
		}
	}
}

// HighWatermark is what replication-offset-checkpoint should say about a log.
func (m *Manager) HighWatermark(l *storage.Log) int64 {
	k := l.Key()
	if p := m.Partition(k.ID, k.Partition); p != nil {
		return p.HighWatermark()
	}
	return l.CheckpointedHW()
}

// Assign gives this broker's replica of a partition its role, making its log if need be. The partition serves when Assign returns.
func (m *Manager) Assign(a Assignment) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	p, log, created := m.openLocked(a)
	m.mu.Unlock()
	if created {
		m.o.Log.Debug().Str("topic", a.Topic).Int32("partition", a.Partition).Int32("leader_epoch", a.LeaderEpoch).Msg("partition created")
	}
	if err := p.assign(a, log); err != nil {
		m.o.Log.Error().Err(err).Str("topic", a.Topic).Int32("partition", a.Partition).Msg("partition cannot take its role")
		p.drop(RoleOffline, kerr.KafkaStorageError)
	}
	if m.o.OnRole != nil {
		m.o.OnRole(p, p.Role())
	}
}

// openLocked finds or makes the partition and its log (nil when its directory is offline) and publishes it.
func (m *Manager) openLocked(a Assignment) (p *Partition, log Log, created bool) {
	p = m.Partition(a.ID, a.Partition)
	if p != nil {
		if log = p.st.Load().log; log != nil {
			if m.failed[log.Dir()] {
				log = nil
			}
			return p, log, false
		}
	}
	if log = m.o.Store.Get(a.ID, a.Partition); log == nil {
		log, created = m.createLocked(a)
	}
	if log != nil && m.failed[log.Dir()] {
		log = nil
	}
	if p == nil {
		p = newPartition(m, a)
		m.publishLocked(p)
	}
	return p, log, created
}

func (m *Manager) createLocked(a Assignment) (Log, bool) {
	dir, ok := m.dirOf(a.Dir)
	if !ok {
		return nil, false
	}
	log, err := m.o.Store.Create(storage.PartitionKey{Topic: a.Topic, ID: a.ID, Partition: a.Partition}, dir)
	if err != nil {
		m.o.Log.Error().Err(err).Str("topic", a.Topic).Int32("partition", a.Partition).Msg("log cannot be created")
		return nil, false
	}
	return log, true
}

// dirReserved: directory ids below 100 name no directory (org.apache.kafka.common.DirectoryId).
const dirReserved = 100

// dirOf is the path to create a log in, "" to choose. A replica whose directory is lost or offline may not be made anew.
func (m *Manager) dirOf(id [16]byte) (path string, ok bool) {
	if [15]byte(id[:15]) == ([15]byte{}) && id[15] < dirReserved {
		return "", id != metadata.DirLost
	}
	for _, d := range m.o.Store.Dirs() {
		if d.ID == id {
			return d.Path, d.Online
		}
	}
	return "", false
}

// publishLocked puts p into the table. A partition behind the last shares the slice's memory with the topic published before, whose
// readers do not see it; so a topic of many partitions is not copied for each.
func (m *Manager) publishLocked(p *Partition) {
	at := m.shard(p.id)
	next := maps.Clone(*at.Load())
	t := &topic{name: p.topic}
	if old := next[p.id]; old != nil {
		t.partitions = old.partitions
	}
	if i := int(p.partition); i < len(t.partitions) {
		t.partitions = slices.Clone(t.partitions)
		t.partitions[i] = p
	} else {
		for i > len(t.partitions) {
			t.partitions = append(t.partitions, nil)
		}
		t.partitions = append(t.partitions, p)
	}
	next[p.id] = t
	at.Store(&next)
}

// Remove ends this broker's replicas of a topic and deletes their logs: waiters are answered as for an unknown topic.
func (m *Manager) Remove(id TopicID) {
	m.mu.Lock()
	at := m.shard(id)
	t := (*at.Load())[id]
	if t != nil {
		next := maps.Clone(*at.Load())
		delete(next, id)
		at.Store(&next)
	}
	m.mu.Unlock()
	if t == nil {
		return
	}
	for _, p := range t.partitions {
		if p != nil {
			m.remove(p)
		}
	}
}

// RemovePartition ends this broker's replica of one partition, which was reassigned away, and deletes its log.
func (m *Manager) RemovePartition(id TopicID, partition int32) {
	m.mu.Lock()
	p := m.Partition(id, partition)
	if p != nil {
		at := m.shard(id)
		next := maps.Clone(*at.Load())
		t := &topic{name: p.topic, partitions: slices.Clone(next[id].partitions)}
		t.partitions[partition] = nil
		next[id] = t
		at.Store(&next)
	}
	m.mu.Unlock()
	if p != nil {
		m.remove(p)
	}
}

// remove finishes a partition that is no longer in the table.
func (m *Manager) remove(p *Partition) {
	p.drop(RoleNone, kerr.UnknownTopicOrPartition)
	if err := m.o.Store.Delete(p.key()); err != nil {
		m.o.Log.Error().Err(err).Str("topic", p.topic).Int32("partition", p.partition).Msg("log cannot be deleted")
	}
	if m.o.OnRole != nil {
		m.o.OnRole(p, RoleNone)
	}
}

// DirFailed takes the partitions of a log directory offline: they answer KAFKA_STORAGE_ERROR from now on. It may be called in the middle of
// an append, with locks held; so the deadline wheel does the work at once.
func (m *Manager) DirFailed(dir string) {
	m.o.Wheel.Schedule(&wheel.Entry{F: func() { m.takeOffline(dir) }}, m.o.Clock.Mono())
}

func (m *Manager) takeOffline(dir string) {
	m.mu.Lock()
	m.failed[dir] = true
	m.mu.Unlock()
	m.Partitions(func(p *Partition) bool {
		if l := p.st.Load().log; l != nil && l.Dir() == dir {
			p.drop(RoleOffline, kerr.KafkaStorageError)
			if m.o.OnRole != nil {
				m.o.OnRole(p, RoleOffline)
			}
		}
		return true
	})
}

// Close answers all who wait; appends are refused from then on. The logs are the store's to close.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.Partitions(func(p *Partition) bool {
		p.drop(RoleNone, kerr.NotLeaderForPartition)
		return true
	})
}

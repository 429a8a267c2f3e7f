package group

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// Topics is what the machines need to know of the cluster's topics, always as of now.
type Topics interface {
	// TopicID resolves a name; ok is false when there is no such topic.
	TopicID(name string) (id [16]byte, ok bool)
	// TopicName resolves an id.
	TopicName(id [16]byte) (name string, ok bool)
	// Partitions is the number of partitions, 0 when there is no such topic.
	Partitions(id [16]byte) int32
	// Racks names the rack of each replica of a partition that has one, duplicates included: Kafka hashes them so.
	Racks(id [16]byte, partition int32) []string
	// Names lists all topics that a client may see, sorted: for regular expressions.
	Names() []string
	// Version grows with every change of topics: what was computed from an older one is computed again.
	Version() int64
}

// Settings are the properties of Kafka that the machines obey, read anew for each event (dynamic ones take effect at once).
// A group's own value goes before the broker's.
type Settings interface {
	// Int gives a broker property (group.max.size …).
	Int(name string) int64
	// Str gives a broker property as text; lists are comma-separated.
	Str(name string) string
	// GroupInt gives a group property such as consumer.session.timeout.ms, or the broker's default for it.
	GroupInt(group, name string) int64
}

// Client is who calls.
type Client struct {
	ID   string // client.id, empty when null
	Host string // with the leading slash, as Kafka shows it
	// FreshID is a new UUID in Kafka's base64 form for a member id, should one be needed.
	FreshID string
}

// Deps are what a shard is made with.
type Deps struct {
	Partition int32
	Topics    Topics
	Settings  Settings
	// LeastInitialDelay is how long a new classic group waits for more members where group.initial.rebalance.delay.ms says less.
	LeastInitialDelay time.Duration
}

// DefaultLeastInitialDelay is what a broker takes. Without it the first member would have the group to itself, and those that come a moment
// later would wait until it hears of them with its next heartbeat, seconds later: 20 members that start at once settle in 30 ms instead of
// a second.
const DefaultLeastInitialDelay = 5 * time.Millisecond

// Shard is the machine of one partition of __consumer_offsets: a group's id decides which. Each API is a method that gets the
// instant, who calls, the call's handle and the decoded request, and returns effects. What is kept of a request is cloned.
type Shard struct {
	d       Deps
	groups  map[string]*group
	offsets offsetTable
	// serving is false while records are folded at a start.
	serving bool
}

var _ coordinator.Machine = (*Shard)(nil)

// New makes an empty shard.
func New(d Deps) *Shard {
	return &Shard{d: d, groups: map[string]*group{}, offsets: newOffsetTable()}
}

// Apply implements coordinator.Machine. Records of a later Kafka, and broken ones, are skipped: they can't be told about from here, and
// one of them must not take the others' groups away.
func (s *Shard) Apply(rec coordinator.Record) {
	key, value, ok := decode(rec)
	if !ok {
		return
	}
	switch k := key.(type) {
	case *record.LegacyOffsetCommitKey:
		s.applyOffset(k.Group, topicPartition{k.Topic, k.Partition}, offsetOf(value, rec.Offset))
	case *record.OffsetCommitKey:
		s.applyOffset(k.Group, topicPartition{k.Topic, k.Partition}, offsetOf(value, rec.Offset))
	case *record.GroupMetadataKey:
		v, _ := value.(*record.GroupMetadataValue)
		s.applyClassic(k.Group, v)
	default:
		s.applyConsumer(key, value)
	}
}

// decode reads a record; ok is false for what this version does not know.
func decode(rec coordinator.Record) (key, value record.Message, ok bool) {
	if len(rec.Key) < 2 {
		return nil, nil, false
	}
	key, err := record.ReadKey(record.GroupTopic, rec.Key)
	if err != nil {
		return nil, nil, false
	}
	if rec.Value != nil {
		if value, _, err = record.ReadValue(record.GroupTopic, int16(binary.BigEndian.Uint16(rec.Key)), rec.Value); err != nil {
			return nil, nil, false
		}
	}
	return key, value, true
}

// ApplyTxn implements coordinator.Machine: only offsets are committed within transactions.
func (s *Shard) ApplyTxn(txn coordinator.Txn, rec coordinator.Record) {
	key, value, ok := decode(rec)
	if !ok {
		return
	}
	if k, ok := key.(*record.OffsetCommitKey); ok {
		s.applyPendingOffset(txn.ProducerID, k.Group, topicPartition{k.Topic, k.Partition}, offsetOf(value, rec.Offset))
	}
}

// EndTxn implements coordinator.Machine.
func (s *Shard) EndTxn(_ coordinator.Now, txn coordinator.Txn, commit bool) coordinator.Effects {
	s.offsets.endTxn(txn.ProducerID, commit)
	return coordinator.Effects{}
}

// Loaded implements coordinator.Machine.
func (s *Shard) Loaded(now coordinator.Now) coordinator.Effects {
	s.serving = true
	var e coordinator.Effects
	for _, g := range s.sortedGroups() {
		if k := g.kind(); k != nil {
			add(&e, k.loaded(s, now))
		}
	}
	e.Timers = append(e.Timers, s.nextExpiry(now))
	return e
}

// Fire implements coordinator.Machine.
func (s *Shard) Fire(now coordinator.Now, key string) coordinator.Effects {
	t, ok := parseTimer(key)
	if !ok {
		return coordinator.Effects{}
	}
	if t.what == timerExpiry {
		return s.expire(now)
	}
	g := s.groups[t.group]
	if g == nil || g.kind() == nil {
		return coordinator.Effects{}
	}
	return g.kind().fire(s, now, t)
}

// Dropped implements coordinator.Machine.
func (s *Shard) Dropped() []coordinator.Handle {
	var out []coordinator.Handle
	for _, g := range s.sortedGroups() {
		if k := g.kind(); k != nil {
			out = append(out, k.parked()...)
		}
	}
	return out
}

// sortedGroups lists the groups by id.
func (s *Shard) sortedGroups() []*group {
	out := make([]*group, 0, len(s.groups))
	for _, g := range s.groups {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *group) int { return strings.Compare(a.id, b.id) })
	return out
}

// add joins the effects b to a. Neither may be transactional.
func add(a *coordinator.Effects, b coordinator.Effects) {
	a.Records = append(a.Records, b.Records...)
	a.Replies = append(a.Replies, b.Replies...)
	a.Timers = append(a.Timers, b.Timers...)
}

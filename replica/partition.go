package replica

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/internal/metric"
	"github.com/kaja-mq/kaja/storage"
)

// Role is what this broker is to a partition.
type Role uint8

// Roles.
const (
	RoleNone     Role = iota // removed from this broker, or not yet assigned
	RoleLeader               // appends and serves reads
	RoleFollower             // copies from the leader
	RoleOffline              // its log directory has failed: KAFKA_STORAGE_ERROR
)

// Assignment is what the metadata say about one partition that has a replica here.
type Assignment struct {
	Topic                               string
	ID                                  TopicID
	Partition                           int32
	Replicas, ISR                       []int32 // read only
	Leader, LeaderEpoch, PartitionEpoch int32
	// Dir is the directory.id of this broker's replica; the reserved ones (unassigned, lost, migrating) included.
	Dir [16]byte
}

// state is a partition's role; never changed once published.
type state struct {
	role             Role
	log              Log // nil for RoleNone, and offline when it was never opened
	leader           int32
	leaderEpoch      int32
	partitionEpoch   int32
	leaderEpochStart int64 // logEndOffset when this broker became leader
	replicas, isr    []int32
}

// follower is what the leader knows of another replica.
type follower struct{ logEndOffset int64 }

// flushing is an append that has to reach the disk before it counts as replicated here.
type flushing struct{ base, next int64 }

// Partition is one partition as this broker plays it; see the package comment. All methods may be called on any goroutine.
type Partition struct {
	m         *Manager
	topic     string
	id        TopicID
	partition int32
	traffic   *metric.Topic

	st  atomic.Pointer[state] // replaced under mu
	hw  atomic.Int64          // moved under mu
	lso atomic.Int64          // moved under mu; lsoUnknown until somebody asks

	mu        sync.Mutex
	followers map[int32]follower // guarded by mu; the other replicas while leader
	flushes   []flushing         // guarded by mu; by ascending offset
	acks      []*AckWaiter       // guarded by mu; in order of arrival

	watched atomic.Int32 // number of linked watches, so that an append without readers takes no second lock
	wmu     sync.Mutex   // after mu
	watches watchList    // guarded by wmu
}

func newPartition(m *Manager, a Assignment) *Partition {
	p := &Partition{m: m, topic: a.Topic, id: a.ID, partition: a.Partition, traffic: m.o.Traffic.Topic(a.Topic)}
	p.st.Store(&state{leader: -1, leaderEpoch: -1, partitionEpoch: -1})
	return p
}

// Topic is the topic's name.
func (p *Partition) Topic() string { return p.topic }

// Traffic is where the topic's traffic is counted; nil when nobody counts.
func (p *Partition) Traffic() *metric.Topic { return p.traffic }

// TopicID is the topic's id.
func (p *Partition) TopicID() TopicID { return p.id }

// Index is the partition's number in its topic.
func (p *Partition) Index() int32 { return p.partition }

// Role is what this broker is to the partition now.
func (p *Partition) Role() Role { return p.st.Load().role }

// Removed tells that the partition is no longer on this broker: whoever keeps p looks it up again.
func (p *Partition) Removed() bool { return p.st.Load().role == RoleNone }

// Leader is the leader's id (-1 none) and epoch as this replica knows them.
func (p *Partition) Leader() (id, epoch int32) {
	st := p.st.Load()
	return st.leader, st.leaderEpoch
}

// HighWatermark is the first offset that is not replicated to the ISR.
func (p *Partition) HighWatermark() int64 { return p.hw.Load() }

// LastStableOffset is the first offset of an open transaction, or the high watermark.
func (p *Partition) LastStableOffset() int64 {
	if lso := p.lso.Load(); lso != lsoUnknown {
		return lso
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if st := p.st.Load(); st.log != nil {
		p.stabilizeLocked(st)
	}
	return max(p.lso.Load(), 0)
}

// lsoUnknown: the last stable offset needs the producer state, which a log reads from disk when it is first asked. A start with thousands of
// partitions does not ask.
const lsoUnknown = -1

// LogEndOffset is the next offset to be written, -1 without a log.
func (p *Partition) LogEndOffset() int64 {
	if l := p.st.Load().log; l != nil {
		return l.LogEndOffset()
	}
	return -1
}

// LogStartOffset is the first offset that may be read, -1 without a log.
func (p *Partition) LogStartOffset() int64 {
	if l := p.st.Load().log; l != nil {
		return l.LogStartOffset()
	}
	return -1
}

// Size is the log's bytes, 0 without one.
func (p *Partition) Size() int64 {
	if l := p.st.Load().log; l != nil {
		return l.Size()
	}
	return 0
}

// Config is the topic's effective configuration; ok is false without a log.
func (p *Partition) Config() (c LogConfig, ok bool) {
	if l := p.st.Load().log; l != nil {
		return l.Config(), true
	}
	return c, false
}

// check is the state for a request that came with the leader epoch of the client's metadata (-1 none): fenced and unknown epochs
// first, then whether this replica leads, as Partition.localLogWithEpochOrThrow of Kafka orders them.
func (p *Partition) check(epoch int32, leaderOnly bool) (*state, error) {
	st := p.st.Load()
	switch {
	case st.role == RoleOffline:
		return st, kerr.KafkaStorageError
	case st.role == RoleNone:
		return st, kerr.UnknownTopicOrPartition
	case epoch >= 0 && epoch < st.leaderEpoch:
		return st, kerr.FencedLeaderEpoch
	case epoch >= 0 && epoch > st.leaderEpoch:
		return st, kerr.UnknownLeaderEpoch
	case leaderOnly && st.role != RoleLeader:
		return st, kerr.NotLeaderForPartition
	}
	return st, nil
}

// assign takes the role that the metadata give this replica. The log is open, or nil when its directory is offline.
func (p *Partition) assign(a Assignment, log Log) error {
	var w Wakes
	defer w.Fire()
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.st.Load()
	if old.role != RoleNone && a.LeaderEpoch < old.leaderEpoch {
		return nil // an older image
	}
	st := &state{log: log, leader: a.Leader, leaderEpoch: a.LeaderEpoch, partitionEpoch: a.PartitionEpoch,
		replicas: slices.Clone(a.Replicas), isr: slices.Clone(a.ISR), role: RoleFollower}
	switch {
	case log == nil:
		st.role = RoleOffline
	case a.Leader == p.m.o.NodeID:
		st.role = RoleLeader
	}
	if old.log == nil && log != nil {
		p.hw.Store(min(max(log.CheckpointedHW(), log.LogStartOffset()), log.LogEndOffset()))
		p.lso.Store(lsoUnknown)
	}
	if st.role == RoleLeader {
		if err := p.leadLocked(old, st); err != nil {
			return err
		}
	}
	p.st.Store(st)
	if old.role == RoleLeader && st.role != RoleLeader {
		p.failLocked(&w, kerr.NotLeaderForPartition)
	}
	if st.role == RoleLeader && p.raiseLocked(st) {
		p.settleLocked(st, &w)
	}
	return nil
}

// leadLocked prepares st, in which this broker leads: a new epoch starts at the end of the log, and the other replicas' ends
// are unknown until they fetch.
func (p *Partition) leadLocked(old, st *state) error {
	if old.role == RoleLeader && old.leaderEpoch == st.leaderEpoch {
		st.leaderEpochStart = old.leaderEpochStart
	} else {
		if err := st.log.AssignEpoch(st.leaderEpoch); err != nil {
			return err
		}
		st.leaderEpochStart = st.log.LogEndOffset()
		p.followers = nil
		if old.role != RoleLeader {
			p.flushes = nil
		}
	}
	known := p.followers
	p.followers = nil
	for _, id := range st.replicas {
		if id == p.m.o.NodeID {
			continue
		}
		if p.followers == nil {
			p.followers = map[int32]follower{}
		}
		f, ok := known[id]
		if !ok {
			f.logEndOffset = -1
		}
		p.followers[id] = f
	}
	return nil
}

// drop ends the partition on this broker (RoleNone) or takes it offline with its directory, and answers all that wait for it.
func (p *Partition) drop(role Role, err error) {
	var w Wakes
	p.mu.Lock()
	old := p.st.Load()
	st := *old
	st.role = role
	if role == RoleNone {
		st.log = nil
	}
	p.st.Store(&st)
	p.flushes = nil
	p.failLocked(&w, err)
	p.mu.Unlock()
	w.Fire()
}

// failLocked completes every waiter: produces with err, fetches by letting them read again.
func (p *Partition) failLocked(w *Wakes, err error) {
	for _, a := range p.acks {
		w.add(a, err)
	}
	p.acks = nil
	p.collectAll(w)
}

// minISR is min(min.insync.replicas, replicas): as in Kafka 4.4 a partition of one replica takes acks=all whatever is configured.
func (s *state) minISR() int {
	if len(s.replicas) <= 1 {
		return len(s.replicas)
	}
	return min(int(s.log.Config().MinInsyncReplicas), len(s.replicas))
}

// advanceLocked moves high watermark and last stable offset as far as the log and the ISR allow, and collects who waited for it.
func (p *Partition) advanceLocked(st *state, w *Wakes) {
	p.raiseLocked(st)
	p.stabilizeLocked(st)
	p.settleLocked(st, w)
}

// raiseLocked moves the high watermark to what the whole ISR has, unless the ISR is too small (KIP-966).
func (p *Partition) raiseLocked(st *state) bool {
	end := st.log.LogEndOffset()
	if len(p.flushes) > 0 {
		end = min(end, p.flushes[0].base)
	}
	for _, id := range st.isr {
		if id == p.m.o.NodeID {
			continue
		}
		f, ok := p.followers[id]
		if !ok {
			f.logEndOffset = -1
		}
		end = min(end, f.logEndOffset)
	}
	if end <= p.hw.Load() || len(st.isr) < st.minISR() {
		return false
	}
	p.hw.Store(end)
	st.log.OnHighWatermark(end)
	return true
}

// stabilizeLocked moves the last stable offset after the high watermark or the open transactions.
func (p *Partition) stabilizeLocked(st *state) {
	stable := p.hw.Load()
	if first, ok := st.log.FirstUnstableOffset(); ok && first < stable {
		stable = max(first, st.log.LogStartOffset())
	}
	p.lso.Store(stable)
}

// settleLocked collects the produces and fetches that have what they waited for.
func (p *Partition) settleLocked(st *state, w *Wakes) {
	p.ackLocked(st, w)
	p.collect(w)
}

// Followers reports the other replicas' log ends by id while this broker leads; -1 is unknown.
func (p *Partition) Followers() map[int32]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[int32]int64, len(p.followers))
	for id, f := range p.followers {
		out[id] = f.logEndOffset
	}
	return out
}

// followerAt notes where a follower fetches from, which is where its log ends.
func (p *Partition) followerAt(id int32, offset int64) {
	var w Wakes
	p.mu.Lock()
	st := p.st.Load()
	if f, ok := p.followers[id]; ok && st.role == RoleLeader && offset > f.logEndOffset {
		p.followers[id] = follower{logEndOffset: offset}
		p.advanceLocked(st, &w)
	}
	p.mu.Unlock()
	w.Fire()
}

// key names the partition's log.
func (p *Partition) key() storage.PartitionKey {
	return storage.PartitionKey{Topic: p.topic, ID: p.id, Partition: p.partition}
}

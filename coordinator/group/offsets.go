package group

import (
	"maps"
	"slices"

	"github.com/kaja-mq/kaja/coordinator/record"
)

type topicPartition struct {
	topic     string
	partition int32
}

// committedOffset is an offset as its record has it.
type committedOffset struct {
	offset      int64
	leaderEpoch int32 // -1 none
	metadata    string
	commitMs    int64
	expireMs    int64 // of very old clients; -1 none
	topicID     [16]byte
	// at is where its record lies: of two commits, one within a transaction, the later record counts.
	at int64
}

// offsetTable is the committed offsets of all groups, and those of open transactions.
type offsetTable struct {
	groups map[string]*groupOffsets
	// txns are the groups in which a producer has pending offsets.
	txns map[int64]map[string]bool
}

// groupOffsets are the offsets of one group.
type groupOffsets struct {
	topics map[string]map[int32]committedOffset
	// pending are offsets of open transactions, by producer id. A producer stays in it, perhaps with no offset, until its transaction ends.
	pending map[int64]map[topicPartition]committedOffset
}

func newOffsetTable() offsetTable {
	return offsetTable{groups: map[string]*groupOffsets{}, txns: map[int64]map[string]bool{}}
}

func (t *offsetTable) group(id string) *groupOffsets {
	g := t.groups[id]
	if g == nil {
		g = &groupOffsets{topics: map[string]map[int32]committedOffset{}}
		t.groups[id] = g
	}
	return g
}

// drop forgets a group without offsets.
func (t *offsetTable) drop(id string) {
	if g := t.groups[id]; g != nil && len(g.topics) == 0 && len(g.pending) == 0 {
		delete(t.groups, id)
	}
}

// get finds a committed offset.
func (g *groupOffsets) get(tp topicPartition) (committedOffset, bool) {
	if g == nil {
		return committedOffset{}, false
	}
	o, ok := g.topics[tp.topic][tp.partition]
	return o, ok
}

func (g *groupOffsets) put(tp topicPartition, o committedOffset) {
	t := g.topics[tp.topic]
	if t == nil {
		t = map[int32]committedOffset{}
		g.topics[tp.topic] = t
	}
	t[tp.partition] = o
}

func (g *groupOffsets) remove(tp topicPartition) {
	if t := g.topics[tp.topic]; t != nil {
		delete(t, tp.partition)
		if len(t) == 0 {
			delete(g.topics, tp.topic)
		}
	}
}

// unstable tells whether an open transaction has an offset for the partition.
func (g *groupOffsets) unstable(tp topicPartition) bool {
	if g == nil {
		return false
	}
	for _, p := range g.pending {
		if _, ok := p[tp]; ok {
			return true
		}
	}
	return false
}

// of lists the partitions of one topic with offsets, committed or pending: sorted.
func (g *groupOffsets) of(topic string) (out []topicPartition) {
	for p := range g.topics[topic] {
		out = append(out, topicPartition{topic, p})
	}
	for _, pending := range g.pending {
		for tp := range pending {
			if tp.topic == topic {
				out = append(out, tp)
			}
		}
	}
	slices.SortFunc(out, compareTopicPartition)
	return slices.Compact(out)
}

// all lists the partitions with offsets: sorted, committed and, if asked for, pending ones.
func (g *groupOffsets) all(pending bool) []topicPartition {
	if g == nil {
		return nil
	}
	set := map[topicPartition]bool{}
	for topic, t := range g.topics {
		for p := range t {
			set[topicPartition{topic, p}] = true
		}
	}
	if pending {
		for _, o := range g.pending {
			for tp := range o {
				set[tp] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(set), compareTopicPartition)
}

func compareTopicPartition(a, b topicPartition) int {
	switch {
	case a.topic < b.topic:
		return -1
	case a.topic > b.topic:
		return 1
	}
	return int(a.partition) - int(b.partition)
}

// offsetOf makes an offset of a record's value; nil for a tombstone.
func offsetOf(value record.Message, at int64) *committedOffset {
	switch v := value.(type) {
	case *record.OffsetCommitValue:
		return &committedOffset{v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp, v.TopicID, at}
	case *record.LegacyOffsetCommitValue:
		return &committedOffset{v.Offset, -1, v.Metadata, v.CommitTimestamp, -1, [16]byte{}, at}
	}
	return nil
}

// applyOffset folds a commit (nil: its deletion). A group that nobody has heard of is made: its offsets must be found by ListGroups,
// DeleteGroups and expiry.
func (s *Shard) applyOffset(id string, tp topicPartition, o *committedOffset) {
	if o == nil {
		g := s.offsets.groups[id]
		if g == nil {
			return
		}
		g.remove(tp)
		for _, p := range g.pending {
			delete(p, tp)
		}
		s.offsets.drop(id)
		return
	}
	s.ensureGroup(id)
	s.offsets.group(id).put(tp, *o)
}

// applyPendingOffset folds a commit within a transaction.
func (s *Shard) applyPendingOffset(producer int64, id string, tp topicPartition, o *committedOffset) {
	if o == nil {
		s.applyOffset(id, tp, nil) // never written in a transaction; harmless
		return
	}
	s.ensureGroup(id)
	g := s.offsets.group(id)
	if g.pending == nil {
		g.pending = map[int64]map[topicPartition]committedOffset{}
	}
	if g.pending[producer] == nil {
		g.pending[producer] = map[topicPartition]committedOffset{}
	}
	g.pending[producer][tp] = *o
	if s.offsets.txns[producer] == nil {
		s.offsets.txns[producer] = map[string]bool{}
	}
	s.offsets.txns[producer][id] = true
}

// endTxn moves the pending offsets of a producer to the committed ones, or forgets them.
func (t *offsetTable) endTxn(producer int64, commit bool) {
	for id := range t.txns[producer] {
		g := t.groups[id]
		if g == nil {
			continue
		}
		pending := g.pending[producer]
		delete(g.pending, producer)
		if commit {
			for tp, o := range pending {
				// Compaction may have kept a later plain commit before an earlier one of a transaction that ended after it.
				if have, ok := g.get(tp); !ok || o.at > have.at {
					g.put(tp, o)
				}
			}
		}
		t.drop(id)
	}
	delete(t.txns, producer)
}

// ensureGroup makes a simple group where there is none.
func (s *Shard) ensureGroup(id string) {
	if s.groups[id] == nil {
		s.groups[id] = &group{id: id, classic: newClassicGroup(id, -1)}
	}
}

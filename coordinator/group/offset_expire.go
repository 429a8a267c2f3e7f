package group

import (
	"maps"
	"slices"
	"time"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// minExpiryInterval keeps offsets.retention.check.interval.ms from turning into a busy loop.
const minExpiryInterval = time.Second

// offsetTombstone deletes a committed offset.
func offsetTombstone(group string, tp topicPartition) coordinator.Record {
	return tombstone(&record.OffsetCommitKey{Group: group, Topic: tp.topic, Partition: tp.partition})
}

// nextExpiry is the timer of the next look for offsets that have expired.
func (s *Shard) nextExpiry(now coordinator.Now) coordinator.TimerChange {
	every := time.Duration(s.d.Settings.Int("offsets.retention.check.interval.ms")) * time.Millisecond
	return coordinator.TimerChange{Key: timerExpiry, At: now.Mono.Add(max(every, minExpiryInterval))}
}

// expire deletes offsets that nobody has used for offsets.retention.minutes, and groups that are empty and have none left.
func (s *Shard) expire(now coordinator.Now) coordinator.Effects {
	e := coordinator.Effects{Loose: true, Clean: true, Timers: []coordinator.TimerChange{s.nextExpiry(now)}}
	s.Expire(&e, now)
	return e
}

// Expire is the work of a look for expired offsets.
func (s *Shard) Expire(e *coordinator.Effects, now coordinator.Now) {
	for _, g := range s.sortedGroups() {
		left := s.expireGroup(e, g, now.WallMs())
		if k := g.kind(); !left && k.empty() {
			e.Records = append(e.Records, k.tombstones()...)
		}
	}
}

// expireGroup deletes the expired offsets of a group; left tells whether others, or an open transaction, remain.
func (s *Shard) expireGroup(e *coordinator.Effects, g *group, nowMs int64) (left bool) {
	o := s.offsets.groups[g.id]
	if o == nil {
		return false
	}
	retention := s.d.Settings.Int("offsets.retention.minutes") * time.Minute.Milliseconds()
	left = len(o.pending) > 0
	for _, tp := range o.all(false) {
		c, _ := o.get(tp)
		base, unused := g.kind().expiryBase(c.commitMs)
		expired := unused && nowMs-base >= retention
		if unused && c.expireMs >= 0 {
			expired = nowMs >= c.expireMs
		}
		if !expired || g.kind().subscribedTo(tp.topic) || o.unstable(tp) {
			left = true
			continue
		}
		e.Records = append(e.Records, offsetTombstone(g.id, tp))
	}
	return left
}

// TopicsDeleted deletes the offsets of topics that are gone, by name and id, those of open transactions too. An offset that knows its topic's
// id stays if that is another topic of the same name.
func (s *Shard) TopicsDeleted(topics map[string][16]byte) coordinator.Effects {
	e := coordinator.Effects{Loose: true, Clean: true}
	names := slices.Sorted(maps.Keys(topics))
	for _, id := range slices.Sorted(maps.Keys(s.offsets.groups)) {
		o := s.offsets.groups[id]
		for _, name := range names {
			for _, tp := range o.of(name) {
				if c, ok := o.get(tp); ok && c.topicID != ([16]byte{}) && c.topicID != topics[name] {
					continue
				}
				e.Records = append(e.Records, offsetTombstone(id, tp))
			}
		}
	}
	return e
}

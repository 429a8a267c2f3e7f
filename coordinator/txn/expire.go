package txn

import (
	"maps"
	"slices"
	"time"

	"github.com/kaja-mq/kaja/coordinator"
)

// Keys of the timers. Kafka looks at all transactions at fixed intervals; so does a shard, while it has something to look at.
const (
	timerAbort  = "abort"
	timerExpire = "expire"
)

// arm sets the timers that are needed and not set.
func (s *Shard) arm(e *coordinator.Effects, now coordinator.Now) {
	set := func(key, interval string) {
		at := now.Mono.Add(s.duration(interval))
		e.Timers = append(e.Timers, coordinator.TimerChange{Key: key, At: at})
	}
	if !s.aborting && len(s.open) > 0 {
		s.aborting = true
		set(timerAbort, "transaction.abort.timed.out.transaction.cleanup.interval.ms")
	}
	if !s.expiring && len(s.txns) > 0 {
		s.expiring = true
		set(timerExpire, "transaction.remove.expired.transaction.cleanup.interval.ms")
	}
}

func (s *Shard) duration(name string) time.Duration {
	return time.Duration(s.d.Settings.Int(name)) * time.Millisecond
}

// Fire implements coordinator.Machine.
func (s *Shard) Fire(now coordinator.Now, key string) coordinator.Effects {
	e := coordinator.Effects{Loose: true}
	switch key {
	case timerAbort:
		s.aborting = false
		for _, id := range slices.Sorted(maps.Keys(s.open)) {
			if t := s.txns[id]; t.timedOut(now) && s.fence(&e, now, t, noProducerID) {
				e.Replies = append(e.Replies, coordinator.Reply{To: s.d.Outbox.FreshID(id)})
			}
		}
	case timerExpire:
		s.expiring = false
		s.forget(&e, now)
	}
	s.arm(&e, now)
	return e
}

// Expire aborts a transaction that has timed out, when that takes a new producer id.
func (s *Shard) Expire(now coordinator.Now, transactionalID string, fresh int64) (e coordinator.Effects) {
	if t := s.txns[transactionalID]; t != nil && t.timedOut(now) {
		s.fence(&e, now, t, fresh)
	}
	return e
}

// noTimeout is the time-out of a transaction that another system decides on (KIP-939): it has none. Only an adopted log has such.
const noTimeout = 1<<31 - 1

func (t *transaction) timedOut(now coordinator.Now) bool {
	return t.state == Ongoing && t.timeoutMs != noTimeout && t.began.Add(time.Duration(t.timeoutMs)*time.Millisecond).Before(now.Mono)
}

// forget deletes ids that nobody has used for transactional.id.expiration.ms.
func (s *Shard) forget(e *coordinator.Effects, now coordinator.Now) {
	oldest := now.Wall.Add(-s.duration("transactional.id.expiration.ms")).UnixMilli()
	for _, id := range slices.Sorted(maps.Keys(s.txns)) {
		if t := s.txns[id]; t.state.finished() && t.updateMs <= oldest {
			e.Records = append(e.Records, tombstone(id))
		}
	}
}

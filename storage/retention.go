package storage

import (
	"errors"
	"fmt"
	"math"
)

// DeleteRecordsTo moves the log start to offset; the caller has checked it against the high watermark. Whole segments below are deleted
// by the next retention check.
func (l *Log) DeleteRecordsTo(offset int64) error {
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset > l.end.Load() || offset < 0 {
		return ErrOffsetOutOfRange
	}
	return l.failDir(l.moveStart(offset))
}

// moveStart raises the log start.
func (l *Log) moveStart(offset int64) error {
	if offset <= l.start.Load() {
		return nil
	}
	e, err := l.epochsLocked()
	if err != nil {
		return err
	}
	l.start.Store(offset)
	l.changed = true
	e.truncateFromStart(offset)
	if err := e.write(false); err != nil {
		return err
	}
	if l.producers != nil {
		l.producers.onLogStartIncremented(offset)
		l.updateUnstable()
	}
	return nil
}

// DeletePrefix makes offset the log start and deletes whole segments below it at once: a snapshot covers them. It keeps at least
// one segment.
func (l *Log) DeletePrefix(offset int64) error {
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset > l.end.Load() {
		return ErrOffsetOutOfRange
	}
	if err := l.moveStart(offset); err != nil {
		return l.failDir(err)
	}
	n, err := l.deletable(func(s *segment, next int64) (bool, error) { return next <= offset && s != l.active(), nil }, math.MaxInt64)
	if err == nil {
		err = l.retire(n)
	}
	if err == nil {
		err = l.deleteRetired(math.MaxInt64)
	}
	return l.failDir(err)
}

// enforceRetention deletes old segments by log start, size and time, in Kafka's order, and reports how many. hw bounds what may go.
func (l *Log) enforceRetention(hw int64) (deleted int, err error) {
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return 0, err
	}
	if l.swapping {
		return 0, nil // the next check is soon enough
	}
	cfg := l.cfg.Load()
	rules := []func(*segment, int64) (bool, error){l.belowStart}
	if cfg.CleanupDelete {
		if cfg.RetentionBytes >= 0 {
			rules = append(rules, l.overSize(cfg.RetentionBytes))
		}
		if cfg.RetentionMs >= 0 {
			rules = append(rules, l.tooOld(cfg.RetentionMs))
		}
	}
	for _, rule := range rules {
		n, err := l.deletable(rule, hw)
		if err == nil {
			err = l.retire(n)
		}
		if err != nil {
			return deleted, l.failDir(err)
		}
		deleted += n
	}
	return deleted, nil
}

func (l *Log) belowStart(_ *segment, next int64) (bool, error) { return next <= l.start.Load(), nil }

// overSize takes segments from the start as long as what stays is still at least limit.
func (l *Log) overSize(limit int64) func(*segment, int64) (bool, error) {
	over := l.Size() - limit
	return func(s *segment, _ int64) (bool, error) {
		if over < s.size.Load() || over <= 0 {
			return false, nil
		}
		over -= s.size.Load()
		return true, nil
	}
}

// tooOld takes segments whose largest timestamp is older than limit; one without timestamps goes by its file's time.
func (l *Log) tooOld(limit int64) func(*segment, int64) (bool, error) {
	now := l.env.nowMs()
	return func(s *segment, _ int64) (bool, error) {
		e, err := l.largestTimestamp(s)
		if err != nil {
			return false, err
		}
		if e.key >= 0 {
			return now-e.key > limit, nil
		}
		st, err := l.env.fs.Stat(l.path(s, logSuffix))
		if err != nil {
			return false, fmt.Errorf("age of segment %d of %s: %w", s.base, l.name(), err)
		}
		return !st.ModTime().IsZero() && now-st.ModTime().UnixMilli() > limit, nil
	}
}

// deletable counts the segments at the start that rule takes, as far as the high watermark allows; an empty last segment stays.
func (l *Log) deletable(rule func(s *segment, next int64) (bool, error), hw int64) (int, error) {
	segs := l.segments()
	for i, s := range segs {
		next, last := l.end.Load(), i == len(segs)-1
		if !last {
			next = segs[i+1].base
		}
		if last && s.size.Load() == 0 || next > hw {
			return i, nil
		}
		take, err := rule(s, nextOrNone(next, last))
		if err != nil || !take {
			return i, err
		}
	}
	return len(segs), nil
}

// nextOrNone is the next segment's base for rules by offset: the last one has none.
func nextOrNone(next int64, last bool) int64 {
	if last {
		return math.MaxInt64
	}
	return next
}

// retire takes the first n segments out of the log and gives their files the suffix .deleted; if that would be all, a new one is rolled
// first. The files go after file.delete.delay.ms.
func (l *Log) retire(n int) error {
	if n == 0 {
		return nil
	}
	if n == len(l.segments()) {
		if err := l.activate(); err != nil {
			return err
		}
		if err := l.roll(l.end.Load()); err != nil {
			return err
		}
	}
	segs := l.segments()
	gone := segs[:n]
	// The log start moves first: readers then get OFFSET_OUT_OF_RANGE for what is about to go.
	if err := l.moveStart(max(l.start.Load(), segs[n].base)); err != nil {
		return err
	}
	l.setSegments(append([]*segment(nil), segs[n:]...))
	at := l.env.monoMs() + l.cfg.Load().FileDeleteDelayMs
	for _, s := range gone {
		if err := l.renameDeleted(s, logFirst); err != nil {
			return err
		}
		if err := l.retireSnapshot(s.base); err != nil {
			return err
		}
		l.retired = append(l.retired, retired{s, at})
	}
	l.hasRetired.Store(true)
	l.changed = true
	l.dirSynced = false
	if l.recovery.Load() < l.start.Load() {
		l.recovery.Store(l.start.Load())
	}
	if l.env.wake != nil {
		l.env.wake()
	}
	return nil
}

// deleteRetired removes the files whose time has come; mu is held.
func (l *Log) deleteRetired(nowMs int64) error {
	keep := l.retired[:0]
	var err error
	for _, r := range l.retired {
		if r.atMs > nowMs {
			keep = append(keep, r)
			continue
		}
		err = errors.Join(err, l.removeFiles(r.s))
	}
	clear(l.retired[len(keep):])
	l.retired = keep
	return err
}

// nextRetired is when the next file is to be removed, monotonic ms; ok is false when none waits.
func (l *Log) nextRetired() (ms int64, ok bool) {
	for _, r := range l.retired {
		if !ok || r.atMs < ms {
			ms, ok = r.atMs, true
		}
	}
	return ms, ok
}

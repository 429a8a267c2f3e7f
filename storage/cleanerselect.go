package storage

import (
	"errors"
	"math"
	"sort"
)

// logToClean is a log with what of it can be cleaned.
type logToClean struct {
	log              *Log
	firstDirty, upTo int64 // upTo is a segment's base
	cleanable, total int64 // bytes: of the dirty segments, of all below upTo
	ratio            float64
	due              bool // something in it is older than max.compaction.lag.ms
}

// grab chooses the log that most needs cleaning and begins its pass, nil when none needs it.
func (c *cleaner) grab(cfg CleanerConfig) *cleanPass {
	logs := c.m.Logs()
	sort.Slice(logs, func(i, j int) bool { return logs[i].label < logs[j].label })
	var best *logToClean
	for _, l := range logs {
		if !l.cfg.Load().CleanupCompact || l.uncleanable.Load() || l.usable() != nil || c.isBusy(l) {
			continue
		}
		t, err := c.inspect(l, l.cfg.Load().MinCleanableDirtyRatio)
		if err != nil {
			c.unfit(l, err)
			continue
		}
		if t == nil {
			continue
		}
		if best == nil || t.ratio > best.ratio {
			best = t
		}
	}
	if best == nil {
		return nil
	}
	return c.begin(best, cfg)
}

// unfit deals with a log that could not even be looked at.
func (c *cleaner) unfit(l *Log, err error) {
	if errors.Is(err, ErrLogClosed) || errors.Is(err, ErrLogDirOffline) || errors.Is(err, errSegmentGone) {
		return
	}
	if !isCorrupt(err) {
		_ = l.failDir(err) // the directory is offline then; its owner hears of it
		l.tellFailure()
		return
	}
	l.uncleanable.Store(true)
	c.m.env.log.Error().Err(err).Str("topic", l.key.Topic).Int32("partition", l.key.Partition).Msg("cannot clean a log; it is left alone until the next start")
}

// grabLog begins a pass of that log, whatever its ratio; nil when there is nothing to look at.
func (c *cleaner) grabLog(l *Log, cfg CleanerConfig) (*cleanPass, error) {
	t, err := c.inspect(l, -1)
	if err != nil || t == nil {
		return nil, err
	}
	p := c.begin(t, cfg)
	if p == nil {
		return nil, l.usable()
	}
	return p, nil
}

// begin makes the pass the log's; one under way is given up. nil: the log was closed.
func (c *cleaner) begin(t *logToClean, cfg CleanerConfig) *cleanPass {
	l := t.log
	resume := l.stopCleaning()
	defer resume()
	if l.usable() != nil {
		return nil
	}
	p := newPass(t, cfg, func() int64 { return c.m.knownHW(l) })
	p.stats.CleanableBytes, p.stats.TotalBytes, p.stats.DirtyRatio, p.stats.CompactionForced = t.cleanable, t.total, t.ratio, t.due
	l.pass = p
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy[l] = p
	return p
}

// knownHW is the high watermark, after a start the checkpointed one.
func (m *Manager) knownHW(l *Log) int64 {
	if hw := m.highWatermark(l); hw >= 0 {
		return hw
	}
	return l.CheckpointedHW()
}

// inspect finds out what of a log can be cleaned (LogCleanerManager.cleanableOffsets and LogToClean); nil: nothing, or not more than
// minRatio of it with nothing that is due.
func (c *cleaner) inspect(l *Log, minRatio float64) (*logToClean, error) {
	segs := l.segments()
	if len(segs) < 2 {
		return nil, nil
	}
	first := c.firstDirty(l)
	active := segs[len(segs)-1].base
	upTo := min(active, c.m.knownHW(l))
	if t := l.measure(segs, first, max(first, upTo)); t.cleanable == 0 || t.ratio <= minRatio && l.cfg.Load().MaxCompactionLagMs == math.MaxInt64 {
		return nil, nil // open transactions can only lower it: most logs need no producer state for this
	}
	if off, ok := l.FirstUnstableOffset(); ok {
		upTo = min(upTo, off)
	}
	if err := l.usable(); err != nil {
		return nil, err
	}
	upTo, err := l.tooYoung(segs, first, upTo)
	if err != nil {
		return nil, err
	}
	t := l.measure(segs, first, max(first, upTo))
	if t.due, err = l.compactionDue(segs, first); err != nil {
		return nil, err
	}
	if t.cleanable == 0 || !t.due && t.ratio <= minRatio {
		return nil, nil
	}
	return t, nil
}

// firstDirty is where the last pass ended, as far as that can be.
func (c *cleaner) firstDirty(l *Log) int64 {
	start, point := l.start.Load(), l.cleanPoint.Load()
	switch {
	case point < 0:
		return start
	case point < start:
		if !l.cfg.Load().CleanupDelete {
			c.m.env.log.Warn().Str("topic", l.key.Topic).Int32("partition", l.key.Partition).Int64("offset", point).Int64("log_start", start).
				Msg("the cleaner's checkpoint lies below the log start, beginning there")
		}
	case point > l.end.Load():
		c.m.env.log.Warn().Str("topic", l.key.Topic).Int32("partition", l.key.Partition).Int64("offset", point).Int64("log_end", l.end.Load()).
			Msg("the cleaner's checkpoint lies above the log end, cleaning all of the log")
	default:
		return point
	}
	l.cleanPoint.Store(start)
	return start
}

// measure counts the bytes. A segment is cleanable as a whole or not: the one that holds upTo is not.
func (l *Log) measure(segs []*segment, first, upTo int64) *logToClean {
	t := &logToClean{log: l, firstDirty: first}
	last := len(segs) - 1
	t.upTo = segs[last].base
	if upTo < t.upTo {
		t.upTo = segs[max(floorSegment(segs[:last], upTo), 0)].base
	}
	from := max(floorSegment(segs, min(first, t.upTo)), 0)
	for i, s := range segs {
		if s.base < first {
			t.total += s.size.Load()
		}
		if i >= from && s.base < t.upTo {
			t.cleanable += s.size.Load()
		}
	}
	t.total += t.cleanable
	if t.total > 0 {
		t.ratio = float64(t.cleanable) / float64(t.total)
	}
	return t
}

// tooYoung lowers upTo to the first dirty segment that holds a record younger than min.compaction.lag.ms.
func (l *Log) tooYoung(segs []*segment, first, upTo int64) (int64, error) {
	lag := l.cfg.Load().MinCompactionLagMs
	if lag <= 0 {
		return upTo, nil
	}
	newest := l.env.nowMs() - lag
	last := len(segs) - 1
	for _, s := range segs[max(floorSegment(segs[:last], first), 0):last] {
		e, err := l.largestTimestamp(s)
		if err != nil {
			return 0, err
		}
		if e.key < 0 {
			t, err := modTime(l.env.fs, l.path(s, logSuffix))
			if err != nil {
				return 0, err
			}
			e.key = t.UnixMilli()
		}
		if e.key > newest {
			return min(upTo, s.base), nil
		}
	}
	return upTo, nil
}

// compactionDue says whether a dirty segment began longer ago than max.compaction.lag.ms.
func (l *Log) compactionDue(segs []*segment, first int64) (bool, error) {
	lag := l.cfg.Load().MaxCompactionLagMs
	if lag == math.MaxInt64 {
		return false, nil
	}
	oldest := l.env.nowMs() - max(lag, 0)
	last := len(segs) - 1
	for _, s := range segs[max(floorSegment(segs[:last], first), 0):last] {
		ts, err := l.firstTimestamp(s)
		if err != nil {
			return false, err
		}
		if ts > 0 && ts < oldest {
			return true, nil
		}
	}
	return false, nil
}

// firstTimestamp is the largest timestamp of a segment's first batch, -1 none.
func (l *Log) firstTimestamp(s *segment) (int64, error) {
	s.mu.Lock()
	ts, loaded := s.firstTs, s.firstLoaded
	s.mu.Unlock()
	if loaded {
		return ts, nil
	}
	f, err := l.open(s)
	if err != nil {
		return -1, err
	}
	defer f.Done()
	if err := l.loadFirst(s, f); err != nil {
		return -1, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.firstTs, nil
}

package storage

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kaja-mq/kaja/internal/exec"
)

// Defaults of log.cleaner.*, and the bounds that kaja adds.
const (
	DefaultCleanerThreads      = 1
	DefaultCleanerDedupeBuffer = 128 << 20
	DefaultCleanerIOBuffer     = 512 << 10
	DefaultCleanerLoadFactor   = 0.9
	DefaultCleanerBackoff      = 15 * time.Second

	// minIOBuffer keeps passes going with a log.cleaner.io.buffer.size of nearly nothing: what a batch header needs, and some.
	minIOBuffer = 1 << 10
	// cleanSlice is how many bytes a pass reads and writes in one step: small enough that whoever waits for the log waits milliseconds.
	cleanSlice = 8 << 20
)

// CleanerConfig is log.cleaner.*, all of it dynamic.
type CleanerConfig struct {
	// Threads is how many logs are cleaned at a time; 0 cleans none.
	Threads int
	// DedupeBufferBytes bounds the memory of the maps of all threads together, LoadFactor how full they get.
	DedupeBufferBytes int64
	LoadFactor        float64
	// IOBufferBytes is the size of the buffers of all threads together; they grow for a larger batch.
	IOBufferBytes int64
	// MaxIOBytesPerSecond bounds what all threads together read and write; 0 is no bound.
	MaxIOBytesPerSecond float64
	// Backoff is the pause when there is nothing to clean.
	Backoff time.Duration
}

// DefaultCleanerConfig is Kafka's.
func DefaultCleanerConfig() CleanerConfig {
	return CleanerConfig{
		Threads: DefaultCleanerThreads, DedupeBufferBytes: DefaultCleanerDedupeBuffer, LoadFactor: DefaultCleanerLoadFactor,
		IOBufferBytes: DefaultCleanerIOBuffer, Backoff: DefaultCleanerBackoff,
	}
}

// CleanStats tells what a pass did.
type CleanStats struct {
	// Offsets from FirstDirty up to NextDirty are clean now; UpTo is where it would have ended with room for all keys.
	FirstDirty, NextDirty, UpTo           int64
	BytesMapped, BytesRead, BytesWritten  int64
	RecordsRead, RecordsKept, Keyless     int64
	Keys                                  int // distinct keys of the dirty part
	Segments                              int // replaced
	CleanableBytes, TotalBytes            int64
	Took                                  time.Duration
	DirtyRatio                            float64
	CompactionForced, BufferFull, Nothing bool
}

// cleaner is a Manager's background compaction.
type cleaner struct {
	m        *Manager
	throttle cleanThrottle

	mu      sync.Mutex
	busy    map[*Log]*cleanPass // guarded by mu: whose pass is under way
	workers []*cleanWorker      // guarded by mu
	running bool                // guarded by mu: between Start and Close
	closing atomic.Bool         // steps end soon

	single cleanWork // of StepCleaner
}

// cleanWorker is one of log.cleaner.threads.
type cleanWorker struct {
	loop *exec.Loop
	work cleanWork
}

// cleanWork is the pass that a thread is at; used by its steps alone.
type cleanWork struct {
	pass  *cleanPass
	began time.Time
}

func newCleaner(m *Manager) *cleaner { return &cleaner{m: m, busy: map[*Log]*cleanPass{}} }

func (c *cleaner) config() CleanerConfig {
	if c.m.opts.Cleaner == nil {
		return DefaultCleanerConfig()
	}
	return c.m.opts.Cleaner()
}

// CleanerChanged makes changed settings of the cleaner effective: a pass under way keeps its own, but for the I/O bound.
func (m *Manager) CleanerChanged() {
	m.cleaner.mu.Lock()
	gone := m.cleaner.adjustLocked()
	for _, w := range m.cleaner.workers {
		w.loop.Wake()
	}
	m.cleaner.mu.Unlock()
	m.cleaner.end(gone)
}

func (c *cleaner) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = true
	c.adjustLocked()
}

// adjustLocked starts missing threads and gives those that are too many.
func (c *cleaner) adjustLocked() (gone []*cleanWorker) {
	if !c.running {
		return nil
	}
	n := max(c.config().Threads, 0)
	for len(c.workers) < n {
		w := &cleanWorker{}
		w.loop = exec.Start(c.m.env.clk, func(now time.Time) time.Time { return c.step(&w.work, now) })
		c.workers = append(c.workers, w)
	}
	gone = append(gone, c.workers[n:]...)
	c.workers = c.workers[:n]
	return gone
}

func (c *cleaner) stop() {
	c.closing.Store(true)
	c.mu.Lock()
	c.running = false
	gone := c.workers
	c.workers = nil
	c.mu.Unlock()
	c.end(gone)
}

// end joins threads; what they were at is given up.
func (c *cleaner) end(gone []*cleanWorker) {
	for _, w := range gone {
		w.loop.Close()
		if p := w.work.pass; p != nil {
			p.l.abandon(p)
			c.release(p)
		}
	}
}

// step is one step of a thread: a slice of its pass, or the choice of the next one.
func (c *cleaner) step(w *cleanWork, now time.Time) (next time.Time) {
	cfg := c.config()
	if w.pass == nil {
		w.pass, w.began = c.grab(cfg), now
		if w.pass == nil {
			c.retain(nil)
			return now.Add(cfg.Backoff)
		}
	}
	p := w.pass
	left := int64(cleanSlice)
	for left > 0 {
		io, done, err := c.m.cleanPiece(p)
		left -= io
		if done || err != nil {
			w.pass = nil
			c.ended(p, c.m.env.clk.Mono().Sub(w.began), err)
			if err != nil {
				return now.Add(cfg.Backoff)
			}
			return now
		}
		if wait := c.throttle.used(c.m.env.clk.Mono(), io, cfg.MaxIOBytesPerSecond); wait > 0 {
			return c.m.env.clk.Mono().Add(wait)
		}
		if p.l.cleanStop.Load() > 0 || c.closing.Load() {
			break
		}
	}
	return now
}

// StepCleaner is a step of a cleaner with one thread; for the simulator. Without Start only.
func (m *Manager) StepCleaner(now time.Time) (next time.Time) {
	return m.cleaner.step(&m.cleaner.single, now)
}

// cleanPiece does a piece of a pass.
func (m *Manager) cleanPiece(p *cleanPass) (io int64, done bool, err error) {
	l := p.l
	m.env.held.Add(1)
	defer func() {
		m.env.held.Add(-1)
		l.tellFailure()
	}()
	l.cleanMu.Lock()
	defer l.cleanMu.Unlock()
	if l.pass != p {
		return 0, true, errCleaningAborted
	}
	io, err = p.advance()
	if err == nil && p.stage != stageDone {
		return io, false, nil
	}
	l.pass = nil
	if err != nil {
		err = errors.Join(p.failed(err), p.discard())
	}
	return io, true, err
}

// failed takes the directory offline for an I/O error.
func (p *cleanPass) failed(err error) error {
	switch {
	case errors.Is(err, errCleaningAborted), errors.Is(err, ErrLogClosed), errors.Is(err, ErrLogDirOffline), errors.Is(err, errSegmentGone):
		return err
	case isCorrupt(err):
		return err
	}
	return p.l.failDir(err)
}

// stopCleaning ends a pass under way, if any, and keeps others away until resume is called.
func (l *Log) stopCleaning() (resume func()) {
	l.cleanStop.Add(1)
	l.cleanMu.Lock()
	l.cleanStop.Add(-1)
	l.giveUp()
	return l.cleanMu.Unlock
}

// abandon ends that pass.
func (l *Log) abandon(p *cleanPass) {
	l.cleanMu.Lock()
	defer l.cleanMu.Unlock()
	if l.pass == p {
		l.giveUp()
	}
}

func (l *Log) giveUp() {
	p := l.pass
	if p == nil {
		return
	}
	l.pass = nil
	if err := p.discard(); err != nil {
		l.env.log.Warn().Err(err).Str("dir", *l.dir.Load()).Msg("cannot remove the output of an aborted cleaning; the next start does")
	}
}

// ended notes the outcome of a pass.
func (c *cleaner) ended(p *cleanPass, took time.Duration, err error) {
	l := p.l
	p.stats.Took = took
	c.release(p)
	log := c.m.env.log.With().Str("topic", l.key.Topic).Int32("partition", l.key.Partition).Logger()
	switch {
	case err == nil:
		s := &p.stats
		l.cleanPoint.Store(s.NextDirty)
		if err := c.m.checkpointCleaner(l.where.Load()); err != nil {
			log.Error().Err(err).Msg("cannot write the cleaner's checkpoint")
		}
		log.Info().Int64("from", s.FirstDirty).Int64("to", s.NextDirty).Int64("bytes_read", s.BytesRead).Int64("bytes_written", s.BytesWritten).
			Int64("records_read", s.RecordsRead).Int64("records_kept", s.RecordsKept).Int("keys", s.Keys).Int("segments", s.Segments).Dur("took", took).
			Msg("cleaned a log")
		if s.Keyless > 0 {
			log.Warn().Int64("records", s.Keyless).Msg("removed records without a key from a compacted log")
		}
	case errors.Is(err, errCleaningAborted), errors.Is(err, ErrLogClosed), errors.Is(err, errSegmentGone):
		log.Info().Msg("cleaning of a log was aborted")
	case errors.Is(err, ErrLogDirOffline):
	default:
		l.uncleanable.Store(true)
		log.Error().Err(err).Msg("cannot clean a log; it is left alone until the next start")
	}
	c.retain(l)
}

func (c *cleaner) release(p *cleanPass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[p.l] == p {
		delete(c.busy, p.l)
	}
}

// retain enforces retention on compacted logs, one or all: it keeps away from a log that is being cleaned.
func (c *cleaner) retain(only *Log) {
	logs := []*Log{only}
	if only == nil {
		logs = c.m.Logs()
	}
	n := 0
	for _, l := range logs {
		if l.cfg.Load().CleanupCompact && !c.isBusy(l) {
			n += c.m.retainLog(l)
		}
	}
	c.m.afterRetention(n)
}

func (c *cleaner) isBusy(l *Log) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy[l] != nil
}

// CleanOptions refine CleanNow.
type CleanOptions struct {
	// Roll ends the active segment first, so that all that was written is looked at.
	Roll bool
}

// CleanNow compacts a log whatever its dirty ratio, on the calling goroutine and without the bound on I/O. A pass under way is given up
// for it. Records that are too young (min.compaction.lag.ms), not replicated or not decided stay as they are.
func (m *Manager) CleanNow(key PartitionKey, o CleanOptions) (CleanStats, error) {
	l := m.Get(key.ID, key.Partition)
	if l == nil {
		return CleanStats{}, fmt.Errorf("clean %s-%d: %w", key.Topic, key.Partition, ErrLogClosed)
	}
	if !l.cfg.Load().CleanupCompact {
		return CleanStats{}, fmt.Errorf("clean %s: its cleanup.policy is not compact", l.name())
	}
	if o.Roll {
		if err := l.rollNow(); err != nil {
			return CleanStats{}, err
		}
	}
	began := m.env.clk.Mono()
	p, err := m.cleaner.grabLog(l, m.cleaner.config())
	if err != nil || p == nil {
		return CleanStats{Nothing: true}, err
	}
	for {
		_, done, err := m.cleanPiece(p)
		if done {
			m.cleaner.ended(p, m.env.clk.Mono().Sub(began), err)
			return p.stats, err
		}
	}
}

// rollNow ends the active segment if it holds anything.
func (l *Log) rollNow() error {
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.active().size.Load() == 0 {
		return nil
	}
	err := l.activate()
	if err == nil {
		err = l.roll(l.end.Load())
	}
	return l.failDir(err)
}

// lowerCleanPoint follows a truncation: what comes after it was not cleaned.
func (l *Log) lowerCleanPoint() {
	base := l.active().base
	if l.cleanPoint.Load() <= base {
		return
	}
	l.cleanPoint.Store(base)
	if l.env.cleanPointLowered != nil {
		l.env.cleanPointLowered(l.where.Load())
	}
}

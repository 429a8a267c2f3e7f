package storage

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kaja-mq/kaja/internal/exec"
)

// dueTimes are the sweeper's next times, monotonic.
type dueTimes struct {
	checkpoint, start, hw, producers, flush time.Time
}

// Start starts the periodic work: one loop for checkpoints, file deletion, flush.ms and producer expiry, one for retention, one for
// moves between directories, and log.cleaner.threads for compaction.
func (m *Manager) Start() {
	now := m.env.clk.Mono()
	first := now.Add(m.opts.InitialTaskDelay)
	m.due = dueTimes{checkpoint: first, start: first, hw: first, producers: now.Add(m.opts.ProducerCheckInterval), flush: first}
	m.loopMu.Lock()
	defer m.loopMu.Unlock()
	m.sweeper = exec.Start(m.env.clk, m.StepSweep)
	m.mover = exec.Start(m.env.clk, m.StepMoves)
	retention := first
	loop := exec.Start(m.env.clk, func(now time.Time) time.Time {
		if now.Before(retention) {
			return retention
		}
		m.EnforceRetention()
		retention = m.env.clk.Mono().Add(m.opts.RetentionCheckInterval)
		return retention
	})
	m.loops = []*exec.Loop{m.sweeper, m.mover, loop}
	m.cleaner.start()
}

func (m *Manager) stopLoops() {
	m.loopMu.Lock()
	loops := m.loops
	m.loops = nil
	m.loopMu.Unlock()
	for _, l := range loops {
		l.Close()
	}
	m.cleaner.stop()
}

func (m *Manager) wakeSweeper() {
	m.loopMu.Lock()
	defer m.loopMu.Unlock()
	if m.sweeper != nil {
		m.sweeper.Wake()
	}
}

func (m *Manager) wakeMover() {
	m.loopMu.Lock()
	defer m.loopMu.Unlock()
	if m.mover != nil {
		m.mover.Wake()
	}
}

// StepSweep is one step of checkpoints, file deletion, flush.ms and producer expiry; for exec and the simulator.
func (m *Manager) StepSweep(now time.Time) (next time.Time) {
	var kinds checkpointKinds
	for _, c := range []struct {
		due  *time.Time
		each time.Duration
		kind checkpointKinds
	}{
		{&m.due.checkpoint, m.opts.CheckpointInterval, checkpointRecovery | checkpointCleaned},
		{&m.due.start, m.opts.StartCheckpointInterval, checkpointStart},
		{&m.due.hw, m.opts.HWCheckpointInterval, checkpointHW},
	} {
		if !now.Before(*c.due) {
			kinds |= c.kind
			*c.due = now.Add(c.each)
		}
	}
	if kinds != 0 {
		if err := m.checkpoint(kinds); err != nil {
			m.env.log.Error().Err(err).Msg("cannot write checkpoints")
		}
	}
	if !now.Before(m.due.producers) {
		m.expireProducers()
		m.due.producers = now.Add(m.opts.ProducerCheckInterval)
	}
	next = earlier(earlier(m.due.checkpoint, m.due.producers), earlier(m.due.start, m.due.hw))
	if m.opts.FlushCheckInterval > 0 {
		if !now.Before(m.due.flush) {
			m.flushDue(now)
			m.due.flush = now.Add(m.opts.FlushCheckInterval)
		}
		next = earlier(next, m.due.flush)
	}
	if at, ok := m.DeleteFiles(); ok {
		next = earlier(next, at)
	}
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (m *Manager) flushDue(now time.Time) {
	for _, l := range m.Logs() {
		if err := l.flushIfDue(now.Sub(m.env.began).Milliseconds()); err != nil && !errors.Is(err, ErrLogDirOffline) && !errors.Is(err, ErrLogClosed) {
			m.env.log.Error().Err(err).Str("topic", l.key.Topic).Int32("partition", l.key.Partition).Msg("cannot flush")
		}
	}
}

func (m *Manager) expireProducers() {
	now := m.env.nowMs()
	for _, l := range m.Logs() {
		l.mu.Lock()
		if l.producers != nil {
			l.producers.cfg.ExpirationMs = l.cfg.Load().ProducerIDExpirationMs // may have changed
			l.producers.removeExpired(now)
		}
		l.unlock()
	}
}

// EnforceRetention deletes old segments of all logs now, and reports how many.
func (m *Manager) EnforceRetention() int {
	total := 0
	for _, l := range m.Logs() {
		if !m.cleaner.isBusy(l) { // else the cleaner does it after its pass
			total += m.retainLog(l)
		}
	}
	m.afterRetention(total)
	return total
}

// retainLog deletes old segments of a log, and reports how many.
func (m *Manager) retainLog(l *Log) int {
	n, err := l.enforceRetention(m.knownHW(l))
	if err != nil && !errors.Is(err, ErrLogDirOffline) && !errors.Is(err, ErrLogClosed) {
		m.env.log.Error().Err(err).Str("topic", l.key.Topic).Int32("partition", l.key.Partition).Msg("cannot enforce retention")
	}
	if n > 0 {
		m.env.log.Info().Str("topic", l.key.Topic).Int32("partition", l.key.Partition).Int("segments", n).
			Int64("log_start", l.LogStartOffset()).Msg("deleted old segments")
	}
	return n
}

// afterRetention writes the checkpoints if anything was deleted.
func (m *Manager) afterRetention(deleted int) {
	if deleted == 0 {
		return
	}
	if err := m.Checkpoint(); err != nil {
		m.env.log.Error().Err(err).Msg("cannot write checkpoints")
	}
}

// DeleteFiles removes files and directories whose file.delete.delay.ms has passed, and tells when the next one is due.
func (m *Manager) DeleteFiles() (next time.Time, ok bool) {
	now := m.env.monoMs()
	nextMs := int64(math.MaxInt64)
	m.mu.Lock()
	var due []removal
	keep := m.removals[:0]
	for _, r := range m.removals {
		if r.atMs <= now {
			due = append(due, r)
			continue
		}
		keep = append(keep, r)
		nextMs = min(nextMs, r.atMs)
	}
	m.removals = keep
	m.mu.Unlock()
	for _, r := range due {
		if r.d.offline.Load() {
			continue
		}
		if err := m.env.fs.RemoveAll(r.path); err != nil {
			r.d.fail(fmt.Errorf("delete log directory: %w", err))
			m.env.failed.Store(true)
			m.reportFailures()
		}
	}
	for _, l := range m.Logs() {
		if !l.hasRetired.Load() {
			continue
		}
		l.mu.Lock()
		if l.usable() == nil {
			_ = l.failDir(l.deleteRetired(now)) // the directory is offline then; its owner hears of it
		}
		if at, ok := l.nextRetired(); ok {
			nextMs = min(nextMs, at)
		}
		l.hasRetired.Store(len(l.retired) > 0)
		l.unlock()
	}
	if nextMs == math.MaxInt64 {
		return next, false
	}
	return m.env.instant(nextMs), true
}

// makeCheckpointFiles makes those that Kafka always has.
func (m *Manager) makeCheckpointFiles() error {
	for _, d := range m.dirs {
		if d.offline.Load() {
			continue
		}
		for _, name := range []string{recoveryPointFile, logStartFile, highWatermarkFile, cleanerCheckpointFile} {
			p := join(d.path, name)
			_, err := m.env.fs.Stat(p)
			if isNotExist(err) {
				err = m.env.fs.WriteFile(p, nil) // empty, as Kafka makes them
			}
			if err != nil {
				d.fail(fmt.Errorf("make %s: %w", name, err))
				m.env.failed.Store(true)
				break
			}
		}
	}
	if m.online() == 0 {
		return fmt.Errorf("no log directory can be used: %w", m.firstFailure())
	}
	return nil
}

// checkpointKinds are some of a directory's checkpoint files.
type checkpointKinds uint8

const (
	checkpointRecovery checkpointKinds = 1 << iota
	checkpointStart
	checkpointHW
	checkpointCleaned

	checkpointAll = checkpointRecovery | checkpointStart | checkpointHW | checkpointCleaned
)

// Checkpoint writes recovery points, log starts, high watermarks and cleaned offsets of all directories, where they have changed.
func (m *Manager) Checkpoint() error { return m.checkpoint(checkpointAll) }

func (m *Manager) checkpoint(kinds checkpointKinds) error { return m.checkpointDirs(m.dirs, kinds) }

func (m *Manager) checkpointDirs(dirs []*logDir, kinds checkpointKinds) error {
	m.checkpointMu.Lock()
	defer m.checkpointMu.Unlock()
	logs := m.Logs()
	var errs error
	for _, d := range dirs {
		if d.offline.Load() {
			continue
		}
		if err := m.checkpointDir(d, logs, kinds); err != nil {
			d.fail(err)
			m.env.failed.Store(true)
			errs = errors.Join(errs, err)
		}
	}
	if errs != nil {
		m.reportFailures()
	}
	return errs
}

// checkpointCleaner writes how far the logs of a directory are cleaned.
func (m *Manager) checkpointCleaner(d *logDir) error {
	return m.checkpointDirs([]*logDir{d}, checkpointCleaned)
}

func (m *Manager) cleanPointLowered(d *logDir) {
	if err := m.checkpointCleaner(d); err != nil {
		m.env.log.Error().Err(err).Str("dir", d.path).Msg("cannot write the cleaner's checkpoint")
	}
}

func (m *Manager) checkpointDir(d *logDir, logs []*Log, kinds checkpointKinds) error {
	recovery, start, hw, cleaned := map[topicPartition]int64{}, map[topicPartition]int64{}, map[topicPartition]int64{}, map[topicPartition]int64{}
	for _, l := range logs {
		if l.where.Load() != d {
			continue
		}
		tp := topicPartition{l.key.Topic, l.key.Partition}
		recovery[tp] = l.recovery.Load()
		if s := l.start.Load(); s > l.segments()[0].base {
			start[tp] = s // else the first segment says it
		}
		if c := l.cleanPoint.Load(); c >= 0 {
			cleaned[tp] = c
		}
		if kinds&checkpointHW != 0 {
			hw[tp] = m.knownHW(l)
		}
	}
	// The log start is written before the recovery point: one that lags is repaired by retention, the order matters to nobody else.
	for _, f := range []struct {
		kind checkpointKinds
		name string
		m    map[topicPartition]int64
	}{{checkpointStart, logStartFile, start}, {checkpointRecovery, recoveryPointFile, recovery}, {checkpointHW, highWatermarkFile, hw},
		{checkpointCleaned, cleanerCheckpointFile, cleaned}} {
		p := join(d.path, f.name)
		if kinds&f.kind == 0 || len(f.m) == 0 && f.kind == checkpointCleaned && m.written[p] == "" {
			continue // an empty file of the cleaner says that nothing was cleaned
		}
		data := formatOffsetCheckpoint(f.m)
		if m.written[p] == string(data) {
			continue
		}
		if err := replaceFile(m.env.fs, p, data); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		m.written[p] = string(data)
	}
	return nil
}

package storage

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// moveChunk is how many bytes of a log one step copies: small enough that steps of several moves take turns.
	moveChunk = 1 << 20
	// moveFinal is how many bytes may be missing when the swap begins: they are copied while appends wait.
	moveFinal = 256 << 10
)

// move is a copy of a log on its way to another directory (AlterReplicaLogDirs), in a directory with the suffix -future. Its log
// follows by batches as they are and takes the place of the other when it has all.
type move struct {
	log   *Log
	epoch int64 // of the source when copying began: a truncation there starts the copy over
	begun bool
}

// MoveDir begins to move a log to another directory; the work is done by Start's loop. The directory it is in already ends a move
// under way.
func (m *Manager) MoveDir(key PartitionKey, dir string) error {
	m.changeMu.Lock()
	defer m.changeMu.Unlock()
	tp := topicPartition{key.Topic, key.Partition}
	src := m.Get(key.ID, key.Partition)
	if src == nil {
		return fmt.Errorf("move %s-%d: %w", key.Topic, key.Partition, ErrLogClosed)
	}
	d, err := m.chooseDir(dir)
	if err != nil {
		return err
	}
	m.mu.RLock()
	mv := m.moves[tp]
	m.mu.RUnlock()
	if mv != nil {
		if mv.log.where.Load() == d {
			return nil
		}
		m.cancelMove(tp)
	}
	if src.where.Load() == d {
		return nil
	}
	full := join(d.path, dirNameWithSuffix(key.Topic, key.Partition, newUUID(), futureDirSuffix))
	l := newLog(m.env, d, full, key, src.cfg.Load())
	err = m.env.fs.MkdirAll(full)
	if err == nil {
		err = writePartitionMetadata(m.env.fs, full, key.ID)
	}
	if err == nil {
		err = l.load(loadState{logStart: src.start.Load()})
	}
	if err != nil {
		err = l.failDir(fmt.Errorf("begin move of %s to %s: %w", l.name(), d.path, err))
		l.tellFailure()
		return err
	}
	m.mu.Lock()
	m.moves[tp] = &move{log: l}
	m.mu.Unlock()
	m.wakeMover()
	return nil
}

// FutureLag tells the directory that a log is moving to and how many offsets are missing there.
func (m *Manager) FutureLag(key PartitionKey) (dir string, lag int64, ok bool) {
	f, src := m.Future(key), m.Get(key.ID, key.Partition)
	if f == nil {
		return "", 0, false
	}
	if src != nil {
		lag = max(src.LogEndOffset()-f.LogEndOffset(), 0)
	}
	return f.Dir(), lag, true
}

// Future is the copy of a log that is moving, nil when it is not.
func (m *Manager) Future(key PartitionKey) *Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if mv := m.moves[topicPartition{key.Topic, key.Partition}]; mv != nil {
		return mv.log
	}
	return nil
}

// cancelMove ends a move and deletes the copy.
func (m *Manager) cancelMove(tp topicPartition) {
	m.mu.Lock()
	mv := m.moves[tp]
	delete(m.moves, tp)
	m.mu.Unlock()
	if mv == nil {
		return
	}
	if err := m.discard(mv.log); err != nil {
		m.env.log.Error().Err(err).Str("dir", *mv.log.dir.Load()).Msg("cannot discard a copy of a log")
	}
}

// discard closes a log and queues its directory for removal.
func (m *Manager) discard(l *Log) error {
	d := l.where.Load()
	l.close()
	if d.offline.Load() {
		return nil
	}
	to := join(d.path, dirNameWithSuffix(l.key.Topic, l.key.Partition, newUUID(), deleteDirSuffix))
	if err := m.env.fs.Rename(*l.dir.Load(), to); err != nil {
		return err
	}
	m.queueRemoval(d, to, m.env.monoMs())
	m.wakeSweeper()
	return nil
}

// StepMoves copies a chunk of every log that moves, and swaps those that are complete; for exec and the simulator.
func (m *Manager) StepMoves(now time.Time) (next time.Time) {
	m.mu.RLock()
	moves := make(map[topicPartition]*move, len(m.moves))
	for tp, mv := range m.moves {
		moves[tp] = mv
	}
	m.mu.RUnlock()
	for tp, mv := range moves {
		done, err := m.stepMove(tp, mv)
		if err != nil {
			if !errors.Is(err, ErrLogDirOffline) && !errors.Is(err, ErrLogClosed) {
				m.env.log.Error().Err(err).Str("topic", tp.topic).Int32("partition", tp.partition).Msg("cannot move a log between directories")
			}
			m.changeMu.Lock()
			m.cancelMove(tp)
			m.changeMu.Unlock()
			continue
		}
		if !done {
			next = now // at once: more to copy
		} else if l := m.Get(mv.log.key.ID, tp.partition); l != nil && l.where.Load() == mv.log.where.Load() && m.opts.OnMoved != nil {
			m.opts.OnMoved(l.key)
		}
	}
	return next
}

// stepMove brings one move forward.
func (m *Manager) stepMove(tp topicPartition, mv *move) (done bool, err error) {
	src := m.Get(mv.log.key.ID, tp.partition)
	if src == nil {
		return true, fmt.Errorf("the log is gone: %w", ErrLogClosed)
	}
	left, err := m.copyChunk(src, mv)
	if err != nil || left > moveFinal {
		return false, err
	}
	if err := mv.log.Flush(); err != nil {
		return false, err
	}
	m.changeMu.Lock()
	defer m.changeMu.Unlock()
	m.mu.RLock()
	current := m.moves[tp] == mv
	m.mu.RUnlock()
	if !current {
		return true, nil
	}
	return true, m.swap(src, mv, tp)
}

// copyChunk copies what fits into a chunk, and tells how many bytes are missing afterwards.
func (m *Manager) copyChunk(src *Log, mv *move) (left int64, err error) {
	f := mv.log
	src.mu.Lock()
	epoch := src.epoch
	src.mu.Unlock()
	start := src.LogStartOffset()
	if !mv.begun || mv.epoch != epoch {
		restart := mv.begun || f.LogEndOffset() > src.LogEndOffset() || f.LogEndOffset() < start
		mv.epoch, mv.begun = epoch, true
		if restart {
			if err := f.TruncateFullyAndStartAt(start); err != nil {
				return 0, err
			}
		}
	}
	if f.LogEndOffset() < start { // retention went past the copy
		return moveFinal + 1, f.TruncateFullyAndStartAt(start)
	}
	for copied := 0; copied < moveChunk; {
		n, err := copyRange(src, f)
		if err != nil || n == 0 {
			return 0, err
		}
		copied += n
	}
	return src.BytesBetween(f.LogEndOffset(), src.LogEndOffset()), nil
}

// copyRange copies what one read gives, and tells how many bytes; 0 when nothing is missing.
func copyRange(src, f *Log) (int, error) {
	at := f.LogEndOffset()
	if at >= src.LogEndOffset() {
		return 0, nil
	}
	res, err := src.Read(ReadOptions{Offset: at, MaxBytes: moveChunk, UpTo: src.LogEndOffset(), MinOne: true})
	if err != nil || res.Range == nil {
		return 0, err
	}
	data := make([]byte, res.Range.Len())
	_, err = res.Range.ReadAt(data, 0)
	res.Range.Release()
	if err != nil {
		return 0, fmt.Errorf("read %s at offset %d: %w", src.name(), at, err)
	}
	if _, err := f.Append(data, AppendOptions{Origin: OriginReplication, LeaderEpoch: math.MaxInt32, Verified: true}); err != nil {
		return 0, err
	}
	if f.LogEndOffset() == at {
		return 0, fmt.Errorf("copy of %s makes no progress at offset %d", src.name(), at)
	}
	return len(data), nil
}

// swap copies the rest while appends wait, gives the copy the log's place and name, and the old directory the suffix -delete.
// Callers of the log keep their pointer: its inside changes.
func (m *Manager) swap(src *Log, mv *move, tp topicPartition) error {
	f := mv.log
	defer src.stopCleaning()()
	m.env.held.Add(1)
	defer func() {
		m.env.held.Add(-1)
		src.tellFailure()
	}()
	src.syncMu.Lock()
	defer src.syncMu.Unlock()
	src.mu.Lock()
	if mv.epoch != src.epoch || src.usable() != nil {
		src.unlock()
		return nil
	}
	for n := 1; n > 0; {
		var err error
		if n, err = copyRange(src, f); err != nil {
			src.unlock()
			return err
		}
	}
	err := f.Flush()
	if err == nil {
		err = f.activate() // an empty copy has no producer state yet
	}
	if err != nil {
		src.unlock()
		return err
	}
	old, oldDir, oldSegs, oldRetired := src.where.Load(), *src.dir.Load(), src.segments(), src.retired
	gone := join(old.path, dirNameWithSuffix(src.key.Topic, src.key.Partition, newUUID(), deleteDirSuffix))
	final := join(f.where.Load().path, dirName(src.key.Topic, src.key.Partition))
	if err = m.renameForSwap(src, f, oldDir, gone, final); err == nil {
		src.become(f, final)
	}
	src.unlock()
	if err != nil {
		return err
	}
	m.mu.Lock()
	delete(m.moves, tp)
	m.mu.Unlock()
	for _, s := range oldSegs {
		src.drop(s)
	}
	for _, r := range oldRetired {
		src.drop(r.s)
	}
	m.queueRemoval(old, gone, m.env.monoMs()+src.cfg.Load().FileDeleteDelayMs)
	m.wakeSweeper()
	m.env.log.Info().Str("topic", tp.topic).Int32("partition", tp.partition).Str("dir", final).Msg("moved a log")
	return m.Checkpoint()
}

// renameForSwap names the copy first, so that at no time the log is only in a directory that is about to be deleted; a crash in
// between leaves two directories of one name, of which the next start keeps the longer log.
func (m *Manager) renameForSwap(src, f *Log, oldDir, gone, final string) error {
	fs := m.env.fs
	if err := fs.Rename(*f.dir.Load(), final); err != nil {
		return f.failDir(fmt.Errorf("move %s: %w", src.name(), err))
	}
	if err := fs.SyncDir(f.where.Load().path); err != nil {
		return f.failDir(fmt.Errorf("move %s: %w", src.name(), err))
	}
	if err := fs.Rename(oldDir, gone); err != nil {
		return src.failDir(fmt.Errorf("move %s: %w", src.name(), err))
	}
	if err := fs.SyncDir(src.where.Load().path); err != nil {
		return src.failDir(fmt.Errorf("move %s: %w", src.name(), err))
	}
	return nil
}

// become takes over the inside of another log, whose directory is dir now; both are locked or private.
func (l *Log) become(f *Log, dir string) {
	f.setPath(dir)
	l.where.Swap(f.where.Load()).logs.Add(-1)
	f.where.Load().logs.Add(1)
	l.dir.Store(&dir)
	l.setSegments(f.segments())
	l.tail.Store(f.tail.Load())
	l.act, l.producers, l.epochs, l.retired = f.act, f.producers, f.epochs, f.retired
	l.producersLoaded.Store(true)
	l.dirSynced, l.born, l.changed = false, false, true
	l.end.Store(f.end.Load())
	l.recovery.Store(f.recovery.Load())
	if l.start.Load() < l.segments()[0].base {
		l.start.Store(l.segments()[0].base)
	}
	l.epoch++
	l.uncleanable.Store(false) // its files are others
	l.updateUnstable()
}

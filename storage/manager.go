package storage

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kaja-mq/kaja/internal/exec"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// idKey finds a log by its topic's identity.
type idKey struct {
	id        TopicID
	partition int32
}

// Manager owns the log directories and the logs in them.
//
// Lock order: changeMu, mu, then a log's locks. changeMu lets one creation, deletion or move of logs happen at a time; mu guards the maps.
type Manager struct {
	opts      Options
	env       *env
	dirs      []*logDir
	metaDir   *logDir // metadata.log.dir if it is none of dirs: identified and locked, the controller's otherwise
	clusterID string
	hwSource  atomic.Pointer[func(*Log) int64]

	recoveryThreads atomic.Int32

	changeMu sync.Mutex
	mu       sync.RWMutex
	byName   map[topicPartition]*Log  // guarded by mu
	byTopic  map[string][]*Log        // guarded by mu
	byID     map[idKey]*Log           // guarded by mu
	moves    map[topicPartition]*move // guarded by mu
	configs  map[LogConfig]*LogConfig // guarded by mu: logs of equal settings share them
	removals []removal                // guarded by mu
	closed   bool                     // guarded by mu

	checkpointMu sync.Mutex
	written      map[string]string // guarded by checkpointMu: what each checkpoint file says

	loops   []*exec.Loop
	sweeper *exec.Loop // file deletion and checkpoints; woken by wake
	mover   *exec.Loop
	loopMu  sync.Mutex // guards the loops' pointers against wake before Start
	due     dueTimes   // owned by the sweeper's steps
	cleaner *cleaner
}

// removal is a partition's directory that waits for file.delete.delay.ms.
type removal struct {
	d    *logDir
	path string
	atMs int64 // monotonic
}

// Open makes, locks and checks the log directories and loads what they hold; after an unclean stop it repairs it. A directory that
// fails is offline, and the others go on; it is an error when none is left.
func Open(o Options) (*Manager, error) {
	o = o.withDefaults()
	m := &Manager{
		opts:    o,
		env:     newEnv(o.FS, o.Clock, o.Log, o.MaxOpenSegments),
		byName:  map[topicPartition]*Log{},
		byTopic: map[string][]*Log{},
		byID:    map[idKey]*Log{},
		moves:   map[topicPartition]*move{},
		configs: map[LogConfig]*LogConfig{},
		written: map[string]string{},
	}
	m.recoveryThreads.Store(int32(o.RecoveryThreads))
	m.env.report = m.reportFailures
	m.env.wake = m.wakeSweeper
	m.env.cleanPointLowered = m.cleanPointLowered
	m.cleaner = newCleaner(m)
	err := m.openDirs()
	if err == nil {
		err = m.loadDirs()
	}
	if err == nil {
		err = m.makeCheckpointFiles()
	}
	if err != nil {
		return nil, errors.Join(err, m.unlockDirs())
	}
	m.reportFailures()
	return m, nil
}

func (o Options) withDefaults() Options {
	if o.CheckpointInterval == 0 {
		o.CheckpointInterval = DefaultCheckpointInterval
	}
	if o.StartCheckpointInterval == 0 {
		o.StartCheckpointInterval = DefaultCheckpointInterval
	}
	if o.HWCheckpointInterval == 0 {
		o.HWCheckpointInterval = DefaultHWCheckpointInterval
	}
	if o.RetentionCheckInterval == 0 {
		o.RetentionCheckInterval = DefaultRetentionCheckInterval
	}
	if o.InitialTaskDelay == 0 {
		o.InitialTaskDelay = DefaultInitialTaskDelay
	}
	if o.ProducerCheckInterval == 0 {
		o.ProducerCheckInterval = DefaultProducerCheckInterval
	}
	if o.MaxOpenSegments == 0 {
		o.MaxOpenSegments = DefaultMaxOpenSegments
		if n := vfs.OpenFileLimit(); n > 0 {
			o.MaxOpenSegments = max(min(n/openFilesPerSegment, DefaultMaxOpenSegments), minOpenSegments)
		}
	}
	return o
}

// reportFailures tells of directories that went offline, and closes what is open there; called without locks.
func (m *Manager) reportFailures() {
	m.env.failed.Store(false)
	for _, d := range m.dirs {
		if !d.offline.Load() {
			continue
		}
		err, first := d.tell()
		if !first {
			continue
		}
		m.env.log.Error().Err(err).Str("dir", d.path).Msg("log directory is offline")
		for _, l := range m.Logs() {
			if l.where.Load() != d {
				continue
			}
			for _, s := range l.segments() {
				if f := s.files.Load(); f != nil {
					m.env.handles.Drop(&f.Handle)
				}
			}
		}
		if m.opts.OnDirFailure != nil {
			m.opts.OnDirFailure(d.path, err)
		}
	}
}

// ClosedCleanly tells whether all log directories had been closed in good order, or were new.
func (m *Manager) ClosedCleanly() bool {
	for _, d := range m.dirs {
		if d.unclean || d.offline.Load() {
			return false
		}
	}
	return true
}

// ClusterID is what meta.properties has.
func (m *Manager) ClusterID() string { return m.clusterID }

// DirIDs are the directory ids by path, of directories that work.
func (m *Manager) DirIDs() map[string][16]byte {
	out := map[string][16]byte{}
	for _, d := range m.dirs {
		if !d.offline.Load() {
			out[d.path] = d.id
		}
	}
	return out
}

// Dirs tells about the directories in the order of Options.Dirs.
func (m *Manager) Dirs() []DirInfo {
	out := make([]DirInfo, 0, len(m.dirs))
	for _, d := range m.dirs {
		i := DirInfo{Path: d.path, ID: d.id, Online: !d.offline.Load(), Total: -1, Usable: -1}
		if i.Online {
			if total, usable, err := m.env.fs.Space(d.path); err == nil {
				i.Total, i.Usable = total, usable
			}
		}
		out = append(out, i)
	}
	return out
}

// config is a log's configuration, shared between equal ones.
func (m *Manager) config(key PartitionKey) *LogConfig {
	var cfg LogConfig
	if m.opts.ConfigOf != nil {
		cfg = m.opts.ConfigOf(key.Topic, key.ID)
	} else {
		cfg = m.opts.Defaults()
	}
	return m.shareConfig(cfg)
}

func (m *Manager) shareConfig(cfg LogConfig) *LogConfig {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.configs[cfg]; p != nil {
		return p
	}
	m.configs[cfg] = &cfg
	return &cfg
}

// ConfigChanged gives the logs of a topic a new configuration.
func (m *Manager) ConfigChanged(topic string, cfg LogConfig) {
	p := m.shareConfig(cfg)
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, l := range m.byTopic[topic] {
		l.cfg.Store(p)
	}
	for tp, mv := range m.moves {
		if tp.topic == topic {
			mv.log.cfg.Store(p)
		}
	}
}

// ReloadConfigs asks ConfigOf (or Defaults) again for every log: when broker-wide defaults have changed.
func (m *Manager) ReloadConfigs() {
	for _, l := range m.Logs() {
		l.cfg.Store(m.config(l.key))
	}
}

// SetRecoveryThreads changes how many logs of a directory are finished at a time when the manager closes.
func (m *Manager) SetRecoveryThreads(n int) { m.recoveryThreads.Store(int32(n)) }

// RecoveryThreads is what SetRecoveryThreads said last.
func (m *Manager) RecoveryThreads() int { return int(m.recoveryThreads.Load()) }

// Get gives a log, nil when there is none.
func (m *Manager) Get(id TopicID, partition int32) *Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.byID[idKey{id, partition}]
}

// Logs lists all, in no order.
func (m *Manager) Logs() []*Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([]*Log, 0, len(m.byName))
	for _, l := range m.byName {
		out = append(out, l)
	}
	return out
}

// SetHWSource says where checkpoints and retention take high watermarks from; without it, what OnHighWatermark told.
func (m *Manager) SetHWSource(f func(*Log) int64) { m.hwSource.Store(&f) }

// highWatermark is the log's, -1 when nobody has told one.
func (m *Manager) highWatermark(l *Log) int64 {
	if f := m.hwSource.Load(); f != nil {
		return (*f)(l)
	}
	return l.hwNow.Load()
}

// Create makes a log, or gives the one that is there. dir "" takes the directory with the fewest logs. A directory of the same name
// that belongs to another topic id is put aside as -stray. Nothing is synced: the cluster metadata is the truth about which logs
// there are.
func (m *Manager) Create(key PartitionKey, dir string) (*Log, error) {
	m.changeMu.Lock()
	defer m.changeMu.Unlock()
	tp := topicPartition{key.Topic, key.Partition}
	m.mu.RLock()
	l, closed := m.byName[tp], m.closed
	m.mu.RUnlock()
	if closed {
		return nil, ErrLogClosed
	}
	if l != nil {
		if l.key.ID == key.ID {
			return l, l.usableOrNil()
		}
		if l.key.ID == (TopicID{}) {
			return l, m.adoptID(l, key)
		}
		m.env.log.Warn().Str("dir", *l.dir.Load()).Str("topic_id", uuidString(l.key.ID)).Str("wanted", uuidString(key.ID)).
			Msg("a log of another topic id is in the way")
		if err := m.putAside(l, strayDirSuffix); err != nil {
			return nil, err
		}
	}
	d, err := m.chooseDir(dir)
	if err != nil {
		return nil, err
	}
	return m.create(d, key)
}

func (l *Log) usableOrNil() error {
	if l.where.Load().offline.Load() {
		return ErrLogDirOffline
	}
	return nil
}

func (m *Manager) create(d *logDir, key PartitionKey) (*Log, error) {
	dir := join(d.path, dirName(key.Topic, key.Partition))
	l := newLog(m.env, d, dir, key, m.config(key))
	err := m.env.fs.MkdirAll(dir)
	if err == nil {
		err = writePartitionMetadata(m.env.fs, dir, key.ID)
	}
	if err == nil {
		err = l.load(loadState{})
	}
	if err != nil {
		err = l.failDir(fmt.Errorf("create log %s: %w", dir, err))
		l.tellFailure()
		return nil, err
	}
	l.producersLoaded.Store(l.end.Load() == 0) // an empty log knows no producers
	m.put(l)
	return l, nil
}

func (m *Manager) put(l *Log) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putLocked(l)
}

func (m *Manager) putLocked(l *Log) {
	m.byName[topicPartition{l.key.Topic, l.key.Partition}] = l
	m.byID[idKey{l.key.ID, l.key.Partition}] = l
	m.byTopic[l.key.Topic] = append(m.byTopic[l.key.Topic], l)
	l.where.Load().logs.Add(1)
}

func (m *Manager) take(l *Log) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.takeLocked(l)
}

func (m *Manager) takeLocked(l *Log) {
	delete(m.byName, topicPartition{l.key.Topic, l.key.Partition})
	delete(m.byID, idKey{l.key.ID, l.key.Partition})
	rest := slices.DeleteFunc(m.byTopic[l.key.Topic], func(o *Log) bool { return o == l })
	if len(rest) == 0 {
		delete(m.byTopic, l.key.Topic)
	} else {
		m.byTopic[l.key.Topic] = rest
	}
	l.where.Load().logs.Add(-1)
}

// adoptID gives a log whose partition.metadata was lost the id that the cluster knows.
func (m *Manager) adoptID(l *Log, key PartitionKey) error {
	if err := l.usableOrNil(); err != nil {
		return err
	}
	if err := writePartitionMetadata(m.env.fs, *l.dir.Load(), key.ID); err != nil {
		err = l.failDir(fmt.Errorf("write topic id of %s: %w", l.name(), err))
		l.tellFailure()
		return err
	}
	m.take(l)
	l.key = key
	m.put(l)
	return nil
}

// chooseDir is the named directory, or the one with the fewest logs (Kafka's rule).
func (m *Manager) chooseDir(dir string) (*logDir, error) {
	if dir != "" {
		dir = path.Clean(dir)
	}
	var best *logDir
	for _, d := range m.dirs {
		if dir != "" && d.path != dir {
			continue
		}
		if !d.offline.Load() && (best == nil || d.logs.Load() < best.logs.Load()) {
			best = d
		}
	}
	if best == nil {
		return nil, ErrLogDirOffline
	}
	return best, nil
}

// Delete takes a log out; its directory gets the suffix -delete and goes after file.delete.delay.ms. Readers under way go on. A key
// that is not there is deleted.
func (m *Manager) Delete(key PartitionKey) error {
	m.changeMu.Lock()
	defer m.changeMu.Unlock()
	l := m.Get(key.ID, key.Partition)
	m.cancelMove(topicPartition{key.Topic, key.Partition})
	if l == nil {
		return nil
	}
	return m.putAside(l, deleteDirSuffix)
}

// putAside closes a log and renames its directory.
func (m *Manager) putAside(l *Log, suffix string) error {
	m.take(l)
	d := l.where.Load()
	delay := l.cfg.Load().FileDeleteDelayMs
	l.close()
	if d.offline.Load() {
		return nil // found at the next start, when the metadata says that it is not known
	}
	from := *l.dir.Load()
	to := join(d.path, dirNameWithSuffix(l.key.Topic, l.key.Partition, newUUID(), suffix))
	if err := m.env.fs.Rename(from, to); err != nil {
		if isNotExist(err) {
			return nil
		}
		err = l.failDir(fmt.Errorf("rename log directory: %w", err))
		l.tellFailure()
		return err
	}
	if suffix == deleteDirSuffix {
		m.queueRemoval(d, to, m.env.monoMs()+delay)
		m.wakeSweeper()
	}
	return nil
}

func (m *Manager) queueRemoval(d *logDir, path string, atMs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removals = append(m.removals, removal{d, path, atMs})
}

// Reconcile puts aside, as -stray, the logs that the cluster does not know: topics deleted while the broker was away. Call it once after
// start, when the metadata is loaded.
func (m *Manager) Reconcile(known func(topic string, id TopicID, partition int32) bool) error {
	m.changeMu.Lock()
	defer m.changeMu.Unlock()
	var errs error
	for _, l := range m.Logs() {
		if known(l.key.Topic, l.key.ID, l.key.Partition) {
			continue
		}
		m.env.log.Warn().Str("dir", *l.dir.Load()).Msg("a log that the cluster does not know becomes stray")
		errs = errors.Join(errs, m.putAside(l, strayDirSuffix))
	}
	return errs
}

// Close ends the periodic work and closes all logs: flushed, with their indexes, snapshots and checkpoints written, and the mark of
// a clean stop in each directory where all that succeeded.
func (m *Manager) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.mu.Unlock()
	m.stopLoops()
	m.env.wg.Wait()
	m.changeMu.Lock()
	defer m.changeMu.Unlock()
	errs := m.closeLogs()
	m.env.wg.Wait()
	errs = errors.Join(errs, m.Checkpoint())
	epoch := int64(noBrokerEpoch)
	if m.opts.BrokerEpoch != nil {
		epoch = m.opts.BrokerEpoch()
	}
	for _, d := range m.dirs {
		if d.offline.Load() {
			continue
		}
		if err := writeCleanShutdown(m.env.fs, d.path, cleanShutdown{Segments: m.segmentEnds(d), BrokerEpoch: epoch}); err != nil {
			errs = errors.Join(errs, fmt.Errorf("write %s: %w", cleanShutdownFile, err))
		}
	}
	m.reportFailures()
	return errors.Join(errs, m.unlockDirs())
}

// segmentEnds tells how the last segments of a directory's logs are left.
func (m *Manager) segmentEnds(d *logDir) map[string][2]int64 {
	ends := map[string][2]int64{}
	for _, l := range m.Logs() {
		if l.where.Load() == d {
			s := l.active()
			ends[l.name()] = [2]int64{s.base, s.size.Load()}
		}
	}
	return ends
}

// volumeSyncLogs is from how many changed logs on one sync of the whole volume is taken instead of several for each log. Other
// programs' dirty pages are synced with it, which for few logs would be a bad bargain.
const volumeSyncLogs = 16

// closeLogs closes all logs, several at a time: their syncs wait for the disk together.
func (m *Manager) closeLogs() error {
	logs := m.Logs()
	m.mu.RLock()
	for _, mv := range m.moves {
		logs = append(logs, mv.log)
	}
	m.mu.RUnlock()
	var changed []*Log
	for _, l := range logs {
		if l.needsFinish() {
			changed = append(changed, l)
		}
	}
	mode := syncEach
	volume, ok := m.env.fs.(vfs.VolumeSyncer)
	if ok && len(changed) >= volumeSyncLogs {
		mode = syncVolume
	}
	errs := m.forEach(changed, func(l *Log) error { return l.finish(mode) })
	if mode == syncVolume {
		errs = errors.Join(errs, m.syncVolumes(volume, changed))
	}
	for _, l := range logs {
		l.close()
	}
	return errs
}

// syncVolumes makes all that finish wrote durable, and says so in the logs' recovery points.
func (m *Manager) syncVolumes(volume vfs.VolumeSyncer, changed []*Log) error {
	var errs error
	for _, d := range m.dirs {
		if d.offline.Load() {
			continue
		}
		if err := volume.SyncVolume(d.path); err != nil {
			d.fail(fmt.Errorf("sync log directory: %w", err))
			m.env.failed.Store(true)
			errs = errors.Join(errs, err)
		}
	}
	for _, l := range changed {
		if !l.where.Load().offline.Load() {
			l.recovery.Store(l.end.Load())
		}
	}
	return errs
}

// closeWorkers is how many logs of a directory are finished at a time, for each recovery thread.
const closeWorkers = 4

// forEach runs f for all logs on a few goroutines, and joins them.
func (m *Manager) forEach(logs []*Log, f func(*Log) error) error {
	work := make(chan *Log)
	errs := make([]error, max(m.RecoveryThreads(), 1)*max(len(m.dirs), 1)*closeWorkers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for l := range work {
				errs[i] = errors.Join(errs[i], f(l))
			}
		}()
	}
	for _, l := range logs {
		work <- l
	}
	close(work)
	wg.Wait()
	return errors.Join(errs...)
}

func (m *Manager) unlockDirs() error {
	var errs error
	for _, d := range m.identified() {
		if d.lock != nil {
			errs = errors.Join(errs, d.lock.Close())
			d.lock = nil
		}
	}
	return errs
}

func isLocked(err error) bool { return errors.Is(err, vfs.ErrLocked) }

package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kaja-mq/kaja/internal/vfs"
)

func parentDir(dir string) string { return path.Dir(dir) }

// tell gives the reason why the directory is offline; first is true once.
func (d *logDir) tell() (err error, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil || d.told {
		return d.err, false
	}
	d.told = true
	return d.err, true
}

// newUUID makes an id as Kafka's Uuid.randomUuid does: version 4, not one of the reserved ones, not spelled with a leading dash.
func newUUID() [16]byte {
	for {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !strings.HasPrefix(uuidString(id), "-") {
			return id
		}
	}
}

// openDirs makes and locks the log directories, and reads or writes what they say about themselves. One that cannot be used for an I/O
// reason is offline; one that is locked, or belongs to another cluster or node, is an error.
func (m *Manager) openDirs() error {
	var failed error
	seen := map[string]bool{}
	for _, p := range m.opts.Dirs {
		p = path.Clean(p)
		if seen[p] {
			return fmt.Errorf("log directory %s is named twice", p)
		}
		seen[p] = true
		d := &logDir{path: p}
		m.dirs = append(m.dirs, d)
		if err := m.openDir(d); err != nil {
			var wrong *WrongDirError
			if errors.As(err, &wrong) {
				return err
			}
			m.env.log.Error().Err(err).Str("dir", p).Msg("log directory cannot be used")
			d.fail(err)
			m.env.failed.Store(true)
			failed = errors.Join(failed, err)
		}
	}
	if m.online() == 0 {
		return fmt.Errorf("no log directory can be used: %w", failed)
	}
	if p := path.Clean(m.opts.MetadataDir); m.opts.MetadataDir != "" && !seen[p] {
		m.metaDir = &logDir{path: p}
		if err := m.openDir(m.metaDir); err != nil {
			return fmt.Errorf("metadata directory: %w", err)
		}
	}
	return m.identify()
}

// identified are all directories with a meta.properties.
func (m *Manager) identified() []*logDir {
	if m.metaDir == nil {
		return m.dirs
	}
	return append(slices.Clip(m.dirs), m.metaDir)
}

// A WrongDirError is a log directory that must not be used by this broker.
type WrongDirError struct {
	Dir    string
	Reason string
	Err    error
}

// Error implements error.
func (e *WrongDirError) Error() string { return fmt.Sprintf("log directory %s %s", e.Dir, e.Reason) }

// Unwrap gives the cause.
func (e *WrongDirError) Unwrap() error { return e.Err }

// makeDirDurably makes a directory and syncs the entries that lead to it, as far as they are new.
func makeDirDurably(fs vfs.FS, dir string) error {
	var made []string
	for p := dir; ; p = path.Dir(p) {
		if _, err := fs.Stat(p); !isNotExist(err) {
			break // there, or MkdirAll tells what is wrong
		}
		if p == path.Dir(p) {
			break
		}
		made = append(made, path.Dir(p))
	}
	if err := fs.MkdirAll(dir); err != nil {
		return err
	}
	for _, p := range made {
		if err := fs.SyncDir(p); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) openDir(d *logDir) error {
	if err := makeDirDurably(m.env.fs, d.path); err != nil {
		return err
	}
	lock, err := m.env.fs.Lock(join(d.path, lockFile))
	if err != nil {
		if isLocked(err) {
			return &WrongDirError{d.path, "is in use by another process; stop it, or choose another log.dirs", err}
		}
		return err
	}
	d.lock = lock
	meta, err := readMetaProperties(m.env.fs, d.path)
	if isNotExist(err) {
		return nil // identify writes it
	}
	var corrupt *CorruptFileError
	if errors.As(err, &corrupt) {
		return &WrongDirError{d.path, "has a bad " + metaPropertiesFile + ": " + corrupt.Reason, err}
	}
	if err != nil {
		return err
	}
	d.meta = &meta
	d.id = meta.directoryID
	return nil
}

// identify agrees on the cluster id and gives directories what they lack.
func (m *Manager) identify() error {
	m.clusterID = m.opts.ClusterID
	for _, d := range m.identified() {
		if d.meta == nil || d.offline.Load() {
			continue
		}
		if id := d.meta.clusterID; id != "" {
			if m.clusterID == "" {
				m.clusterID = id
			}
			if id != m.clusterID {
				return &WrongDirError{d.path, fmt.Sprintf("belongs to cluster %s, not to %s", id, m.clusterID), nil}
			}
		}
		if n := d.meta.nodeID; n >= 0 && n != m.opts.NodeID {
			return &WrongDirError{d.path, fmt.Sprintf("belongs to node %d, but node.id is %d", n, m.opts.NodeID), nil}
		}
	}
	if m.clusterID == "" {
		id := newUUID()
		m.clusterID = uuidString(id)
	}
	date := m.env.clk.Wall().UTC().Format("Mon Jan 02 15:04:05 MST 2006")
	var none [16]byte
	for _, d := range m.identified() {
		if d.offline.Load() || d.meta != nil && d.id != none && d.meta.clusterID != "" {
			continue
		}
		if d.id == none {
			d.id = newUUID()
		}
		if err := writeMetaProperties(m.env.fs, d.path, metaProperties{m.clusterID, m.opts.NodeID, d.id}, date); err != nil {
			m.env.log.Error().Err(err).Str("dir", d.path).Msg("log directory cannot be used")
			d.fail(fmt.Errorf("write %s: %w", metaPropertiesFile, err))
			m.env.failed.Store(true)
		}
	}
	if m.metaDir != nil && m.metaDir.offline.Load() {
		return fmt.Errorf("metadata directory: %w", m.metaDir.err)
	}
	if m.online() == 0 {
		return fmt.Errorf("no log directory can be used: %w", m.firstFailure())
	}
	return nil
}

func (m *Manager) online() int {
	n := 0
	for _, d := range m.dirs {
		if !d.offline.Load() {
			n++
		}
	}
	return n
}

func (m *Manager) firstFailure() error {
	for _, d := range m.dirs {
		d.mu.Lock()
		err := d.err
		d.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// foundDir is a partition's directory found at start.
type foundDir struct {
	d *logDir
	parsedDir
	path string
}

// loadDirs loads all logs, a few at a time for each directory.
func (m *Manager) loadDirs() error {
	began := m.env.clk.Mono()
	var wg sync.WaitGroup
	errs := make([]error, len(m.dirs))
	for i, d := range m.dirs {
		if d.offline.Load() {
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = m.loadDir(d)
		}()
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			m.env.log.Error().Err(err).Str("dir", m.dirs[i].path).Msg("log directory cannot be loaded")
			m.dirs[i].fail(err)
			m.env.failed.Store(true)
		}
	}
	if m.online() == 0 {
		return fmt.Errorf("no log directory can be loaded: %w", m.firstFailure())
	}
	m.env.log.Info().Int("logs", len(m.byName)).Dur("took", m.env.clk.Mono().Sub(began).Round(time.Microsecond)).Msg("loaded logs")
	return nil
}

// checkpoints are a log directory's files of offsets.
type checkpoints struct {
	recoveryPoint, logStart, highWatermark, cleaned map[topicPartition]int64
}

func (m *Manager) readCheckpoints(d *logDir) (checkpoints, error) {
	var c checkpoints
	for _, f := range []struct {
		name string
		into *map[topicPartition]int64
	}{{recoveryPointFile, &c.recoveryPoint}, {logStartFile, &c.logStart}, {highWatermarkFile, &c.highWatermark}, {cleanerCheckpointFile, &c.cleaned}} {
		got, err := readOffsetCheckpoint(m.env.fs, join(d.path, f.name))
		var corrupt *CorruptFileError
		if errors.As(err, &corrupt) {
			m.env.log.Warn().Err(err).Msg("checkpoint is corrupt, starting without it")
			err = nil
		}
		if err != nil {
			return c, err
		}
		*f.into = got
	}
	return c, nil
}

func (m *Manager) loadDir(d *logDir) error {
	fs := m.env.fs
	clean, marker, err := readCleanShutdown(fs, d.path)
	if err != nil {
		return err
	}
	cps, err := m.readCheckpoints(d)
	if err != nil {
		return err
	}
	if cps.recoveryPoint == nil {
		clean = false // nothing to believe
	}
	d.unclean = !clean && d.meta != nil
	if clean {
		// Durably: a power cut must not bring the marker back over a log that has changed.
		if err := fs.Remove(join(d.path, cleanShutdownFile)); err != nil {
			return err
		}
		if err := fs.SyncDir(d.path); err != nil {
			return err
		}
	}
	found, err := m.listDir(d)
	if err != nil {
		return err
	}
	if !clean && len(found) > 0 {
		m.env.log.Info().Str("dir", d.path).Int("logs", len(found)).Msg("recovering logs, as the last stop was not a clean one")
	}
	work := make(chan foundDir)
	var wg sync.WaitGroup
	errs := make([]error, max(m.RecoveryThreads(), 1))
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for f := range work {
				errs[i] = errors.Join(errs[i], m.loadLog(f, clean, &marker, cps))
			}
		}()
	}
	for _, f := range found {
		work <- f
	}
	close(work)
	wg.Wait()
	return errors.Join(errs...)
}

// listDir finds partitions' directories, and queues half-deleted ones for removal.
func (m *Manager) listDir(d *logDir) ([]foundDir, error) {
	entries, err := m.env.fs.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var found []foundDir
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		p, ok := parseDirName(e.Name())
		full := join(d.path, e.Name())
		switch {
		case !ok:
			m.env.log.Warn().Str("dir", full).Msg("ignoring a directory that is no partition's")
		case p.topic == metadataTopic || p.suffix == strayDirSuffix:
		case p.suffix == deleteDirSuffix:
			m.queueRemoval(d, full, m.env.monoMs())
		default:
			found = append(found, foundDir{d, p, full})
		}
	}
	return found, nil
}

// loadLog loads one partition's directory.
func (m *Manager) loadLog(f foundDir, clean bool, marker *cleanShutdown, cps checkpoints) error {
	id, _, err := readPartitionMetadata(m.env.fs, f.path)
	var corrupt *CorruptFileError
	if errors.As(err, &corrupt) { // a torn write: the metadata log knows the id, Create writes it again
		m.env.log.Warn().Err(err).Msg("ignoring a broken file")
		err = nil
	}
	if err != nil {
		return err
	}
	key := PartitionKey{Topic: f.topic, ID: id, Partition: f.partition}
	l := newLog(m.env, f.d, f.path, key, m.config(key))
	tp := topicPartition{f.topic, f.partition}
	st := loadState{clean: clean, left: marker.segment(l.name()), logStart: cps.logStart[tp], highWatermark: cps.highWatermark[tp]}
	st.recoveryPoint, st.known = cps.recoveryPoint[tp]
	if f.suffix == futureDirSuffix {
		st = loadState{}
	} else if off, ok := cps.cleaned[tp]; ok {
		l.cleanPoint.Store(off)
	}
	if err := l.load(st); err != nil {
		return fmt.Errorf("load log %s: %w", f.path, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.suffix == futureDirSuffix {
		m.moves[tp] = &move{log: l}
		return nil
	}
	if other := m.byName[tp]; other != nil {
		m.takeLocked(other)
		if l, err = m.keepLonger(other, l); err != nil {
			return err
		}
	}
	m.putLocked(l)
	return nil
}

// keepLonger decides between two directories of one partition, which a crash in the last step of a move leaves: the shorter log
// becomes stray.
func (m *Manager) keepLonger(a, b *Log) (*Log, error) {
	if b.LogEndOffset() > a.LogEndOffset() {
		a, b = b, a
	}
	m.env.log.Warn().Str("dir", *a.dir.Load()).Str("stray", *b.dir.Load()).Msg("a partition is in two log directories, the shorter log becomes stray")
	b.close()
	to := join(b.Dir(), dirNameWithSuffix(b.key.Topic, b.key.Partition, newUUID(), strayDirSuffix))
	if err := m.env.fs.Rename(*b.dir.Load(), to); err != nil {
		return nil, fmt.Errorf("put aside one of two logs: %w", err)
	}
	return a, nil
}

package storage

import (
	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// StandaloneOptions open a log outside of a Manager.
type StandaloneOptions struct {
	FS     vfs.FS
	Clock  clock.Clock
	Log    zerolog.Logger
	Dir    string // the partition's directory itself
	Key    PartitionKey
	Config LogConfig
}

// Manager owns the log directories.
type Manager struct{}

// Open locks, checks and loads the directories.
func Open(o Options) (*Manager, error) { return nil, ErrLogClosed }

// ClusterID is what meta.properties has.
func (m *Manager) ClusterID() string { return "" }

// DirIDs are the directory ids by path.
func (m *Manager) DirIDs() map[string][16]byte { return nil }

// Dirs tells about the directories in the order of Options.Dirs.
func (m *Manager) Dirs() []DirInfo { return nil }

// Start starts the periodic work.
func (m *Manager) Start() {}

// Create makes a log, or gives the one that is there. dir "" takes the directory with the fewest.
func (m *Manager) Create(key PartitionKey, dir string) (*Log, error) { return nil, ErrLogDirOffline }

// Get gives a log, nil when there is none.
func (m *Manager) Get(id TopicID, partition int32) *Log { return nil }

// Delete drops a log.
func (m *Manager) Delete(key PartitionKey) error { return ErrLogDirOffline }

// Reconcile renames what is not known to -stray.
func (m *Manager) Reconcile(known func(topic string, id TopicID, partition int32) bool) error {
	return nil
}

// Logs lists all.
func (m *Manager) Logs() []*Log { return nil }

// SetHWSource says where checkpoints take high watermarks from.
func (m *Manager) SetHWSource(f func(*Log) int64) {}

// MoveDir copies a log to another directory and swaps; FutureLag tells how far behind a copy is.
func (m *Manager) MoveDir(key PartitionKey, dir string) error { return ErrLogDirOffline }

// FutureLag tells the directory a log moves to and the offsets that are missing there.
func (m *Manager) FutureLag(key PartitionKey) (dir string, lag int64, ok bool) { return "", 0, false }

// ConfigChanged gives the logs of a topic a new configuration.
func (m *Manager) ConfigChanged(topic string, cfg LogConfig) {}

// Close ends everything cleanly.
func (m *Manager) Close() error { return ErrLogClosed }

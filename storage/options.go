package storage

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// Periods of the Manager's work, from Kafka: log.retention.check.interval.ms, log.flush.scheduler.interval.ms,
// log.flush.offset.checkpoint.interval.ms, log.flush.start.offset.checkpoint.interval.ms,
// replica.high.watermark.checkpoint.interval.ms, log.initial.task.delay.ms, and ProducerStateManager's expiry check.
const (
	DefaultRetentionCheckInterval = 5 * time.Minute
	DefaultCheckpointInterval     = time.Minute
	DefaultHWCheckpointInterval   = 5 * time.Second
	DefaultInitialTaskDelay       = 30 * time.Second
	DefaultProducerCheckInterval  = 10 * time.Minute
	// DefaultMaxOpenSegments bounds open segment files (log and indexes count as one) of one Manager; fewer where the process may open
	// only few files, as a segment has up to four and connections need some too.
	DefaultMaxOpenSegments = 1000
	minOpenSegments        = 16
	openFilesPerSegment    = 8
)

// Options make a Manager.
type Options struct {
	FS    vfs.FS
	Clock clock.Clock
	Log   zerolog.Logger
	// Dirs are log.dirs; missing ones are made.
	Dirs []string
	// MetadataDir is metadata.log.dir, "" is the first of Dirs. Its __cluster_metadata-0 is left to the controller.
	MetadataDir string
	NodeID      int32
	// ClusterID as the caller wants it; "" takes the one in meta.properties, or makes one.
	ClusterID string
	// BrokerEpoch, if any, is written to .kafka_cleanshutdown.
	BrokerEpoch func() int64
	// RecoveryThreads is num.recovery.threads.per.data.dir; SetRecoveryThreads changes it.
	RecoveryThreads int
	// Defaults is the broker-wide configuration; ConfigOf a topic's. ConfigOf may be nil. Both are called without locks.
	Defaults func() LogConfig
	ConfigOf func(topic string, id TopicID) LogConfig
	// OnDirFailure hears of each directory that goes offline, once, on a goroutine of the failing operation, without locks.
	OnDirFailure func(dir string, err error)
	// OnMoved hears of each log that has arrived in another directory (MoveDir), without locks.
	OnMoved func(key PartitionKey)
	// Zero values take the defaults above. FlushCheckInterval zero means: no scheduler but for flush.ms (log.flush.scheduler.interval.ms
	// is Long.MAX by default, which leaves flush.ms without effect in Kafka too).
	// CheckpointInterval is for recovery points.
	CheckpointInterval, StartCheckpointInterval, HWCheckpointInterval                   time.Duration
	RetentionCheckInterval, FlushCheckInterval, InitialTaskDelay, ProducerCheckInterval time.Duration
	MaxOpenSegments                                                                     int
	// Cleaner gives log.cleaner.*, asked for again with every step; nil is the default. CleanerChanged makes another number of threads
	// effective.
	Cleaner func() CleanerConfig
}

// DirInfo tells about a log directory.
type DirInfo struct {
	Path   string
	ID     [16]byte // directory.id
	Online bool
	Total  int64 // bytes of the volume, -1 unknown
	Usable int64
}

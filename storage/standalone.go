package storage

import (
	"fmt"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// StandaloneOptions open a log that no Manager owns: the cluster metadata log.
type StandaloneOptions struct {
	FS    vfs.FS
	Clock clock.Clock
	Log   zerolog.Logger
	// Dir is the partition's directory itself, e.g. …/__cluster_metadata-0; it is made if missing.
	Dir    string
	Key    PartitionKey
	Config LogConfig
	// RecoveryPoint is the offset below which everything is known to be synced; 0 checks the whole log.
	RecoveryPoint int64
	// LogStart is where the log starts at least (the newest snapshot's offset), 0 is its first segment.
	LogStart int64
	// OnFailure hears of the first I/O error, without locks; the log then answers ErrLogDirOffline. May be nil.
	OnFailure func(error)
}

// standaloneOpenSegments bounds the open segments of one standalone log.
const standaloneOpenSegments = 8

// OpenStandalone opens the log, checks and repairs it from the recovery point on, or makes it. Appends go by OriginReplication: batches
// with their offsets and epochs as given; Flush makes them durable; TruncateTo and DeletePrefix cut either end.
func OpenStandalone(o StandaloneOptions) (*Log, error) {
	e := newEnv(o.FS, o.Clock, o.Log, standaloneOpenSegments)
	d := &logDir{path: parentDir(o.Dir)}
	e.report = func() {
		e.failed.Store(false)
		if err, first := d.tell(); first && o.OnFailure != nil {
			o.OnFailure(err)
		}
	}
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	if _, ok, err := readPartitionMetadata(o.FS, o.Dir); err != nil {
		return nil, err
	} else if !ok {
		if err := writePartitionMetadata(o.FS, o.Dir, o.Key.ID); err != nil {
			return nil, fmt.Errorf("make %s: %w", partitionMetadataFile, err)
		}
	}
	cfg := o.Config
	l := newLog(e, d, o.Dir, o.Key, &cfg)
	l.dense = true
	if err := l.load(loadState{recoveryPoint: o.RecoveryPoint, logStart: o.LogStart}); err != nil {
		return nil, fmt.Errorf("open log %s: %w", o.Dir, err)
	}
	return l, nil
}

// Close flushes and closes a standalone log.
func (l *Log) Close() error {
	err := l.finish(syncEach)
	l.close()
	l.env.wg.Wait()
	return err
}

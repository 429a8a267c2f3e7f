package controller

import (
	"fmt"
	"iter"
	"time"

	"github.com/kaja-mq/kaja/metadata/record"
)

// recordsPerSnapshotBatch is how many records a batch of a snapshot has (Kafka: BatchAccumulator by bytes, at most 8 MiB).
const recordsPerSnapshotBatch = 1024

// snapshotPolicy says when to write a snapshot: after so many bytes of records, or so long after the first record that the last
// snapshot lacks. Without new records there is nothing to do, and no timer.
type snapshotPolicy struct {
	maxBytes int64
	interval time.Duration // ≤ 0: not by time
	bytes    int64
	since    time.Time // monotonic; of the first record after the last snapshot as far as known, zero when there is none
	fresh    bool      // since is to be set
}

func (s *snapshotPolicy) start(o Options, l *loadedState) {
	*s = snapshotPolicy{maxBytes: o.MaxBytesBetweenSnapshots, interval: o.SnapshotInterval, bytes: l.bytesSince, fresh: l.bytesSince > 0}
}

func (s *snapshotPolicy) grew(bytes int64) {
	s.bytes += bytes
	s.fresh = s.fresh || s.since.IsZero()
}

// due tells whether to write one now, else when to look again.
func (s *snapshotPolicy) due(now time.Time) (bool, time.Time) {
	if s.fresh {
		s.since, s.fresh = now, false
	}
	if s.bytes >= s.maxBytes {
		return true, time.Time{}
	}
	if s.interval <= 0 || s.since.IsZero() {
		return false, time.Time{}
	}
	at := s.since.Add(s.interval)
	return !now.Before(at), at
}

// step writes a snapshot if one is due, and drops what is old.
func (s *snapshotPolicy) step(r *replica, now time.Time) (next time.Time, err error) {
	due, at := s.due(now)
	if !due {
		return at, nil
	}
	if err := r.writeSnapshot(); err != nil {
		return time.Time{}, err
	}
	s.bytes, s.since, s.fresh = 0, time.Time{}, false
	return time.Time{}, r.prune()
}

// writeSnapshot writes the published image; everything proposed is committed between two steps.
func (r *replica) writeSnapshot() error {
	img := r.m.img
	id := SnapshotID{EndOffset: r.m.next, Epoch: r.m.epoch}
	next, stop := iter.Pull(img.Records())
	defer stop()
	control := r.controlBatches()
	err := r.o.Log.WriteSnapshot(id, r.lastTime, func() (LogBatch, bool) {
		if len(control) > 0 {
			b := control[0]
			control = control[1:]
			return b, true
		}
		b := LogBatch{Control: NotControl, TimestampMs: r.lastTime}
		for len(b.Values) < recordsPerSnapshotBatch {
			msg, ok := next()
			if !ok {
				break
			}
			b.Values = append(b.Values, record.Append(nil, msg, record.VersionAt(msg, img.MetadataVersion())))
		}
		return b, len(b.Values) > 0
	})
	if err != nil {
		return fmt.Errorf("write metadata snapshot at offset %d: %w", id.EndOffset, err)
	}
	r.o.Logger.Info().Int64("offset", id.EndOffset).Int32("leader_epoch", id.Epoch).Msg("metadata snapshot written")
	return nil
}

// controlBatches are the voters, where they are in the log and not in the configuration: a snapshot must have them too.
func (r *replica) controlBatches() []LogBatch {
	var out []LogBatch
	if r.loaded.kraftVersion != nil {
		out = append(out, LogBatch{Control: ControlKRaftVersion, TimestampMs: r.lastTime, Values: [][]byte{r.loaded.kraftVersion}})
	}
	if r.loaded.voters != nil {
		out = append(out, LogBatch{Control: ControlKRaftVoters, TimestampMs: r.lastTime, Values: [][]byte{r.loaded.voters}})
	}
	return out
}

// prune drops the oldest snapshots and the log before the ones that stay, while all together are too large or the oldest is too old.
// The newest snapshot always stays (KafkaMetadataLog.maybeClean).
func (r *replica) prune() error {
	for {
		snaps := r.o.Log.Snapshots()
		if len(snaps) < 2 {
			return nil
		}
		size := r.o.Log.SizeBytes()
		for _, s := range snaps {
			size += s.SizeBytes
		}
		age := time.Duration(r.o.Clock.Wall().UnixMilli()-snaps[0].LastTimestampMs) * time.Millisecond
		tooLarge := r.o.MaxRetentionBytes > 0 && size > r.o.MaxRetentionBytes
		tooOld := r.o.MaxRetention > 0 && snaps[0].LastTimestampMs >= 0 && age > r.o.MaxRetention
		if !tooLarge && !tooOld {
			return nil
		}
		if err := r.o.Log.Prune(snaps[1].SnapshotID); err != nil {
			return fmt.Errorf("prune metadata log before offset %d: %w", snaps[1].EndOffset, err)
		}
	}
}

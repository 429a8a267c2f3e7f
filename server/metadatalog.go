package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/kaja-mq/kaja/storage"
)

// Names of the metadata log's files; docs/adr/0001 has what is in them.
const (
	metadataTopic    = "__cluster_metadata"
	metadataDirName  = metadataTopic + "-0"
	quorumStateFile  = "quorum-state"
	bootstrapFile    = "bootstrap.checkpoint" // in the log directory, written by kafka-storage before 4.1
	checkpointSuffix = ".checkpoint"
	partSuffix       = ".part" // a snapshot that is being written, as in Kafka
)

// metadataTopicID is Uuid.METADATA_TOPIC_ID.
var metadataTopicID = storage.TopicID{15: 1}

// metadataLogOptions open a MetadataLog.
type metadataLogOptions struct {
	FS     vfs.FS
	Clock  clock.Clock
	Log    zerolog.Logger
	Dir    string // metadata.log.dir
	Config storage.LogConfig
}

// metadataLogConfig is the log's configuration: it is never cleaned and rolls as metadata.log.segment.{bytes,ms} say.
func metadataLogConfig(segmentBytes int32, segmentMs int64) storage.LogConfig {
	return storage.LogConfig{
		CompressionType: "producer", DeleteRetentionMs: math.MaxInt64, FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64,
		IndexIntervalBytes: 4096, MaxCompactionLagMs: math.MaxInt64, MaxMessageBytes: math.MaxInt32, MaxDecompressedMessageBytes: math.MaxInt32,
		MessageTimestampAfterMaxMs: math.MaxInt64, MessageTimestampBeforeMaxMs: math.MaxInt64, MinInsyncReplicas: 1,
		RetentionBytes: -1, RetentionMs: -1, SegmentBytes: segmentBytes, SegmentIndexBytes: 10 << 20, SegmentMs: segmentMs,
		CompressionGzipLevel: -1, CompressionLz4Level: 9, CompressionZstdLevel: 3, ProducerIDExpirationMs: 86_400_000,
	}
}

// metadataLog is controller.Log in Kafka's files: the partition __cluster_metadata-0, quorum-state and the snapshots beside it.
type metadataLog struct {
	o     metadataLogOptions
	dir   string // of the partition
	log   *storage.Log
	snaps []controller.SnapshotInfo // ascending
}

// openMetadataLog opens the log, making it when there is none, and repairs what a crash has left.
func openMetadataLog(o metadataLogOptions) (*metadataLog, error) {
	l := &metadataLog{o: o, dir: path.Join(o.Dir, metadataDirName)}
	if err := errors.Join(o.FS.MkdirAll(l.dir), o.FS.SyncDir(o.Dir)); err != nil {
		return nil, fmt.Errorf("make metadata log directory: %w", err)
	}
	log, err := storage.OpenStandalone(storage.StandaloneOptions{FS: o.FS, Clock: o.Clock, Log: o.Log, Dir: l.dir,
		Key: storage.PartitionKey{Topic: metadataTopic, ID: metadataTopicID}, Config: o.Config})
	if err != nil {
		return nil, fmt.Errorf("open metadata log: %w", err)
	}
	l.log = log
	if err := l.findSnapshots(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return l, nil
}

// quorumState is the JSON of the quorum-state file: QuorumStateData of versions 0 and 1.
type quorumState struct {
	ClusterID        *string  `json:"clusterId,omitempty"` // version 0
	LeaderID         int32    `json:"leaderId"`
	LeaderEpoch      int32    `json:"leaderEpoch"`
	VotedID          int32    `json:"votedId"`
	VotedDirectoryID *string  `json:"votedDirectoryId,omitempty"` // version 1
	AppliedOffset    *int64   `json:"appliedOffset,omitempty"`    // version 0
	CurrentVoters    *[]voter `json:"currentVoters,omitempty"`    // version 0
	DataVersion      int16    `json:"data_version"`
}

type voter struct {
	VoterID int32 `json:"voterId"`
}

// State implements controller.Log.
func (l *metadataLog) State() (s controller.QuorumState, ok bool, err error) {
	name := path.Join(l.dir, quorumStateFile)
	data, err := l.o.FS.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read quorum state: %w", err)
	}
	q := quorumState{LeaderID: -1, VotedID: -1}
	if err := json.Unmarshal(data, &q); err != nil {
		return s, false, fmt.Errorf("%s is damaged: %w", name, err)
	}
	if q.DataVersion < 0 || q.DataVersion > 1 {
		return s, false, fmt.Errorf("%s has data_version %d, which Kafka 4.4 does not have", name, q.DataVersion)
	}
	s = controller.QuorumState{LeaderID: q.LeaderID, LeaderEpoch: q.LeaderEpoch, VotedID: q.VotedID, DataVersion: q.DataVersion}
	if q.VotedDirectoryID != nil {
		id, err := parseUUID(*q.VotedDirectoryID)
		if err != nil {
			return s, false, fmt.Errorf("%s: %w", name, err)
		}
		s.VotedDirectoryID = id
	}
	if q.CurrentVoters != nil {
		for _, v := range *q.CurrentVoters {
			s.Voters = append(s.Voters, v.VoterID)
		}
	}
	return s, true, nil
}

// SaveState implements controller.Log.
func (l *metadataLog) SaveState(s controller.QuorumState) error {
	q := quorumState{LeaderID: s.LeaderID, LeaderEpoch: s.LeaderEpoch, VotedID: s.VotedID, DataVersion: s.DataVersion}
	if s.DataVersion == 0 {
		voters := make([]voter, 0, len(s.Voters))
		for _, v := range s.Voters {
			voters = append(voters, voter{v})
		}
		q.ClusterID, q.AppliedOffset, q.CurrentVoters = new(string), new(int64), &voters
	} else {
		id := formatUUID(s.VotedDirectoryID)
		q.VotedDirectoryID = &id
	}
	data, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode quorum state: %w", err)
	}
	return l.replaceFile(path.Join(l.dir, quorumStateFile), path.Join(l.dir, quorumStateFile+".tmp"), data)
}

// replaceFile writes a file by way of another name, durably.
func (l *metadataLog) replaceFile(name, tmp string, data []byte) error {
	f, err := l.o.FS.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := l.o.FS.Rename(tmp, name); err != nil {
		return err
	}
	return l.o.FS.SyncDir(l.dir)
}

// StartOffset implements controller.Log.
func (l *metadataLog) StartOffset() int64 { return l.log.LogStartOffset() }

// EndOffset implements controller.Log.
func (l *metadataLog) EndOffset() int64 { return l.log.LogEndOffset() }

// EpochOf implements controller.Log.
func (l *metadataLog) EpochOf(offset int64) (int32, bool) {
	if offset < l.log.LogStartOffset() || offset >= l.log.LogEndOffset() {
		return 0, false
	}
	epoch := l.log.EpochForOffset(offset)
	return epoch, epoch >= 0
}

// Append implements controller.Log.
func (l *metadataLog) Append(batches []controller.LogBatch) error {
	var data []byte
	for i := range batches {
		var err error
		if data, err = appendBatch(data, &batches[i]); err != nil {
			return err
		}
	}
	epoch := batches[len(batches)-1].Epoch // the newest: batches of a later one than told are left out
	_, err := l.log.Append(data, storage.AppendOptions{Origin: storage.OriginReplication, LeaderEpoch: epoch})
	return err
}

// appendBatch encodes a batch.
func appendBatch(dst []byte, lb *controller.LogBatch) ([]byte, error) {
	o := batch.PlainOptions(lb.BaseOffset, lb.Epoch)
	var key []byte
	if lb.Control != controller.NotControl {
		o.Control = true
		key = batch.AppendControlKey(nil, batch.ControlType(lb.Control))
	}
	b := batch.NewBuilder(dst, o)
	for i, v := range lb.Values {
		b.Append(lb.BaseOffset+int64(i), lb.TimestampMs, key, v)
	}
	return b.Finish()
}

// Sync implements controller.Log.
func (l *metadataLog) Sync() error { return l.log.Flush() }

// Truncate implements controller.Log.
func (l *metadataLog) Truncate(offset int64) error {
	if err := l.log.TruncateTo(offset); err != nil {
		return err
	}
	return l.log.Flush()
}

// Read implements controller.Log.
func (l *metadataLog) Read(offset int64, maxBytes int) ([]controller.LogBatch, error) {
	res, err := l.log.Read(storage.ReadOptions{Offset: offset, MaxBytes: maxBytes, UpTo: l.log.LogEndOffset(), MinOne: true})
	if err != nil || res.Range == nil {
		return nil, err
	}
	data := make([]byte, res.Range.Len())
	_, err = res.Range.ReadAt(data, 0)
	res.Range.Release()
	if err != nil {
		return nil, err
	}
	return parseBatches(data)
}

// parseBatches decodes whole batches; a last one cut short is left out.
func parseBatches(data []byte) ([]controller.LogBatch, error) {
	var out []controller.LogBatch
	for {
		b, rest, err := batch.Next(data)
		if errors.Is(err, batch.ErrTruncated) || err == nil && b == nil {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if !b.ValidCRC() {
			return nil, fmt.Errorf("batch at offset %d has a wrong CRC", b.BaseOffset())
		}
		parsed, err := parseBatch(b)
		if err != nil {
			return nil, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
		}
		out = append(out, parsed...)
		data = rest
	}
}

// parseBatch gives one batch, or one for each record of a control batch: Kafka puts control records of several types into one.
func parseBatch(b batch.Batch) ([]controller.LogBatch, error) {
	if b.IsControl() {
		return controlBatches(b)
	}
	lb := controller.LogBatch{BaseOffset: b.BaseOffset(), Epoch: b.LeaderEpoch(), TimestampMs: b.MaxTimestamp(), Control: controller.NotControl,
		Values: make([][]byte, 0, b.Count())}
	err := eachRecord(b, func(rec *batch.Record) error {
		lb.Values = append(lb.Values, slices.Clone(rec.Value))
		return nil
	})
	return []controller.LogBatch{lb}, err
}

func controlBatches(b batch.Batch) ([]controller.LogBatch, error) {
	var out []controller.LogBatch
	err := eachRecord(b, func(rec *batch.Record) error {
		t, err := batch.ParseControlKey(rec.Key)
		if err != nil {
			return err
		}
		out = append(out, controller.LogBatch{BaseOffset: rec.Offset, Epoch: b.LeaderEpoch(), TimestampMs: rec.Timestamp, Control: int16(t),
			Values: [][]byte{slices.Clone(rec.Value)}})
		return nil
	})
	return out, err
}

func eachRecord(b batch.Batch, f func(*batch.Record) error) error {
	var r batch.Reader
	if err := r.Reset(b, batch.NoLimit); err != nil {
		return err
	}
	defer r.Close()
	var rec batch.Record
	for r.Next(&rec) {
		if err := f(&rec); err != nil {
			return err
		}
	}
	return r.Err()
}

// SizeBytes implements controller.Log.
func (l *metadataLog) SizeBytes() int64 { return l.log.Size() }

// Close implements controller.Log.
func (l *metadataLog) Close() error { return l.log.Close() }

// formatUUID and parseUUID are org.apache.kafka.common.Uuid's text form.
func formatUUID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func parseUUID(s string) (id [16]byte, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is no id of 22 base64 digits", s)
	}
	return [16]byte(b), nil
}

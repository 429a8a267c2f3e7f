package controller

import (
	"fmt"
	"slices"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// loadBytes is how much of the log is read at a time.
const loadBytes = 4 << 20

// loadedState is what the disk has.
type loadedState struct {
	img       *metadata.Image
	state     QuorumState
	lastEpoch int32 // of the last record
	lastTime  int64 // of the last record, ms; -1 none
	// bootstrap are the records that a formatter left for a log that is still empty; nil when there are none or they are in the log.
	bootstrap []record.Message
	// openTransaction says that the log ends within a transaction, whose records are not in img.
	openTransaction bool
	// kraftVersion and voters are the bodies of the last such control records, nil when there are none: a quorum with static voters.
	kraftVersion, voters []byte
	snapshot             SnapshotInfo // that img began with; SizeBytes 0 for none
	bytesSince           int64        // of records after the snapshot
}

// load reads the newest snapshot and the log after it. A sole voter's log is committed as far as it reaches.
func load(log Log) (*loadedState, error) {
	l := loader{loadedState: &loadedState{lastTime: -1}}
	state, ok, err := log.State()
	if err != nil {
		return nil, fmt.Errorf("read quorum state: %w", err)
	}
	if !ok {
		state = QuorumState{LeaderID: -1, VotedID: -1}
	}
	l.state = state
	from, err := l.readSnapshot(log)
	if err != nil {
		return nil, err
	}
	for from < log.EndOffset() {
		batches, err := log.Read(from, loadBytes)
		if err != nil {
			return nil, fmt.Errorf("read metadata log at offset %d: %w", from, err)
		}
		if len(batches) == 0 {
			return nil, fmt.Errorf("metadata log has no batch at offset %d below its end %d", from, log.EndOffset())
		}
		for i := range batches {
			if err := l.batch(&batches[i], from, true); err != nil {
				return nil, err
			}
		}
		from = batches[len(batches)-1].NextOffset()
	}
	l.openTransaction = l.inTransaction
	return l.finish(log)
}

// loader folds batches into records.
type loader struct {
	*loadedState
	records       []record.Message
	inTransaction bool
	transaction   []record.Message
}

// readSnapshot reads the newest snapshot and returns where the log goes on.
func (l *loader) readSnapshot(log Log) (next int64, err error) {
	snaps := log.Snapshots()
	if len(snaps) == 0 {
		if log.StartOffset() > 0 {
			return 0, fmt.Errorf("metadata log starts at offset %d and there is no snapshot of what was before it", log.StartOffset())
		}
		return 0, nil
	}
	l.snapshot = snaps[len(snaps)-1]
	if l.snapshot.EndOffset < log.StartOffset() || l.snapshot.EndOffset > log.EndOffset() {
		return 0, fmt.Errorf("newest metadata snapshot ends at offset %d, the log has %d to %d", l.snapshot.EndOffset, log.StartOffset(), log.EndOffset())
	}
	err = log.ReadSnapshot(l.snapshot.SnapshotID, func(b LogBatch) error { return l.batch(&b, 0, false) })
	if err != nil {
		return 0, fmt.Errorf("read metadata snapshot at offset %d: %w", l.snapshot.EndOffset, err)
	}
	l.lastEpoch, l.lastTime = l.snapshot.Epoch, l.snapshot.LastTimestampMs
	return l.snapshot.EndOffset, nil
}

// batch takes the records of a batch at or after offset from.
func (l *loader) batch(b *LogBatch, from int64, logged bool) error {
	switch b.Control {
	case NotControl:
	case ControlKRaftVersion:
		l.kraftVersion = slices.Clone(b.Values[0])
	case ControlKRaftVoters:
		l.voters = slices.Clone(b.Values[len(b.Values)-1])
	}
	if logged {
		l.lastEpoch, l.lastTime = b.Epoch, b.TimestampMs
	}
	if b.Control != NotControl {
		return nil
	}
	for i, v := range b.Values {
		offset := b.BaseOffset + int64(i)
		if logged && offset < from {
			continue
		}
		if logged {
			l.bytesSince += int64(len(v))
		}
		msg, _, err := record.Read(v)
		if err != nil {
			return fmt.Errorf("metadata record at offset %d: %w", offset, err)
		}
		l.record(msg)
	}
	return nil
}

func (l *loader) record(msg record.Message) {
	switch msg.(type) {
	case *record.NoOpRecord:
	case *record.BeginTransactionRecord:
		l.inTransaction = true
	case *record.EndTransactionRecord:
		l.records = append(l.records, l.transaction...)
		l.inTransaction, l.transaction = false, nil
	case *record.AbortTransactionRecord:
		l.inTransaction, l.transaction = false, nil
	default:
		if l.inTransaction {
			l.transaction = append(l.transaction, msg)
		} else {
			l.records = append(l.records, msg)
		}
	}
}

// finish makes the image. Of an empty log the snapshot at offset 0 is no state, but what to begin with.
func (l *loader) finish(log Log) (*loadedState, error) {
	if log.EndOffset() == 0 {
		l.bootstrap = l.records
		if l.bootstrap == nil {
			err := log.ReadBootstrap(func(b LogBatch) error { return l.batch(&b, 0, false) })
			if err != nil {
				return nil, fmt.Errorf("read bootstrap.checkpoint: %w", err)
			}
			l.bootstrap = l.records
		}
		l.img = metadata.Empty()
		return l.loadedState, nil
	}
	img, _, err := metadata.Empty().Apply(l.records, log.EndOffset()-1, l.lastEpoch)
	if err != nil {
		return nil, fmt.Errorf("metadata log: %w", err)
	}
	l.img = img
	return l.loadedState, nil
}

// fullDelta is the delta from nothing to an image.
func fullDelta(img *metadata.Image) *metadata.Delta {
	d := &metadata.Delta{Topics: map[[16]byte]*metadata.TopicDelta{}, Configs: map[metadata.Resource][]string{}, ProducerIDs: img.NextProducerID() >= 0}
	for t := range img.Topics() {
		td := &metadata.TopicDelta{New: t}
		for i := range t.Partitions {
			if t.Partitions[i].Exists() {
				td.Partitions = append(td.Partitions, int32(i))
			}
		}
		d.Topics[t.ID] = td
	}
	for res, set := range img.Configs() {
		for name := range set {
			d.Configs[res] = append(d.Configs[res], name)
		}
		slices.Sort(d.Configs[res])
	}
	for b := range img.Brokers() {
		d.Brokers = append(d.Brokers, b.ID)
	}
	for c := range img.Controllers() {
		d.Controllers = append(d.Controllers, c.ID)
	}
	for name := range img.Features() {
		d.Features = append(d.Features, name)
	}
	for q := range img.Quotas() {
		d.Quotas = append(d.Quotas, q.Entity)
	}
	for k := range img.Scrams() {
		d.Scrams = append(d.Scrams, k)
	}
	for id := range img.ACLs() {
		d.ACLs = append(d.ACLs, id)
	}
	for t := range img.DelegationTokens() {
		d.DelegationTokens = append(d.DelegationTokens, t.ID)
	}
	return d
}

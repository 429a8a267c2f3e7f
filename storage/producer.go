package storage

import (
	"fmt"
	"sort"

	"github.com/kaja-mq/kaja/internal/planted"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// How Log uses its producers; every call under the log mutex:
//
//	p := newProducers(producersConfig{FS, Dir, Name, ExpirationMs})   // p.open() lists the snapshots that are there
//	load:    p.removeStraySnapshots(segment base offsets); p.truncateAndReload(logStart, logEnd, nowMs); then for every batch from
//	         p.mapEndOffset() on: p.replay(b, txnIndex or nil), and p.setMapEndOffset(logEnd). (Rebuilding a segment's txnIndex in
//	         recovery: a second producers with the same Dir, truncateAndReload to the segment's base, replay with the index.)
//	append:  v, err := validateAndAssign(…); roll if needed; dup, found, err := p.analyze(v.Records, check)
//	         found: answer dup.firstOffset(), dup.lastOffset, dup.timestamp (as log append time, whatever the timestamp type)
//	         err: refuse; nothing has changed.   else write, then p.apply(lastOffset, activeTxnIndex) once the bytes are there.
//	roll:    p.setMapEndOffset(newBase); p.takeSnapshotUnsynced(); close: p.takeSnapshot().   segment deleted: p.deleteSnapshot(base)
//	start moved: p.onLogStartIncremented(start).   HW moved: p.onHighWatermark(hw), then read p.firstUnstableOffset() again.
//	truncate to N: p.truncateAndReload(start, N, nowMs), then replay [p.mapEndOffset(), N).   fully: p.truncateFully(N)
//	every producer.id.expiration.check.interval.ms: p.removeExpired(nowMs)

// txnMeta is a transaction in one partition; lastOffset is that of its marker, -1 while it is ongoing.
type txnMeta struct {
	producerID, firstOffset, lastOffset int64
}

// completedTxn is a transaction that a marker ended.
type completedTxn struct {
	producerID, firstOffset, lastOffset int64
	aborted                             bool
}

// producersConfig is what a log's producers need to know.
type producersConfig struct {
	FS           vfs.FS
	Dir          string // the partition's directory
	Name         string // topic-partition, for messages
	ExpirationMs int64  // producer.id.expiration.ms
}

// producers is what one partition knows of its idempotent and transactional producers: Kafka's ProducerStateManager.
// Guarded by the log mutex.
type producers struct {
	cfg     producersConfig
	entries map[int64]*producerEntry
	// ongoing are open transactions by first offset; unreplicated are ended ones whose marker lies at or above the high
	// watermark: both hold back the last stable offset.
	ongoing, unreplicated []txnMeta
	verifications         map[int64]*verification
	lastGuard             uint64
	mapEnd, snapEnd       int64   // state covers all below mapEnd; the newest snapshot all below snapEnd
	snapshots             []int64 // offsets of snapshot files, ascending
	pending               pendingAppend
}

// pendingAppend is what analyze found out and apply will do; its slices are used again.
type pendingAppend struct {
	updates   []producerEntry // one for each producer id of the append
	started   []txnMeta
	completed []completedTxn
}

// producerCheck goes with one analyze.
type producerCheck struct {
	Origin Origin
	// Verified says that a transactional batch's partition was verified to be in its transaction, or needs not be (KIP-890).
	Verified bool
	// TransactionVersion is that of the markers; from 2 on the epoch of a marker must be above the producer's (KIP-1228).
	TransactionVersion int16
}

func newProducers(cfg producersConfig) *producers {
	return &producers{cfg: cfg, entries: map[int64]*producerEntry{}}
}

// mapEndOffset is the offset below which every batch is reflected in the state.
func (p *producers) mapEndOffset() int64 { return p.mapEnd }

// setMapEndOffset tells that there is nothing more below offset.
func (p *producers) setMapEndOffset(offset int64) { p.mapEnd = offset }

// analyze checks the batches of an append (offsets assigned) against the state, which it leaves alone: apply does what it found out.
// found: the append repeats a known batch and must not be written. Errors wrap a *kerr.Error; the order of checks is Kafka's.
func (p *producers) analyze(records []byte, c producerCheck) (dup producerBatch, found bool, err error) {
	p.pending.reset()
	for b := range batch.All(records) {
		if !b.HasProducerID() {
			continue
		}
		if c.Origin == OriginClient {
			if e := p.entries[b.ProducerID()]; e != nil {
				if dup, found := e.duplicateOf(b); found && !planted.Is("duplicate") {
					p.pending.reset()
					return dup, true, nil
				} else if found {
					c.Origin = OriginReplication
				}
			}
		}
		if err := p.checkTransaction(b, c); err != nil {
			return producerBatch{}, false, err
		}
		if err := p.analyzeBatch(b, c); err != nil {
			return producerBatch{}, false, err
		}
	}
	return producerBatch{}, false, nil
}

// checkTransaction refuses a transactional batch that belongs to no ongoing transaction here, unless that was verified.
// The epoch comes first: a fenced producer must see INVALID_PRODUCER_EPOCH and not INVALID_TXN_STATE.
func (p *producers) checkTransaction(b batch.Batch, c producerCheck) error {
	if c.Origin == OriginReplication || !b.IsTransactional() || p.hasOngoingTxn(b.ProducerID(), b.ProducerEpoch()) {
		return nil
	}
	if e := p.entries[b.ProducerID()]; e != nil && b.ProducerEpoch() < e.epoch {
		return fmt.Errorf("epoch of producer %d is %d, which is smaller than the last seen epoch %d: %w",
			b.ProducerID(), b.ProducerEpoch(), e.epoch, kerr.InvalidProducerEpoch)
	}
	if !c.Verified && !b.IsControl() {
		return fmt.Errorf("record was not part of an ongoing transaction of producer %d: %w", b.ProducerID(), kerr.InvalidTxnState)
	}
	return nil
}

// hasOngoingTxn says whether the producer has a transaction open here with that epoch.
func (p *producers) hasOngoingTxn(id int64, epoch int16) bool {
	e := p.entries[id]
	return e != nil && e.txnFirstOffset != noTxn && e.epoch == epoch
}

func (p *producers) analyzeBatch(b batch.Batch, c producerCheck) error {
	id := b.ProducerID()
	u := p.pending.update(id)
	current := emptyProducerEntry(id)
	if e := p.entries[id]; e != nil {
		current = *e
	}
	if u == nil {
		p.pending.updates = append(p.pending.updates, current.withoutBatches())
		u = &p.pending.updates[len(p.pending.updates)-1]
	}
	if b.IsControl() {
		return p.analyzeMarker(u, b, c)
	}
	return p.analyzeData(u, &current, b, c)
}

func (p *producers) analyzeData(u, current *producerEntry, b batch.Batch, c producerCheck) error {
	if err := p.checkEpoch(u, b.ProducerEpoch(), c, 0); err != nil {
		return err
	}
	if c.Origin == OriginClient {
		if err := p.checkSequence(u, current, b); err != nil {
			return err
		}
	}
	first, last := b.BaseOffset(), b.LastOffset()
	u.setEpoch(b.ProducerEpoch())
	u.addBatch(producerBatch{lastSeq: b.LastSequence(), offsetDelta: int32(last - first), lastOffset: last, timestamp: b.MaxTimestamp()})
	u.lastTimestamp = b.MaxTimestamp()
	if u.txnFirstOffset != noTxn && !b.IsTransactional() {
		return fmt.Errorf("expected transactional write from producer %d at offset %d in partition %s: %w",
			u.id, first, p.cfg.Name, kerr.InvalidTxnState)
	}
	if u.txnFirstOffset == noTxn && b.IsTransactional() {
		u.txnFirstOffset = first
		p.pending.started = append(p.pending.started, txnMeta{producerID: u.id, firstOffset: first, lastOffset: -1})
	}
	p.finishVerification(b)
	return nil
}

// checkEpoch refuses an older epoch. Markers of transaction version 2 carry a bumped epoch, so that an equal one is old too,
// but for a repeated marker of a transaction that has ended (or of a producer whose epoch cannot be bumped).
func (p *producers) checkEpoch(u *producerEntry, epoch int16, c producerCheck, markerVersion int16) error {
	stale := epoch < u.epoch
	if markerVersion >= 2 {
		stale = epoch <= u.epoch
		if stale && epoch == u.epoch && (u.txnFirstOffset == noTxn || epoch == 1<<15-1) {
			return nil
		}
	}
	if !stale || c.Origin == OriginReplication {
		return nil // what the leader took is followed
	}
	return fmt.Errorf("producer %d's epoch in %s is %d, the append's is %d: %w", u.id, p.cfg.Name, u.epoch, epoch, kerr.InvalidProducerEpoch)
}

// checkSequence demands that a producer's batches follow each other. One that nothing is known of may start anywhere: its
// records may have been deleted by retention.
func (p *producers) checkSequence(u, current *producerEntry, b batch.Batch) error {
	first, epoch := b.BaseSequence(), b.ProducerEpoch()
	refuse := func(why string, args ...any) error {
		return fmt.Errorf("producer %d at offset %d in partition %s: %s: %w", u.id, b.BaseOffset(), p.cfg.Name, fmt.Sprintf(why, args...), kerr.OutOfOrderSequenceNumber)
	}
	if v := p.verifications[u.id]; v != nil {
		if v.supportsEpochBump && first != 0 && current.isEmpty() {
			return refuse("sequence %d, although an unknown producer must start with 0", first)
		}
		if first > v.lowestSequence {
			return refuse("sequence %d is above %d, which was seen first", first, v.lowestSequence)
		}
	}
	if epoch != u.epoch {
		if first != 0 && u.epoch != batch.NoProducerEpoch {
			return refuse("sequence %d with the new epoch %d (was %d)", first, epoch, u.epoch)
		}
		return nil
	}
	last := batch.NoSequence
	switch {
	case !u.isEmpty():
		last = u.lastSeq()
	case epoch == current.epoch:
		last = current.lastSeq()
	}
	if current.epoch != batch.NoProducerEpoch && !inSequence(last, first) {
		return refuse("sequence %d follows %d", first, last)
	}
	return nil
}

func inSequence(last, next int32) bool {
	return int64(next) == int64(last)+1 || next == 0 && last == 1<<31-1
}

// analyzeMarker takes the end of a transaction from a control batch: its first record is the marker.
func (p *producers) analyzeMarker(u *producerEntry, b batch.Batch, c producerCheck) error {
	m, found, err := batch.MarkerOf(b)
	if err != nil || !found {
		return err
	}
	if err := p.checkEpoch(u, b.ProducerEpoch(), c, c.TransactionVersion); err != nil {
		return err
	}
	if u.coordinatorEpoch > m.CoordinatorEpoch && c.Origin != OriginReplication {
		return fmt.Errorf("coordinator epoch %d of the marker for producer %d in partition %s is older than the last known %d: %w",
			m.CoordinatorEpoch, u.id, p.cfg.Name, u.coordinatorEpoch, kerr.TransactionCoordinatorFenced)
	}
	if u.txnFirstOffset != noTxn {
		p.pending.completed = append(p.pending.completed, completedTxn{
			producerID: u.id, firstOffset: u.txnFirstOffset, lastOffset: b.BaseOffset(), aborted: !m.Commit,
		})
	}
	u.setEpoch(b.ProducerEpoch())
	u.coordinatorEpoch = m.CoordinatorEpoch
	u.txnFirstOffset = noTxn
	u.lastTimestamp = m.Timestamp
	p.finishVerification(b)
	return nil
}

// apply does to the state what the last analyze found out; lastOffset is the append's. Aborted transactions go to x, if any.
func (p *producers) apply(lastOffset int64, x *txnIndex) error {
	for i := range p.pending.updates {
		u := &p.pending.updates[i]
		if e := p.entries[u.id]; e != nil {
			e.merge(u)
		} else {
			c := *u
			p.entries[u.id] = &c
		}
	}
	for _, t := range p.pending.started {
		p.ongoing = insertTxn(p.ongoing, t)
	}
	err := p.completeTxns(x)
	p.pending.reset()
	p.mapEnd = lastOffset + 1
	return err
}

// replay brings the state forward by a batch of the log, which is believed as a leader's is.
func (p *producers) replay(b batch.Batch, x *txnIndex) error {
	if b.HasProducerID() {
		if _, _, err := p.analyze(b, producerCheck{Origin: OriginReplication}); err != nil {
			return fmt.Errorf("replay producers of %s at offset %d: %w", p.cfg.Name, b.BaseOffset(), err)
		}
		return p.apply(b.LastOffset(), x)
	}
	p.mapEnd = b.NextOffset()
	return nil
}

func (p *producers) completeTxns(x *txnIndex) error {
	for _, t := range p.pending.completed {
		if t.aborted && x != nil {
			if err := x.append(AbortedTxn{t.producerID, t.firstOffset, t.lastOffset, p.lastStableOffset(t)}); err != nil {
				return err
			}
		}
		var done bool
		if p.ongoing, done = removeTxn(p.ongoing, t.firstOffset); done {
			p.unreplicated = insertTxn(p.unreplicated, txnMeta{t.producerID, t.firstOffset, t.lastOffset})
		}
	}
	return nil
}

// lastStableOffset is what the last stable offset will be right after t's marker.
func (p *producers) lastStableOffset(t completedTxn) int64 {
	for _, o := range p.ongoing {
		if o.producerID != t.producerID {
			return o.firstOffset
		}
	}
	return t.lastOffset + 1
}

// firstUnstableOffset is the first offset of the earliest transaction that is open or whose marker is not replicated.
func (p *producers) firstUnstableOffset() (int64, bool) {
	switch {
	case len(p.ongoing) == 0 && len(p.unreplicated) == 0:
		return 0, false
	case len(p.ongoing) == 0:
		return p.unreplicated[0].firstOffset, true
	case len(p.unreplicated) == 0:
		return p.ongoing[0].firstOffset, true
	}
	return min(p.ongoing[0].firstOffset, p.unreplicated[0].firstOffset), true
}

// firstUndecidedOffset is the first offset of the earliest open transaction: the cleaner stops there.
func (p *producers) firstUndecidedOffset() (int64, bool) {
	if len(p.ongoing) == 0 {
		return 0, false
	}
	return p.ongoing[0].firstOffset, true
}

// onHighWatermark forgets ended transactions whose markers lie below hw.
func (p *producers) onHighWatermark(hw int64) {
	if len(p.unreplicated) == 0 {
		return
	}
	keep := p.unreplicated[:0]
	for _, t := range p.unreplicated {
		if t.lastOffset < 0 || t.lastOffset >= hw {
			keep = append(keep, t)
		}
	}
	p.unreplicated = keep
}

// onLogStartIncremented follows the start of the log.
func (p *producers) onLogStartIncremented(start int64) {
	p.onHighWatermark(start)
	if p.mapEnd < start {
		p.mapEnd = start
	}
	p.snapEnd = p.latestSnapshotOr(start)
}

// hasLateTransaction says whether the oldest transaction has been open for longer than any may, and five minutes.
func (p *producers) hasLateTransaction(nowMs, maxTransactionTimeoutMs int64) bool {
	const lateBufferMs = 5 * 60 * 1000
	if len(p.ongoing) == 0 {
		return false
	}
	e := p.entries[p.ongoing[0].producerID]
	return e != nil && e.lastTimestamp > 0 && nowMs-e.lastTimestamp > maxTransactionTimeoutMs+lateBufferMs
}

// removeExpired drops producers without an open transaction that have been silent for producer.id.expiration.ms.
func (p *producers) removeExpired(nowMs int64) {
	for id, e := range p.entries {
		if p.expired(nowMs, e) {
			delete(p.entries, id)
		}
	}
	for id, v := range p.verifications {
		if nowMs-v.timestamp >= p.cfg.ExpirationMs {
			delete(p.verifications, id)
		}
	}
}

func (p *producers) expired(nowMs int64, e *producerEntry) bool {
	return e.txnFirstOffset == noTxn && nowMs-e.lastTimestamp >= p.cfg.ExpirationMs
}

// entry is a producer as DescribeProducers tells it.
func (p *producers) entry(id int64) (ProducerState, bool) {
	e := p.entries[id]
	if e == nil {
		return ProducerState{}, false
	}
	return e.state(), true
}

// states are all producers by ascending id.
func (p *producers) states() []ProducerState {
	out := make([]ProducerState, 0, len(p.entries))
	for _, e := range p.entries {
		out = append(out, e.state())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ProducerID < out[j].ProducerID })
	return out
}

func (a *pendingAppend) reset() {
	a.updates, a.started, a.completed = a.updates[:0], a.started[:0], a.completed[:0]
}

func (a *pendingAppend) update(id int64) *producerEntry {
	for i := range a.updates {
		if a.updates[i].id == id {
			return &a.updates[i]
		}
	}
	return nil
}

// insertTxn keeps the list ordered by first offset; nearly always it appends. One with that first offset is replaced.
func insertTxn(list []txnMeta, t txnMeta) []txnMeta {
	i := sort.Search(len(list), func(i int) bool { return list[i].firstOffset >= t.firstOffset })
	if i < len(list) && list[i].firstOffset == t.firstOffset {
		list[i] = t
		return list
	}
	list = append(list, txnMeta{})
	copy(list[i+1:], list[i:])
	list[i] = t
	return list
}

func removeTxn(list []txnMeta, firstOffset int64) ([]txnMeta, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].firstOffset >= firstOffset })
	if i == len(list) || list[i].firstOffset != firstOffset {
		return list, false
	}
	return append(list[:i], list[i+1:]...), true
}

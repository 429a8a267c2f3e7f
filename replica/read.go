package replica

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/internal/planted"
	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/storage"
)

// ReadOptions are one partition of a fetch.
type ReadOptions struct {
	Offset   int64
	MaxBytes int
	MinOne   bool // the first batch is returned even if it exceeds MaxBytes
	// LeaderEpoch is the client's idea of the leader's epoch, LastFetchedEpoch that of the last batch it has; -1 none.
	LeaderEpoch, LastFetchedEpoch int32
	ReadCommitted                 bool
	// LeaderOnly refuses to read from a follower (followers, and consumers before Fetch v11).
	LeaderOnly bool
	// Replica is the id of a follower, below 0 for consumers.
	Replica int32
}

// ReadResult is what a fetch answers for a partition: no bytes but where they are. Offsets are -1 with an error.
type ReadResult struct {
	HighWatermark, LastStableOffset, LogStartOffset int64
	// Range is nil when there is nothing; the caller releases it.
	Range protocol.FileRange
	// Aborted are the aborted transactions within what was read, by their first offset: nil unless ReadCommitted.
	Aborted []AbortedTxn
	// Diverges says that the reader's log and this one differ; it has to truncate to DivergingOffset of DivergingEpoch.
	Diverges        bool
	DivergingEpoch  int32
	DivergingOffset int64
}

// noAborted is what a read_committed reader gets where nothing was aborted: empty, not null.
func noAborted() []AbortedTxn { return []AbortedTxn{} }

// failed is the result of a refused read.
func failed(err error) (ReadResult, error) {
	return ReadResult{HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1}, err
}

// Read finds what a fetch may have. It takes no lock: role and offsets are snapshots, and a segment that is deleted meanwhile stays
// readable through its range.
func (p *Partition) Read(o ReadOptions) (ReadResult, error) {
	st, err := p.check(o.LeaderEpoch, o.LeaderOnly)
	if err != nil {
		return failed(err)
	}
	if o.Replica >= 0 && (o.Replica == p.m.o.NodeID || !slices.Contains(st.replicas, o.Replica)) {
		return failed(kerr.NotLeaderForPartition) // Partition.followerReplicaOrThrow
	}
	// In this order, so that no bound is above the next: all of them only grow.
	r := ReadResult{LastStableOffset: p.LastStableOffset(), HighWatermark: p.hw.Load()}
	end := st.log.LogEndOffset()
	r.LogStartOffset = st.log.LogStartOffset()
	r.LastStableOffset = min(r.LastStableOffset, r.HighWatermark)
	if planted.Is("lso") {
		r.LastStableOffset = min(r.LastStableOffset+1, r.HighWatermark)
	}
	if o.LastFetchedEpoch >= 0 {
		epoch, offset := st.endOffsetForEpoch(o.LastFetchedEpoch)
		if epoch < 0 || offset < 0 || o.Offset < r.LogStartOffset {
			return failed(kerr.OffsetOutOfRange)
		}
		if epoch < o.LastFetchedEpoch || offset < o.Offset {
			r.Diverges, r.DivergingEpoch, r.DivergingOffset = true, epoch, offset
			return r, nil
		}
	}
	if o.Offset < r.LogStartOffset || o.Offset > end {
		return failed(kerr.OffsetOutOfRange)
	}
	if o.Replica >= 0 {
		p.followerAt(o.Replica, o.Offset)
		r.HighWatermark = p.hw.Load()
	}
	upTo := r.HighWatermark
	switch {
	case o.Replica >= 0:
		upTo = end
	case o.ReadCommitted:
		upTo = r.LastStableOffset
		r.Aborted = noAborted()
	}
	if o.Offset >= upTo || o.MaxBytes <= 0 && !o.MinOne {
		return r, nil
	}
	return p.readLog(st, o, r, upTo)
}

func (p *Partition) readLog(st *state, o ReadOptions, r ReadResult, upTo int64) (ReadResult, error) {
	got, err := st.log.Read(storage.ReadOptions{Offset: o.Offset, MaxBytes: o.MaxBytes, UpTo: upTo, MinOne: o.MinOne})
	if err != nil {
		return failed(clientError(err))
	}
	r.Range = got.Range
	if o.ReadCommitted && o.Replica < 0 && r.Range != nil {
		aborted, err := st.log.AbortedTxnsIn(r.Range, o.Offset)
		if err != nil {
			r.Range.Release()
			return failed(clientError(err))
		}
		if len(aborted) > 1 {
			// The index is in order of the aborts; readers that merge it with the records want that of the first offsets.
			slices.SortStableFunc(aborted, func(a, b AbortedTxn) int { return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1)) })
		}
		if len(aborted) > 0 {
			r.Aborted = aborted
		}
	}
	return r, nil
}

// endOffsetForEpoch is where an epoch ends in the leader's log: the current one at its end; (-1, -1) is unknown.
func (s *state) endOffsetForEpoch(epoch int32) (int32, int64) {
	if latest, ok := s.log.LatestEpoch(); ok && epoch == latest {
		return epoch, s.log.LogEndOffset()
	}
	return s.log.EndOffsetForEpoch(epoch)
}

package replica

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Special timestamps of ListOffsets.
const (
	LatestTimestamp          = -1
	EarliestTimestamp        = -2
	MaxTimestamp             = -3
	EarliestLocalTimestamp   = -4
	LatestTieredTimestamp    = -5
	EarliestPendingTimestamp = -6
)

// OffsetQuery is one partition of a ListOffsets request.
type OffsetQuery struct {
	Timestamp   int64
	LeaderEpoch int32 // -1 none
	// Consumer is false for followers and debugging consumers, which may see up to the log's end.
	Consumer      bool
	ReadCommitted bool
	LeaderOnly    bool
}

// none is the answer when no record fits.
func none() TimestampOffset { return TimestampOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1} }

// MayBlock tells whether answering needs to read the log rather than what is in memory.
func (q OffsetQuery) MayBlock() bool { return q.Timestamp >= 0 || q.Timestamp == MaxTimestamp }

// Offset looks an offset up by time or special value, as Partition.fetchOffsetForTimestamp of Kafka does.
func (p *Partition) Offset(q OffsetQuery) (TimestampOffset, error) {
	st, err := p.check(q.LeaderEpoch, q.LeaderOnly)
	if err != nil {
		return none(), err
	}
	bound, hw := st.log.LogEndOffset(), p.hw.Load()
	if q.Consumer {
		bound = hw
		if q.ReadCommitted {
			bound = min(p.LastStableOffset(), hw)
		}
	}
	// A new leader whose high watermark has not reached its first offset does not know yet what was committed before.
	lagging := q.Consumer && st.role == RoleLeader && st.leaderEpochStart > hw
	switch q.Timestamp {
	case LatestTimestamp:
		if lagging {
			return none(), kerr.OffsetNotAvailable
		}
		return TimestampOffset{Timestamp: -1, Offset: bound, LeaderEpoch: st.leaderEpoch}, nil
	case EarliestTimestamp, EarliestLocalTimestamp:
		start := st.log.LogStartOffset()
		return TimestampOffset{Timestamp: -1, Offset: start, LeaderEpoch: st.log.EpochForOffset(start)}, nil
	case LatestTieredTimestamp, EarliestPendingTimestamp:
		return none(), nil // as of a topic without remote storage
	}
	var at TimestampOffset
	if q.Timestamp == MaxTimestamp {
		at, err = st.log.MaxTimestamp(st.log.LogEndOffset())
	} else {
		at, err = st.log.OffsetForTimestamp(q.Timestamp, st.log.LogEndOffset())
	}
	switch {
	case err != nil:
		return none(), clientError(fmt.Errorf("look up time %d: %w", q.Timestamp, err))
	case at.Offset >= 0 && at.Offset < bound:
		return at, nil
	case lagging:
		return none(), kerr.OffsetNotAvailable
	}
	return none(), nil
}

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the largest epoch not above the given one and where it ends; (-1, -1) is unknown.
func (p *Partition) EndOffsetForEpoch(currentLeaderEpoch, epoch int32) (int32, int64, error) {
	st, err := p.check(currentLeaderEpoch, true)
	if err != nil {
		return -1, -1, err
	}
	found, end := st.endOffsetForEpoch(epoch)
	return found, end, nil
}

// DeleteRecords moves the log start to offset (-1: to the high watermark) and returns the lowest log start of all replicas.
func (p *Partition) DeleteRecords(offset int64) (int64, error) {
	st, err := p.check(-1, true)
	if err != nil {
		return -1, err
	}
	if !st.log.Config().CleanupDelete && st.log.Config().CleanupCompact {
		return -1, kerr.PolicyViolation
	}
	hw := p.hw.Load()
	if offset == -1 {
		offset = hw
	}
	if offset < 0 || offset > hw {
		return -1, kerr.OffsetOutOfRange
	}
	if offset > st.log.LogStartOffset() {
		if err := st.log.DeleteRecordsTo(offset); err != nil {
			return -1, clientError(err)
		}
		var w Wakes
		p.mu.Lock()
		if now := p.st.Load(); now.role == RoleLeader {
			p.advanceLocked(now, &w)
		}
		p.mu.Unlock()
		w.Fire()
	}
	return st.log.LogStartOffset(), nil
}

// Producers lists the log's active producers.
func (p *Partition) Producers() ([]ProducerState, error) {
	st, err := p.check(-1, true)
	if err != nil {
		return nil, err
	}
	return st.log.Producers(), nil
}

// StartVerification begins the check of a transactional batch before it is appended: the guard goes into AppendOptions once the coordinator
// has confirmed it; 0 says that the producer's transaction is open here already and nothing has to be asked.
func (p *Partition) StartVerification(producerID int64, epoch int16, sequence int32, supportsEpochBump bool) (guard uint64, err error) {
	st, err := p.check(-1, true)
	if err != nil {
		return 0, err
	}
	guard, err = st.log.StartVerification(producerID, epoch, sequence, supportsEpochBump)
	return guard, clientError(err)
}

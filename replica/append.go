package replica

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/storage"
)

// AppendOptions go with one Append.
type AppendOptions struct {
	Acks    int16 // 0, 1 or -1
	Version int16 // of the Produce request
	Origin  Origin
	// Verified says that nothing about the batch's transaction has to be verified. Guard, if not 0, is the verification of Producer that the
	// coordinator has confirmed: it counts only if it is still the one under way (KIP-890).
	Verified bool
	Guard    uint64
	Producer int64
	// TransactionVersion is that of transaction markers.
	TransactionVersion int16
	// LeaderEpoch is the epoch under which the caller believes this broker leads; -1 does not care.
	LeaderEpoch int32
	// Wakes collects whom the append completes, for a caller that holds a lock; it fires them later. nil fires before Append returns.
	Wakes *Wakes
}

// AppendResult tells what an append did.
type AppendResult struct {
	BaseOffset     int64 // of the first record; of the first append of a duplicate
	NextOffset     int64 // after the last record
	LogAppendTime  int64 // ms; -1 under CreateTime
	LogStartOffset int64
	Duplicate      bool
	// Pending says that the acks asked for are not reached: call Await.
	Pending bool
}

// Append writes one or more batches at the leader. It patches offsets and epochs in records in place and keeps no slice of them.
func (p *Partition) Append(records []byte, o AppendOptions) (AppendResult, error) {
	var own Wakes
	w := o.Wakes
	if w == nil {
		w = &own
	}
	p.mu.Lock()
	st, err := p.check(o.LeaderEpoch, true)
	if err == nil && o.Acks == -1 && len(st.isr) < st.minISR() {
		err = kerr.NotEnoughReplicas
	}
	if err != nil {
		p.mu.Unlock()
		return AppendResult{}, err
	}
	r, err := st.log.Append(records, storage.AppendOptions{Origin: o.Origin, LeaderEpoch: st.leaderEpoch, Version: o.Version,
		Verified: o.Verified || o.Guard != 0 && st.log.VerificationHolds(o.Producer, o.Guard), TransactionVersion: o.TransactionVersion})
	if err != nil {
		p.mu.Unlock()
		return AppendResult{LogStartOffset: st.log.LogStartOffset()}, clientError(err)
	}
	res := AppendResult{BaseOffset: r.BaseOffset, NextOffset: r.LastOffset + 1, LogAppendTime: r.LogAppendTime, LogStartOffset: r.LogStartOffset, Duplicate: r.Duplicate}
	flush := st.log.NeedsFlush(r)
	if flush {
		p.flushLocked(flushing{base: r.BaseOffset, next: res.NextOffset})
	}
	if !r.Duplicate {
		p.advanceLocked(st, w)
		if o.Origin == OriginClient {
			p.traffic.Appended(res.NextOffset-res.BaseOffset, int64(len(records)))
		}
	}
	res.Pending = p.pendingLocked(o.Acks, res.NextOffset)
	p.mu.Unlock()
	if flush && !st.log.FlushGroup(res.NextOffset, func(err error) { p.flushed(st, res.NextOffset, err) }) {
		p.flushed(st, res.NextOffset, nil)
		p.mu.Lock()
		res.Pending = p.pendingLocked(o.Acks, res.NextOffset)
		p.mu.Unlock()
	}
	own.Fire()
	return res, nil
}

// pendingLocked tells whether the acks are not reached yet. Without acks=all only a demanded flush holds the answer back.
func (p *Partition) pendingLocked(acks int16, next int64) bool {
	return acks == -1 && p.hw.Load() < next || p.unflushedLocked(next)
}

// flushLocked notes an append that must reach the disk; a duplicate's lies before others.
func (p *Partition) flushLocked(f flushing) {
	i := len(p.flushes)
	for i > 0 && p.flushes[i-1].base > f.base {
		i--
	}
	p.flushes = slices.Insert(p.flushes, i, f)
}

func (p *Partition) unflushedLocked(next int64) bool {
	return len(p.flushes) > 0 && p.flushes[0].base < next
}

// flushed hears that the log is on disk up to an offset. A failure takes the directory offline, which answers the waiters; should
// it not, they get the error here.
func (p *Partition) flushed(under *state, next int64, err error) {
	var w Wakes
	p.mu.Lock()
	st := p.st.Load()
	switch {
	case st.log != under.log || st.role != RoleLeader:
	case err != nil:
		for _, a := range p.acks {
			w.add(a, clientError(err))
		}
		p.acks = nil
	default:
		p.flushes = slices.DeleteFunc(p.flushes, func(f flushing) bool { return f.next <= next })
		p.advanceLocked(st, &w)
	}
	p.mu.Unlock()
	w.Fire()
}

// AckWaiter is a parked produce at one partition. Done runs once, without a lock, with nil or the code to answer.
type AckWaiter struct {
	Acks       int16
	NextOffset int64
	Done       func(err error)
}

// Await completes a when its acks are reached (perhaps at once) or can't be any more. The caller keeps the deadline: Forget.
func (p *Partition) Await(a *AckWaiter) {
	var w Wakes
	p.mu.Lock()
	st := p.st.Load()
	switch {
	case st.role == RoleOffline:
		w.add(a, kerr.KafkaStorageError)
	case st.role != RoleLeader:
		w.add(a, kerr.NotLeaderForPartition)
	default:
		p.acks = append(p.acks, a)
		p.ackLocked(st, &w)
	}
	p.mu.Unlock()
	w.Fire()
}

// Forget takes a back and reports whether it had not completed.
func (p *Partition) Forget(a *AckWaiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, x := range p.acks {
		if x == a {
			p.acks = append(p.acks[:i], p.acks[i+1:]...)
			return true
		}
	}
	return false
}

// ackLocked collects the produces whose acks are reached.
func (p *Partition) ackLocked(st *state, w *Wakes) {
	if len(p.acks) == 0 {
		return
	}
	hw, kept := p.hw.Load(), p.acks[:0]
	for _, a := range p.acks {
		switch {
		case p.unflushedLocked(a.NextOffset), a.Acks == -1 && hw < a.NextOffset:
			kept = append(kept, a)
		case a.Acks == -1 && len(st.isr) < st.minISR():
			w.add(a, kerr.NotEnoughReplicasAfterAppend)
		default:
			w.add(a, nil)
		}
	}
	clear(p.acks[len(kept):])
	p.acks = kept
}

package storage

import (
	"container/heap"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// cleanedTxns follows the transactions of a log as its batches are read from some offset on: which data was aborted, and whether
// anything of a transaction is left when its marker comes (Kafka's CleanedTransactionMetadata).
type cleanedTxns struct {
	waiting   abortedHeap // aborted transactions whose first offset was not reached
	aborted   map[int64]*abortedSeen
	committed map[int64]bool
	// kept hears of each aborted transaction whose marker stays because some of its data was there; may be nil.
	kept func(AbortedTxn)
}

// abortedSeen is an aborted transaction that the reading is within.
type abortedSeen struct {
	txn  AbortedTxn
	data bool // some of its data was there
}

type abortedHeap []AbortedTxn

func (h abortedHeap) Len() int           { return len(h) }
func (h abortedHeap) Less(i, j int) bool { return h[i].FirstOffset < h[j].FirstOffset }
func (h abortedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *abortedHeap) Push(x any)        { *h = append(*h, x.(AbortedTxn)) }
func (h *abortedHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func newCleanedTxns() *cleanedTxns {
	return &cleanedTxns{aborted: map[int64]*abortedSeen{}, committed: map[int64]bool{}}
}

// add tells of aborted transactions that touch what is read next; one may be told again.
func (t *cleanedTxns) add(txns []AbortedTxn) {
	for _, a := range txns {
		heap.Push(&t.waiting, a)
	}
}

func (t *cleanedTxns) reach(offset int64) {
	for len(t.waiting) > 0 && t.waiting[0].FirstOffset <= offset {
		a := heap.Pop(&t.waiting).(AbortedTxn)
		if t.aborted[a.ProducerID] == nil {
			t.aborted[a.ProducerID] = &abortedSeen{txn: a}
		}
	}
}

// onData says whether a batch of data belongs to an aborted transaction.
func (t *cleanedTxns) onData(b batch.Batch) bool {
	t.reach(b.LastOffset())
	if !b.IsTransactional() {
		return false
	}
	if a := t.aborted[b.ProducerID()]; a != nil {
		a.data = true
		return true
	}
	if !t.committed[b.ProducerID()] {
		t.committed[b.ProducerID()] = true
	}
	return false
}

// onControl says whether nothing is left of the transaction that a control batch ends, so that it may go as a tombstone does.
func (t *cleanedTxns) onControl(b batch.Batch) (empty bool, err error) {
	t.reach(b.LastOffset())
	kind, found, err := controlTypeOf(b)
	if err != nil {
		return false, err
	}
	if !found {
		return true, nil // cleaned before
	}
	id := b.ProducerID()
	switch kind {
	case batch.ControlAbort:
		a := t.aborted[id]
		delete(t.aborted, id)
		if a == nil || !a.data {
			return true, nil
		}
		if t.kept != nil {
			t.kept(a.txn)
		}
		return false, nil
	case batch.ControlCommit:
		open := t.committed[id]
		delete(t.committed, id)
		return !open, nil
	}
	return false, nil
}

// controlTypeOf reads the type of a control batch's first record; not found: the batch is empty.
func controlTypeOf(b batch.Batch) (batch.ControlType, bool, error) {
	var r batch.Reader
	if err := r.Reset(b, batch.NoLimit); err != nil {
		return batch.ControlUnknown, false, err
	}
	defer r.Close()
	var rec batch.Record
	if !r.Next(&rec) {
		return batch.ControlUnknown, false, r.Err()
	}
	kind, err := batch.ParseControlKey(rec.Key)
	return kind, err == nil, err
}

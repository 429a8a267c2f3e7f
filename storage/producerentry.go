package storage

import "github.com/kaja-mq/kaja/protocol/batch"

// producerBatchLimit is how many of a producer's last batches are known by sequence: the most that clients have in flight.
const producerBatchLimit = 5

// noTxn is the first offset of a transaction where there is none.
const noTxn int64 = -1

// producerBatch is a batch that a producer wrote: enough to recognize it when it comes again.
type producerBatch struct {
	lastSeq     int32
	offsetDelta int32 // last offset minus first
	lastOffset  int64
	timestamp   int64 // the batch's max timestamp, ms
}

func (b producerBatch) firstOffset() int64 { return b.lastOffset - int64(b.offsetDelta) }

// firstSeq is the sequence before the wrap that lastSeq may have gone through.
func (b producerBatch) firstSeq() int32 {
	if b.lastSeq == batch.NoSequence {
		return batch.NoSequence
	}
	first := int64(b.lastSeq) - int64(b.offsetDelta)
	if first < 0 {
		first += 1 << 31
	}
	return int32(first)
}

// producerEntry is what is known of one producer id in one partition.
type producerEntry struct {
	id               int64
	lastTimestamp    int64 // ms, of the last batch or marker
	txnFirstOffset   int64 // of the ongoing transaction; noTxn
	coordinatorEpoch int32 // of the last marker, -1 none
	epoch            int16 // -1 none
	n                uint8 // batches in use
	batches          [producerBatchLimit]producerBatch
}

func emptyProducerEntry(id int64) producerEntry {
	return producerEntry{id: id, epoch: batch.NoProducerEpoch, lastTimestamp: batch.NoTimestamp, coordinatorEpoch: -1, txnFirstOffset: noTxn}
}

// withoutBatches is where an append starts from: the entry's state, and no batch of its own yet.
func (e *producerEntry) withoutBatches() producerEntry {
	c := *e
	c.n = 0
	return c
}

func (e *producerEntry) isEmpty() bool { return e.n == 0 }

// last is the newest batch; only if not empty.
func (e *producerEntry) last() producerBatch { return e.batches[e.n-1] }

func (e *producerEntry) lastSeq() int32 {
	if e.n == 0 {
		return batch.NoSequence
	}
	return e.last().lastSeq
}

func (e *producerEntry) setEpoch(epoch int16) {
	if e.epoch != epoch {
		e.epoch = epoch
		e.n = 0
	}
}

func (e *producerEntry) addBatch(b producerBatch) {
	if int(e.n) == producerBatchLimit {
		copy(e.batches[:], e.batches[1:])
		e.n--
	}
	e.batches[e.n] = b
	e.n++
}

// merge takes over what an append made of the entry.
func (e *producerEntry) merge(u *producerEntry) {
	e.setEpoch(u.epoch)
	for _, b := range u.batches[:u.n] {
		e.addBatch(b)
	}
	e.coordinatorEpoch = u.coordinatorEpoch
	e.txnFirstOffset = u.txnFirstOffset
	e.lastTimestamp = u.lastTimestamp
}

// duplicateOf finds the known batch that b repeats.
func (e *producerEntry) duplicateOf(b batch.Batch) (producerBatch, bool) {
	if b.ProducerEpoch() != e.epoch {
		return producerBatch{}, false
	}
	first, last := b.BaseSequence(), b.LastSequence()
	for _, k := range e.batches[:e.n] {
		if k.firstSeq() == first && k.lastSeq == last {
			return k, true
		}
	}
	return producerBatch{}, false
}

// state is the entry as DescribeProducers tells it.
func (e *producerEntry) state() ProducerState {
	return ProducerState{
		ProducerID:            e.id,
		ProducerEpoch:         e.epoch,
		LastSequence:          e.lastSeq(),
		LastTimestamp:         e.lastTimestamp,
		CoordinatorEpoch:      e.coordinatorEpoch,
		CurrentTxnStartOffset: e.txnFirstOffset,
	}
}

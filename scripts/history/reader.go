package main

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// reader follows one partition in one isolation level.
type reader struct {
	h         *history
	conn      conn
	partition int32
	isolated  bool // reads committed records only

	at  int64
	got []record
}

// record is what a reader got.
type record struct {
	offset int64
	value  string
}

// run reads until the reader has all there is, once the writers are done.
func (r *reader) run() {
	defer r.conn.close()
	deadline := time.Time{}
	for !r.h.broken() {
		hw, lso, ok := r.fetch()
		if !ok {
			pause(5 * time.Millisecond)
			continue
		}
		if !r.h.quiet() {
			continue
		}
		if r.at >= hw && lso >= hw {
			return
		}
		switch {
		case deadline.IsZero():
			deadline = time.Now().Add(hangLimit)
		case time.Now().After(deadline):
			r.h.problem("partition %d: all is done, and the last stable offset stays at %d, the end is %d: a transaction hangs", r.partition, lso, hw)
			return
		}
	}
}

// hangLimit is how long after the end of all writers a transaction may take to end.
const hangLimit = 5 * time.Second

func (r *reader) fetch() (hw, lso int64, ok bool) {
	p, err := r.ask()
	if err != nil {
		return 0, 0, false // killed
	}
	if p.ErrorCode != 0 {
		r.h.problem("partition %d: Fetch at offset %d: code %d", r.partition, r.at, p.ErrorCode)
		return 0, 0, false
	}
	batches, err := decode(p.RecordBatches)
	if err != nil {
		r.h.problem("partition %d: Fetch at offset %d: %v", r.partition, r.at, err)
		return 0, 0, false
	}
	r.take(batches, p.AbortedTransactions)
	if r.at > p.HighWatermark {
		r.h.problem("partition %d: a reader is at %d, above the high watermark %d", r.partition, r.at, p.HighWatermark)
	}
	return p.HighWatermark, p.LastStableOffset, true
}

// ready tells whether the partition is served.
func (r *reader) ready() bool {
	p, err := r.ask()
	return err == nil && p.ErrorCode == 0
}

func (r *reader) ask() (p kmsg.FetchResponseTopicPartition, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 11, -1, 20, 1, 1<<20, -1
	if r.isolated {
		req.IsolationLevel = 1
	}
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = r.h.topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = r.partition, r.at, 1<<16, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := r.conn.do(req)
	if err != nil {
		return p, err
	}
	return resp.(*kmsg.FetchResponse).Topics[0].Partitions[0], nil
}

// take keeps the records that a client would hand out: a reader of committed ones leaves out what the broker says was aborted.
func (r *reader) take(batches []read, list []kmsg.FetchResponseTopicPartitionAbortedTransaction) {
	slices.SortFunc(list, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return int(a.FirstOffset - b.FirstOffset)
	})
	out := map[int64]bool{}
	for _, b := range batches {
		for len(list) > 0 && list[0].FirstOffset <= b.last {
			out[list[0].ProducerID] = true
			list = list[1:]
		}
		if b.control {
			if !b.commit {
				delete(out, b.id)
			}
		} else if !r.isolated || !b.transactional || !out[b.id] {
			r.keep(b)
		}
		r.at = max(r.at, b.last+1)
	}
}

func (r *reader) keep(b read) {
	for i, v := range b.values {
		offset := b.base + int64(i)
		if offset < r.at {
			continue
		}
		r.h.ledger.shown(r.partition, offset, v, r.isolated)
		r.got = append(r.got, record{offset, v})
	}
}

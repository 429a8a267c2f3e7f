package main

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// transactions runs one transactional producer per connection: ten records in two partitions by one Produce, which adds the partitions
// (KIP-890), then EndTxn. Figures are per transaction.
func transactions(o *options, ws []*wire, id [16]byte, record int, d time.Duration, got figures) error {
	ps := make([]*txnProducer, len(ws))
	for i, w := range ws {
		var err error
		if ps[i], err = newTxnProducer(w, fmt.Sprintf("%s-%d-%d", o.topic, i, time.Now().UnixNano()), id, record); err != nil {
			return err
		}
		if err := ps[i].commit(w); err != nil { // what the first one costs more belongs to nobody
			return err
		}
	}
	var mu sync.Mutex
	var all []time.Duration
	m := startMeter(o.pid)
	end := time.Now().Add(d)
	err := together(ws, func(i int, w *wire) error {
		var lat []time.Duration
		for begin := time.Now(); begin.Before(end); begin = time.Now() {
			if err := ps[i].commit(w); err != nil {
				return err
			}
			lat = append(lat, time.Since(begin))
		}
		mu.Lock()
		all = append(all, lat...)
		mu.Unlock()
		return nil
	})
	if err != nil {
		return err
	}
	got.perRequest(m.stop(got), len(all))
	got.latencies(all)
	return nil
}

type txnProducer struct {
	txn   string
	topic [16]byte
	id    int64
	epoch int16
	parts [2][]byte // a batch each
}

func newTxnProducer(w *wire, txn string, topic [16]byte, record int) (*txnProducer, error) {
	if err := coordinator(w, txn, 1); err != nil {
		return nil, err
	}
	p := &txnProducer{txn: txn, topic: topic}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &txn, 60_000, -1, -1
	for try := 0; ; try++ {
		resp, err := ask[*kmsg.InitProducerIDResponse](w, req, 4)
		if err != nil {
			return nil, err
		}
		if resp.ErrorCode == 0 {
			p.id, p.epoch = resp.ProducerID, resp.ProducerEpoch
			break
		}
		if !loading(resp.ErrorCode) || try == 200 {
			return nil, coded("init producer id", resp.ErrorCode)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for i := range p.parts {
		w := batch.NewBuilder(nil, batch.PlainOptions(0, -1))
		for n := range 5 {
			w.Append(int64(n), time.Now().UnixMilli(), nil, make([]byte, record))
		}
		data, err := w.Finish()
		if err != nil {
			return nil, err
		}
		batch.Batch(data).SetAttributes(batch.AttrTransactional)
		p.parts[i] = data
	}
	return p, nil
}

// commit writes and commits one transaction.
func (p *txnProducer) commit(w *wire) error {
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &p.txn, -1, 30_000
	t := kmsg.NewProduceRequestTopic()
	t.TopicID = p.topic
	for i, data := range p.parts {
		b := batch.Batch(data)
		b.SetProducer(p.id, p.epoch, 0)
		b.RenewCRC()
		x := kmsg.NewProduceRequestTopicPartition()
		x.Partition, x.Records = int32(i), data
		t.Partitions = append(t.Partitions, x)
	}
	req.Topics = append(req.Topics, t)
	frame := encode(req, produceVersion)
	for try := 0; ; try++ {
		b, err := w.send(frame)
		if err != nil {
			return err
		}
		resp := kmsg.NewPtrProduceResponse()
		resp.SetVersion(produceVersion)
		if err := resp.ReadFrom(b[5:]); err != nil {
			return err
		}
		code := int16(0)
		for _, x := range resp.Topics[0].Partitions {
			if x.ErrorCode != 0 {
				code = x.ErrorCode
			}
		}
		if code == 0 {
			break
		}
		if code != kerr.ConcurrentTransactions.Code && code != kerr.NotLeaderForPartition.Code || try == 10_000 {
			return coded("produce in a transaction", code)
		}
		time.Sleep(time.Millisecond)
	}
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = p.txn, p.id, p.epoch, true
	for try := 0; ; try++ {
		b, err := w.send(encode(end, 5))
		if err != nil {
			return err
		}
		code := int16(binary.BigEndian.Uint16(b[4+1+4:]))
		if code == 0 {
			p.id = int64(binary.BigEndian.Uint64(b[4+1+4+2:]))
			p.epoch = int16(binary.BigEndian.Uint16(b[4+1+4+2+8:]))
			return nil
		}
		if code != kerr.ConcurrentTransactions.Code || try == 1000 {
			return coded("end transaction", code)
		}
		time.Sleep(time.Millisecond)
	}
}

package main

import (
	"flag"
	"time"
)

// tailMode produces rate records a second, acks=all, and reads them with a waiting fetch: time from send to receipt, CPU per record.
func tailMode(f *flag.FlagSet, o *options) func() (figures, error) {
	rate := f.Int("rate", 200, "records a second")
	seconds := f.Int("seconds", 5, "duration")
	record := f.Int("record", 100, "bytes of a value")
	return func() (figures, error) {
		id, err := o.prepare(nil)
		if err != nil {
			return nil, err
		}
		ws, err := dialAll(o.addr, 2)
		if err != nil {
			return nil, err
		}
		data, _, err := batchShape{record: *record, codec: "none", firstKey: -1}.build()
		if err != nil {
			return nil, err
		}
		frame := produceFrame(id, 0, -1, data)
		if err := settle(ws[0], frame); err != nil {
			return nil, err
		}
		b, err := ws[0].send(frame)
		if err != nil {
			return nil, err
		}
		base, err := produced(b)
		if err != nil {
			return nil, err
		}
		total := *rate * *seconds
		t := &tailer{id: id, next: base + 1, last: base + int64(total), sent: make(chan time.Time, total)}
		got := figures{"rate": *rate}
		m := startMeter(o.pid)
		err = together(ws, func(i int, w *wire) error {
			if i == 1 {
				return t.read(w)
			}
			return t.write(w, frame, total, time.Second/time.Duration(*rate))
		})
		if err != nil {
			return nil, err
		}
		got.perRequest(m.stop(got), total)
		got["polls"] = t.polls
		got.latencies(t.lat)
		return got, nil
	}
}

type tailer struct {
	id         [16]byte
	next, last int64
	sent       chan time.Time // of the records not read yet
	polls      int
	lat        []time.Duration
}

func (t *tailer) write(w *wire, frame []byte, n int, pause time.Duration) error {
	begin := time.Now()
	for i := range n {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * pause)))
		t.sent <- time.Now()
		b, err := w.send(frame)
		if err == nil {
			_, err = produced(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tailer) read(w *wire) error {
	for t.next <= t.last {
		b, err := w.send(fetchAsk{id: t.id, offset: t.next, maxBytes: 1 << 20, minBytes: 1, maxWaitMs: 500}.frame())
		if err != nil {
			return err
		}
		now := time.Now()
		records, err := fetched(b)
		if err != nil {
			return err
		}
		next, err := hop(records, t.next, false)
		if err != nil {
			return err
		}
		t.polls++
		for ; t.next < next; t.next++ {
			t.lat = append(t.lat, now.Sub(<-t.sent))
		}
	}
	return nil
}

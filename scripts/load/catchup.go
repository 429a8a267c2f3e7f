package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// catchupMode lets a consumer read a topic that is no longer in memory, from its start, while a producer goes on with another: CPU per GiB
// read, and what the producer waits for its answers meanwhile.
func catchupMode(f *flag.FlagSet, o *options) func() (figures, error) {
	data := f.String("data", "", "folder under which the broker keeps its logs: they are taken out of the page cache")
	mib := f.Int("mib", 256, "MiB to catch up with")
	maxBytes := f.Int("max", 1<<20, "max.partition.fetch.bytes")
	rate := f.Int("rate", 100, "batches of 64 KiB a second that the producer sends meanwhile")
	return func() (figures, error) {
		if *data == "" {
			return nil, errors.New("-data is missing")
		}
		o.partitions = 1
		id, err := o.prepare(nil)
		if err != nil {
			return nil, err
		}
		ws, err := dialAll(o.addr, 2)
		if err != nil {
			return nil, err
		}
		batch, _, err := batchShape{bytes: 64 << 10, record: 1 << 10, codec: "none", firstKey: -1}.build()
		if err != nil {
			return nil, err
		}
		frame := produceFrame(id, 0, 1, batch)
		if err := settle(ws[0], frame); err != nil {
			return nil, err
		}
		s := &sender{frames: [][]byte{frame}, inflight: 5}
		s.left.Store(int64(*mib << 20 / len(batch)))
		if err := together(ws, s.run); err != nil {
			return nil, err
		}
		if err := evict(*data, o.topic); err != nil {
			return nil, err
		}
		live, err := ws[0].topic(o.topic+"-live", 1, nil)
		if err != nil {
			return nil, err
		}
		frame = produceFrame(live, 0, 1, batch)
		if err := settle(ws[0], frame); err != nil {
			return nil, err
		}
		c := &catchup{ask: fetchAsk{id: id, maxBytes: int32(*maxBytes), minBytes: 1, maxWaitMs: 100}, frame: frame, pause: time.Second / time.Duration(*rate)}
		got := figures{"max": *maxBytes, "rate": *rate}
		m := startMeter(o.pid)
		if err := together(ws, c.run); err != nil {
			return nil, err
		}
		cpu := m.stop(got)
		got.perGiB(cpu, c.bytes)
		got.latencies(c.lat)
		return got, nil
	}
}

type catchup struct {
	ask   fetchAsk
	frame []byte
	pause time.Duration
	ended atomic.Bool
	bytes int64           // the reader's
	lat   []time.Duration // the producer's
}

func (c *catchup) run(i int, w *wire) error {
	if i == 0 {
		return c.produce(w)
	}
	defer c.ended.Store(true)
	for {
		b, err := w.send(c.ask.frame())
		if err != nil {
			return err
		}
		records, err := fetched(b)
		if err != nil {
			return err
		}
		next, err := hop(records, c.ask.offset, false)
		if err != nil || next == c.ask.offset {
			return err
		}
		c.ask.offset = next
		c.bytes += int64(len(records))
	}
}

func (c *catchup) produce(w *wire) error {
	begin := time.Now()
	for i := 0; !c.ended.Load(); i++ {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * c.pause)))
		sent := time.Now()
		b, err := w.send(c.frame)
		if err == nil {
			_, err = produced(b)
		}
		if err != nil {
			return err
		}
		c.lat = append(c.lat, time.Since(sent))
	}
	return nil
}

// evict takes the logs of a topic out of the page cache, wherever they lie under dir.
func evict(dir, topic string) error {
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") || filepath.Base(filepath.Dir(path)) != topic+"-0" {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return err
		}
		n++
		return dropCached(f)
	})
	if err == nil && n == 0 {
		return fmt.Errorf("no log of %s under %s", topic, dir)
	}
	return err
}

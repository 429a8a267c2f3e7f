package main

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// compactMode fills a compacted topic while its dirty ratio holds the cleaner off, then lowers the ratio and measures until the log has
// shrunk and stands still. The cleaner's pause (log.cleaner.backoff.ms) is in the wall time, not in the CPU time.
func compactMode(f *flag.FlagSet, o *options) func() (figures, error) {
	mib := f.Int("mib", 256, "MiB to write")
	keys := f.Int("keys", 20_000, "distinct keys")
	record := f.Int("record", 1<<10, "bytes of a value")
	segment := f.Int("segment", 16<<20, "segment.bytes")
	return func() (figures, error) {
		w, err := dial(o.addr)
		if err != nil {
			return nil, err
		}
		id, err := w.topic(o.topic, 1, map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1.0", "segment.bytes": fmt.Sprint(*segment)})
		if err != nil {
			return nil, err
		}
		if err := fillKeys(w, id, *mib, *keys, *record); err != nil {
			return nil, err
		}
		before, err := logSize(w, o.topic)
		if err != nil {
			return nil, err
		}
		got := figures{"keys": *keys, "before_mib": round(float64(before)/(1<<20), 1)}
		m := startMeter(o.pid)
		if err := lowerDirtyRatio(w, o.topic); err != nil {
			return nil, err
		}
		last, cpu, changed := before, 0.0, time.Now()
		for begin := time.Now(); last == before || time.Since(changed) < 3*time.Second; time.Sleep(100 * time.Millisecond) {
			n, err := logSize(w, o.topic)
			if err != nil {
				return nil, err
			}
			if n != last {
				last, cpu, changed = n, m.cpu(), time.Now()
			}
			if time.Since(begin) > 3*time.Minute {
				return nil, errors.New("not compacted in three minutes")
			}
		}
		m.stop(got)
		got["after_mib"] = round(float64(last)/(1<<20), 1)
		got.perGiB(cpu, before)
		return got, nil
	}
}

func fillKeys(w *wire, id [16]byte, mib, keys, record int) error {
	var frames [][]byte
	for k := 0; k < keys; {
		data, n, err := batchShape{bytes: 64 << 10, record: record, codec: "none", firstKey: k}.build()
		if err != nil {
			return err
		}
		frames = append(frames, produceFrame(id, 0, 1, data))
		k += n
	}
	for i := range mib * 16 {
		if err := settle(w, frames[i%len(frames)]); err != nil {
			return err
		}
	}
	return nil
}

func logSize(w *wire, topic string) (int64, error) {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	t := kmsg.NewDescribeLogDirsRequestTopic()
	t.Topic, t.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.DescribeLogDirsResponse](w, req, 4)
	if err != nil {
		return 0, err
	}
	for _, d := range resp.Dirs {
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				return p.Size, nil
			}
		}
	}
	return 0, fmt.Errorf("no log directory has %s", topic)
}

func lowerDirtyRatio(w *wire, topic string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = "min.cleanable.dirty.ratio", kmsg.StringPtr("0.01")
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](w, req, 1)
	if err != nil {
		return err
	}
	return coded("alter config", resp.Resources[0].ErrorCode)
}

package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// connsMode opens connections, says one ApiVersions on each and holds them.
func connsMode(f *flag.FlagSet, o *options) func() (figures, error) {
	hold := f.Float64("hold", 3, "seconds to hold them while CPU is measured")
	return func() (figures, error) {
		got := figures{"conns": o.conns}
		before := residentMiB(o.pid)
		m := startMeter(o.pid)
		hello := kmsg.NewPtrApiVersionsRequest()
		hello.ClientSoftwareName, hello.ClientSoftwareVersion = "load", "1"
		frame := encode(hello, 3)
		ws := make([]*wire, o.conns)
		for i := range ws {
			w, err := dial(o.addr)
			if err != nil {
				return nil, err
			}
			if _, err := w.send(frame); err != nil {
				return nil, err
			}
			w.r, w.buf = nil, nil
			ws[i] = w
		}
		got["cpu_us_per_connect"] = round(m.stop(got)*1e6/float64(o.conns), 1)
		held := startMeter(o.pid)
		time.Sleep(time.Duration(*hold * float64(time.Second)))
		got["cpu_ms_per_s"] = round(held.cpu()*1000 / *hold, 3)
		got["kib_per_conn"] = round((residentMiB(o.pid)-before)*1024/float64(o.conns), 2)
		for _, w := range ws {
			w.Close()
		}
		return got, nil
	}
}

// idleMode only looks.
func idleMode(f *flag.FlagSet, o *options) func() (figures, error) {
	seconds := f.Float64("seconds", 5, "duration")
	return func() (figures, error) {
		got := figures{}
		m := startMeter(o.pid)
		time.Sleep(time.Duration(*seconds * float64(time.Second)))
		got["cpu_ms_per_s"] = round(m.stop(got)*1000 / *seconds, 3)
		return got, nil
	}
}

// firstMode tries until a new topic has taken a record with acks=all: what starting a broker takes, from the user's view. With a topic
// that is there (after a restart) its creation is refused and the record goes into it.
func firstMode(f *flag.FlagSet, o *options) func() (figures, error) {
	begun := f.Int64("begun", 0, "when the broker was started, Unix ns (0: now)")
	limit := f.Float64("limit", 120, "seconds")
	return func() (figures, error) {
		begin := time.Now()
		if *begun > 0 {
			begin = time.Unix(0, *begun)
		}
		var last error
		for time.Since(begin).Seconds() < *limit {
			if last = first(o); last == nil {
				got := figures{"first_s": round(time.Since(begin).Seconds(), 4)}
				if o.pid > 0 {
					got["cpu_s"], got["rss_mib"] = round(max(tickCPU(o.pid), threadCPU(o.pid)), 3), round(residentMiB(o.pid), 1)
				}
				return got, nil
			}
			time.Sleep(time.Millisecond)
		}
		return nil, fmt.Errorf("no produce in %v s: %w", *limit, last)
	}
}

func first(o *options) error {
	w, err := dial(o.addr)
	if err != nil {
		return err
	}
	defer w.Close()
	id, err := w.topic(o.topic, o.partitions, nil)
	if err != nil {
		return err
	}
	data, _, err := batchShape{record: 100, codec: "none", firstKey: -1}.build()
	if err != nil {
		return err
	}
	b, err := w.send(produceFrame(id, 0, -1, data))
	if err != nil {
		return err
	}
	_, err = produced(b)
	return err
}

// topicsMode creates topics and produces one record to each of their partitions.
func topicsMode(f *flag.FlagSet, o *options) func() (figures, error) {
	count := f.Int("count", 1, "topics of -partitions each")
	per := f.Int("per", 1, "topics in one CreateTopics")
	return func() (figures, error) {
		w, err := dial(o.addr)
		if err != nil {
			return nil, err
		}
		data, _, err := batchShape{record: 100, codec: "none", firstKey: -1}.build()
		if err != nil {
			return nil, err
		}
		if _, err := w.topic(o.topic+"-warm", 1, nil); err != nil {
			return nil, err
		}
		got := figures{"topics": *count, "partitions": o.partitions}
		before := residentMiB(o.pid)
		m := startMeter(o.pid)
		names := make([]string, *count)
		for i := range names {
			names[i] = fmt.Sprintf("%s-%d", o.topic, i)
		}
		if err := createTopics(w, names, o.partitions, *per); err != nil {
			return nil, err
		}
		got["created_s"] = round(time.Since(m.begin).Seconds(), 3)
		if o.pid > 0 {
			got["created_cpu_s"] = round(m.cpu(), 3)
		}
		for _, name := range names {
			id, err := w.topic(name, o.partitions, nil)
			if err != nil {
				return nil, err
			}
			for p := range o.partitions {
				if err := settle(w, produceFrame(id, int32(p), 1, data)); err != nil {
					return nil, err
				}
			}
		}
		m.stop(got)
		if o.pid > 0 {
			got["kib_per_partition"] = round((residentMiB(o.pid)-before)*1024/float64(*count*o.partitions), 2)
		}
		return got, nil
	}
}

func createTopics(w *wire, names []string, partitions, per int) error {
	for i := 0; i < len(names); i += per {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 120_000
		for _, name := range names[i:min(i+per, len(names))] {
			t := kmsg.NewCreateTopicsRequestTopic()
			t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
			req.Topics = append(req.Topics, t)
		}
		resp, err := ask[*kmsg.CreateTopicsResponse](w, req, 7)
		if err != nil {
			return err
		}
		for _, t := range resp.Topics {
			if err := coded("create "+t.Topic, t.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

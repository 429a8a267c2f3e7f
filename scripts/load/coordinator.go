package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// idleSessionMs is the longest session that a broker allows: members of idle groups are not heard of while they are measured.
const idleSessionMs = 1_800_000

// groupsMode makes groups, each with a member and a committed offset, and looks at the broker while nobody asks for anything.
func groupsMode(f *flag.FlagSet, o *options) func() (figures, error) {
	count := f.Int("groups", 1000, "groups")
	seconds := f.Float64("seconds", 5, "how long to look")
	return func() (figures, error) {
		if _, err := o.prepare(nil); err != nil {
			return nil, err
		}
		w, err := dial(o.addr)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		got := figures{"groups": *count}
		before := residentMiB(o.pid)
		for i := range *count {
			group := fmt.Sprintf("%s-idle%d", o.topic, i)
			if _, err := commit(w, group, o.topic); err != nil {
				return nil, err
			}
			if _, err := classicMember(w, group, idleSessionMs); err != nil {
				return nil, err
			}
		}
		got["kib_per_group"] = round((residentMiB(o.pid)-before)*1024/float64(*count), 2)
		m := startMeter(o.pid)
		time.Sleep(time.Duration(*seconds * float64(time.Second)))
		cpu := m.stop(got)
		got["cpu_ms_per_s"] = round(cpu*1000 / *seconds, 3)
		return got, nil
	}
}

// committed is the offset that offsetsMode commits everywhere.
const committed = 42

// offsetsMode commits many offsets; with -begun it waits instead until a broker that was started again has loaded them.
func offsetsMode(f *flag.FlagSet, o *options) func() (figures, error) {
	groups := f.Int("groups", 100, "groups, each with an offset for every partition of the topic")
	begun := f.Int64("begun", 0, "when the broker was started again, Unix ns (0: commit)")
	limit := f.Float64("limit", 60, "seconds to wait")
	return func() (figures, error) {
		got := figures{"offsets": *groups * o.partitions}
		if *begun > 0 {
			return got, o.awaitOffsets(*groups, time.Unix(0, *begun), *limit, got)
		}
		if _, err := o.prepare(nil); err != nil {
			return nil, err
		}
		w, err := dial(o.addr)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		m := startMeter(o.pid)
		for i := range *groups {
			group := o.offsetsGroup(i)
			if _, err := commit(w, group, o.topic); err != nil { // the coordinator is there
				return nil, err
			}
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Group, req.Generation = group, -1
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = o.topic
			for p := range o.partitions {
				cp := kmsg.NewOffsetCommitRequestTopicPartition()
				cp.Partition, cp.Offset, cp.LeaderEpoch = int32(p), committed, -1
				t.Partitions = append(t.Partitions, cp)
			}
			req.Topics = append(req.Topics, t)
			resp, err := ask[*kmsg.OffsetCommitResponse](w, req, 8)
			if err != nil {
				return nil, err
			}
			for _, p := range resp.Topics[0].Partitions {
				if err := coded("offset commit", p.ErrorCode); err != nil {
					return nil, err
				}
			}
		}
		m.stop(got)
		return got, nil
	}
}

func (o *options) offsetsGroup(i int) string { return fmt.Sprintf("%s-offsets%d", o.topic, i) }

// awaitOffsets asks for all groups' offsets until every one is there.
func (o *options) awaitOffsets(groups int, begun time.Time, limit float64, got figures) error {
	var last error
	for i := 0; i < groups; {
		if time.Since(begun).Seconds() > limit {
			return fmt.Errorf("offsets are not loaded in %v s: %w", limit, last)
		}
		w, err := dial(o.addr)
		if err != nil {
			last = err
			time.Sleep(time.Millisecond)
			continue
		}
		for ; i < groups; i++ {
			if last = o.offsetsThere(w, i); last != nil {
				break
			}
		}
		w.Close()
	}
	got["loaded_s"] = round(time.Since(begun).Seconds(), 3)
	if o.pid > 0 {
		got["cpu_s"] = round(max(tickCPU(o.pid), threadCPU(o.pid)), 3)
	}
	return nil
}

// offsetsThere tells whether the group has its offset for each partition; an error is worth asking again.
func (o *options) offsetsThere(w *wire, i int) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = o.offsetsGroup(i), -1
	req.Groups = append(req.Groups, g)
	resp, err := ask[*kmsg.OffsetFetchResponse](w, req, 8)
	if err != nil {
		return err
	}
	if err := coded("offset fetch", resp.Groups[0].ErrorCode); err != nil {
		return err
	}
	n := 0
	for _, t := range resp.Groups[0].Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Offset == committed {
				n++
			}
		}
	}
	if n != o.partitions {
		return fmt.Errorf("%s has %d offsets of %d", g.Group, n, o.partitions)
	}
	return nil
}

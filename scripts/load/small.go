package main

import (
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// exchange is a request that is sent again and again, and what its answer must look like.
type exchange struct {
	frame []byte
	check func(answer []byte) error
}

func unchecked([]byte) error { return nil }

// smallMode sends one small request after the other: as many as are answered, or rate a second.
func smallMode(f *flag.FlagSet, o *options) func() (figures, error) {
	kind := f.String("request", "produce", "produce, metadata, apiversions, fetch, heartbeat, consumer-heartbeat, commit or transaction")
	acks := f.Int("acks", -1, "of produce")
	record := f.Int("record", 100, "bytes of a value")
	seconds := f.Float64("seconds", 3, "duration")
	inflight := f.Int("inflight", 1, "requests outstanding per connection")
	rate := f.Int("rate", 0, "requests a second over all connections (0: as fast as they are answered)")
	return func() (figures, error) {
		if *kind == "transaction" {
			o.partitions = max(o.partitions, 2)
		}
		id, err := o.prepare(nil)
		if err != nil {
			return nil, err
		}
		ws, err := dialAll(o.addr, o.conns)
		if err != nil {
			return nil, err
		}
		got := figures{"request": *kind, "conns": o.conns, "inflight": *inflight}
		if *kind == "transaction" {
			return got, transactions(o, ws, id, *record, time.Duration(*seconds*float64(time.Second)), got)
		}
		xs := make([]exchange, len(ws))
		for i, w := range ws {
			if xs[i], err = smallExchange(w, o, *kind, i, id, int16(*acks), *record); err != nil {
				return nil, err
			}
		}
		s := &smalls{inflight: *inflight, exchanges: xs}
		if *rate > 0 {
			s.pause = time.Second * time.Duration(len(ws)) / time.Duration(*rate)
		}
		m := startMeter(o.pid)
		s.end = time.Now().Add(time.Duration(*seconds * float64(time.Second)))
		if err := together(ws, s.run); err != nil {
			return nil, err
		}
		got.perRequest(m.stop(got), len(s.lat))
		got.latencies(s.lat)
		return got, nil
	}
}

func smallExchange(w *wire, o *options, kind string, i int, id [16]byte, acks int16, record int) (exchange, error) {
	partition := int32(i % o.partitions)
	switch kind {
	case "produce":
		data, _, err := batchShape{record: record, codec: "none", firstKey: -1}.build()
		if err != nil {
			return exchange{}, err
		}
		x := exchange{produceFrame(id, partition, acks, data), func(b []byte) error { _, err := produced(b); return err }}
		return x, settle(w, x.frame)
	case "metadata":
		req := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &o.topic
		req.Topics = append(req.Topics, t)
		return exchange{encode(req, 12), unchecked}, nil
	case "apiversions":
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "load", "1"
		return exchange{encode(req, 3), unchecked}, nil
	case "fetch":
		return exchange{fetchAsk{id: id, partition: partition, maxBytes: 1}.frame(), func(b []byte) error { _, err := fetched(b); return err }}, nil
	case "heartbeat":
		return classicMember(w, fmt.Sprintf("%s-%d-%d", o.topic, i, time.Now().UnixNano()), 30_000)
	case "consumer-heartbeat":
		return consumerMember(w, fmt.Sprintf("%s-c%d-%d", o.topic, i, time.Now().UnixNano()), o.topic)
	case "commit":
		return commit(w, fmt.Sprintf("%s-o%d", o.topic, i), o.topic)
	}
	return exchange{}, fmt.Errorf("unknown request %q", kind)
}

// errorAt checks the code at a fixed place of an answer.
func errorAt(what string, at int) func([]byte) error {
	return func(b []byte) error {
		if len(b) < at+2 {
			return errors.New(what + ": short answer")
		}
		return coded(what, int16(b[at])<<8|int16(b[at+1]))
	}
}

// coordinator asks until the group's coordinator has loaded what it needs.
func coordinator(w *wire, key string, kind int8) error {
	for try := 0; ; try++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKeys = kind, []string{key}
		resp, err := ask[*kmsg.FindCoordinatorResponse](w, req, 4)
		if err != nil {
			return err
		}
		err = coded("find coordinator", resp.Coordinators[0].ErrorCode)
		if err == nil || try == 200 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// loading tells whether a coordinator is worth asking again.
func loading(code int16) bool {
	return code == kerr.CoordinatorLoadInProgress.Code || code == kerr.NotCoordinator.Code || code == kerr.CoordinatorNotAvailable.Code || code == kerr.ConcurrentTransactions.Code
}

// classicMember joins a group alone and gives its heartbeat.
func classicMember(w *wire, group string, sessionMs int32) (exchange, error) {
	if err := coordinator(w, group, 0); err != nil {
		return exchange{}, err
	}
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = group, sessionMs, 30_000, "consumer"
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	join.Protocols = append(join.Protocols, p)
	var joined *kmsg.JoinGroupResponse
	for try := 0; ; try++ {
		var err error
		if joined, err = ask[*kmsg.JoinGroupResponse](w, join, 7); err != nil {
			return exchange{}, err
		}
		join.MemberID = joined.MemberID
		if joined.ErrorCode == 0 {
			break
		}
		if joined.ErrorCode != kerr.MemberIDRequired.Code && !loading(joined.ErrorCode) || try == 200 {
			return exchange{}, coded("join group", joined.ErrorCode)
		}
		if loading(joined.ErrorCode) {
			time.Sleep(50 * time.Millisecond)
		}
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = group, joined.MemberID, joined.Generation
	sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = joined.MemberID, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	sync.GroupAssignment = append(sync.GroupAssignment, a)
	synced, err := ask[*kmsg.SyncGroupResponse](w, sync, 5)
	if err != nil {
		return exchange{}, err
	}
	if err := coded("sync group", synced.ErrorCode); err != nil {
		return exchange{}, err
	}
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group, beat.MemberID, beat.Generation = group, joined.MemberID, joined.Generation
	return exchange{encode(beat, 4), errorAt("heartbeat", 4+1+4)}, nil
}

// consumerMember joins a group of the new protocol alone and gives its heartbeat when nothing changes.
func consumerMember(w *wire, group, topic string) (exchange, error) {
	if err := coordinator(w, group, 0); err != nil {
		return exchange{}, err
	}
	join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	join.Group, join.MemberID, join.RebalanceTimeoutMillis = group, "AAAAAAAAAAAAAAAAAAAAAA", 30_000
	join.SubscribedTopicNames, join.Topics = []string{topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for try := 0; ; try++ {
		resp, err := ask[*kmsg.ConsumerGroupHeartbeatResponse](w, join, 1)
		if err != nil {
			return exchange{}, err
		}
		if resp.ErrorCode == 0 {
			beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			beat.Group, beat.MemberID, beat.MemberEpoch, beat.RebalanceTimeoutMillis = group, join.MemberID, resp.MemberEpoch, -1
			return exchange{encode(beat, 1), errorAt("consumer heartbeat", 4+1+4)}, nil
		}
		if !loading(resp.ErrorCode) || try == 200 {
			return exchange{}, coded("consumer heartbeat", resp.ErrorCode)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// commit stores an offset for a group without members.
func commit(w *wire, group, topic string) (exchange, error) {
	if err := coordinator(w, group, 0); err != nil {
		return exchange{}, err
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.LeaderEpoch = 1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	for try := 0; ; try++ {
		resp, err := ask[*kmsg.OffsetCommitResponse](w, req, 8)
		if err != nil {
			return exchange{}, err
		}
		code := resp.Topics[0].Partitions[0].ErrorCode
		if code == 0 {
			at := 4 + 1 + 4 + 1 + 1 + len(topic) + 1 + 4 // names below 127 bytes have a length of one byte
			return exchange{encode(req, 8), errorAt("offset commit", at)}, nil
		}
		if !loading(code) || try == 200 {
			return exchange{}, coded("offset commit", code)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// smalls is a closed loop, or an open one with a pause, per connection.
type smalls struct {
	exchanges []exchange
	inflight  int
	pause     time.Duration // between requests of a connection, 0 none
	end       time.Time

	mu  sync.Mutex
	lat []time.Duration // guarded by mu
}

func (s *smalls) run(i int, w *wire) error {
	lat, err := s.loop(i, w)
	s.mu.Lock()
	s.lat = append(s.lat, lat...)
	s.mu.Unlock()
	return err
}

func (s *smalls) loop(i int, w *wire) (lat []time.Duration, err error) {
	x := s.exchanges[i]
	if s.inflight > 1 {
		return s.pipeline(x, w)
	}
	due := time.Now()
	for now := due; now.Before(s.end); now = time.Now() {
		if s.pause > 0 {
			time.Sleep(time.Until(due))
			due = due.Add(s.pause)
			now = time.Now()
		}
		b, err := w.send(x.frame)
		if err == nil {
			err = x.check(b)
		}
		if err != nil {
			return lat, err
		}
		lat = append(lat, time.Since(now))
	}
	return lat, nil
}

// pipeline keeps inflight requests outstanding by sending half of them at once when that many are answered.
func (s *smalls) pipeline(x exchange, w *wire) (lat []time.Duration, err error) {
	half := max(s.inflight/2, 1)
	var burst []byte
	for range half {
		burst = append(burst, x.frame...)
	}
	var sent []time.Time // of the bursts outstanding
	for time.Now().Before(s.end) || len(sent) > 0 {
		for len(sent) < 2 && time.Now().Before(s.end) {
			sent = append(sent, time.Now())
			if _, err := w.Write(burst); err != nil {
				return lat, err
			}
		}
		for range half {
			b, err := w.next()
			if err == nil {
				err = x.check(b)
			}
			if err != nil {
				return lat, err
			}
			lat = append(lat, time.Since(sent[0]))
		}
		sent = sent[1:]
	}
	return lat, nil
}

package franz

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/compat-tests/corpus"
)

func detail(t *testing.T, name string) kadm.TopicDetail {
	t.Helper()
	ts, err := admin(t).ListTopics(ctxOf(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return ts[name]
}

func TestTopicLifecycle(t *testing.T) {
	adm := admin(t)
	name := topic(t, "life", 3)
	d := detail(t, name)
	if d.Err != nil || len(d.Partitions) != 3 || d.ID == (kadm.TopicID{}) || d.IsInternal {
		t.Fatalf("described as %+v", d)
	}
	for p, pd := range d.Partitions {
		if pd.Err != nil || pd.Leader < 0 || len(pd.Replicas) != 1 || len(pd.ISR) != 1 || pd.Replicas[0] != pd.Leader {
			t.Errorf("partition %d is %+v", p, pd)
		}
	}
	again, err := adm.CreateTopic(ctxOf(t), 1, 1, nil, name)
	wantCode(t, "create twice", errors.Join(err, again.Err), kerr.TopicAlreadyExists)

	grown, err := adm.UpdatePartitions(ctxOf(t), 5, name)
	if err != nil || grown.Error() != nil {
		t.Fatal(err, grown.Error())
	}
	if n := len(detail(t, name).Partitions); n != 5 {
		t.Errorf("%d partitions after growing to 5", n)
	}
	shrunk, err := adm.UpdatePartitions(ctxOf(t), 2, name)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "shrink", shrunk.Error(), kerr.InvalidPartitions)

	first := d.ID
	if _, err := adm.DeleteTopics(ctxOf(t), name); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "describe the deleted topic", detail(t, name).Err, kerr.UnknownTopicOrPartition)
	if resp, err := adm.CreateTopic(ctxOf(t), 1, 1, nil, name); err != nil || resp.Err != nil {
		t.Fatal(err, resp.Err)
	}
	if d := detail(t, name); d.ID == first || len(d.Partitions) != 1 {
		t.Errorf("made again with id %v (before %v) and %d partitions", d.ID, first, len(d.Partitions))
	}
	if got := endOffset(t, name); got != 0 {
		t.Errorf("the topic made again ends at %d", got)
	}
}

func endOffset(t *testing.T, name string) int64 {
	t.Helper()
	l, err := admin(t).ListEndOffsets(ctxOf(t), name)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := l.Lookup(name, 0)
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	return o.Offset
}

func TestCreateErrors(t *testing.T) {
	adm := admin(t)
	f := func(what, name string, partitions int32, factor int16, configs map[string]*string, want *kerr.Error) {
		t.Helper()
		resp, err := adm.CreateTopic(ctxOf(t), partitions, factor, configs, name)
		wantCode(t, what, errors.Join(err, resp.Err), want)
	}
	s := func(v string) *string { return &v }
	ok := corpus.Topic(t, "bad")
	f("a slash", "a/b", 1, 1, nil, kerr.InvalidTopicException)
	f("a dot", ".", 1, 1, nil, kerr.InvalidTopicException)
	f("no name", "", 1, 1, nil, kerr.InvalidTopicException)
	f("250 letters", string(make([]byte, 250)), 1, 1, nil, kerr.InvalidTopicException)
	f("no partitions", ok, 0, 1, nil, kerr.InvalidPartitions)
	f("too many replicas", ok, 1, 100, nil, kerr.InvalidReplicationFactor)
	f("unknown config", ok, 1, 1, map[string]*string{"no.such.config": s("1")}, kerr.InvalidConfig)
	f("bad value", ok, 1, 1, map[string]*string{"retention.ms": s("soon")}, kerr.InvalidConfig)
	f("value out of range", ok, 1, 1, map[string]*string{"segment.bytes": s("1")}, kerr.InvalidConfig)
	wantCode(t, "none of these made it", detail(t, ok).Err, kerr.UnknownTopicOrPartition)
	v, err := adm.ValidateCreateTopics(ctxOf(t), 4, 1, nil, ok)
	if err != nil || v.Error() != nil {
		t.Errorf("validate only: %v %v", err, v.Error())
	}
	wantCode(t, "validate only makes nothing", detail(t, ok).Err, kerr.UnknownTopicOrPartition)
	del, err := adm.DeleteTopics(ctxOf(t), ok)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "delete what is not there", del[ok].Err, kerr.UnknownTopicOrPartition)
}

func TestConfigs(t *testing.T) {
	adm := admin(t)
	name := topic(t, "configs", 1, "retention.ms", "1000000")
	value := func(key string) (string, kmsg.ConfigSource) {
		t.Helper()
		rs, err := adm.DescribeTopicConfigs(ctxOf(t), name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rs.On(name, nil)
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		for _, c := range r.Configs {
			if c.Key == key {
				return c.MaybeValue(), c.Source
			}
		}
		t.Fatalf("%s is not among %d configs", key, len(r.Configs))
		return "", 0
	}
	want := func(key, val string, source kmsg.ConfigSource) {
		t.Helper()
		if v, s := value(key); v != val || s != source {
			t.Errorf("%s is %q from %v, want %q from %v", key, v, s, val, source)
		}
	}
	alter := func(want *kerr.Error, cs ...kadm.AlterConfig) {
		t.Helper()
		rs, err := adm.AlterTopicConfigs(ctxOf(t), cs, name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rs.On(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want != nil {
			wantCode(t, "alter", r.Err, want)
		} else if r.Err != nil {
			t.Fatalf("alter %v: %v", cs, r.Err)
		}
	}
	s := func(v string) *string { return &v }
	want("retention.ms", "1000000", kmsg.ConfigSourceDynamicTopicConfig)
	want("cleanup.policy", "delete", kmsg.ConfigSourceDefaultConfig)
	alter(nil, kadm.AlterConfig{Op: kadm.SetConfig, Name: "segment.ms", Value: s("60000")}, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: "retention.ms"})
	want("segment.ms", "60000", kmsg.ConfigSourceDynamicTopicConfig)
	want("retention.ms", "604800000", kmsg.ConfigSourceDefaultConfig)
	alter(nil, kadm.AlterConfig{Op: kadm.AppendConfig, Name: "cleanup.policy", Value: s("compact")})
	want("cleanup.policy", "delete,compact", kmsg.ConfigSourceDynamicTopicConfig)
	alter(nil, kadm.AlterConfig{Op: kadm.SubtractConfig, Name: "cleanup.policy", Value: s("delete")})
	want("cleanup.policy", "compact", kmsg.ConfigSourceDynamicTopicConfig)
	alter(kerr.InvalidConfig, kadm.AlterConfig{Op: kadm.SetConfig, Name: "cleanup.policy", Value: s("shred")})
	alter(kerr.InvalidConfig, kadm.AlterConfig{Op: kadm.SetConfig, Name: "no.such.config", Value: s("1")})
	want("cleanup.policy", "compact", kmsg.ConfigSourceDynamicTopicConfig)

	// A config takes effect for the next request.
	alter(nil, kadm.AlterConfig{Op: kadm.SetConfig, Name: "cleanup.policy", Value: s("delete")}, kadm.AlterConfig{Op: kadm.SetConfig, Name: "max.message.bytes", Value: s("500")})
	err := client(t, kgo.ProducerBatchCompression(kgo.NoCompression())).ProduceSync(ctxOf(t), &kgo.Record{Topic: name, Value: make([]byte, 1000)}).FirstErr()
	wantCode(t, "1000 bytes after max.message.bytes=500", err, kerr.MessageTooLarge)

	missing, err := adm.DescribeTopicConfigs(ctxOf(t), corpus.Topic(t, "missing"))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "configs of no topic", missing[0].Err, kerr.UnknownTopicOrPartition)
}

func TestBrokerConfigs(t *testing.T) {
	adm := admin(t)
	brokers, err := adm.ListBrokers(ctxOf(t))
	if err != nil || len(brokers) == 0 {
		t.Fatal(err, "brokers:", len(brokers))
	}
	id := brokers[0].NodeID
	rs, err := adm.DescribeBrokerConfigs(ctxOf(t), id)
	if err != nil || rs[0].Err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range rs[0].Configs {
		got[c.Key] = c.MaybeValue()
	}
	if got["node.id"] != strconv.Itoa(int(id)) || got["log.segment.bytes"] != "1073741824" || len(got) < 200 {
		t.Errorf("%d broker configs, node.id=%q log.segment.bytes=%q", len(got), got["node.id"], got["log.segment.bytes"])
	}
	// A cluster-wide dynamic default is seen by a topic that does not set it.
	v := "123456789"
	if _, err := adm.AlterBrokerConfigs(ctxOf(t), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "log.retention.ms", Value: &v}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = adm.AlterBrokerConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "log.retention.ms"}}) // cleanup
	})
	name := topic(t, "inherits", 1)
	ts, err := adm.DescribeTopicConfigs(ctxOf(t), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ts[0].Configs {
		if c.Key == "retention.ms" && (c.MaybeValue() != v || c.Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig) {
			t.Errorf("retention.ms is %s from %v, want %s from the dynamic default", c.MaybeValue(), c.Source, v)
		}
	}
	if _, err := adm.AlterBrokerConfigs(ctxOf(t), []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "log.retention.ms"}}); err != nil {
		t.Fatal(err)
	}
}

func TestDeleteRecords(t *testing.T) {
	name := topic(t, "delrec", 1)
	want := series(name, 100)
	produce(t, client(t, kgo.ProducerBatchMaxBytes(2000)), want)
	adm := admin(t)
	del := func(at int64) kadm.DeleteRecordsResponse {
		t.Helper()
		os := make(kadm.Offsets)
		os.AddOffset(name, 0, at, -1)
		rs, err := adm.DeleteRecords(ctxOf(t), os)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := rs.Lookup(name, 0)
		return r
	}
	if r := del(40); r.Err != nil || r.LowWatermark != 40 {
		t.Fatalf("delete before 40: low watermark %d, %v", r.LowWatermark, r.Err)
	}
	same(t, consume(t, name, 0, 40, 60), want[40:], 40)
	cl := client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {0: kgo.NewOffset().At(39)}}), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	wantCode(t, "read what was deleted", cl.PollFetches(ctxOf(t)).Err(), kerr.OffsetOutOfRange)
	if r := del(10); r.Err != nil || r.LowWatermark != 40 {
		t.Errorf("delete before 10 afterwards: low watermark %d, %v, want 40", r.LowWatermark, r.Err)
	}
	wantCode(t, "delete past the end", del(101).Err, kerr.OffsetOutOfRange)
	if r := del(-1); r.Err != nil || r.LowWatermark != 100 {
		t.Errorf("delete all: low watermark %d, %v, want 100", r.LowWatermark, r.Err)
	}
	if end := endOffset(t, name); end != 100 {
		t.Errorf("the end is %d after deleting all, want 100", end)
	}
	produce(t, client(t), series(name, 1))
	if got := consume(t, name, 0, 100, 1); got[0].Offset != 100 {
		t.Errorf("the next record got offset %d, want 100", got[0].Offset)
	}
}

func TestLogDirs(t *testing.T) {
	name := topic(t, "dirs", 2)
	produce(t, client(t, kgo.ProducerBatchCompression(kgo.NoCompression())), []*kgo.Record{{Topic: name, Value: make([]byte, 5000)}})
	all, err := admin(t).DescribeAllLogDirs(ctxOf(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	var found int
	all.Each(func(d kadm.DescribedLogDir) {
		if d.Err != nil {
			t.Errorf("%s: %v", d.Dir, d.Err)
		}
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if p.Topic == name {
				found++
				size += p.Size
			}
		})
	})
	if found != 2 || size < 5000 || size > 6000 {
		t.Errorf("%d partitions with %d bytes, want 2 with a little over 5000", found, size)
	}
}

func TestUnknownTopicWithoutCreation(t *testing.T) {
	name := corpus.Topic(t, "nobody")
	cl := client(t, kgo.UnknownTopicRetries(1))
	req := kmsg.NewPtrMetadataRequest()
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, mt)
	resp, err := req.RequestWith(ctxOf(t), cl)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "metadata", kerr.ErrorForCode(resp.Topics[0].ErrorCode), kerr.UnknownTopicOrPartition)
	err = cl.ProduceSync(ctxOf(t), &kgo.Record{Topic: name, Value: []byte("x")}).FirstErr()
	wantCode(t, "produce", err, kerr.UnknownTopicOrPartition)
}

func TestAutoCreation(t *testing.T) {
	name := corpus.Topic(t, "auto")
	cl := client(t, kgo.AllowAutoTopicCreation())
	t.Cleanup(func() { _, _ = admin(t).DeleteTopics(context.Background(), name) }) // a leftover harms nobody
	produce(t, cl, []*kgo.Record{{Topic: name, Value: []byte("made by use")}})
	if got := consume(t, name, 0, 0, 1); string(got[0].Value) != "made by use" {
		t.Errorf("got %q", got[0].Value)
	}
}

func TestProducers(t *testing.T) {
	name := topic(t, "producers", 1)
	produce(t, client(t), series(name, 7))
	ps, err := admin(t).DescribeProducers(ctxOf(t), kadm.TopicsSet{name: {0: {}}})
	if err != nil {
		t.Fatal(err)
	}
	all := ps.SortedProducers()
	if len(all) != 1 || all[0].LastSequence != 6 || all[0].ProducerEpoch != 0 {
		t.Errorf("producers are %+v, want one with last sequence 6", all)
	}
}

func TestLeaderEpoch(t *testing.T) {
	name := topic(t, "epoch", 1)
	produce(t, client(t), series(name, 3))
	req := kadm.OffsetForLeaderEpochRequest{}
	req.Add(name, 0, detail(t, name).Partitions[0].LeaderEpoch)
	rs, err := admin(t).OffsetForLeaderEpoch(ctxOf(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if r := rs[name][0]; r.Err != nil || r.EndOffset != 3 {
		t.Errorf("the epoch ends at %d (%v), want 3", r.EndOffset, r.Err)
	}
}

func TestQuorumAndFeatures(t *testing.T) {
	adm := admin(t)
	brokers, err := adm.BrokerMetadata(ctxOf(t))
	if err != nil || brokers.Cluster == "" || brokers.Controller < 0 {
		t.Errorf("cluster %q, controller %d: %v", brokers.Cluster, brokers.Controller, err)
	}
	vs, err := adm.ApiVersions(ctxOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vs {
		if _, maxVersion, ok := v.KeyVersions(0); !ok || maxVersion < 13 {
			t.Errorf("Produce up to %d (%v), want 13", maxVersion, ok)
		}
	}
}

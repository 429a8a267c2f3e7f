package config

import (
	"fmt"
	"strings"
	"testing"
)

func chain(list []SynonymValue) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%s=%s/%d", s.Name, s.Value, s.Source))
	}
	return strings.Join(out, " ")
}

// TestSynonyms has chains as Kafka 4.4.0 describes them.
func TestSynonyms(t *testing.T) {
	r := resolver(t, "log.roll.hours=5\n", nil, nil)
	dyn := resolver(t, "", pairs("log.retention.ms=86400000 min.insync.replicas=1"), pairs("log.retention.ms=5000"))
	onlyDefault := resolver(t, "", pairs("log.retention.ms=86400000"), nil)
	f := func(what string, got []SynonymValue, want string) {
		t.Helper()
		if c := chain(got); c != want {
			t.Errorf("%s: got %s, want %s", what, c, want)
		}
	}
	f("null", r.BrokerSynonyms("log.retention.ms"), "")
	f("default", r.BrokerSynonyms("log.retention.hours"), "log.retention.hours=168/5")
	f("static", r.BrokerSynonyms("log.roll.hours"), "log.roll.hours=5/4 log.roll.hours=168/5")
	f("node id", r.BrokerSynonyms("node.id"), "node.id=7/4")
	f("broker id", r.BrokerSynonyms("broker.id"), "broker.id=7/4 broker.id=-1/5")
	f("dynamic", dyn.BrokerSynonyms("log.retention.ms"), "log.retention.ms=5000/2 log.retention.ms=86400000/3 log.retention.hours=168/5")
	f("cluster-wide", onlyDefault.BrokerSynonyms("log.retention.ms"), "log.retention.ms=86400000/3 log.retention.hours=168/5")

	f("dynamic only", resolver(t, "", nil, pairs("leader.replication.throttled.rate=9")).BrokerSynonyms("leader.replication.throttled.rate"), "leader.replication.throttled.rate=9/2")

	f("topic default", TopicOf(r, nil).Synonyms("cleanup.policy"), "log.cleanup.policy=delete/5")
	f("topic own", TopicOf(r, pairs("cleanup.policy=compact,delete")).Synonyms("cleanup.policy"), "cleanup.policy=compact,delete/1 log.cleanup.policy=delete/5")
	f("topic without broker value", TopicOf(r, nil).Synonyms("retention.ms"), "")
	f("topic own without broker value", TopicOf(r, pairs("retention.ms=5000")).Synonyms("retention.ms"), "retention.ms=5000/1")
	f("topic by cluster default", TopicOf(onlyDefault, nil).Synonyms("retention.ms"), "log.retention.ms=86400000/3 log.retention.hours=168/5")
	f("min isr", TopicOf(dyn, nil).Synonyms("min.insync.replicas"), "min.insync.replicas=1/3 min.insync.replicas=1/5")
	f("no broker property", TopicOf(r, nil).Synonyms("remote.storage.enable"), "")

	f("group default", GroupOf(r, nil).Synonyms("consumer.session.timeout.ms"), "group.consumer.session.timeout.ms=45000/5")
	f("group own", GroupOf(r, pairs("consumer.session.timeout.ms=50000")).Synonyms("consumer.session.timeout.ms"),
		"consumer.session.timeout.ms=50000/8 group.consumer.session.timeout.ms=45000/5")
	if g := GroupOf(r, nil); g.Int("consumer.session.timeout.ms") != 45000 || g.bounded("consumer.session.timeout.ms") != 45000 || g.Int("streams.num.warmup.replicas") != g.bounded("streams.num.warmup.replicas") {
		t.Errorf("numbers of a group without settings: %d, %d", g.Int("consumer.session.timeout.ms"), g.bounded("consumer.session.timeout.ms"))
	}
	if n := GroupOf(r, pairs("consumer.session.timeout.ms=50000")).Int("consumer.session.timeout.ms"); n != 50000 {
		t.Errorf("its own number: %d", n)
	}
	f("group without broker property", GroupOf(r, nil).Synonyms("share.auto.offset.reset"), "share.auto.offset.reset=latest/5")
	f("assignor", GroupOf(r, nil).Synonyms("streams.assignor.name"), "group.streams.assignors=sticky/5")
}

func TestTopicConfig(t *testing.T) {
	got := TopicConfig(resolver(t, "", nil, nil), nil)
	want := Topic{CleanupDelete: true, CompressionType: "producer", CompressionGzipLevel: -1, CompressionLz4Level: 9, CompressionZstdLevel: 3,
		DeleteRetentionMs: 86400000, FileDeleteDelayMs: 60000, FlushMessages: 1<<63 - 1, FlushMs: 1<<63 - 1, IndexIntervalBytes: 4096,
		MaxCompactionLagMs: 1<<63 - 1, MaxMessageBytes: 1048588, MaxDecompressedMessageBytes: 2147483639, MessageTimestampAfterMaxMs: 3600000,
		MessageTimestampBeforeMaxMs: 1<<63 - 1, MinCleanableDirtyRatio: 0.5, MinInsyncReplicas: 1, RetentionBytes: -1, RetentionMs: 604800000,
		SegmentBytes: 1 << 30, SegmentIndexBytes: 10485760, SegmentMs: 604800000, ProducerIDExpirationMs: 86400000}
	if got != want {
		t.Errorf("defaults:\n got %+v\nwant %+v", got, want)
	}
	r := resolver(t, "log.retention.minutes=2\nlog.roll.jitter.hours=1\nlog.flush.scheduler.interval.ms=7\nlog.message.timestamp.type=LogAppendTime\n",
		pairs("log.segment.bytes=2000000 compression.type=nonsense"), pairs("log.segment.bytes=3000000"))
	got = TopicConfig(r, pairs("cleanup.policy=compact max.message.bytes=|99| retention.bytes=oops"))
	if got.RetentionMs != 120000 || got.SegmentJitterMs != 3600000 || got.FlushMs != 7 || !got.MessageTimestampLogAppendTime || got.SegmentBytes != 3000000 ||
		got.CleanupDelete || !got.CleanupCompact || got.MaxMessageBytes != 99 || got.RetentionBytes != -1 || got.CompressionType != "producer" {
		t.Errorf("got %+v", got)
	}
	for in, want := range map[string]int64{"log.retention.ms=-1": -1, "log.retention.hours=-1": -1, "log.retention.hours=-5": -1, "log.retention.minutes=1": 60000} {
		if got := resolver(t, in+"\n", nil, nil).LogRetentionMs(); got != want {
			t.Errorf("%s: retention %d, want %d", in, got, want)
		}
	}
}

// TestGroupBounds: a stored value that the broker's bounds no longer allow counts as the bound.
func TestGroupBounds(t *testing.T) {
	r := resolver(t, "group.consumer.max.session.timeout.ms=48000\n", nil, nil)
	if got := GroupOf(r, pairs("consumer.session.timeout.ms=55000")).Int("consumer.session.timeout.ms"); got != 48000 {
		t.Errorf("got %d, want 48000", got)
	}
	if got := GroupOf(r, nil).Int("streams.num.standby.replicas"); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

// TestTables: sorted, typed, with valid defaults and synonyms, and every property classified with a reason where one is due.
func TestTables(t *testing.T) {
	want := map[Scope]int{ScopeBroker: 382 + 2, // two are kaja's own
		ScopeTopic: 38, ScopeGroup: 27, ScopeClientMetrics: 3}
	for scope := range scopeCount {
		table := Properties(scope)
		if len(table) != want[scope] {
			t.Errorf("%s has %d properties, want %d", scope, len(table), want[scope])
		}
		for i := range table {
			p := &table[i]
			if i > 0 && table[i-1].Name >= p.Name {
				t.Errorf("%s: not in order", p.Name)
			}
			if p.HasDefault() {
				if norm, err := p.Parse(p.Default); err != nil && p.Default != "" || err == nil && norm != p.Default {
					t.Errorf("%s: default %q parses as %q, %v", p.Name, p.Default, norm, err)
				}
			}
			for _, s := range p.Synonyms {
				if Lookup(ScopeBroker, s.Name) == nil {
					t.Errorf("%s: synonym %s is no broker property", p.Name, s.Name)
				}
			}
			if (p.Effect == Effective) == (p.Note != "") {
				t.Errorf("%s: %s with note %q", p.Name, p.Effect, p.Note)
			}
			if p.Effect == Effective && p.Doc == "" {
				t.Errorf("%s is effective and not described", p.Name)
			}
			if p.Documentation() == "" || Lookup(scope, p.Name) != p {
				t.Errorf("%s: not found, or without documentation", p.Name)
			}
		}
	}
}

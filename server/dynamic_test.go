package server

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/storage"
)

// dynamicWorld is a broker on a memory disk whose periodic work comes often, and what the rows of dynamicEffects look at it with.
type dynamicWorld struct {
	t     *testing.T
	b     *Broker
	fs    *vfs.Mem
	admin *kadm.Client
	topic string // the one at hand: made before the setting changes
}

// dynamicEffect is a dynamic property with something that can be seen of it. measure acts on a topic of its own each time; it gives without
// by default and with after the property was set, at once and for topics that were there before.
type dynamicEffect struct {
	topic, broker string // names; "" where there is none
	value         string
	setup         map[string]string // of the topic
	measure       func(w *dynamicWorld) string
	without, with string // "" is anything but the other
	// waits says that background work brings the effect about.
	waits bool
	// restore is for the broker's property that may not be removed: what it is set to instead.
	restore string
}

// refusedWhileRunning are dynamic in Kafka only (docs/deviations.md).
var refusedWhileRunning = []string{"listeners", "listener.security.protocol.map"}

func dynamicEffects() []dynamicEffect {
	const segment = "1048576"
	compacted := map[string]string{"cleanup.policy": "compact", "segment.ms": "1"}
	never := map[string]string{"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "1"}
	hour := -time.Hour
	return []dynamicEffect{
		{topic: "max.message.bytes", broker: "message.max.bytes", value: "200", without: "ok", with: "MESSAGE_TOO_LARGE", measure: produces(1000, 0)},
		{topic: "max.decompressed.message.bytes", broker: "max.decompressed.message.bytes", value: "5000", without: "ok", with: "INVALID_RECORD", measure: producesGzip},
		{topic: "message.timestamp.after.max.ms", broker: "log.message.timestamp.after.max.ms", value: "1000", without: "ok", with: "INVALID_TIMESTAMP", measure: produces(1, 10*time.Minute)},
		{topic: "message.timestamp.before.max.ms", broker: "log.message.timestamp.before.max.ms", value: "1000", without: "ok", with: "INVALID_TIMESTAMP", measure: produces(1, hour)},
		{topic: "cleanup.policy", broker: "log.cleanup.policy", value: "compact", without: "ok", with: "INVALID_RECORD", measure: produces(1, 0)},
		{topic: "message.timestamp.type", broker: "log.message.timestamp.type", value: "LogAppendTime", without: "CreateTime", with: "LogAppendTime", measure: timestampType},
		{topic: "compression.type", broker: "compression.type", value: "gzip", without: "", with: "", measure: storedSize},
		{topic: "compression.gzip.level", broker: "compression.gzip.level", value: "1", setup: map[string]string{"compression.type": "gzip"}, measure: storedSize},
		{topic: "compression.lz4.level", broker: "compression.lz4.level", value: "1", setup: map[string]string{"compression.type": "lz4"}, measure: storedSize},
		{topic: "compression.zstd.level", broker: "compression.zstd.level", value: "19", setup: map[string]string{"compression.type": "zstd"}, measure: storedSize},
		{topic: "flush.messages", broker: "log.flush.interval.messages", value: "1", without: "lost", with: "kept", measure: afterPowerCut},
		{topic: "flush.ms", broker: "log.flush.interval.ms", value: "1", without: "lost", with: "kept", measure: afterPowerCut, waits: true},
		{topic: "index.interval.bytes", broker: "log.index.interval.bytes", value: "1", setup: map[string]string{"segment.index.bytes": "16"},
			without: "1 segments", with: "2 segments", measure: segmentsAfter([]time.Duration{0, 0, 0, 0}, 1)},
		{topic: "segment.index.bytes", broker: "log.index.size.max.bytes", value: "16", setup: map[string]string{"index.interval.bytes": "1"},
			without: "1 segments", with: "2 segments", measure: segmentsAfter([]time.Duration{0, 0, 0, 0}, 1)},
		{topic: "segment.bytes", broker: "log.segment.bytes", value: segment, without: "1 segments", with: "2 segments", measure: segmentsAfter([]time.Duration{0, 0}, 700_000)},
		{topic: "segment.ms", broker: "log.roll.ms", value: "1000", without: "1 segments", with: "2 segments", measure: segmentsAfter([]time.Duration{-time.Minute, 0}, 1)},
		{topic: "segment.jitter.ms", broker: "log.roll.jitter.ms", value: "1000000000", setup: map[string]string{"segment.ms": "1000000000", "retention.ms": "-1"},
			without: "2 segments", with: "3 segments", measure: segmentsAfter([]time.Duration{-2_100_000 * time.Second, -1_000_000 * time.Second, -10 * time.Second}, 1)},
		{topic: "retention.ms", broker: "log.retention.ms", value: "1000", without: "start 0", with: "start 1", measure: startAfter(1, hour), waits: true},
		{topic: "retention.bytes", broker: "log.retention.bytes", value: "1000000", setup: map[string]string{"segment.bytes": segment}, without: "start 0", with: "start 1", measure: startAfter(700_000, 0, 0, 0), waits: true},
		{topic: "file.delete.delay.ms", broker: "log.segment.delete.delay.ms", value: "0", without: "directory kept", with: "directory gone", measure: deletedDirectory, waits: true},
		{topic: "min.compaction.lag.ms", broker: "log.cleaner.min.compaction.lag.ms", value: "100000000", setup: compacted, without: "cleaned", with: "not cleaned", measure: cleaned},
		{topic: "min.cleanable.dirty.ratio", broker: "log.cleaner.min.cleanable.ratio", value: "1", setup: compacted, without: "cleaned", with: "not cleaned", measure: cleaned},
		{topic: "max.compaction.lag.ms", broker: "log.cleaner.max.compaction.lag.ms", value: "1", setup: never, without: "not cleaned", with: "cleaned", measure: cleaned},
		// What they do takes several brokers or two passes: controller/testdata and the tests of storage look at it. Here: that it arrives.
		{topic: "min.insync.replicas", broker: "min.insync.replicas", value: "2", restore: "1", without: "1", with: "2", measure: setting(func(c storage.LogConfig) any { return c.MinInsyncReplicas })},
		{topic: "unclean.leader.election.enable", broker: "unclean.leader.election.enable", value: "true", without: "false", with: "true", measure: setting(func(c storage.LogConfig) any { return c.UncleanLeaderElectionEnable })},
		{topic: "delete.retention.ms", broker: "log.cleaner.delete.retention.ms", value: "5", without: "86400000", with: "5", measure: setting(func(c storage.LogConfig) any { return c.DeleteRetentionMs })},
		{broker: "producer.id.expiration.ms", value: "1", without: "1 producers", with: "0 producers", measure: producersAfter, waits: true},
		{broker: "transaction.partition.verification.enable", value: "false", without: "INVALID_TXN_STATE", with: "ok", measure: producesUnadded},
		{broker: "num.recovery.threads.per.data.dir", value: "3", without: "2", with: "3", measure: func(w *dynamicWorld) string { return fmt.Sprint(w.b.store.RecoveryThreads()) }},
		{broker: "log.cleaner.threads", value: "2", without: "1", with: "2", measure: cleanerSetting(func(c storage.CleanerConfig) any { return c.Threads })},
		{broker: "log.cleaner.dedupe.buffer.size", value: "5000000", without: "134217728", with: "5000000", measure: cleanerSetting(func(c storage.CleanerConfig) any { return c.DedupeBufferBytes })},
		{broker: "log.cleaner.io.buffer.size", value: "700000", without: "524288", with: "700000", measure: cleanerSetting(func(c storage.CleanerConfig) any { return c.IOBufferBytes })},
		{broker: "log.cleaner.io.buffer.load.factor", value: "0.5", without: "0.9", with: "0.5", measure: cleanerSetting(func(c storage.CleanerConfig) any { return c.LoadFactor })},
		{broker: "log.cleaner.io.max.bytes.per.second", value: "1000", with: "1000", measure: cleanerSetting(func(c storage.CleanerConfig) any { return c.MaxIOBytesPerSecond })},
		{broker: "log.cleaner.backoff.ms", value: "11", without: "15s", with: "11ms", measure: cleanerSetting(func(c storage.CleanerConfig) any { return c.Backoff })},
		// The stories of coordinator/group obey it. Here: that it arrives at groups without a value of their own.
		{broker: "group.consumer.assignment.interval.ms", value: "2000", without: "1000", with: "2000", measure: func(w *dynamicWorld) string {
			return fmt.Sprint(settingsView{w.b}.GroupInt("g", "consumer.assignment.interval.ms"))
		}},
		// TestMaxConnections, TestListenerLimits, TestConnectionsPerAddress and TestCreationRate meet the limits.
		{broker: "max.connections", value: "77", without: "2147483647", with: "77", measure: limit(func(c LimitConfig) any { return c.MaxConnections })},
		{broker: "max.connections.per.ip", value: "77", without: "2147483647", with: "77", measure: limit(func(c LimitConfig) any { return c.MaxPerIP })},
		{broker: "max.connections.per.ip.overrides", value: "10.0.0.1:3", without: "map[]", with: "map[10.0.0.1:3]", measure: limit(func(c LimitConfig) any { return c.PerIPOverrides })},
		{broker: "max.connection.creation.rate", value: "77", with: "77", measure: limit(func(c LimitConfig) any { return c.CreationRate })},
	}
}

// Every effective dynamic property is changed while the broker runs, of the topic and of the broker, and seen to take effect at once and to go
// with its removal.
func TestEveryDynamicSettingHasEffect(t *testing.T) {
	w := newDynamicWorld(t)
	tested := map[string]bool{}
	for _, e := range dynamicEffects() {
		if e.topic != "" {
			tested["topic "+e.topic] = true
			t.Run("topic "+e.topic, func(t *testing.T) { w.observe(t, e, false) })
		}
		if e.broker != "" {
			tested["broker "+e.broker] = true
			t.Run("broker "+e.broker, func(t *testing.T) { w.observe(t, e, true) })
		}
	}
	for _, name := range refusedWhileRunning {
		tested["broker "+name] = true
	}
	for _, s := range []config.Scope{config.ScopeBroker, config.ScopeTopic} {
		for _, p := range config.Properties(s) {
			if p.Effect == config.Effective && p.Mode != config.ReadOnly && !tested[s.String()+" "+p.Name] && s == config.ScopeBroker {
				t.Errorf("broker property %s is effective and dynamic: add a row to dynamicEffects", p.Name)
			}
			if p.Effect == config.Effective && s == config.ScopeTopic && !tested["topic "+p.Name] {
				t.Errorf("topic property %s is effective: add a row to dynamicEffects", p.Name)
			}
		}
	}
}

func newDynamicWorld(t *testing.T) *dynamicWorld {
	mem := vfs.NewMem()
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=/data", "log.retention.check.interval.ms=10",
		"log.initial.task.delay.ms=0", "log.flush.scheduler.interval.ms=10", "producer.id.expiration.check.interval.ms=10", "log.flush.interval.ms=100000000"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(Options{Config: cfg, FS: mem, Clock: clock.System(), Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &dynamicWorld{t: t, b: b, fs: mem, admin: kadm.NewClient(kgoClient(t, b))}
}

// observe measures by default, after the change and after its removal, each time with a topic that was there from the start.
func (w *dynamicWorld) observe(t *testing.T, e dynamicEffect, broker bool) {
	w.t = t
	var topics [3]string
	level := "t"
	if broker {
		level = "b"
	}
	for i := range topics {
		topics[i] = fmt.Sprintf("%s-%s%s-%d", level, e.topic, e.broker, i)
		configs := map[string]*string{}
		for k, v := range e.setup {
			configs[k] = &v
		}
		if _, err := w.admin.CreateTopic(testContext(t), 1, 1, configs, topics[i]); err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasPrefix(e.broker, "log.cleaner.m") { // cleaned needs the cleaner to look often
		w.alter("", "log.cleaner.backoff.ms", kadm.SetConfig, "10")
		defer w.alter("", "log.cleaner.backoff.ms", kadm.DeleteConfig, "")
	}
	alter := func(op kadm.IncrementalOp, i int) {
		if broker {
			w.alter("", e.broker, op, e.value)
		} else {
			w.alter(topics[i], e.topic, op, e.value)
		}
	}
	w.topic = topics[0]
	before := w.see(e, e.without, false)
	alter(kadm.SetConfig, 1)
	w.topic = topics[1]
	during := w.see(e, e.with, e.waits)
	switch {
	case !broker:
		alter(kadm.SetConfig, 2)
		alter(kadm.DeleteConfig, 2)
	case e.restore != "":
		w.alter("", e.broker, kadm.SetConfig, e.restore)
	default:
		alter(kadm.DeleteConfig, 1)
	}
	w.topic = topics[2]
	after := w.see(e, e.without, false)
	if before == during || after != before {
		t.Errorf("without %q, with %q, removed %q", before, during, after)
	}
}

// see measures and checks against want, if that is known.
func (w *dynamicWorld) see(e dynamicEffect, want string, wait bool) string {
	w.t.Helper()
	got := e.measure(w)
	if wait && want != got {
		waitFor(w.t, want, func() bool { got = e.measure(w); return got == want })
	}
	if want != "" && got != want {
		w.t.Errorf("%s: %q, want %q", w.topic, got, want)
	}
	return got
}

func (w *dynamicWorld) alter(topic, name string, op kadm.IncrementalOp, value string) {
	w.t.Helper()
	change := []kadm.AlterConfig{{Op: op, Name: name, Value: &value}}
	if op == kadm.DeleteConfig {
		change[0].Value = nil
	}
	var rs kadm.AlterConfigsResponses
	var err error
	if topic == "" {
		rs, err = w.admin.AlterBrokerConfigs(testContext(w.t), change)
	} else {
		rs, err = w.admin.AlterTopicConfigs(testContext(w.t), change, topic)
	}
	if err != nil || rs[0].Err != nil {
		w.t.Fatalf("%s=%s: %v %v", name, value, err, rs)
	}
}

func (w *dynamicWorld) log() *storage.Log { return w.b.store.Get(w.b.Image().Topic(w.topic).ID, 0) }

// produce writes a record of its own batch; the time is an offset from now.
func (w *dynamicWorld) produce(value []byte, key string, at time.Duration, opts ...kgo.Opt) error {
	c := kgoClient(w.t, w.b, append([]kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DisableIdempotentWrite(), kgo.ProducerBatchMaxBytes(4 << 20)}, opts...)...)
	defer c.Close()
	r := &kgo.Record{Topic: w.topic, Value: value, Timestamp: clock.System().Wall().Add(at)}
	if key != "" {
		r.Key = []byte(key)
	}
	return c.ProduceSync(testContext(w.t), r).FirstErr()
}

func (w *dynamicWorld) mustProduce(value []byte, key string, at time.Duration, opts ...kgo.Opt) {
	w.t.Helper()
	if err := w.produce(value, key, at, opts...); err != nil {
		w.t.Fatal(err)
	}
}

func verdict(err error) string {
	var k *kerr.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &k):
		return k.Message
	}
	return err.Error()
}

func produces(size int, at time.Duration) func(*dynamicWorld) string {
	return func(w *dynamicWorld) string { return verdict(w.produce(pattern(size), "", at)) }
}

func producesGzip(w *dynamicWorld) string {
	return verdict(w.produce(bytes.Repeat([]byte("x"), 100_000), "", 0, kgo.ProducerBatchCompression(kgo.GzipCompression())))
}

func timestampType(w *dynamicWorld) string {
	w.mustProduce([]byte("x"), "", -time.Minute)
	if r := consume(w.t, w.b, w.topic, 0, 1)[0]; clock.System().Wall().Sub(r.Timestamp) < 30*time.Second {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// storedSize is how many bytes a text took. Each level of a codec gives another size.
func storedSize(w *dynamicWorld) string {
	var text []byte
	for i := range 5000 {
		text = fmt.Appendf(text, "%d lines of a text that repeats itself %x ", i, i*i*7919)
	}
	size := w.log().Size()
	w.mustProduce(text, "", 0)
	return fmt.Sprint(w.log().Size() - size)
}

// afterPowerCut tells whether an acknowledged record would still be there.
func afterPowerCut(w *dynamicWorld) string {
	if w.log().LogEndOffset() == 0 {
		w.mustProduce([]byte("x"), "", 0)
	}
	info, err := w.fs.CrashClone().Stat("/data/" + w.topic + "-0/00000000000000000000.log")
	if err != nil || info.Size() == 0 {
		return "lost"
	}
	return "kept"
}

func segmentsAfter(times []time.Duration, size int) func(*dynamicWorld) string {
	return func(w *dynamicWorld) string {
		for _, at := range times {
			w.mustProduce(pattern(size), "", at)
		}
		return fmt.Sprint(w.log().SegmentCount(), " segments")
	}
}

func startAfter(size int, times ...time.Duration) func(*dynamicWorld) string {
	return func(w *dynamicWorld) string {
		if w.log().LogEndOffset() == 0 {
			for _, at := range times {
				w.mustProduce(pattern(size), "", at)
			}
		}
		return fmt.Sprint("start ", w.log().LogStartOffset())
	}
}

func deletedDirectory(w *dynamicWorld) string {
	if w.b.Image().Topic(w.topic) != nil {
		if _, err := w.admin.DeleteTopics(testContext(w.t), w.topic); err != nil {
			w.t.Fatal(err)
		}
	}
	entries, err := w.fs.ReadDir("/data")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if name := filepath.Base(e.Name()); strings.HasPrefix(name, w.topic[:min(len(w.topic), 20)]) && strings.HasSuffix(name, "-delete") && strings.Contains(name, w.topic) {
			return "directory kept"
		}
	}
	return "directory gone"
}

// cleaned writes one key again and again and tells whether old values go; that they stay is known when another topic has been cleaned since.
func cleaned(w *dynamicWorld) string {
	w.alter("", "log.cleaner.backoff.ms", kadm.SetConfig, "10")
	const records = 5
	batch := int64(0)
	fill := func() (full int64) {
		full = w.log().Size() + records*batch
		for i := range records {
			w.mustProduce([]byte("x"), "k", time.Duration(i-10)*time.Second)
			if batch == 0 {
				batch = w.log().Size()
				full = records * batch
			}
		}
		return full
	}
	here, full := w.log(), fill()
	own, other := w.topic, w.topic+"-other"
	configs := map[string]*string{}
	for k, v := range map[string]string{"min.cleanable.dirty.ratio": "0.1", "cleanup.policy": "compact", "segment.ms": "1", "min.compaction.lag.ms": "0",
		"max.compaction.lag.ms": "9223372036854775807"} {
		configs[k] = &v
	}
	if _, err := w.admin.CreateTopic(testContext(w.t), 1, 1, configs, other); err != nil {
		w.t.Fatal(err)
	}
	w.topic = other
	for range 2 { // two passes over the other topic
		full := fill()
		waitFor(w.t, other+" to be cleaned", func() bool { return w.log().Size() < full })
	}
	w.topic = own
	if here.Size() < full {
		return "cleaned"
	}
	return "not cleaned"
}

func setting(get func(storage.LogConfig) any) func(*dynamicWorld) string {
	return func(w *dynamicWorld) string { return fmt.Sprint(get(w.log().Config())) }
}

func cleanerSetting(get func(storage.CleanerConfig) any) func(*dynamicWorld) string {
	return func(w *dynamicWorld) string { return fmt.Sprint(get(w.b.cleanerConfig())) }
}

func limit(get func(LimitConfig) any) func(*dynamicWorld) string {
	return func(w *dynamicWorld) string {
		l := w.b.net.limits
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Sprint(get(l.cfg))
	}
}

func producersAfter(w *dynamicWorld) string {
	if w.log().LogEndOffset() == 0 {
		c := kgoClient(w.t, w.b)
		defer c.Close()
		if err := c.ProduceSync(testContext(w.t), &kgo.Record{Topic: w.topic, Value: []byte("x")}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
	return fmt.Sprint(len(w.log().Producers()), " producers")
}

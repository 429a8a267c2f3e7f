package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/console"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/internal/metric"
)

// scrape reads the metrics of a broker: name{labels} → value.
func scrape(t *testing.T, b *Broker) map[string]float64 {
	t.Helper()
	resp, err := http.Get("http://" + b.ConsoleAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %s", err, text)
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && line[0] != '#' {
			out[name+"}"] = number(t, value)
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && line[0] != '#' {
			out[name] = number(t, value)
		}
	}
	return out
}

func number(t *testing.T, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// monitored starts a broker with a console, whose idle connections do not outlive the test.
func monitored(t *testing.T) *Broker {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return startBroker(t, t.TempDir(), "kaja.console.listener=127.0.0.1:0", "offsets.topic.num.partitions=1")
}

// TestMetrics: what clients do is found in the numbers, and nothing of the catalogue is missing.
func TestMetrics(t *testing.T) {
	b := monitored(t)
	ctx := testContext(t)
	c := kgoClient(t, b, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("a"), kgo.DefaultProduceTopic("a"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopics(ctx, 1, 1, nil, "a", "b"); err != nil {
		t.Fatal(err)
	}
	value := strings.Repeat("x", 1000)
	for range 10 {
		if err := c.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	for got < 10 {
		fs := c.PollRecords(ctx, 10-got)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		got += fs.NumRecords()
	}
	if err := c.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	m := scrape(t, b)
	f := func(name string, lo, hi float64) {
		t.Helper()
		if v, ok := m[name]; !ok || v < lo || v > hi {
			t.Errorf("%s: %v (%t), want %v to %v", name, v, ok, lo, hi)
		}
	}
	f(`kafka_server_brokertopicmetrics_messagesin_total{topic="a"}`, 13, 13)
	f(`kafka_server_brokertopicmetrics_messagesin_total{topic=""}`, 13, 13)
	f(`kafka_server_brokertopicmetrics_bytesin_total{topic="a"}`, 13*1000, 13*1100)
	f(`kafka_server_brokertopicmetrics_bytesout_total{topic="a"}`, 10*1000, 26*1100)
	f(`kafka_server_brokertopicmetrics_totalproducerequests_total{topic="a"}`, 13, 13)
	f(`kafka_server_brokertopicmetrics_failedproducerequests_total{topic=""}`, 0, 0)
	f(`kafka_network_requestmetrics_totaltimems_count{request="Produce"}`, 13, 13)
	f(`kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.99"}`, 0.001, 10_000)
	f(`kafka_network_requestmetrics_totaltimems_count{request="FetchConsumer"}`, 1, 1000)
	f(`kafka_network_requestmetrics_totaltimems_count{request="FetchFollower"}`, 0, 0)
	if all, consumers := m[`kafka_network_requestmetrics_totaltimems_count{request="Fetch"}`], m[`kafka_network_requestmetrics_totaltimems_count{request="FetchConsumer"}`]; all != consumers {
		t.Errorf("%v fetches, %v of consumers", all, consumers)
	}
	f(`kafka_consumergroup_lag{consumergroup="g",partition="0",topic="a"}`, 3, 3)
	f(`kafka_consumergroup_lag_sum{consumergroup="g",topic="a"}`, 3, 3)
	f(`kafka_consumergroup_current_offset{consumergroup="g",partition="0",topic="a"}`, 10, 10)
	f(`kafka_consumergroup_members{consumergroup="g"}`, 1, 1)
	f(`kafka_coordinator_group_groupmetadatamanager_numgroupsstable`, 1, 1)
	f(`kafka_topic_partition_current_offset{partition="0",topic="a"}`, 13, 13)
	f(`kafka_log_log_logendoffset{partition="0",topic="a"}`, 13, 13)
	f(`kafka_log_log_size{partition="0",topic="a"}`, 13*1000, 13*1100)
	f(`kafka_server_replicamanager_leadercount`, 3, 3) // a, b, __consumer_offsets
	f(`kafka_controller_kafkacontroller_globaltopiccount`, 3, 3)
	f(`kafka_controller_kafkacontroller_activecontrollercount`, 1, 1)
	f(`kafka_server_socket_server_metrics_connection_count{listener="PLAINTEXT"}`, 1, 10)
	f(`kafka_server_kafkaserver_brokerstate`, 3, 3)
	f(`process_open_fds`, 1, 10_000)
	f(`go_goroutines`, 1, 10_000)
	for _, want := range console.Catalog() {
		found := false
		for name := range m {
			found = found || name == want.Name || strings.HasPrefix(name, want.Name+"{")
		}
		if !found {
			t.Errorf("%s is in the catalogue and not shown", want.Name)
		}
	}
	// A topic that is deleted stays in the sum.
	if _, err := admin.DeleteTopics(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	m = scrape(t, b)
	f(`kafka_server_brokertopicmetrics_messagesin_total{topic=""}`, 13, 13)
	if _, ok := m[`kafka_server_brokertopicmetrics_messagesin_total{topic="a"}`]; ok {
		t.Error("a deleted topic is shown")
	}
}

// TestLag: it counts offsets up to the high watermark, as kafka-consumer-groups does: markers of transactions and deleted records among them.
func TestLag(t *testing.T) {
	b := monitored(t)
	ctx := testContext(t)
	admin := kadm.NewClient(kgoClient(t, b))
	if _, err := admin.CreateTopics(ctx, 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	c := kgoClient(t, b, kgo.TransactionalID("t"), kgo.DefaultProduceTopic("a"))
	transaction := func(records int, end kgo.TransactionEndTry) {
		t.Helper()
		if err := c.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for range records {
			if err := c.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(offset int64) {
		t.Helper()
		if err := admin.CommitAllOffsets(ctx, "g", kadm.OffsetsFromRecords(kgo.Record{Topic: "a", Offset: offset - 1, LeaderEpoch: -1})); err != nil {
			t.Fatal(err)
		}
	}
	f := func(want float64) {
		t.Helper()
		if got := scrape(t, b)[`kafka_consumergroup_lag{consumergroup="g",partition="0",topic="a"}`]; got != want {
			t.Errorf("lag %v, want %v", got, want)
		}
		lags, err := admin.Lag(ctx, "g")
		if err != nil {
			t.Fatal(err)
		}
		if l := lags["g"]; l.Error() != nil || float64(l.Lag.Total()) != want {
			t.Errorf("kadm has %d (%v), want %v", l.Lag.Total(), l.Error(), want)
		}
	}
	transaction(3, kgo.TryCommit) // 0 to 2, the marker is 3
	commit(3)
	f(1)
	transaction(2, kgo.TryAbort) // 4 and 5, 6
	f(4)
	if err := c.BeginTransaction(); err != nil { // 7 stays open
		t.Fatal(err)
	}
	if err := c.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	f(5)
	if _, err := admin.DeleteRecords(ctx, kadm.OffsetsFromRecords(kgo.Record{Topic: "a", Offset: 4, LeaderEpoch: -1})); err != nil {
		t.Fatal(err)
	}
	f(5)
	commit(8)
	f(0)
}

// TestReadiness: ready while it runs; afterwards nobody listens.
func TestReadiness(t *testing.T) {
	b := monitored(t)
	for _, path := range []string{"/ready", "/health"} {
		resp, err := http.Get("http://" + b.ConsoleAddr() + path)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, resp, err)
		}
		resp.Body.Close()
	}
	b.monitor.failed(fmt.Errorf("the disk is gone"))
	for _, path := range []string{"/ready", "/health"} {
		resp, err := http.Get("http://" + b.ConsoleAddr() + path)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("%s: %v %v", path, resp, err)
		}
		resp.Body.Close()
	}
	addr := b.ConsoleAddr()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the console listens after Close")
	}
}

// TestConsoleOff: without the property nothing listens and nothing is counted.
func TestConsoleOff(t *testing.T) {
	b := startBroker(t, t.TempDir())
	if b.ConsoleAddr() != "" || b.monitor != nil || b.net.timings != nil || b.handler.Data.Counting {
		t.Error("something counts without a console")
	}
}

// TestOwnSettingsAreNotDescribed: tools take DescribeConfigs for Kafka's table.
func TestOwnSettingsAreNotDescribed(t *testing.T) {
	b := startBroker(t, t.TempDir(), "kaja.console.listener=127.0.0.1:0", "kaja.no.such=1", "other.unknown=1")
	configs, err := kadm.NewClient(kgoClient(t, b)).DescribeBrokerConfigs(testContext(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	unknown := false
	for _, c := range configs[0].Configs {
		if strings.HasPrefix(c.Key, "kaja.") {
			t.Errorf("%s is described", c.Key)
		}
		unknown = unknown || c.Key == "other.unknown"
	}
	if !unknown || len(configs[0].Configs) < 200 {
		t.Errorf("%d settings are described, the unknown one: %t", len(configs[0].Configs), unknown)
	}
}

// TestCountingBudget: with the console on a request allocates what it does without.
func TestCountingBudget(t *testing.T) {
	if invariant.Enabled {
		t.Skip("builds with costly checks allocate more")
	}
	b := monitored(t)
	c := kgoClient(t, b)
	if _, err := kadm.NewClient(c).CreateTopic(testContext(t), 1, 1, nil, "budget"); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", b.Addrs()["PLAINTEXT"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := make([]byte, 1<<20)
	frame := produceFrame(t, b.Image().Topic("budget").ID, 100)
	const n = 400
	for range n {
		budgetTrip(t, conn, frame, in)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		budgetTrip(t, conn, frame, in)
	}
	runtime.ReadMemStats(&after)
	if per := float64(after.Mallocs-before.Mallocs) / n; per > 2.5 {
		t.Errorf("%.2f allocations per produce, the budget is 2", per)
	}
}

func TestTimings(t *testing.T) {
	clk := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	tm := newTimings(clk)
	k := &call{}
	k.header.Key, k.header.Version = 1, 18
	tm.began(k)
	clk.Advance(10 * time.Millisecond)
	tm.parked(k)
	clk.Advance(490 * time.Millisecond)
	tm.ended(k)
	a := tm.api(1)
	if d := a.total.Load(); d.Count != 1 || d.Sum != 500*time.Millisecond || a.local.Load().Sum != 10*time.Millisecond || a.remote.Load().Sum != 490*time.Millisecond {
		t.Errorf("total %v, local %v, remote %v", d.Sum, a.local.Load().Sum, a.remote.Load().Sum)
	}
	if got := a.byVersion[18].Load(); got != 1 {
		t.Errorf("version 18 counted %d", got)
	}
	if got := tm.idle(2); got != 1-10./1000 {
		t.Errorf("idle %v", got)
	}
	if got := tm.idle(2); got != 1 { // no time has passed
		t.Errorf("idle %v", got)
	}
	tm.began(k)
	k.FromFollower()
	tm.ended(k)
	if all, followers := a.total.Load().Count, tm.followers.total.Load().Count; all != 1 || followers != 1 {
		t.Errorf("%d fetches of consumers, %d of followers", all, followers)
	}
	var none *timings
	none.began(k)
	none.parked(k)
	none.ended(k)
}

// TestWindow: quantiles forget what is older than ten minutes.
func TestWindow(t *testing.T) {
	var h metric.Histogram
	var w window
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	look := func() int64 { return w.recent(now, [3]metric.Distribution{h.Load()})[0].Count }
	h.Observe(time.Second)
	if got := look(); got != 1 {
		t.Errorf("%d at first", got)
	}
	for range 2 {
		now = now.Add(windowSpan)
		h.Observe(time.Second)
		look()
	}
	h.Observe(time.Second)
	if got := look(); got != 2 {
		t.Errorf("%d after two spans, want those of the last two", got)
	}
}

package tool

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clientMetrics counts what a client of the perf tests does, for --print-metrics: those of Kafka's metrics that the client library tells.
type clientMetrics struct {
	connections, closed         atomic.Int64
	requests, sentBytes         atomic.Int64
	responses, receivedBytes    atomic.Int64
	batches, records            atomic.Int64
	batchBytes, compressedBytes atomic.Int64
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (m *clientMetrics) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil {
		m.connections.Add(1)
	}
}

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (m *clientMetrics) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { m.closed.Add(1) }

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (m *clientMetrics) OnBrokerWrite(_ kgo.BrokerMetadata, _ int16, bytes int, _, _ time.Duration, err error) {
	if err == nil {
		m.requests.Add(1)
	}
	m.sentBytes.Add(int64(bytes))
}

// OnBrokerRead implements kgo.HookBrokerRead.
func (m *clientMetrics) OnBrokerRead(_ kgo.BrokerMetadata, _ int16, bytes int, _, _ time.Duration, err error) {
	if err == nil {
		m.responses.Add(1)
	}
	m.receivedBytes.Add(int64(bytes))
}

// OnProduceBatchWritten implements kgo.HookProduceBatchWritten.
func (m *clientMetrics) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, b kgo.ProduceBatchMetrics) {
	m.batch(b.NumRecords, b.UncompressedBytes, b.CompressedBytes)
}

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (m *clientMetrics) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, b kgo.FetchBatchMetrics) {
	m.batch(b.NumRecords, b.UncompressedBytes, b.CompressedBytes)
}

func (m *clientMetrics) batch(records, bytes, compressed int) {
	m.batches.Add(1)
	m.records.Add(int64(records))
	m.batchBytes.Add(int64(bytes))
	m.compressedBytes.Add(int64(compressed))
}

// metricLine is a metric as Kafka's tools name it: group:name:{tags}.
type metricLine struct {
	group, name string
	value       float64
}

// print prints the metrics sorted by name.
func (m *clientMetrics) print(e *Env, kind, clientID string) {
	average := func(sum, n int64) float64 {
		if n == 0 {
			return 0
		}
		return float64(sum) / float64(n)
	}
	group := kind + "-metrics"
	lines := []metricLine{
		{group, "connection-count", float64(m.connections.Load() - m.closed.Load())},
		{group, "connection-creation-total", float64(m.connections.Load())},
		{group, "connection-close-total", float64(m.closed.Load())},
		{group, "request-total", float64(m.requests.Load())},
		{group, "response-total", float64(m.responses.Load())},
		{group, "outgoing-byte-total", float64(m.sentBytes.Load())},
		{group, "incoming-byte-total", float64(m.receivedBytes.Load())},
	}
	records, batches := m.records.Load(), m.batches.Load()
	if kind == "producer" {
		lines = append(lines, metricLine{group, "record-send-total", float64(records)}, metricLine{group, "batch-size-avg", average(m.compressedBytes.Load(), batches)},
			metricLine{group, "records-per-request-avg", average(records, batches)}, metricLine{group, "record-size-avg", average(m.batchBytes.Load(), records)},
			metricLine{group, "compression-rate-avg", average(m.compressedBytes.Load(), m.batchBytes.Load())})
	} else {
		fetch := "consumer-fetch-manager-metrics"
		lines = append(lines, metricLine{fetch, "records-consumed-total", float64(records)}, metricLine{fetch, "bytes-consumed-total", float64(m.compressedBytes.Load())})
	}
	names := make([]string, len(lines))
	width := 0
	for i, l := range lines {
		names[i] = fmt.Sprintf("%s:%s:{client-id=%s}", l.group, l.name, clientID)
		width = widest(width, names[i])
		names[i] += "\x00" + javaFixed(l.value, 3)
	}
	slices.Sort(names)
	e.printf("\n%-*s   %s\n", width, "Metric Name", "Value")
	for _, n := range names {
		name, value, _ := strings.Cut(n, "\x00")
		e.printf("%-*s : %s\n", width, name, value)
	}
}

package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// benchBroker runs a broker with one topic "bench" of one partition and returns a raw connection to it and the topic's id.
func benchBroker(b *testing.B) (net.Conn, [16]byte) {
	b.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	br, err := Start(Options{Config: cfg, FS: vfs.OS(), Clock: clock.System(), Log: zerolog.Nop()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = br.Close() })
	c, err := kgo.NewClient(kgo.SeedBrokers(br.Addrs()["PLAINTEXT"]))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := kadm.NewClient(c).CreateTopic(b.Context(), 1, 1, map[string]*string{"max.message.bytes": kadm.StringPtr("20000000"), "retention.bytes": kadm.StringPtr("1000000000")}, "bench"); err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("tcp", br.Addrs()["PLAINTEXT"])
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return conn, br.Image().Topic("bench").ID
}

func requestFrame(req kmsg.Request) []byte {
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))
	return f.AppendRequest(nil, req, 1)
}

func oneBatch(b testing.TB, size int) []byte {
	b.Helper()
	w := batch.NewBuilder(nil, batch.PlainOptions(0, -1))
	w.Append(0, clock.System().Wall().UnixMilli(), nil, pattern(size))
	data, err := w.Finish()
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func produceFrame(b testing.TB, id [16]byte, size int) []byte {
	b.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(13)
	req.Acks, req.TimeoutMillis = 1, 1000
	t := kmsg.NewProduceRequestTopic()
	t.TopicID = id
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = oneBatch(b, size)
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return requestFrame(req)
}

// fetchFrame reads one partition from offset 0, at most so many bytes.
func fetchFrame(id [16]byte, size int) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(13)
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = int32(size), 1, 0
	req.SessionEpoch = -1
	t := kmsg.NewFetchRequestTopic()
	t.TopicID = id
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes, p.CurrentLeaderEpoch = int32(size), -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return requestFrame(req)
}

func roundTrip(b *testing.B, c net.Conn, frame, in []byte) []byte {
	b.Helper()
	if _, err := c.Write(frame); err != nil {
		b.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		b.Fatal(err)
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if n > len(in) {
		in = make([]byte, n)
	}
	if _, err := io.ReadFull(c, in[:n]); err != nil {
		b.Fatal(err)
	}
	return in[:n]
}

// BenchmarkProduce is one Produce request after the other on one connection, with the client's share of the work.
func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{100, 16 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c, id := benchBroker(b)
			f := produceFrame(b, id, size)
			in := make([]byte, 1<<10)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				in = roundTrip(b, c, f, in)
			}
		})
	}
}

// BenchmarkFetch reads the same bytes again and again.
func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{100, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c, id := benchBroker(b)
			in := make([]byte, 4<<20)
			for range 4 {
				roundTrip(b, c, produceFrame(b, id, size), in)
			}
			f := fetchFrame(id, size)
			if got := len(roundTrip(b, c, f, in)); got < size {
				b.Fatalf("an answer of %d bytes", got)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				roundTrip(b, c, f, in)
			}
		})
	}
}

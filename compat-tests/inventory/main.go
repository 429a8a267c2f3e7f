// Command inventory fills a broker with something of everything, and lists what a broker has as text that can be compared.
//
//	inventory populate HOST:PORT   topics of several kinds, configs, records in every codec, deleted records, a deleted topic
//	inventory continue HOST:PORT   writes to all of these topics again
//	inventory list HOST:PORT       topics with ids, partitions, configs, offsets, and a hash of every partition's records
//
// It owns nothing and runs on one goroutine. Leader epochs are not listed: a restart may raise them.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// limit bounds a whole run.
const limit = 2 * time.Minute

// idle is how long a read waits for records that should be there.
const idle = 20 * time.Second

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: inventory populate|continue|list HOST:PORT")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "inventory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, what, addr string, out io.Writer) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	switch what {
	case "populate":
		return populate(ctx, adm, addr)
	case "continue":
		return write(ctx, addr, 1000)
	case "list":
		return list(ctx, adm, addr, out)
	}
	return fmt.Errorf("unknown verb %q", what)
}

// kind is a topic of the inventory with its configs.
type kind struct {
	name       string
	partitions int32
	configs    map[string]string
}

func kinds() []kind {
	return []kind{
		{"inv-plain", 1, nil},
		{"inv-many", 12, map[string]string{"retention.ms": "864000000"}},
		{"inv-small-segments", 2, map[string]string{"segment.bytes": "1048576", "index.interval.bytes": "1024"}},
		{"inv-compact", 3, map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.9"}},
		{"inv-append-time", 1, map[string]string{"message.timestamp.type": "LogAppendTime"}},
		{"inv-zstd", 1, map[string]string{"compression.type": "zstd"}},
		{"inv-empty", 4, map[string]string{"min.insync.replicas": "1"}},
		{"inv.with_all-chars", 1, nil},
	}
}

func populate(ctx context.Context, adm *kadm.Client, addr string) error {
	for _, k := range kinds() {
		configs := map[string]*string{}
		for key, v := range k.configs {
			configs[key] = &v
		}
		if _, err := adm.CreateTopic(ctx, k.partitions, 1, configs, k.name); err != nil {
			return err
		}
	}
	if err := write(ctx, addr, 0); err != nil {
		return err
	}
	if _, err := adm.UpdatePartitions(ctx, 14, "inv-many"); err != nil {
		return err
	}
	if _, err := adm.CreateTopic(ctx, 1, 1, nil, "inv-gone"); err != nil {
		return err
	}
	if _, err := adm.DeleteTopic(ctx, "inv-gone"); err != nil {
		return err
	}
	v := "123456"
	if _, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "flush.messages", Value: &v}, {Op: kadm.DeleteConfig, Name: "retention.ms"}}, "inv-many"); err != nil {
		return err
	}
	if _, err := adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "log.cleaner.threads", Value: new("2")}}); err != nil {
		return err
	}
	del := make(kadm.Offsets)
	del.AddOffset("inv-small-segments", 1, 700, -1)
	rs, err := adm.DeleteRecords(ctx, del)
	return errors.Join(err, rs.Error())
}

// write sends records to every partition but those of inv-empty, a codec each, idempotently and not. base distinguishes runs.
func write(ctx context.Context, addr string, base int) error {
	begin := time.Now().Add(-time.Hour) // young enough for the default retention
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	for i, codec := range codecs {
		opts := []kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(40 << 10)}
		if i%2 == 1 {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			return err
		}
		var recs []*kgo.Record
		for _, k := range kinds() {
			if k.name == "inv-empty" {
				continue
			}
			for p := range k.partitions {
				for n := range 400 {
					id := fmt.Sprintf("%s/%d/%d/%d", k.name, p, i, base+n)
					recs = append(recs, &kgo.Record{Topic: k.name, Partition: p, Key: []byte(id), Value: []byte(id + strings.Repeat(" kaja", n%200)),
						Timestamp: begin.Add(time.Duration(base+n) * time.Second), Headers: []kgo.RecordHeader{{Key: "n", Value: []byte{byte(n)}}}})
				}
			}
		}
		err = cl.ProduceSync(ctx, recs...).FirstErr()
		cl.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func list(ctx context.Context, adm *kadm.Client, addr string, out io.Writer) error {
	topics, err := adm.ListTopics(ctx)
	if err != nil {
		return err
	}
	meta, err := adm.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "cluster %s brokers %v\n", meta.Cluster, meta.Brokers.NodeIDs())
	if err := listConfigs(ctx, adm, topics, out); err != nil {
		return err
	}
	starts, err := adm.ListStartOffsets(ctx, topics.Names()...)
	if err != nil {
		return err
	}
	ends, err := adm.ListEndOffsets(ctx, topics.Names()...)
	if err != nil {
		return err
	}
	for _, t := range topics.Sorted() {
		fmt.Fprintf(out, "topic %s id %s\n", t.Topic, t.ID)
		for _, p := range t.Partitions.Sorted() {
			s, _ := starts.Lookup(t.Topic, p.Partition)
			e, _ := ends.Lookup(t.Topic, p.Partition)
			if err := errors.Join(p.Err, s.Err, e.Err); err != nil {
				return fmt.Errorf("%s-%d: %w", t.Topic, p.Partition, err)
			}
			sum, err := hash(ctx, addr, t.Topic, p.Partition, s.Offset, e.Offset)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "partition %s-%d leader %d replicas %v isr %v offsets %d to %d records %s\n", t.Topic, p.Partition, p.Leader, p.Replicas, p.ISR, s.Offset, e.Offset, sum)
		}
	}
	return nil
}

func listConfigs(ctx context.Context, adm *kadm.Client, topics kadm.TopicDetails, out io.Writer) error {
	cs, err := adm.DescribeTopicConfigs(ctx, topics.Names()...)
	if err != nil {
		return err
	}
	brokers, err := adm.DescribeBrokerConfigs(ctx)
	if err != nil {
		return err
	}
	for _, rs := range []kadm.ResourceConfigs{cs, brokers} {
		lines := map[string][]string{}
		for _, r := range rs {
			if r.Err != nil {
				return fmt.Errorf("configs of %s: %w", r.Name, r.Err)
			}
			for _, c := range r.Configs {
				if c.Source == kmsg.ConfigSourceDynamicTopicConfig || c.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig || c.Source == kmsg.ConfigSourceDynamicBrokerConfig {
					lines[r.Name] = append(lines[r.Name], fmt.Sprintf("config %q %s=%s from %v", r.Name, c.Key, c.MaybeValue(), c.Source))
				}
			}
		}
		for _, name := range sorted(lines) {
			for _, l := range lines[name] {
				fmt.Fprintln(out, l)
			}
		}
	}
	return nil
}

func sorted(m map[string][]string) []string {
	var names []string
	for n, l := range m {
		names = append(names, n)
		slices.Sort(l)
	}
	slices.Sort(names)
	return names
}

// hash reads a partition and sums up offset, time, key, value and headers of each record.
func hash(ctx context.Context, addr, topic string, partition int32, from, to int64) (string, error) {
	h := sha256.New()
	if from < to {
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(from)}}))
		if err != nil {
			return "", err
		}
		defer cl.Close()
		ctx, cancel := context.WithTimeout(ctx, idle)
		defer cancel()
		for next := from; next < to; {
			fs := cl.PollFetches(ctx)
			if err := fs.Err(); err != nil {
				return "", fmt.Errorf("read %s-%d at %d of %d: %w", topic, partition, next, to, err)
			}
			for r := range fs.RecordsAll() {
				fmt.Fprintf(h, "%d %d %q %q %v\n", r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, r.Headers)
				next = r.Offset + 1
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

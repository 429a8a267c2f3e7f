package main

// step is one load: what scripts/load is called with, the figure that is compared, and the goal: at most so many times Kafka's figure.
type step struct {
	name   string
	args   string // {r} is the round, {dir} the broker's directory
	figure string
	unit   string
	goal   float64 // 0: none
	most   float64 // at most this figure, whatever Kafka's is; 0: none
	last   bool    // once, after all others: Kafka does not live through more of it
	floor  string  // the figure of scripts/floor to compare with
	max    float64 // at most so many times the floor; 0: none
	also   []step  // more figures of the same run
}

const (
	perGiB     = "cpu_s_per_gib"
	perRequest = "cpu_us_per_request"
	secondsGiB = "CPU-s/GiB"
	micros     = "µs CPU"
)

func steps() []step {
	return []step{
		{name: "produce 64 KiB, acks=1", args: "produce -topic v64-{r} -mib 128 -conns 2", figure: perGiB, unit: secondsGiB, goal: 0.40, floor: "write_64KiB", max: 1.4},
		{name: "produce 64 KiB, acks=all", args: "produce -topic v64a-{r} -mib 128 -conns 2 -acks -1", figure: perGiB, unit: secondsGiB, goal: 0.40},
		{name: "produce 64 KiB, acks=0", args: "produce -topic v640-{r} -mib 128 -conns 2 -acks 0", figure: perGiB, unit: secondsGiB},
		{name: "produce 64 KiB, 16 partitions, 4 connections", args: "produce -topic v16p-{r} -partitions 16 -mib 128 -conns 4", figure: perGiB, unit: secondsGiB, goal: 0.30},
		{name: "produce 64 KiB, 100 partitions", args: "produce -topic v100p-{r} -partitions 100 -mib 128 -conns 4", figure: perGiB, unit: secondsGiB},
		{name: "produce 16 KiB", args: "produce -topic v16-{r} -batch 16384 -mib 64 -conns 2", figure: perGiB, unit: secondsGiB, goal: 0.33, floor: "write_16KiB"},
		{name: "produce 1 MiB", args: "produce -topic v1m-{r} -batch 1048000 -mib 128 -conns 2 -inflight 2", figure: perGiB, unit: secondsGiB, goal: 0.80, floor: "write_1MiB"},
		{name: "produce lz4", args: "produce -topic vlz-{r} -codec lz4 -mib 64 -conns 2", figure: perGiB, unit: secondsGiB, goal: 0.50},
		{name: "produce zstd", args: "produce -topic vzs-{r} -codec zstd -mib 64 -conns 2", figure: perGiB, unit: secondsGiB, goal: 0.50},
		{name: "fetch 1 MiB, hot", args: "fetch -topic v64-{r} -mib 512 -conns 2", figure: perGiB, unit: secondsGiB, goal: 0.65, floor: "send_1MiB"},
		{name: "fetch 64 KiB, hot", args: "fetch -topic v64-{r} -mib 256 -conns 2 -max 65536", figure: perGiB, unit: secondsGiB, goal: 0.40, floor: "send_64KiB"},
		{name: "fetch 16 MiB, hot", args: "fetch -topic v64-{r} -mib 512 -conns 2 -max 16777216", figure: perGiB, unit: secondsGiB, goal: 1.0, floor: "send_16MiB"},
		{name: "20 consumers of one partition, 1 MiB", args: "fetch -topic v64-{r} -mib 512 -conns 20 -same", figure: perGiB, unit: secondsGiB},
		{name: "reading 256 MiB from the disk beside a producer", args: "catchup -topic vcu-{r} -mib 256 -data {dir}", figure: perGiB, unit: secondsGiB,
			also: []step{{name: "the producer's answers, 99 of 100 within", figure: "p99_ms", unit: "ms"}}},
		{name: "one record, 1 connection", args: "small -topic vs-{r} -seconds 1.5", figure: perRequest, unit: micros, goal: 0.30, floor: "write_100B_us",
			also: []step{{name: "the same, 99 of 100 within", figure: "p99_ms", unit: "ms", goal: 0.3}}},
		{name: "one record, 16 connections", args: "small -topic vs-{r} -seconds 1.5 -conns 16", figure: perRequest, unit: micros, goal: 0.40},
		{name: "one record, pipelined", args: "small -topic vs-{r} -seconds 1.5 -conns 4 -inflight 32", figure: perRequest, unit: micros, goal: 0.12},
		{name: "one record, 300 a second", args: "small -topic vs-{r} -seconds 3 -rate 300", figure: perRequest, unit: micros},
		{name: "produce to waiting consumer, 200/s", args: "tail -topic vt-{r} -seconds 3", figure: perRequest, unit: micros, goal: 0.40,
			also: []step{{name: "the same, half within", figure: "p50_ms", unit: "ms", goal: 0.4}}},
		{name: "Metadata", args: "small -topic vs-{r} -seconds 1 -request metadata", figure: perRequest, unit: micros, goal: 0.20},
		{name: "ApiVersions", args: "small -topic vs-{r} -seconds 1 -request apiversions", figure: perRequest, unit: micros, goal: 0.20},
		{name: "empty Fetch", args: "small -topic ve-{r} -seconds 1 -request fetch", figure: perRequest, unit: micros, goal: 0.20},
		{name: "Fetch of one record", args: "small -topic vs-{r} -seconds 1 -request fetch", figure: perRequest, unit: micros, goal: 0.20},
		{name: "Heartbeat", args: "small -topic vs-{r} -seconds 1 -request heartbeat", figure: perRequest, unit: micros, goal: 0.25},
		{name: "ConsumerGroupHeartbeat", args: "small -topic vs-{r} -seconds 1 -request consumer-heartbeat", figure: perRequest, unit: micros, goal: 0.25},
		{name: "OffsetCommit", args: "small -topic vs-{r} -seconds 1 -request commit", figure: perRequest, unit: micros, goal: 0.25},
		{name: "transaction, 10 records, 2 partitions", args: "small -topic vtx-{r} -partitions 2 -seconds 1 -request transaction", figure: perRequest, unit: micros, goal: 0.25},
		{name: "group of 20, classic", args: "group -topic vg-{r} -members 20", figure: "cpu_s", unit: "CPU-s", goal: 0.5},
		{name: "group of 20, KIP-848", args: "group -topic vgc-{r} -members 20 -consumer", figure: "cpu_s", unit: "CPU-s", goal: 0.5},
		{name: "topic of 1,000 partitions, a record to each", args: "topics -topic vtp-{r} -partitions 1000", figure: "cpu_s", unit: "CPU-s", most: 0.5,
			also: []step{{name: "the same until all have taken theirs", figure: "wall_s", unit: "s", most: 0.5}}},
		{name: "1,000 topics, a record to each", args: "topics -topic vto-{r} -count 1000", figure: "cpu_s", unit: "CPU-s"},
		{name: "compaction, 1 KiB values", args: "compact -topic vc-{r} -mib 128", figure: perGiB, unit: secondsGiB, goal: 0.8},
		{name: "idle, with all these topics", args: "idle -seconds 4", figure: "cpu_ms_per_s", unit: "ms CPU a second"},
		{name: "memory after the loads", args: "idle -seconds 0.1", figure: "rss_mib", unit: "MiB"},
		{name: "10 topics of 1,000 partitions, a record to each", args: "topics -topic vtt-{r} -count 10 -partitions 1000", figure: "cpu_s", unit: "CPU-s", most: 4, last: true,
			also: []step{{name: "the same, memory of each", figure: "kib_per_partition", unit: "KiB", most: 12}}},
	}
}

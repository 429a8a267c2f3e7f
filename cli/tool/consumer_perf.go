package tool

import (
	"context"

	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func consumerPerfTool() Tool {
	return Tool{"kafka-consumer-perf-test", "measure how fast records are consumed", runConsumerPerf}
}

func runConsumerPerf(ctx context.Context, e *Env) int {
	o := newConsumerPerfOptions()
	var err error
	if o.set, err = o.parser.parse(e.Args); err != nil {
		return o.parser.usage(e, err.Error())
	}
	switch {
	case len(e.Args) == 0 || o.set.has(o.help):
		return o.parser.usage(e, "This tool is used to verify the consumer performance.")
	case o.set.has(o.version):
		return e.printVersion()
	}
	if message := o.check(e); message != "" {
		return o.parser.usage(e, message)
	}
	c := consumerPerf{e: e, detailed: o.set.has(o.detailed)}
	code, err := c.run(ctx, o)
	if err != nil {
		e.errorf("%s\n%s\n\n", err.Error(), javaToString(err))
		return 1
	}
	return code
}

// consumerPerf is one call of kafka-consumer-perf-test.
type consumerPerf struct {
	e        *Env
	limits   consumerPerfLimits
	detailed bool
	client   *cluster
	joins    joinTimes
	metrics  *clientMetrics
}

// perfCount is what was consumed so far.
type perfCount struct{ records, bytes int64 }

func (c perfCount) megabytes() float64 { return float64(c.bytes) / bytesPerMB }

func (c perfCount) minus(o perfCount) perfCount {
	return perfCount{c.records - o.records, c.bytes - o.bytes}
}

func (c *consumerPerf) run(ctx context.Context, o *consumerPerfOptions) (int, error) {
	if !o.set.has(o.hideHeader) {
		first := "start.time, end.time"
		if c.detailed {
			first = "time, threadId"
		}
		c.e.println(first + ", data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec")
	}
	props, err := o.props(c.e)
	if err != nil {
		return 0, err
	}
	if err := c.open(o, props); err != nil {
		return 0, err
	}
	defer c.client.Close()
	if c.limits, err = o.limits(); err != nil {
		return 0, err
	}
	start := c.joins.started
	ctx, stop := untilSignal(ctx, c.e)
	total, err := c.consume(ctx)
	code := stop()
	if err != nil || code != 0 {
		return code, err
	}
	end := c.e.Clock.Wall()
	if !c.detailed {
		if err := c.printTotal(total, start, end); err != nil {
			return 0, err
		}
	}
	if o.set.has(o.printMetrics) {
		c.metrics.print(c.e, "consumer", props[propClientID])
	}
	return 0, nil
}

func (c *consumerPerf) open(o *consumerPerfOptions, props clientProperties) error {
	s, err := checkSettings(props, consumerRules())
	if err != nil {
		return err
	}
	c.joins = joinTimes{now: c.e.Clock.Wall}
	c.joins.started = c.e.Clock.Wall()
	c.joins.since = c.joins.started
	opts, err := consumerOptions(s, c.joins.started)
	if err != nil {
		return err
	}
	topic, err := o.set.value(o.topic)
	if err != nil {
		return err
	}
	if topic != "" {
		opts = append(opts, kgo.ConsumeTopics(topic))
	} else {
		include, err := o.set.value(o.include)
		if err == nil {
			err = checkPattern(include)
		}
		if err != nil {
			return err
		}
		opts = append(opts, kgo.ConsumeTopics(wholePattern(include)), kgo.ConsumeRegex())
	}
	c.metrics = &clientMetrics{}
	opts = append(append(opts, groupOptions(s)...), kgo.OnPartitionsAssigned(c.joins.assigned), kgo.OnPartitionsRevoked(c.joins.revoked),
		kgo.OnPartitionsLost(c.joins.revoked), kgo.WithHooks(c.metrics))
	if c.client, err = c.e.connect(connectable(props), opts...); err != nil {
		return constructError("consumer", err)
	}
	return nil
}

// consume reads until there are enough records or none came for too long.
func (c *consumerPerf) consume(ctx context.Context) (perfCount, error) {
	var count, reported perfCount
	now := c.e.Clock.Wall()
	last, lastReport := now, now
	for count.records < c.limits.records && now.Sub(last) <= c.limits.timeout && ctx.Err() == nil {
		fetches := c.poll(ctx)
		now = c.e.Clock.Wall()
		for _, f := range fetches.Errors() {
			if err := consumeError(f, ""); err != nil {
				return count, err
			}
		}
		var err error
		fetches.EachRecord(func(r *kgo.Record) {
			last = now
			count.records++
			count.bytes += int64(len(r.Key) + len(r.Value))
			if now.Sub(lastReport) < c.limits.interval {
				return
			}
			if c.detailed && err == nil {
				err = c.printProgress(count, reported, lastReport, now)
			}
			c.joins.takeRound()
			lastReport, reported = now, count
		})
		if err != nil {
			return count, err
		}
		c.client.MarkCommitRecords(fetches.Records()...)
	}
	if count.records < c.limits.records && ctx.Err() == nil {
		c.e.printf("WARNING: Exiting before consuming the expected number of records: timeout (%d ms) exceeded. You can use the --timeout option to increase the timeout.\n",
			c.limits.timeout.Milliseconds())
	}
	return count, nil
}

const perfPoll = 100 * time.Millisecond

func (c *consumerPerf) poll(ctx context.Context) kgo.Fetches {
	ctx, cancel := context.WithTimeout(ctx, perfPoll)
	defer cancel()
	fetches := c.client.PollRecords(ctx, maxPollRecords)
	return fetches
}

func (c *consumerPerf) printTotal(total perfCount, start, end time.Time) error {
	from, err := formatJavaDate(c.limits.dateFormat, start)
	if err != nil {
		return err
	}
	to, err := formatJavaDate(c.limits.dateFormat, end)
	if err != nil {
		return err
	}
	elapsed := millis(end) - millis(start)
	joined := c.joins.total()
	fetching := elapsed - joined
	records := float64(total.records)
	c.e.printf("%s, %s, %s, %s, %d, %s, %d, %d, %s, %s\n", from, to, javaFixed(total.megabytes(), 4), javaFixed(total.megabytes()/(float64(elapsed)/1000), 4), total.records,
		javaFixed(records/(float64(elapsed)/1000), 4), joined, fetching, javaFixed(total.megabytes()/(float64(fetching)/1000), 4), javaFixed(records/(float64(fetching)/1000), 4))
	return nil
}

func (c *consumerPerf) printProgress(count, reported perfCount, start, end time.Time) error {
	at, err := formatJavaDate(c.limits.dateFormat, end)
	if err != nil {
		return err
	}
	elapsed := millis(end) - millis(start)
	part := count.minus(reported)
	joined := c.joins.round()
	fetching := elapsed - joined
	var megabytes, records float64
	if fetching > 0 {
		megabytes, records = 1000*part.megabytes()/float64(fetching), 1000*float64(part.records)/float64(fetching)
	}
	c.e.printf("%s, 0, %s, %s, %d, %s, %d, %d, %s, %s\n", at, javaFixed(count.megabytes(), 4), javaFixed(1000*part.megabytes()/float64(elapsed), 4), count.records,
		javaFixed(float64(part.records)/float64(elapsed)*1000, 4), joined, fetching, javaFixed(megabytes, 4), javaFixed(records, 4))
	return nil
}

func millis(t time.Time) int64 { return t.UnixMilli() }

// joinTimes is how long the consumer was without partitions, in milliseconds.
type joinTimes struct {
	now     func() time.Time
	started time.Time

	mu        sync.Mutex
	since     time.Time // guarded by mu; when the wait for partitions began
	held      int       // guarded by mu; partitions
	all, part int64     // guarded by mu; the whole and what of it is not reported yet
}

func (j *joinTimes) assigned(_ context.Context, _ *kgo.Client, got map[string][]int32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held == 0 {
		waited := millis(j.now()) - millis(j.since)
		j.all += waited
		j.part += waited
	}
	j.held += partitionCount(got)
}

func (j *joinTimes) revoked(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held -= partitionCount(lost); j.held <= 0 {
		j.held, j.since = 0, j.now()
	}
}

func partitionCount(m map[string][]int32) (n int) {
	for _, ps := range m {
		n += len(ps)
	}
	return n
}

func (j *joinTimes) total() int64 { j.mu.Lock(); defer j.mu.Unlock(); return j.all }
func (j *joinTimes) round() int64 { j.mu.Lock(); defer j.mu.Unlock(); return j.part }
func (j *joinTimes) takeRound()   { j.mu.Lock(); defer j.mu.Unlock(); j.part = 0 }

package tool

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func producerPerfTool() Tool {
	return Tool{"kafka-producer-perf-test", "measure how fast records are produced", runProducerPerf}
}

func runProducerPerf(ctx context.Context, e *Env) int {
	parser, throughput := newProducerPerfParser()
	if len(e.Args) == 0 {
		writeText(e.Stdout, parser.fullHelp())
		return 0
	}
	config, err := readProducerPerf(e, parser, throughput, e.Args)
	if err != nil {
		var wrong *exception
		if errors.As(err, &wrong) {
			return e.uncaught(err)
		}
		parser.fail(e, err)
		return 1 // for --help too
	}
	p := producerPerf{e: e, config: config, random: splittableRandom{config.seed}}
	code, err := p.run(ctx)
	if err != nil {
		return e.uncaught(err)
	}
	return code
}

// producerPerf is one call of kafka-producer-perf-test.
type producerPerf struct {
	e        *Env
	config   *producerPerfConfig
	settings settings
	random   splittableRandom
	client   *cluster
	metrics  *clientMetrics
	known    bool // the topic has been seen

	mu            sync.Mutex
	stats, steady *perfStats // guarded by mu; steady is nil until the warm-up is over
}

func (p *producerPerf) run(ctx context.Context) (int, error) {
	if err := p.open(); err != nil {
		return 0, err
	}
	defer p.client.Close()
	ctx, stop := untilSignal(ctx, p.e)
	err := p.start(ctx)
	if err == nil {
		err = p.produce(ctx)
	}
	if err == nil {
		_ = p.client.Flush(ctx) // what fails is told by each record
	}
	if code := stop(); code != 0 {
		return code, nil
	}
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.printTotal(p.e.Clock.Wall())
	if p.steady != nil {
		p.steady.printTotal(p.e.Clock.Wall())
	}
	if p.config.printMetrics {
		p.metrics.print(p.e, "producer", p.config.props[propClientID])
	}
	return 0, nil
}

func (p *producerPerf) open() (err error) {
	if p.settings, err = producerSettings(p.config.props); err != nil {
		return err
	}
	batch := p.settings.number("batch.size")
	for _, b := range append(p.config.payloads, make([]byte, p.config.recordSize)) {
		batch = max(batch, recordBound(&kgo.Record{Key: []byte(strconv.Itoa(int(p.config.keyRange))), Value: b}))
	}
	p.metrics = &clientMetrics{}
	opts := append(producerOptions(p.settings, batch), kgo.WithHooks(p.metrics))
	if p.config.transactional {
		opts = append(opts, kgo.TransactionalID(p.config.props["transactional.id"]), kgo.TransactionTimeout(p.settings.duration("transaction.timeout.ms")))
	}
	if p.client, err = p.e.connect(connectable(p.config.props), opts...); err != nil {
		return constructError("producer", err)
	}
	return nil
}

// start begins the statistics, once a transactional producer is known to its coordinator.
func (p *producerPerf) start(ctx context.Context) error {
	if p.config.transactional {
		within, cancel := context.WithTimeout(ctx, p.settings.duration("max.block.ms"))
		defer cancel()
		if _, _, err := p.client.ProducerID(within); err != nil {
			return asException(err, "Timeout expired after "+decimal(p.settings.number("max.block.ms"))+"ms while awaiting InitProducerId")
		}
	}
	if p.config.warmup > 0 {
		p.e.printf("Warmup first %d records. Steady state results will print after the complete test summary.\n", p.config.warmup)
	}
	p.stats = newPerfStats(p.e.Stdout, p.e.Clock.Wall(), p.config.records, p.config.interval, false)
	return nil
}

func (p *producerPerf) produce(ctx context.Context) error {
	throttle := newThrottler(p.config.throughput, p.e.Clock.Mono())
	var open bool // a transaction
	var began time.Time
	for i := int64(0); i < p.config.records && ctx.Err() == nil; i++ {
		rec := p.record(i)
		if p.config.transactional && !open {
			if err := p.client.BeginTransaction(); err != nil {
				return asException(err, err.Error())
			}
			open, began = true, p.e.Clock.Wall()
		}
		sent := p.e.Clock.Wall()
		if p.config.warmup > 0 && i == p.config.warmup {
			p.mu.Lock()
			p.steady = newPerfStats(p.e.Stdout, sent, p.config.records-p.config.warmup, p.config.interval, true)
			p.stats.quiet = true
			p.mu.Unlock()
		}
		p.send(ctx, rec, sent, p.steady)
		if open && sent.Sub(began).Milliseconds() >= p.config.transactionMs {
			if err := p.commit(ctx); err != nil {
				return err
			}
			open = false
		}
		if d := throttle.wait(i, p.e.Clock.Mono()); d > 0 {
			_ = p.e.pause(ctx, d) // the loop looks at the context itself
		}
	}
	if open && ctx.Err() == nil {
		return p.commit(ctx)
	}
	return nil
}

func (p *producerPerf) send(ctx context.Context, rec *kgo.Record, sent time.Time, steady *perfStats) {
	var err error
	if !p.known {
		err = awaitTopic(ctx, p.e, p.client, rec.Topic, p.settings.duration("max.block.ms"), p.settings.duration(propRetryBackoff))
		p.known = err == nil
	}
	if err == nil {
		err = tooLarge(rec, p.settings)
	}
	if err != nil {
		if ctx.Err() == nil {
			p.e.errorf("%s\n", javaToString(err))
		}
		return
	}
	p.client.Produce(ctx, rec, func(rec *kgo.Record, err error) {
		if err != nil {
			if ctx.Err() == nil {
				p.e.errorf("%s\n", javaToString(produceError(rec, err)))
			}
			return
		}
		now := p.e.Clock.Wall()
		latency := int(millis(now) - millis(sent))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stats.record(latency, len(rec.Value), now)
		if steady != nil {
			steady.record(latency, len(rec.Value), now)
		}
	})
}

func (p *producerPerf) commit(ctx context.Context) error {
	_ = p.client.Flush(ctx) // what fails is told by each record
	if err := p.client.EndTransaction(ctx, kgo.TryCommit); err != nil && ctx.Err() == nil {
		return asException(err, err.Error())
	}
	return nil
}

// record is the i-th record.
func (p *producerPerf) record(i int64) *kgo.Record {
	rec := &kgo.Record{Topic: p.config.topic}
	switch {
	case len(p.config.payloads) > 0:
		rec.Value = p.config.payloads[p.random.below(int32(len(p.config.payloads)))]
	case p.config.recordSize > 0:
		rec.Value = make([]byte, p.config.recordSize)
		for j := range rec.Value {
			rec.Value[j] = byte('A' + p.random.below(26))
		}
	default:
		rec.Value = strconv.AppendInt(nil, i, 10)
	}
	switch p.config.keyDistribution {
	case "range":
		rec.Key = strconv.AppendInt(nil, i%int64(p.config.keyRange), 10)
	case "random":
		rec.Key = strconv.AppendInt(nil, int64(p.random.below(p.config.keyRange)), 10)
	}
	return rec
}

// throttler keeps to a rate: it lets debts of time grow until they are worth a pause.
type throttler struct {
	rate    float64 // records per second; none below 0
	start   time.Time
	perUnit time.Duration
	debt    time.Duration
}

// leastPause is the shortest pause worth taking.
const leastPause = 2 * time.Millisecond

func newThrottler(rate float64, now time.Time) *throttler {
	t := &throttler{rate: rate, start: now}
	if rate > 0 {
		t.perUnit = time.Duration(float64(time.Second) / rate)
	}
	return t
}

// wait is how long to pause after n records; at a rate of 0 that is as good as for ever.
func (t *throttler) wait(n int64, now time.Time) time.Duration {
	if t.rate < 0 {
		return 0
	}
	if t.rate == 0 {
		return 1<<63 - 1
	}
	elapsed := now.Sub(t.start).Seconds()
	if elapsed <= 0 || float64(n)/elapsed <= t.rate {
		return 0
	}
	if t.debt += t.perUnit; t.debt < leastPause {
		return 0
	}
	d := t.debt
	t.debt = 0
	return d
}

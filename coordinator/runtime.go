package coordinator

import (
	"errors"
	"sync"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/internal/wheel"
)

// Errors of Submit; handlers map them to NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS and COORDINATOR_NOT_AVAILABLE.
var (
	ErrNotCoordinator = errors.New("not the coordinator of this partition")
	ErrLoading        = errors.New("coordinator is loading")
	ErrNotAvailable   = errors.New("coordinator is not available")
)

// Options of a runtime.
type Options[M Machine] struct {
	Topic string
	// New makes an empty machine for a partition; epoch is the leader epoch it is coordinator under.
	New    func(partition, epoch int32) M
	Writer PartitionWriter
	Clock  clock.Clock
	Wheel  *wheel.Wheel
	Log    zerolog.Logger
	// Go runs a load, or what a timer does, off the calling goroutine; it is bounded by the process's worker pool.
	Go func(func())
}

// Runtime owns the shards of one internal topic. See the package comment for its rules.
type Runtime[M Machine] struct {
	o      Options[M]
	mu     sync.RWMutex
	shards map[int32]*shard[M] // guarded by mu
	loads  sync.WaitGroup
}

type shardState uint8

const (
	loading shardState = iota
	active
	failed // the log refused a write or could not be read: calls are told that the coordinator is not available until it is loaded again
	gone
)

// err is what calls get in a state other than active.
func (s shardState) err() error {
	switch s {
	case loading:
		return ErrLoading
	case failed:
		return ErrNotAvailable
	default:
		return ErrNotCoordinator
	}
}

// shard is one partition's machine with its timers. Lock order: shard before anything that Writer takes.
type shard[M Machine] struct {
	rt        *Runtime[M]
	partition int32
	epoch     int32

	mu      sync.Mutex
	state   shardState             // guarded by mu
	machine M                      // guarded by mu
	timers  map[string]*deadline   // guarded by mu
	later   []func(M, Now) Effects // guarded by mu: steps that wait for the end of loading
	writes  []*write[M]            // guarded by mu: those whose commitment is not known yet, in order
}

type deadline struct {
	wheel.Entry
	key string
}

// New makes a runtime without shards.
func New[M Machine](o Options[M]) *Runtime[M] {
	return &Runtime[M]{o: o, shards: map[int32]*shard[M]{}}
}

// Elect makes this broker the coordinator of the partition under the leader epoch; loading goes on in the background.
func (r *Runtime[M]) Elect(partition, epoch int32) {
	r.mu.Lock()
	old := r.shards[partition]
	if old != nil && old.epoch >= epoch && old.is(loading, active) {
		r.mu.Unlock()
		return
	}
	s := r.newShard(partition, epoch)
	r.shards[partition] = s
	r.mu.Unlock()
	if old != nil {
		old.drop(ErrNotCoordinator)
	}
	r.loads.Add(1)
	r.o.Go(func() { defer r.loads.Done(); s.load() })
}

// Resign drops the partition: another broker leads it, or it is gone.
func (r *Runtime[M]) Resign(partition int32) {
	r.mu.Lock()
	s := r.shards[partition]
	delete(r.shards, partition)
	r.mu.Unlock()
	if s != nil {
		s.drop(ErrNotCoordinator)
	}
}

// Close drops all shards and waits for loads in progress.
func (r *Runtime[M]) Close() {
	r.mu.Lock()
	all := r.shards
	r.shards = map[int32]*shard[M]{}
	r.mu.Unlock()
	for _, s := range all {
		s.drop(ErrNotAvailable)
	}
	r.loads.Wait()
}

// Partitions lists the partitions that this broker coordinates, loaded or not.
func (r *Runtime[M]) Partitions() []int32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]int32, 0, len(r.shards))
	for p := range r.shards {
		out = append(out, p)
	}
	return out
}

// Submit runs step on the machine of the partition, on the calling goroutine, and does what its effects say. An error means
// that step did not run: ErrNotCoordinator, ErrLoading, ErrNotAvailable.
func (r *Runtime[M]) Submit(partition int32, step func(m M, now Now) Effects) error {
	r.mu.RLock()
	s := r.shards[partition]
	r.mu.RUnlock()
	if s == nil {
		return ErrNotCoordinator
	}
	return s.run(step)
}

// Later is Submit that waits for a shard that is loading. Steps on shards that are lost are dropped.
func (r *Runtime[M]) Later(partition int32, step func(m M, now Now) Effects) {
	r.mu.RLock()
	s := r.shards[partition]
	r.mu.RUnlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	if s.state == loading {
		s.later = append(s.later, step)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	_ = s.run(step) // lost meanwhile
}

// Marker appends the control batch that ends a transaction to the partition's own log and applies it (the markers of
// __consumer_offsets go through the shard that owns its log). done runs once it is committed.
func (r *Runtime[M]) Marker(partition int32, txn Txn, commit bool, coordinatorEpoch int32, done func(error)) {
	r.mu.RLock()
	s := r.shards[partition]
	r.mu.RUnlock()
	if s == nil {
		done(ErrNotCoordinator)
		return
	}
	s.marker(txn, commit, coordinatorEpoch, done)
}

func (r *Runtime[M]) now() Now { return Now{Wall: r.o.Clock.Wall(), Mono: r.o.Clock.Mono()} }

func (s *shard[M]) is(states ...shardState) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range states {
		if s.state == st {
			return true
		}
	}
	return false
}

// load reads the partition and makes the shard active. A failure leaves it failed: calls are told that the coordinator is not
// available, until the partition is elected anew.
func (s *shard[M]) load() {
	started := s.rt.o.Clock.Mono()
	records := 0
	err := s.rt.o.Writer.Load(s.partition, func(b LoadedBatch) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.state != loading {
			return ErrNotCoordinator
		}
		records += len(b.Records)
		s.applyLocked(b)
		return nil
	})
	s.mu.Lock()
	if s.state != loading {
		s.mu.Unlock()
		return
	}
	if err != nil {
		s.state = failed
		s.mu.Unlock()
		s.rt.o.Log.Error().Err(err).Str("topic", s.rt.o.Topic).Int32("partition", s.partition).Msg("coordinator state cannot be loaded")
		return
	}
	s.state = active
	after := s.effectsLocked(s.machine.Loaded(s.rt.now()))
	for _, step := range s.later {
		if s.state == active {
			after = append(after, s.effectsLocked(step(s.machine, s.rt.now()))...)
		}
	}
	s.later = nil
	s.mu.Unlock()
	fire(after)
	s.rt.o.Log.Debug().Str("topic", s.rt.o.Topic).Int32("partition", s.partition).Int("records", records).
		Dur("took", s.rt.o.Clock.Mono().Sub(started)).Msg("coordinator state loaded")
}

// applyLocked folds a batch; what comes of the end of a transaction (answers to calls that waited for it) is for the caller to fire.
func (s *shard[M]) applyLocked(b LoadedBatch) []outcome {
	switch {
	case b.Marker:
		e := s.machine.EndTxn(s.rt.now(), *b.Txn, b.Commit)
		if s.state != active {
			return nil
		}
		if len(e.Records) > 0 {
			invariant.Failf("coordinator of %s-%d: the end of a transaction wrote records", s.rt.o.Topic, s.partition)
		}
		return s.effectsLocked(e)
	case b.Txn != nil:
		for _, rec := range b.Records {
			s.machine.ApplyTxn(*b.Txn, rec)
		}
	default:
		for _, rec := range b.Records {
			s.machine.Apply(rec)
		}
	}
	return nil
}

func (s *shard[M]) run(step func(m M, now Now) Effects) error {
	s.mu.Lock()
	if s.state != active {
		err := s.state.err()
		s.mu.Unlock()
		return err
	}
	e := step(s.machine, s.rt.now())
	if len(e.Records) == 0 && len(e.Timers) == 0 && len(s.writes) == 0 { // most of all calls: heartbeats, reads
		s.mu.Unlock()
		for _, r := range e.Replies {
			r.To.Complete(r.Response)
		}
		return nil
	}
	after := s.effectsLocked(e)
	s.mu.Unlock()
	fire(after)
	return nil
}

// effectsLocked writes, applies and sets timers; it returns the answers that may leave at once.
func (s *shard[M]) effectsLocked(e Effects) []outcome {
	for _, t := range e.Timers {
		s.timerLocked(t)
	}
	if len(e.Records) == 0 {
		if n := len(s.writes); n > 0 {
			// The step may have seen what is not committed yet.
			s.writes[n-1].replies = append(s.writes[n-1].replies, e.Replies...)
			return nil
		}
		return outcomes(e.Replies, nil)
	}
	var out []outcome
	b := pendingBatch{batch: LoadedBatch{Txn: e.Txn}, clean: e.Clean}
	for e.Loose && len(e.Records) > looseRecords {
		b.batch.Records, e.Records = e.Records[:looseRecords], e.Records[looseRecords:]
		done, err := s.recordsLocked(b)
		if out = append(out, done...); err != nil {
			return append(out, outcomes(e.Replies, err)...)
		}
	}
	b.batch.Records, b.replies = e.Records, e.Replies
	done, err := s.recordsLocked(b)
	if out = append(out, done...); err != nil {
		return append(out, outcomes(e.Replies, err)...)
	}
	return out
}

// looseRecords is how many records that may be written apart go into one batch: well below the 1 MiB that a batch may have.
const looseRecords = 1000

// pendingBatch is what is about to be written.
type pendingBatch struct {
	batch   LoadedBatch
	replies []Reply
	clean   bool
}

func (s *shard[M]) recordsLocked(b pendingBatch) ([]outcome, error) {
	return s.writeLocked(b, func() (Written, error) {
		return s.rt.o.Writer.Write(s.partition, s.epoch, b.batch.Records, b.batch.Txn, s.rt.now().WallMs())
	})
}

// writeLocked appends a batch by do and folds it. The replies leave when it is committed; with an error they are the caller's to answer.
func (s *shard[M]) writeLocked(b pendingBatch, do func() (Written, error)) ([]outcome, error) {
	at, err := do()
	if err != nil {
		s.rt.o.Log.Warn().Err(err).Str("topic", s.rt.o.Topic).Int32("partition", s.partition).Msg("coordinator state cannot be written")
		if b.clean {
			return nil, err
		}
		return s.dropLocked(failed, err), err
	}
	w := &write[M]{shard: s, replies: b.replies, known: at.Committed}
	s.writes = append(s.writes, w)
	for i := range b.batch.Records {
		b.batch.Records[i].Offset = at.NextOffset - int64(len(b.batch.Records)-i)
	}
	out := s.applyLocked(b.batch)
	out = append(s.settleLocked(), out...)
	if at.After != nil {
		out = append(out, outcome{run: func() { at.After(w.committed) }})
	}
	return out, nil
}

// write is an append whose commitment may become known later, by a follower's fetch or a sync.
type write[M Machine] struct {
	shard   *shard[M]
	replies []Reply // guarded by shard.mu, as are the others
	known   bool
	err     error
}

// committed hears that the append is committed, or never will be.
func (w *write[M]) committed(err error) {
	w.shard.mu.Lock()
	w.known, w.err = true, err
	after := w.shard.settleLocked()
	w.shard.mu.Unlock()
	fire(after)
}

// settleLocked answers the calls of the writes at the front whose fate is known: a reply never leaves before the records of all writes
// before it are committed.
func (s *shard[M]) settleLocked() (out []outcome) {
	for len(s.writes) > 0 && s.writes[0].known {
		w := s.writes[0]
		if w.err != nil {
			s.rt.o.Log.Warn().Err(w.err).Str("topic", s.rt.o.Topic).Int32("partition", s.partition).Msg("coordinator state was not committed")
			return append(out, s.dropLocked(failed, w.err)...)
		}
		s.writes[0] = nil
		s.writes = s.writes[1:]
		out = append(out, outcomes(w.replies, nil)...)
	}
	return out
}

func (s *shard[M]) marker(txn Txn, commit bool, coordinatorEpoch int32, done func(error)) {
	s.mu.Lock()
	if s.state != active {
		err := s.state.err()
		s.mu.Unlock()
		done(err)
		return
	}
	b := pendingBatch{batch: LoadedBatch{Txn: &txn, Marker: true, Commit: commit}, replies: []Reply{{To: markerDone(done)}}, clean: true}
	after, err := s.writeLocked(b, func() (Written, error) {
		return s.rt.o.Writer.WriteMarker(s.partition, s.epoch, txn, commit, coordinatorEpoch)
	})
	s.mu.Unlock()
	fire(after)
	if err != nil {
		done(err)
	}
}

// markerDone makes a handle of the function that waits for a marker.
type markerDone func(error)

func (d markerDone) Complete(kmsg.Response) { d(nil) }
func (d markerDone) Fail(err error)         { d(err) }

func (s *shard[M]) timerLocked(t TimerChange) {
	d := s.timers[t.Key]
	if t.At.IsZero() {
		if d != nil {
			s.rt.o.Wheel.Stop(&d.Entry)
			delete(s.timers, t.Key)
		}
		return
	}
	if d == nil {
		d = &deadline{key: t.Key}
		d.F = func() { s.rt.o.Go(func() { s.fired(d) }) } // it may write: not on the wheel's goroutine
		s.timers[t.Key] = d
	}
	s.rt.o.Wheel.Schedule(&d.Entry, t.At)
}

func (s *shard[M]) fired(d *deadline) {
	s.mu.Lock()
	if s.state != active || s.timers[d.key] != d {
		s.mu.Unlock()
		return
	}
	delete(s.timers, d.key)
	after := s.effectsLocked(s.machine.Fire(s.rt.now(), d.key))
	s.mu.Unlock()
	fire(after)
}

// drop ends the shard.
func (s *shard[M]) drop(err error) {
	s.mu.Lock()
	after := s.dropLocked(gone, err)
	s.mu.Unlock()
	fire(after)
}

// dropLocked fails everything that waits. A failed shard is loaded again at once, since its log is the truth.
func (s *shard[M]) dropLocked(to shardState, err error) (out []outcome) {
	if s.state == gone || s.state == failed {
		return nil
	}
	s.state = to
	for _, d := range s.timers {
		s.rt.o.Wheel.Stop(&d.Entry)
	}
	s.timers = map[string]*deadline{}
	for _, w := range s.writes {
		out = append(out, outcomes(w.replies, err)...)
	}
	s.writes = nil
	for _, h := range s.machine.Dropped() {
		out = append(out, outcome{reply: Reply{To: h}, err: err})
	}
	if to == failed {
		s.rt.reload(s)
	}
	return out
}

// reload replaces a failed shard by a fresh one that reads the log again; until it is active, calls are told to wait.
func (r *Runtime[M]) reload(s *shard[M]) {
	r.loads.Add(1)
	r.o.Go(func() {
		defer r.loads.Done()
		r.mu.Lock()
		if r.shards[s.partition] != s {
			r.mu.Unlock()
			return
		}
		fresh := r.newShard(s.partition, s.epoch)
		r.shards[s.partition] = fresh
		r.mu.Unlock()
		fresh.load()
	})
}

func (r *Runtime[M]) newShard(partition, epoch int32) *shard[M] {
	return &shard[M]{rt: r, partition: partition, epoch: epoch, machine: r.o.New(partition, epoch), timers: map[string]*deadline{}}
}

// outcome is what is left to do when the shard is unlocked: a reply, or the error that comes instead, or something of the log's.
type outcome struct {
	reply Reply
	err   error
	run   func()
}

func outcomes(replies []Reply, err error) []outcome {
	if len(replies) == 0 {
		return nil
	}
	out := make([]outcome, len(replies))
	for i, r := range replies {
		out[i] = outcome{reply: r, err: err}
	}
	return out
}

// fire does what is left to do; the shard must not be locked.
func fire(list []outcome) {
	for _, a := range list {
		switch {
		case a.run != nil:
			a.run()
		case a.err != nil:
			a.reply.To.Fail(a.err)
		default:
			a.reply.To.Complete(a.reply.Response)
		}
	}
}

package coordinator

import (
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/internal/clock"
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
	// Go runs a load off the calling goroutine; it is bounded by the process's worker pool.
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
	failed // the log refused a write or could not be read: answered as not available until loaded again
	gone
)

// shard is one partition's machine with its timers. Lock order: shard before anything that Writer takes.
type shard[M Machine] struct {
	rt        *Runtime[M]
	partition int32
	epoch     int32

	mu      sync.Mutex
	state   shardState           // guarded by mu
	machine M                    // guarded by mu
	timers  map[string]*deadline // guarded by mu
	pending int                  // guarded by mu: writes whose commitment is not known yet
	waiting []Reply              // guarded by mu: replies without records that wait for earlier writes
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
	s.mu.Unlock()
	fire(after)
	s.rt.o.Log.Debug().Str("topic", s.rt.o.Topic).Int32("partition", s.partition).Int("records", records).
		Dur("took", s.rt.o.Clock.Mono().Sub(started)).Msg("coordinator state loaded")
}

func (s *shard[M]) applyLocked(b LoadedBatch) {
	switch {
	case b.Marker:
		s.machine.EndTxn(s.rt.now(), *b.Txn, b.Commit) // its effects concern calls, of which there are none yet
	case b.Txn != nil:
		for _, rec := range b.Records {
			s.machine.ApplyTxn(*b.Txn, rec)
		}
	default:
		for _, rec := range b.Records {
			s.machine.Apply(rec)
		}
	}
}

func (s *shard[M]) run(step func(m M, now Now) Effects) error {
	s.mu.Lock()
	switch s.state {
	case loading:
		s.mu.Unlock()
		return ErrLoading
	case failed:
		s.mu.Unlock()
		return ErrNotAvailable
	case gone:
		s.mu.Unlock()
		return ErrNotCoordinator
	}
	after := s.effectsLocked(step(s.machine, s.rt.now()))
	s.mu.Unlock()
	fire(after)
	return nil
}

// effectsLocked writes, applies and sets timers; it returns the replies that may leave at once.
func (s *shard[M]) effectsLocked(e Effects) []Reply {
	for _, t := range e.Timers {
		s.timerLocked(t)
	}
	if len(e.Records) == 0 {
		if s.pending > 0 && len(e.Replies) > 0 {
			s.waiting = append(s.waiting, e.Replies...)
			return nil
		}
		return e.Replies
	}
	w := &write[M]{shard: s, effects: e}
	s.pending++
	_, err := s.rt.o.Writer.Write(s.partition, s.epoch, e.Records, e.Txn, s.rt.now().WallMs(), w.committed)
	if err != nil {
		s.pending--
		s.rt.o.Log.Error().Err(err).Str("topic", s.rt.o.Topic).Int32("partition", s.partition).Msg("writing coordinator state failed")
		return append(e.failed(err), s.dropLocked(failed, err)...)
	}
	if e.Txn != nil {
		s.applyLocked(LoadedBatch{Records: e.Records, Txn: e.Txn})
	} else {
		s.applyLocked(LoadedBatch{Records: e.Records})
	}
	return w.releaseLocked()
}

// write is an append whose commitment may become known while the shard is locked by the writer itself, or later by a follower's fetch.
type write[M Machine] struct {
	shard   *shard[M]
	effects Effects
	mu      sync.Mutex // guards the fields below; taken after shard.mu
	known   bool
	err     error
	applied bool
}

func (w *write[M]) committed(err error) {
	w.mu.Lock()
	w.known, w.err = true, err
	applied := w.applied
	w.mu.Unlock()
	if !applied {
		return // releaseLocked, still to come on the writing goroutine, answers
	}
	w.shard.mu.Lock()
	after := w.finishLocked()
	w.shard.mu.Unlock()
	fire(after)
}

func (w *write[M]) releaseLocked() []Reply {
	w.mu.Lock()
	w.applied = true
	known := w.known
	w.mu.Unlock()
	if !known {
		return nil
	}
	return w.finishLocked()
}

func (w *write[M]) finishLocked() []Reply {
	s := w.shard
	s.pending--
	if w.err != nil {
		return append(w.effects.failed(w.err), s.dropLocked(failed, w.err)...)
	}
	out := w.effects.Replies
	if s.pending == 0 && len(s.waiting) > 0 {
		out = append(out, s.waiting...)
		s.waiting = nil
	}
	return out
}

func (e *Effects) failed(err error) []Reply {
	if e.OnError != nil {
		return e.OnError(err)
	}
	return nil
}

func (s *shard[M]) marker(txn Txn, commit bool, coordinatorEpoch int32, done func(error)) {
	s.mu.Lock()
	if s.state != active {
		err := map[shardState]error{loading: ErrLoading, failed: ErrNotAvailable, gone: ErrNotCoordinator}[s.state]
		s.mu.Unlock()
		done(err)
		return
	}
	_, err := s.rt.o.Writer.WriteMarker(s.partition, s.epoch, txn, commit, coordinatorEpoch, done)
	if err != nil {
		s.mu.Unlock()
		done(err)
		return
	}
	after := s.effectsLocked(s.machine.EndTxn(s.rt.now(), txn, commit))
	s.mu.Unlock()
	fire(after)
}

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
		d.F = func() { s.fired(d) }
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

// dropLocked answers everything parked. A failed shard is loaded again at once, since its log is the truth.
func (s *shard[M]) dropLocked(to shardState, err error) []Reply {
	if s.state == gone || s.state == failed {
		return nil
	}
	s.state = to
	for _, d := range s.timers {
		s.rt.o.Wheel.Stop(&d.Entry)
	}
	s.timers = map[string]*deadline{}
	out := append(s.machine.Dropped(err), s.waiting...)
	s.waiting = nil
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

func fire(replies []Reply) {
	for _, r := range replies {
		if r.To != nil {
			r.To.Complete(r.Response)
		}
	}
}

package storage

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/internal/cache"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// env is what all logs of a Manager share.
type env struct {
	fs      vfs.FS
	clk     clock.Clock
	log     zerolog.Logger
	handles *cache.Handles
	began   time.Time      // monotonic
	wg      sync.WaitGroup // flushes under way
	// report tells the owner of failed directories; called without locks after failed was set.
	failed atomic.Bool
	report func()
	// held counts who must not be interrupted by report, as they hold a lock of a log around calls of another's methods.
	held atomic.Int32
	// wake asks for the file deletion step.
	wake func()
	// cleanPointLowered tells that a directory's cleaner-offset-checkpoint says too much; called without locks.
	cleanPointLowered func(*logDir)
}

func newEnv(fs vfs.FS, clk clock.Clock, log zerolog.Logger, maxOpen int) *env {
	return &env{fs: fs, clk: clk, log: log, handles: cache.NewHandles(maxOpen), began: clk.Mono()}
}

func (e *env) nowMs() int64 { return e.clk.Wall().UnixMilli() }

// monoMs counts from the env's making, so that moving the wall clock moves no deadline.
func (e *env) monoMs() int64 { return e.clk.Mono().Sub(e.began).Milliseconds() }

func (e *env) instant(monoMs int64) time.Time {
	return e.began.Add(time.Duration(monoMs) * time.Millisecond)
}

// logDir is one of log.dirs.
type logDir struct {
	path    string
	id      [16]byte
	offline atomic.Bool
	logs    atomic.Int32 // how many lie in it
	mu      sync.Mutex
	err     error // guarded by mu: why it is offline
	told    bool  // guarded by mu: OnDirFailure was called
	lock    io.Closer
	meta    *metaProperties // as found, nil none
	unclean bool            // it was there, and not closed in good order
}

// fail takes the directory offline; the first reason counts.
func (d *logDir) fail(err error) {
	d.mu.Lock()
	if d.err == nil {
		d.err = err
	}
	d.mu.Unlock()
	d.offline.Store(true)
}

// Log is one partition's log.  Lock order: cleanMu, syncMu, mu, tail.mu, segment.mu, segmentFiles.mu. mu orders everything that changes
// the log; syncMu keeps a flush, a truncation and the swap of cleaned segments apart; cleanMu is the cleaner's. Readers take neither: they use the segment list, the atomics and for a moment
// tail.mu.
type Log struct {
	env   *env
	where atomic.Pointer[logDir]
	dir   atomic.Pointer[string] // the partition's own directory; changes when it is renamed
	key   PartitionKey
	label string // topic-partition
	dense bool   // no offset is ever missing: never compacted
	cfg   atomic.Pointer[LogConfig]

	segs     atomic.Pointer[[]*segment] // ascending, never empty; replaced, never changed
	start    atomic.Int64               // logStartOffset
	end      atomic.Int64               // logEndOffset
	recovery atomic.Int64               // everything below was synced
	unstable atomic.Int64               // first unstable offset, -1 none
	closed   atomic.Bool
	// producersLoaded says that unstable can be believed.
	producersLoaded atomic.Bool
	hasRetired      atomic.Bool  // segments wait for their deletion
	hw              int64        // high watermark as checkpointed
	hwNow           atomic.Int64 // as OnHighWatermark told, -1 never: bounds what retention may delete

	cleanMu     sync.Mutex
	pass        *cleanPass   // guarded by cleanMu: under way, nil none
	cleanStop   atomic.Int32 // somebody waits for cleanMu to change what a pass reads
	cleanPoint  atomic.Int64 // cleaned up to here, -1 unknown: cleaner-offset-checkpoint
	uncleanable atomic.Bool  // a pass failed for what the log holds

	damaged atomic.Bool // damaged bytes were met and named in the process's log

	syncMu sync.Mutex
	mu     sync.Mutex
	// guarded by mu:
	swapping    bool // cleaned segments take the place of others
	act         *active
	producers   *producers // nil until needed
	epochs      *epochs    // nil until needed
	dirSynced   bool       // the directory's entries are durable
	born        bool       // partition.metadata and the log directory's entry are durable
	changed     bool       // since start: Close has something to do
	lastFlushMs int64      // monotonic
	retired     []retired
	epoch       int64 // counts truncations, so that a flush under way does not move the recovery point above one

	tail atomic.Pointer[tail]

	flushMu sync.Mutex
	waiting []flushWaiter // guarded by flushMu
	running bool          // guarded by flushMu
}

// retired is a segment whose files wait for their deletion.
type retired struct {
	s    *segment
	atMs int64 // monotonic
}

// active is what appending to the last segment needs; guarded by Log.mu.
type active struct {
	since int64 // bytes since the last index entry
}

// recentBatches is how many of the last batches are known by position: a consumer at the end finds its place without reading.
const recentBatches = 32

// recent is a batch of the active segment.
type recent struct {
	base, last, position int64
}

// tail is what readers must see in one piece of the active segment.
type tail struct {
	mu sync.Mutex
	// guarded by mu; written under Log.mu too
	seg      *segment
	end      int64 // logEndOffset, together with size
	size     int64
	ring     [recentBatches]recent
	n        int    // batches ever put into ring
	idx, tix []byte // entries not written yet
	idxN     int    // entries in the files
	tixN     int
	lastTs   int64 // of the last time index entry, -1 none
}

func newLog(e *env, where *logDir, dir string, key PartitionKey, cfg *LogConfig) *Log {
	l := &Log{env: e, key: key, label: dirName(key.Topic, key.Partition)}
	l.where.Store(where)
	l.dir.Store(&dir)
	l.cfg.Store(cfg)
	l.unstable.Store(-1)
	l.hwNow.Store(-1)
	l.cleanPoint.Store(-1)
	return l
}

// unlock releases mu and then tells the owner of a directory that failed meanwhile.
func (l *Log) unlock() {
	l.mu.Unlock()
	l.tellFailure()
}

func (l *Log) tellFailure() {
	if l.env.failed.Load() && l.env.report != nil && l.env.held.Load() == 0 {
		l.env.report()
	}
}

// usable says why the log cannot be used.
func (l *Log) usable() error {
	if l.where.Load().offline.Load() {
		return ErrLogDirOffline
	}
	if l.closed.Load() {
		return ErrLogClosed
	}
	return nil
}

// failDir takes the log's directory offline because of an I/O error, as Kafka does with any, and gives the error for the caller.
func (l *Log) failDir(err error) error {
	if err == nil || errors.Is(err, ErrLogClosed) {
		return err
	}
	if isCorrupt(err) { // bad bytes in one log say nothing about the disk
		if !l.damaged.Swap(true) {
			l.env.log.Error().Err(err).Str("dir", *l.dir.Load()).
				Msg("the log has damaged bytes: what is before them can be read; a start after removing " + cleanShutdownFile + " repairs it")
		}
		return fmt.Errorf("%w: %w", kerr.CorruptMessage, err)
	}
	l.where.Load().fail(err)
	l.env.failed.Store(true)
	return errors.Join(ErrLogDirOffline, err)
}

// isCorrupt tells bytes that are no valid batch from a disk that fails.
func isCorrupt(err error) bool {
	var b *CorruptBatchError
	return errors.As(err, &b) || errors.Is(err, batch.ErrInvalidRecord) || errors.Is(err, batch.ErrDecompress)
}

// Key tells which partition it is.
func (l *Log) Key() PartitionKey { return l.key }

// name is topic-partition.
func (l *Log) name() string { return l.label }

// LogStartOffset is the first readable offset.
func (l *Log) LogStartOffset() int64 { return l.start.Load() }

// LogEndOffset is the next offset to be given.
func (l *Log) LogEndOffset() int64 { return l.end.Load() }

// RecoveryPoint is the offset below which everything was synced.
func (l *Log) RecoveryPoint() int64 { return l.recovery.Load() }

// CheckpointedHW is the high watermark found in replication-offset-checkpoint at load, 0 if none.
func (l *Log) CheckpointedHW() int64 { return l.hw }

// Dir is the log directory (one of log.dirs) that holds it.
func (l *Log) Dir() string { return l.where.Load().path }

// DirID is the id of that directory.
func (l *Log) DirID() [16]byte { return l.where.Load().id }

// Online tells whether the log's directory works.
func (l *Log) Online() bool { return !l.where.Load().offline.Load() }

// Config is the effective configuration.
func (l *Log) Config() LogConfig { return *l.cfg.Load() }

// SetConfig replaces the configuration.
func (l *Log) SetConfig(cfg LogConfig) { l.cfg.Store(&cfg) }

// Size is the bytes of all segments.
func (l *Log) Size() int64 {
	var sum int64
	for _, s := range l.segments() {
		sum += s.size.Load()
	}
	return sum
}

// SegmentCount is the number of segments.
func (l *Log) SegmentCount() int { return len(l.segments()) }

func (l *Log) segments() []*segment { return *l.segs.Load() }

// active is the segment that appends go to.
func (l *Log) active() *segment { s := l.segments(); return s[len(s)-1] }

func (l *Log) setSegments(s []*segment) { l.segs.Store(&s) }

// floorSegment is the index of the segment that holds offset, -1 when all lie above.
func floorSegment(segs []*segment, offset int64) int {
	lo, hi := 0, len(segs)
	for lo < hi {
		mid := (lo + hi) / 2
		if segs[mid].base <= offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// LatestEpoch is the leader epoch of the log's end.
func (l *Log) LatestEpoch() (int32, bool) {
	l.mu.Lock()
	defer l.unlock()
	e, err := l.epochsLocked()
	if err != nil {
		return -1, false
	}
	return e.latest()
}

// AssignEpoch notes that a leader's epoch starts at the log's end; the file is written with the epoch's first record.
func (l *Log) AssignEpoch(epoch int32) error {
	l.mu.Lock()
	defer l.unlock()
	if err := l.usable(); err != nil {
		return err
	}
	e, err := l.epochsLocked()
	if err != nil {
		return err
	}
	e.assign(epoch, l.end.Load())
	return nil
}

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the largest known epoch not above the asked one and the offset where it ends;
// -1, -1 when the asked one is unknown and above all.
func (l *Log) EndOffsetForEpoch(epoch int32) (foundEpoch int32, endOffset int64) {
	l.mu.Lock()
	defer l.unlock()
	e, err := l.epochsLocked()
	if err != nil {
		return -1, -1
	}
	return e.endOffsetFor(epoch, l.end.Load())
}

// EpochForOffset is the leader epoch that wrote the offset, -1 unknown.
func (l *Log) EpochForOffset(offset int64) int32 {
	l.mu.Lock()
	defer l.unlock()
	e, err := l.epochsLocked()
	if err != nil {
		return -1
	}
	return e.at(offset)
}

// epochsLocked reads the epoch file with the first need of it.
func (l *Log) epochsLocked() (*epochs, error) {
	if l.epochs != nil {
		return l.epochs, nil
	}
	if l.where.Load().offline.Load() {
		return nil, ErrLogDirOffline
	}
	e, err := loadEpochs(l.env.fs, *l.dir.Load())
	var corrupt *CorruptFileError
	if errors.As(err, &corrupt) {
		l.env.log.Warn().Err(err).Str("dir", *l.dir.Load()).Msg("leader epoch file is corrupt, rebuilding it from the log")
		err = l.rebuildEpochs(e, l.segments())
	}
	if err != nil {
		return nil, l.failDir(err)
	}
	e.truncateFromEnd(l.end.Load())
	e.truncateFromStart(l.start.Load())
	l.epochs = e
	return e, nil
}

// rebuildEpochs takes the epochs from the batch headers of the given segments.
func (l *Log) rebuildEpochs(e *epochs, segs []*segment) error {
	e.entries = nil
	for _, s := range segs {
		err := l.scanSegment(s, s.base, headersOnly, func(_ *segment, r *batchReader) error {
			e.assign(r.batch.LeaderEpoch(), r.batch.BaseOffset())
			return nil
		})
		if err != nil {
			return err
		}
	}
	e.dirty = true
	return nil
}

// scan walks the batches from the one that holds offset on.
func (l *Log) scan(offset int64, mode scanMode, f func(*segment, *batchReader) error) error {
	segs := l.segments()
	for _, s := range segs[max(floorSegment(segs, offset), 0):] {
		if err := l.scanSegment(s, offset, mode, f); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) scanSegment(s *segment, offset int64, mode scanMode, f func(*segment, *batchReader) error) error {
	files, err := l.open(s)
	if err != nil {
		return err
	}
	defer files.Done()
	from := int64(0)
	if offset > s.base {
		if from, err = l.lookup(files, offset); err != nil {
			return err
		}
	}
	r := newBatchReader(files.log, from, s.size.Load(), mode)
	defer r.close()
	for r.next() {
		if r.batch.LastOffset() < offset {
			continue
		}
		if err := f(s, &r); err != nil {
			return err
		}
	}
	return r.err
}

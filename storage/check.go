package storage

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// Problem is something in a log directory that is not as it must be.
type Problem struct {
	Path   string
	Reason string
}

// String renders the problem in a line.
func (p Problem) String() string { return p.Path + ": " + p.Reason }

// Check reads a whole log directory that no process uses and tells what is wrong: batches (CRC, offsets, epochs), indexes, aborted
// transactions, producer snapshots, epoch files, checkpoints. It changes nothing. After an unclean stop what recovery repairs is not
// as it must be. The error is that of the disk.
func Check(fs vfs.FS, dir string) ([]Problem, error) {
	c := &checker{fs: fs}
	entries, err := fs.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	ends := map[topicPartition][2]int64{}
	for _, e := range entries {
		p, ok := parseDirName(e.Name())
		if !e.IsDir() || !ok || p.suffix == deleteDirSuffix || p.suffix == strayDirSuffix {
			continue
		}
		start, end, err := c.partition(join(dir, e.Name()), p.topic+"-"+fmt.Sprint(p.partition))
		if err != nil {
			return c.problems, err
		}
		if p.suffix == "" {
			ends[topicPartition{p.topic, p.partition}] = [2]int64{start, end}
		}
	}
	return c.problems, c.checkpoints(dir, ends)
}

// CheckLog is Check for one partition's directory.
func CheckLog(fs vfs.FS, dir string) ([]Problem, error) {
	c := &checker{fs: fs}
	_, _, err := c.partition(dir, dir)
	return c.problems, err
}

type checker struct {
	fs       vfs.FS
	problems []Problem
}

func (c *checker) bad(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...)})
}

// checkpoints compares a directory's offset files with what its logs hold.
func (c *checker) checkpoints(dir string, ends map[topicPartition][2]int64) error {
	for _, name := range []string{recoveryPointFile, logStartFile, cleanerCheckpointFile, highWatermarkFile} {
		p := join(dir, name)
		got, err := readOffsetCheckpoint(c.fs, p)
		var corrupt *CorruptFileError
		if errors.As(err, &corrupt) {
			c.bad(p, "%s", corrupt.Reason)
			continue
		}
		if err != nil {
			return err
		}
		for tp, off := range got {
			if e, ok := ends[tp]; ok && off > e[1] {
				c.bad(p, "%s-%d has offset %d, but its log ends at %d", tp.topic, tp.partition, off, e[1])
			}
		}
	}
	return nil
}

// logCheck is the walk through one partition.
type logCheck struct {
	dir       string
	end       int64
	epoch     int32
	epochs    []epochEntry // from the file
	producers *producers   // from the batches alone
}

func (c *checker) partition(dir, name string) (start, end int64, err error) {
	files, err := c.fs.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	var bases, snapshots []int64
	for _, f := range files {
		base, suffix, ok := parseSegmentName(f.Name())
		switch {
		case ok && suffix == logSuffix:
			bases = append(bases, base)
		case ok && suffix == snapshotSuffix:
			snapshots = append(snapshots, base)
		case strings.HasSuffix(f.Name(), swapSuffix), strings.HasSuffix(f.Name(), cleanedSuffix):
			c.bad(join(dir, f.Name()), "left over from a cleaner pass")
		}
	}
	if len(bases) == 0 {
		c.bad(dir, "no segment")
		return 0, 0, nil
	}
	sort.Slice(bases, func(i, j int) bool { return bases[i] < bases[j] })
	l := &logCheck{dir: dir, end: bases[0], epoch: -1}
	l.producers = newProducers(producersConfig{FS: c.fs, Dir: dir, Name: name, ExpirationMs: 1 << 62})
	if err := c.epochFile(l); err != nil {
		return 0, 0, err
	}
	for i, base := range bases {
		if err := c.segment(l, base, i == len(bases)-1); err != nil {
			return 0, 0, err
		}
	}
	if _, _, err := readPartitionMetadata(c.fs, dir); err != nil {
		c.bad(dir, "%v", err)
	}
	return bases[0], l.end, c.snapshots(l, snapshots)
}

func (c *checker) epochFile(l *logCheck) error {
	e, err := loadEpochs(c.fs, l.dir)
	var corrupt *CorruptFileError
	if errors.As(err, &corrupt) {
		c.bad(corrupt.Path, "%s", corrupt.Reason)
		return nil
	}
	if err == nil {
		l.epochs = e.entries
	}
	return err
}

// batchStart is where a batch begins, and what indexes may say about it.
type batchStart struct {
	position, base, last, ts int64
}

func (c *checker) segment(l *logCheck, base int64, last bool) error {
	name := join(l.dir, segmentName(base, logSuffix))
	f, err := c.fs.OpenRead(name)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if base < l.end {
		c.bad(name, "starts below the end %d of the segment before", l.end)
	}
	l.end = max(l.end, base)
	var starts []batchStart
	r := newBatchReader(f, 0, size, wholeBatches)
	defer r.close()
	for r.next() {
		c.batch(l, name, base, &r)
		starts = append(starts, batchStart{r.position, r.batch.BaseOffset(), r.batch.LastOffset(), r.batch.MaxTimestamp()})
	}
	var corrupt *CorruptBatchError
	if errors.As(r.err, &corrupt) {
		c.bad(name, "position %d: %s", corrupt.Position, corrupt.Reason)
	} else if r.err != nil {
		return errors.Join(r.err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := c.offsetIndex(l.dir, base, starts); err != nil {
		return err
	}
	if err := c.timeIndex(l.dir, base, starts, last); err != nil {
		return err
	}
	return c.txnIndex(l, base)
}

func (c *checker) batch(l *logCheck, name string, base int64, r *batchReader) {
	b := r.batch
	at := fmt.Sprintf("batch at position %d", r.position)
	if !b.ValidCRC() {
		c.bad(name, "%s: crc %#x, computed %#x", at, b.CRC(), b.ComputeCRC())
	}
	if b.BaseOffset() < l.end || b.LastOffsetDelta() < 0 {
		c.bad(name, "%s: offsets %d to %d after %d", at, b.BaseOffset(), b.LastOffset(), l.end)
	}
	if b.LastOffset()-base > 1<<31-1 {
		c.bad(name, "%s: offset %d is out of reach", at, b.LastOffset())
	}
	if e := b.LeaderEpoch(); e >= 0 {
		if e < l.epoch {
			c.bad(name, "%s: leader epoch %d after %d", at, e, l.epoch)
		}
		l.epoch = e
		known := epochs{entries: l.epochs}
		if got := known.at(b.LastOffset()); len(l.epochs) > 0 && b.BaseOffset() >= l.epochs[0].start && got != e {
			c.bad(name, "%s: leader epoch %d, but the epoch file says %d", at, e, got)
		}
	}
	l.end = max(l.end, b.NextOffset())
	if b.HasProducerID() {
		if err := l.producers.replay(b, nil); err != nil {
			c.bad(name, "%s: %v", at, err)
		}
	}
}

// indexFile reads an index file; zeros at the end are Kafka's preallocation of an active segment.
func (c *checker) indexFile(dir string, base int64, k indexKind, suffix string) (name string, entries []indexEntry, err error) {
	name = join(dir, segmentName(base, suffix))
	data, err := c.fs.ReadFile(name)
	if isNotExist(err) {
		c.bad(name, "missing")
		return name, nil, nil
	}
	if err != nil {
		return name, nil, err
	}
	if len(data)%k.size != 0 {
		c.bad(name, "size %d is no multiple of %d", len(data), k.size)
	}
	n := len(data) / k.size
	for n > 0 && strings.Trim(string(data[(n-1)*k.size:n*k.size]), "\x00") == "" {
		n--
	}
	for i := range n {
		entries = append(entries, k.parse(data[i*k.size:], base))
		if i > 0 && (entries[i].key <= entries[i-1].key || entries[i].val < entries[i-1].val) {
			c.bad(name, "entry %d does not follow the one before", i)
		}
	}
	return name, entries, nil
}

func (c *checker) offsetIndex(dir string, base int64, starts []batchStart) error {
	name, entries, err := c.indexFile(dir, base, offsetIndexKind(), indexSuffix)
	for i, e := range entries {
		j := sort.Search(len(starts), func(j int) bool { return starts[j].position >= e.val })
		if j == len(starts) || starts[j].position != e.val || starts[j].base > e.key {
			c.bad(name, "entry %d: no batch for offset %d at position %d", i, e.key, e.val)
		}
	}
	return err
}

func (c *checker) timeIndex(dir string, base int64, starts []batchStart, last bool) error {
	name, entries, err := c.indexFile(dir, base, timeIndexKind(), timeIndexSuffix)
	if err != nil {
		return err
	}
	j, newest := 0, int64(-1)
	for i, e := range entries {
		for ; j < len(starts) && starts[j].last <= e.val; j++ {
			newest = max(newest, starts[j].ts)
		}
		if newest > e.key {
			c.bad(name, "entry %d: timestamp %d up to offset %d, but there is %d", i, e.key, e.val, newest)
		}
	}
	for ; j < len(starts); j++ {
		newest = max(newest, starts[j].ts)
	}
	if n := len(entries); !last && newest > 0 && (n == 0 || entries[n-1].key < newest) {
		c.bad(name, "the segment's largest timestamp %d has no entry", newest)
	}
	return nil
}

func (c *checker) txnIndex(l *logCheck, base int64) error {
	name := join(l.dir, segmentName(base, txnIndexSuffix))
	data, err := c.fs.ReadFile(name)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := parseTxnIndex(name, data, base)
	if err != nil {
		c.bad(name, "%v", err)
		return nil
	}
	for i, e := range entries {
		if e.FirstOffset > e.LastOffset || e.LastOffset >= l.end {
			c.bad(name, "entry %d: transaction of offsets %d to %d in a log that ends at %d", i, e.FirstOffset, e.LastOffset, l.end)
		}
	}
	return nil
}

// snapshots compares the newest snapshot, if it is of the log's end, with what the batches say of the same producers.
func (c *checker) snapshots(l *logCheck, offsets []int64) error {
	for _, off := range offsets {
		name := join(l.dir, segmentName(off, snapshotSuffix))
		data, err := c.fs.ReadFile(name)
		if err != nil {
			return err
		}
		entries, err := parseSnapshot(data)
		if err != nil {
			c.bad(name, "%v", err)
			continue
		}
		if off != l.end {
			continue
		}
		for i := range entries {
			e := &entries[i]
			known := l.producers.entries[e.id]
			if known == nil || known.isEmpty() || e.isEmpty() || known.epoch != e.epoch {
				continue
			}
			if got, want := e.last(), known.last(); got.lastOffset != want.lastOffset || got.lastSeq != want.lastSeq || e.txnFirstOffset != known.txnFirstOffset {
				c.bad(name, "producer %d: last offset %d sequence %d transaction %d, but the log says %d, %d, %d", e.id,
					got.lastOffset, got.lastSeq, e.txnFirstOffset, want.lastOffset, want.lastSeq, known.txnFirstOffset)
			}
		}
	}
	return nil
}

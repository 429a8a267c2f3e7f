package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// A .snapshot file is the producers' state below the offset in its name (Kafka's ProducerSnapshot, version 1):
//
//	 0  version  int16   1
//	 2  crc      uint32  CRC-32C of everything from byte 6 on
//	 6  count    int32
//	10  entries, 46 bytes each:
//	      producerId int64, epoch int16, lastSequence int32, lastOffset int64, offsetDelta int32,
//	      timestamp int64, coordinatorEpoch int32, currentTxnFirstOffset int64
const (
	snapshotVersion    = 1
	snapshotCRCOffset  = 2
	snapshotHeaderSize = 10
	snapshotEntrySize  = 46
	snapshotSuffix     = ".snapshot"
	offsetDigits       = 20 // file names are offsets with leading zeros
)

// errCorruptSnapshot is a snapshot file that cannot be believed.
var errCorruptSnapshot = errors.New("corrupt producer snapshot")

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// parseSnapshot decodes a whole file: errCorruptSnapshot. The entries know one batch each at most.
func parseSnapshot(raw []byte) ([]producerEntry, error) {
	if len(raw) < snapshotHeaderSize {
		return nil, fmt.Errorf("%w: %d bytes", errCorruptSnapshot, len(raw))
	}
	if v := int16(binary.BigEndian.Uint16(raw)); v != snapshotVersion {
		return nil, fmt.Errorf("%w: unknown version %d", errCorruptSnapshot, v)
	}
	want := binary.BigEndian.Uint32(raw[snapshotCRCOffset:])
	if got := crc32.Checksum(raw[snapshotHeaderSize-4:], crc32.MakeTable(crc32.Castagnoli)); got != want {
		return nil, fmt.Errorf("%w: stored crc %d, computed %d", errCorruptSnapshot, want, got)
	}
	n := int(int32(binary.BigEndian.Uint32(raw[snapshotHeaderSize-4:])))
	if n < 0 || n > (len(raw)-snapshotHeaderSize)/snapshotEntrySize {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", errCorruptSnapshot, n, len(raw))
	}
	out := make([]producerEntry, n)
	for i := range out {
		out[i] = parseSnapshotEntry(raw[snapshotHeaderSize+i*snapshotEntrySize:])
	}
	return out, nil
}

func parseSnapshotEntry(b []byte) producerEntry {
	e := producerEntry{
		id:               int64(binary.BigEndian.Uint64(b)),
		epoch:            int16(binary.BigEndian.Uint16(b[8:])),
		lastTimestamp:    int64(binary.BigEndian.Uint64(b[26:])),
		coordinatorEpoch: int32(binary.BigEndian.Uint32(b[34:])),
		txnFirstOffset:   max(int64(binary.BigEndian.Uint64(b[38:])), noTxn),
	}
	last := producerBatch{
		lastSeq:     int32(binary.BigEndian.Uint32(b[10:])),
		lastOffset:  int64(binary.BigEndian.Uint64(b[14:])),
		offsetDelta: int32(binary.BigEndian.Uint32(b[22:])),
		timestamp:   e.lastTimestamp,
	}
	if last.lastOffset >= 0 {
		e.addBatch(last)
	}
	return e
}

// appendSnapshot encodes a whole file.
func appendSnapshot(dst []byte, entries []producerEntry) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, snapshotVersion)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(entries)))
	for i := range entries {
		e := &entries[i]
		last := producerBatch{lastSeq: batch.NoSequence, lastOffset: -1}
		if !e.isEmpty() {
			last = e.last()
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.id))
		dst = binary.BigEndian.AppendUint16(dst, uint16(e.epoch))
		dst = binary.BigEndian.AppendUint32(dst, uint32(last.lastSeq))
		dst = binary.BigEndian.AppendUint64(dst, uint64(last.lastOffset))
		dst = binary.BigEndian.AppendUint32(dst, uint32(last.offsetDelta))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.lastTimestamp))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.coordinatorEpoch))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.txnFirstOffset))
	}
	file := dst[start:]
	binary.BigEndian.PutUint32(file[snapshotCRCOffset:], crc32.Checksum(file[snapshotHeaderSize-4:], crc32.MakeTable(crc32.Castagnoli)))
	return dst
}

// snapshotOffset takes the offset from a snapshot's file name.
func snapshotOffset(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, snapshotSuffix)
	if !ok || len(digits) != offsetDigits {
		return 0, false
	}
	off, err := strconv.ParseInt(digits, 10, 64)
	return off, err == nil && off >= 0
}

func (p *producers) snapshotPath(offset int64) string {
	return path.Join(p.cfg.Dir, fmt.Sprintf("%020d%s", offset, snapshotSuffix))
}

// open lists the snapshots of the directory; nothing is read yet.
func (p *producers) open() error {
	files, err := p.cfg.FS.ReadDir(p.cfg.Dir)
	if err != nil {
		return fmt.Errorf("list producer snapshots: %w", err)
	}
	p.snapshots = p.snapshots[:0]
	for _, f := range files {
		if off, ok := snapshotOffset(f.Name()); ok {
			p.snapshots = append(p.snapshots, off)
		}
	}
	sort.Slice(p.snapshots, func(i, j int) bool { return p.snapshots[i] < p.snapshots[j] })
	return nil
}

// removeStraySnapshots deletes those that belong to no segment, but for the newest when it lies above all segments: that one
// was written by a clean stop.
func (p *producers) removeStraySnapshots(segmentBases []int64) error {
	known := make(map[int64]bool, len(segmentBases))
	maxBase := int64(-1)
	for _, b := range segmentBases {
		known[b] = true
		maxBase = max(maxBase, b)
	}
	keepStray := int64(-1)
	if n := len(p.snapshots); n > 0 && !known[p.snapshots[n-1]] && p.snapshots[n-1] > maxBase {
		keepStray = p.snapshots[n-1]
	}
	for _, off := range append([]int64(nil), p.snapshots...) {
		if !known[off] && off != keepStray {
			if err := p.deleteSnapshot(off); err != nil {
				return err
			}
		}
	}
	return nil
}

// truncateAndReload makes the state that of the log [logStart, logEnd) as far as the newest usable snapshot knows it; the
// caller replays the batches from mapEndOffset on. Snapshots outside (logStart, logEnd] are deleted.
func (p *producers) truncateAndReload(logStart, logEnd, nowMs int64) error {
	for _, off := range append([]int64(nil), p.snapshots...) {
		if off > logEnd || off <= logStart {
			if err := p.deleteSnapshot(off); err != nil {
				return err
			}
		}
	}
	if logEnd == p.mapEnd {
		p.onLogStartIncremented(logStart)
		return nil
	}
	p.clear()
	return p.loadFromSnapshot(logStart, nowMs)
}

// truncateFully empties the state and deletes all snapshots; the log goes on at offset.
func (p *producers) truncateFully(offset int64) error {
	p.clear()
	for _, off := range append([]int64(nil), p.snapshots...) {
		if err := p.deleteSnapshot(off); err != nil {
			return err
		}
	}
	p.snapEnd, p.mapEnd = 0, offset
	return nil
}

func (p *producers) clear() {
	clear(p.entries)
	p.ongoing, p.unreplicated = p.ongoing[:0], p.unreplicated[:0]
	p.pending.reset()
}

// loadFromSnapshot takes the newest snapshot that can be read; what cannot is deleted.
func (p *producers) loadFromSnapshot(logStart, nowMs int64) error {
	for len(p.snapshots) > 0 {
		off := p.snapshots[len(p.snapshots)-1]
		raw, err := p.cfg.FS.ReadFile(p.snapshotPath(off))
		if err != nil && !isNotExist(err) {
			return fmt.Errorf("read producer snapshot: %w", err)
		}
		entries, err := parseSnapshot(raw)
		if err != nil {
			if err := p.deleteSnapshot(off); err != nil {
				return err
			}
			continue
		}
		for i := range entries {
			if e := &entries[i]; !p.expired(nowMs, e) {
				p.load(e)
			}
		}
		p.snapEnd, p.mapEnd = off, off
		return nil
	}
	p.snapEnd, p.mapEnd = logStart, logStart
	return nil
}

func (p *producers) load(e *producerEntry) {
	c := *e
	p.entries[c.id] = &c
	if c.txnFirstOffset != noTxn {
		p.ongoing = insertTxn(p.ongoing, txnMeta{producerID: c.id, firstOffset: c.txnFirstOffset, lastOffset: -1})
	}
}

// takeSnapshot writes the state as of mapEndOffset and syncs it, unless there is such a snapshot already: on a clean close.
// It reports whether it wrote one.
func (p *producers) takeSnapshot() (written bool, err error) { return p.snapshot(true) }

// takeSnapshotUnsynced is takeSnapshot for a roll, amid appends: one that a power cut tears has a wrong CRC and is passed over.
func (p *producers) takeSnapshotUnsynced() (written bool, err error) { return p.snapshot(false) }

func (p *producers) snapshot(sync bool) (written bool, err error) {
	if p.mapEnd <= p.snapEnd {
		return false, nil
	}
	entries := make([]producerEntry, 0, len(p.entries))
	for _, e := range p.entries {
		entries = append(entries, *e)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].id < entries[j].id })
	raw := appendSnapshot(make([]byte, 0, snapshotHeaderSize+len(entries)*snapshotEntrySize), entries)
	if err := p.writeSnapshot(p.snapshotPath(p.mapEnd), raw, sync); err != nil {
		return false, fmt.Errorf("write producer snapshot: %w", err)
	}
	i := sort.Search(len(p.snapshots), func(i int) bool { return p.snapshots[i] >= p.mapEnd })
	if i == len(p.snapshots) || p.snapshots[i] != p.mapEnd {
		p.snapshots = append(p.snapshots, 0)
		copy(p.snapshots[i+1:], p.snapshots[i:])
		p.snapshots[i] = p.mapEnd
	}
	p.snapEnd = p.mapEnd
	return true, nil
}

func (p *producers) writeSnapshot(name string, raw []byte, sync bool) (err error) {
	f, err := p.cfg.FS.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := f.WriteAt(raw, 0); err != nil || !sync {
		return err
	}
	return f.Sync()
}

// deleteSnapshot deletes the snapshot at that offset, if there is one: with its segment, or when it is stale.
func (p *producers) deleteSnapshot(offset int64) error {
	i := sort.Search(len(p.snapshots), func(i int) bool { return p.snapshots[i] >= offset })
	if i == len(p.snapshots) || p.snapshots[i] != offset {
		return nil
	}
	if err := p.cfg.FS.Remove(p.snapshotPath(offset)); err != nil && !isNotExist(err) {
		return fmt.Errorf("delete producer snapshot: %w", err)
	}
	p.snapshots = append(p.snapshots[:i], p.snapshots[i+1:]...)
	return nil
}

// retireSnapshot gives the snapshot at that offset, if there is one, the suffix .deleted: it goes with the files of its segment.
func (p *producers) retireSnapshot(offset int64) error {
	i, there := slices.BinarySearch(p.snapshots, offset)
	if !there {
		return nil
	}
	if err := p.cfg.FS.Rename(p.snapshotPath(offset), p.snapshotPath(offset)+deletedSuffix); err != nil && !isNotExist(err) {
		return fmt.Errorf("rename producer snapshot for deletion: %w", err)
	}
	p.snapshots = slices.Delete(p.snapshots, i, i+1)
	return nil
}

// latestSnapshot is the newest snapshot's offset.
func (p *producers) latestSnapshot() (int64, bool) {
	if len(p.snapshots) == 0 {
		return 0, false
	}
	return p.snapshots[len(p.snapshots)-1], true
}

func (p *producers) latestSnapshotOr(none int64) int64 {
	if off, ok := p.latestSnapshot(); ok {
		return off
	}
	return none
}

// setDir tells that the partition's directory was renamed.
func (p *producers) setDir(dir string) { p.cfg.Dir = dir }

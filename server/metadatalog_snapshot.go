package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/metadata/record"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// findSnapshots lists the snapshots, removes those that were not finished, and lets the log follow the newest one when it ends before.
func (l *metadataLog) findSnapshots() error {
	entries, err := l.o.FS.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("list metadata snapshots: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, checkpointSuffix+partSuffix) || strings.HasSuffix(name, checkpointSuffix+".deleted") {
			if err := l.o.FS.Remove(path.Join(l.dir, name)); err != nil {
				return fmt.Errorf("remove unfinished metadata snapshot: %w", err)
			}
			continue
		}
		id, ok := parseSnapshotName(name)
		if !ok {
			continue
		}
		info, err := l.snapshotInfo(id)
		if err != nil {
			return err
		}
		l.snaps = append(l.snaps, info)
	}
	slices.SortFunc(l.snaps, func(a, b controller.SnapshotInfo) int { return int(a.EndOffset - b.EndOffset) })
	if n := len(l.snaps); n > 0 && l.snaps[n-1].EndOffset > l.log.LogEndOffset() {
		if err := l.log.TruncateFullyAndStartAt(l.snaps[n-1].EndOffset); err != nil {
			return fmt.Errorf("start metadata log at snapshot %d: %w", l.snaps[n-1].EndOffset, err)
		}
	}
	return nil
}

// snapshotName is <end offset>-<epoch>.checkpoint.
func snapshotName(id controller.SnapshotID) string {
	return fmt.Sprintf("%020d-%010d%s", id.EndOffset, id.Epoch, checkpointSuffix)
}

func parseSnapshotName(name string) (id controller.SnapshotID, ok bool) {
	base, found := strings.CutSuffix(name, checkpointSuffix)
	if !found || len(base) != 20+1+10 || base[20] != '-' {
		return id, false
	}
	offset, err1 := strconv.ParseInt(base[:20], 10, 64)
	epoch, err2 := strconv.ParseInt(base[21:], 10, 32)
	return controller.SnapshotID{EndOffset: offset, Epoch: int32(epoch)}, err1 == nil && err2 == nil
}

func (l *metadataLog) snapshotPath(id controller.SnapshotID) string {
	return path.Join(l.dir, snapshotName(id))
}

func (l *metadataLog) snapshotInfo(id controller.SnapshotID) (controller.SnapshotInfo, error) {
	info := controller.SnapshotInfo{SnapshotID: id, LastTimestampMs: -1}
	data, err := l.o.FS.ReadFile(l.snapshotPath(id))
	if err != nil {
		return info, fmt.Errorf("read metadata snapshot: %w", err)
	}
	info.SizeBytes = int64(len(data))
	first, _, err := batch.Next(data)
	if err != nil || first == nil {
		return info, fmt.Errorf("metadata snapshot %s has no header", l.snapshotPath(id))
	}
	batches, err := controlBatches(first)
	if err != nil {
		return info, fmt.Errorf("metadata snapshot %s: %w", l.snapshotPath(id), err)
	}
	var header record.SnapshotHeaderRecord
	if len(batches) > 0 && batches[0].Control == controller.ControlSnapshotHeader {
		if err := record.ReadBody(batches[0].Values[0], &header, 0); err != nil {
			return info, fmt.Errorf("metadata snapshot %s: %w", l.snapshotPath(id), err)
		}
		info.LastTimestampMs = header.LastContainedLogTimestamp
	}
	return info, nil
}

// Snapshots implements controller.Log.
func (l *metadataLog) Snapshots() []controller.SnapshotInfo { return l.snaps }

// ReadBootstrap implements controller.Log.
func (l *metadataLog) ReadBootstrap(f func(controller.LogBatch) error) error {
	err := l.readSnapshotFile(path.Join(l.o.Dir, bootstrapFile), f)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ReadSnapshot implements controller.Log.
func (l *metadataLog) ReadSnapshot(id controller.SnapshotID, f func(controller.LogBatch) error) error {
	err := l.readSnapshotFile(l.snapshotPath(id), f)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", controller.ErrNoSnapshot, l.snapshotPath(id))
	}
	return err
}

// readSnapshotFile demands a header and a footer: a snapshot without its end is none.
func (l *metadataLog) readSnapshotFile(name string, f func(controller.LogBatch) error) error {
	data, err := l.o.FS.ReadFile(name)
	if err != nil {
		return err
	}
	batches, err := parseBatches(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if n := len(batches); n < 2 || batches[0].Control != controller.ControlSnapshotHeader || batches[n-1].Control != controller.ControlSnapshotFooter {
		return fmt.Errorf("%s has no header or no footer", name)
	}
	for _, b := range batches[1 : len(batches)-1] {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// snapshotWriteBytes is how much of a snapshot is held before it is written.
const snapshotWriteBytes = 1 << 20

// WriteSnapshot implements controller.Log: written under another name, synced, renamed.
func (l *metadataLog) WriteSnapshot(id controller.SnapshotID, lastTimestampMs int64, next func() (controller.LogBatch, bool)) error {
	name := l.snapshotPath(id)
	f, err := l.o.FS.Create(name + partSuffix)
	if err != nil {
		return err
	}
	size, err := writeSnapshot(f, id, lastTimestampMs, next)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := l.o.FS.Rename(name+partSuffix, name); err != nil {
		return err
	}
	if err := l.o.FS.SyncDir(l.dir); err != nil {
		return err
	}
	info := controller.SnapshotInfo{SnapshotID: id, SizeBytes: size, LastTimestampMs: lastTimestampMs}
	l.snaps = append(slices.DeleteFunc(slices.Clone(l.snaps), func(s controller.SnapshotInfo) bool { return s.SnapshotID == id }), info)
	return nil
}

func writeSnapshot(f vfs.File, id controller.SnapshotID, lastTimestampMs int64, next func() (controller.LogBatch, bool)) (size int64, err error) {
	header := record.SnapshotHeaderRecord{LastContainedLogTimestamp: lastTimestampMs}
	var footer record.SnapshotFooterRecord
	offset := int64(0)
	var buf []byte
	put := func(b controller.LogBatch) error {
		b.BaseOffset, b.Epoch = offset, id.Epoch
		offset = b.NextOffset()
		var err error
		if buf, err = appendBatch(buf, &b); err != nil || len(buf) < snapshotWriteBytes {
			return err
		}
		n, err := f.WriteAt(buf, size)
		size += int64(n)
		buf = buf[:0]
		return err
	}
	control := func(t int16, body []byte) controller.LogBatch {
		return controller.LogBatch{Control: t, TimestampMs: lastTimestampMs, Values: [][]byte{body}}
	}
	if err := put(control(controller.ControlSnapshotHeader, header.AppendTo(nil, 0))); err != nil {
		return size, err
	}
	for b, ok := next(); ok; b, ok = next() {
		if err := put(b); err != nil {
			return size, err
		}
	}
	if err := put(control(controller.ControlSnapshotFooter, footer.AppendTo(nil, 0))); err != nil {
		return size, err
	}
	n, err := f.WriteAt(buf, size)
	return size + int64(n), err
}

// Prune implements controller.Log: the log first, so that a crash in between leaves no log without its snapshot.
func (l *metadataLog) Prune(keep controller.SnapshotID) error {
	if err := l.log.DeletePrefix(keep.EndOffset); err != nil {
		return err
	}
	for len(l.snaps) > 0 && l.snaps[0].EndOffset < keep.EndOffset {
		if err := l.o.FS.Remove(l.snapshotPath(l.snaps[0].SnapshotID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		l.snaps = slices.Clone(l.snaps[1:])
	}
	return nil
}

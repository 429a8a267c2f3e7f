package storage

import (
	"encoding/binary"
	"fmt"
	"io"
	"sort"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// A .txnindex file is a run of entries, each for one aborted transaction that ended in the segment, in the order of their markers:
//
//	 0  version           int16  0
//	 2  producerId        int64
//	10  firstOffset       int64  of the transaction
//	18  lastOffset        int64  of its abort marker
//	26  lastStableOffset  int64  right after the marker was appended
const (
	txnEntrySize    = 34
	txnEntryVersion = 0
)

// txnIndex holds a segment's aborted transactions in memory and in its file, which is made with the first of them, as Kafka does.
// Guarded by the log mutex for writes; entries is replaced, never changed in place, so a reader may keep what entries() gave.
type txnIndex struct {
	fs      vfs.FS
	path    string
	file    vfs.File // nil until the first entry
	entries []AbortedTxn
}

// A corruptTxnIndexError is an index file that contradicts itself or its segment.
type corruptTxnIndexError struct {
	Path   string
	Entry  int
	Reason string
}

func (e *corruptTxnIndexError) Error() string {
	return fmt.Sprintf("transaction index %s is corrupt at entry %d: %s", e.Path, e.Entry, e.Reason)
}

// openTxnIndex reads the index if it is there. base is the segment's base offset: *corruptTxnIndexError for what cannot be.
// The caller deletes and rebuilds a corrupt index with reset.
func openTxnIndex(fs vfs.FS, path string, base int64) (*txnIndex, error) {
	x := &txnIndex{fs: fs, path: path}
	if _, err := fs.Stat(path); err != nil {
		if isNotExist(err) {
			return x, nil
		}
		return nil, fmt.Errorf("open transaction index: %w", err)
	}
	raw, err := fs.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read transaction index: %w", err)
	}
	entries, err := parseTxnIndex(path, raw, base)
	if err != nil {
		return x, err
	}
	x.entries = entries
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open transaction index: %w", err)
	}
	x.file = f
	return x, nil
}

// parseTxnIndex decodes a whole file, checked as Kafka's sanity check does.
func parseTxnIndex(path string, raw []byte, base int64) ([]AbortedTxn, error) {
	if len(raw)%txnEntrySize != 0 {
		return nil, &corruptTxnIndexError{path, len(raw) / txnEntrySize, "the file ends within an entry"}
	}
	entries := make([]AbortedTxn, 0, len(raw)/txnEntrySize)
	for i := 0; i < len(raw); i += txnEntrySize {
		e := raw[i : i+txnEntrySize]
		if v := int16(binary.BigEndian.Uint16(e)); v != txnEntryVersion {
			return nil, &corruptTxnIndexError{path, i / txnEntrySize, fmt.Sprintf("unknown version %d", v)}
		}
		t := AbortedTxn{
			ProducerID:       int64(binary.BigEndian.Uint64(e[2:])),
			FirstOffset:      int64(binary.BigEndian.Uint64(e[10:])),
			LastOffset:       int64(binary.BigEndian.Uint64(e[18:])),
			LastStableOffset: int64(binary.BigEndian.Uint64(e[26:])),
		}
		if t.LastOffset < base {
			return nil, &corruptTxnIndexError{path, i / txnEntrySize, fmt.Sprintf("last offset %d is below the segment's base offset %d", t.LastOffset, base)}
		}
		entries = append(entries, t)
	}
	return entries, nil
}

// appendTxnEntry encodes one entry.
func appendTxnEntry(dst []byte, t AbortedTxn) []byte {
	dst = binary.BigEndian.AppendUint16(dst, txnEntryVersion)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.ProducerID))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.FirstOffset))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.LastOffset))
	return binary.BigEndian.AppendUint64(dst, uint64(t.LastStableOffset))
}

// append adds an aborted transaction; last offsets must grow.
func (x *txnIndex) append(t AbortedTxn) error {
	if n := len(x.entries); n > 0 && x.entries[n-1].LastOffset >= t.LastOffset {
		return fmt.Errorf("transaction index %s: last offset %d follows %d", x.path, t.LastOffset, x.entries[n-1].LastOffset)
	}
	if x.file == nil {
		f, err := x.fs.Create(x.path)
		if err != nil {
			return fmt.Errorf("create transaction index: %w", err)
		}
		x.file = f
	}
	var buf [txnEntrySize]byte
	raw := appendTxnEntry(buf[:0], t)
	if _, err := x.file.WriteAt(raw, int64(len(x.entries))*txnEntrySize); err != nil {
		return fmt.Errorf("write transaction index: %w", err)
	}
	x.entries = append(x.entries, t)
	return nil
}

// collect appends to dst the transactions that a read of [fetchOffset, upperBound) has to know. done says that later segments
// cannot hold more of them, as the last stable offset of an entry has passed the upper bound.
func (x *txnIndex) collect(dst []AbortedTxn, fetchOffset, upperBound int64) (_ []AbortedTxn, done bool) {
	first := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].LastOffset >= fetchOffset })
	for _, t := range x.entries[first:] {
		if t.FirstOffset < upperBound {
			dst = append(dst, t)
		}
		if t.LastStableOffset >= upperBound {
			return dst, true
		}
	}
	return dst, false
}

// truncateTo drops the entries of markers at or above offset.
func (x *txnIndex) truncateTo(offset int64) error {
	n := 0
	for n < len(x.entries) && x.entries[n].LastOffset < offset {
		n++
	}
	if n == len(x.entries) {
		return nil
	}
	if x.file != nil {
		if err := x.file.Truncate(int64(n) * txnEntrySize); err != nil {
			return fmt.Errorf("truncate transaction index: %w", err)
		}
	}
	x.entries = append([]AbortedTxn(nil), x.entries[:n]...)
	return nil
}

// reset empties the index before a rebuild.
func (x *txnIndex) reset() error {
	x.entries = nil
	if x.file == nil {
		if _, err := x.fs.Stat(x.path); err != nil {
			if isNotExist(err) {
				return nil
			}
			return fmt.Errorf("reset transaction index: %w", err)
		}
		f, err := x.fs.Open(x.path)
		if err != nil {
			return fmt.Errorf("reset transaction index: %w", err)
		}
		x.file = f
	}
	if err := x.file.Truncate(0); err != nil {
		return fmt.Errorf("reset transaction index: %w", err)
	}
	return nil
}

// flush makes the entries durable.
func (x *txnIndex) flush() error {
	if x.file == nil {
		return nil
	}
	if err := x.file.Sync(); err != nil {
		return fmt.Errorf("flush transaction index: %w", err)
	}
	return nil
}

// moveTo tells the index that its file was renamed (a segment or its directory moved).
func (x *txnIndex) moveTo(path string) { x.path = path }

// close closes the file.
func (x *txnIndex) close() error {
	if x.file == nil {
		return nil
	}
	var c io.Closer = x.file
	x.file = nil
	return c.Close()
}

package storage

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// Index files are runs of entries with offsets relative to the segment's base, big endian, ascending:
//
//	.index                          .timeindex
//	0  relativeOffset  int32        0  timestamp       int64   ms, largest so far
//	4  position        int32        8  relativeOffset  int32   of the batch that has it (its last offset)
//
// They are sparse: one entry about every index.interval.bytes. Nothing of them is kept in memory but the last entries of the active
// segment, which are written many at a time: a crash loses only what recovery rebuilds anyway.
const (
	indexEntrySize     = 8
	timeIndexEntrySize = 12

	// indexPendingMax is how many entries of the active segment wait in memory: 512 bytes, a write each 256 KiB of log at the
	// default interval.
	indexPendingMax = 64
	// indexReadSpan is the number of entries below which a search reads them all at once: a page.
	indexReadSpan = 512
)

// indexEntry is an entry of either kind: key is offset or timestamp, val position or offset, both absolute.
type indexEntry struct{ key, val int64 }

func appendIndexEntry(dst []byte, base int64, e indexEntry) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.key-base))
	return binary.BigEndian.AppendUint32(dst, uint32(e.val))
}

func appendTimeIndexEntry(dst []byte, base int64, e indexEntry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.key))
	return binary.BigEndian.AppendUint32(dst, uint32(e.val-base))
}

func parseIndexEntry(b []byte, base int64) indexEntry {
	return indexEntry{base + int64(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:]))}
}

func parseTimeIndexEntry(b []byte, base int64) indexEntry {
	return indexEntry{int64(binary.BigEndian.Uint64(b)), base + int64(binary.BigEndian.Uint32(b[8:]))}
}

// indexKind tells the two files apart.
type indexKind struct {
	size  int
	parse func(b []byte, base int64) indexEntry
	put   func(dst []byte, base int64, e indexEntry) []byte
}

func offsetIndexKind() indexKind {
	return indexKind{indexEntrySize, parseIndexEntry, appendIndexEntry}
}

func timeIndexKind() indexKind {
	return indexKind{timeIndexEntrySize, parseTimeIndexEntry, appendTimeIndexEntry}
}

// entryAt reads entry i.
func (k indexKind) entryAt(f vfs.File, base int64, i int) (indexEntry, error) {
	var b [timeIndexEntrySize]byte
	if _, err := f.ReadAt(b[:k.size], int64(i)*int64(k.size)); err != nil {
		return indexEntry{}, fmt.Errorf("read index entry %d: %w", i, err)
	}
	return k.parse(b[:k.size], base), nil
}

// floor finds the last of the first n entries of a file whose key is not above key; -1 when there is none.
func (k indexKind) floor(f vfs.File, base int64, n int, key int64) (indexEntry, int, error) {
	lo, hi := 0, n // the answer lies in [lo-1, hi)
	for hi-lo > indexReadSpan {
		mid := lo + (hi-lo)/2
		e, err := k.entryAt(f, base, mid)
		if err != nil {
			return indexEntry{}, -1, err
		}
		if e.key <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	first := max(lo-1, 0)
	if first == hi {
		return indexEntry{}, -1, nil
	}
	buf := getBuffer((hi - first) * k.size)
	defer putBuffer(buf)
	b := (*buf)[:(hi-first)*k.size]
	if _, err := f.ReadAt(b, int64(first)*int64(k.size)); err != nil {
		return indexEntry{}, -1, fmt.Errorf("read index entries from %d: %w", first, err)
	}
	i := floorIn(k, b, base, key)
	if i < 0 {
		return indexEntry{}, -1, nil
	}
	return k.parse(b[i*k.size:], base), first + i, nil
}

// floorIn is floor in memory.
func floorIn(k indexKind, b []byte, base, key int64) int {
	lo, hi := 0, len(b)/k.size
	for lo < hi {
		mid := (lo + hi) / 2
		if k.parse(b[mid*k.size:], base).key <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// checkIndexFile says what is wrong with an index file of a segment of that size, "" when nothing obvious is: only the file's length
// and its last entry are looked at, as Kafka's sanity check does.
func checkIndexFile(k indexKind, f vfs.File, base, logSize int64) (n int, wrong string, err error) {
	size, err := f.Size()
	if err != nil {
		return 0, "", err
	}
	if size%int64(k.size) != 0 {
		return 0, fmt.Sprintf("size %d is no multiple of %d", size, k.size), nil
	}
	n = int(size / int64(k.size))
	if n == 0 {
		return 0, "", nil
	}
	last, err := k.entryAt(f, base, n-1)
	if err == io.EOF {
		return n, "ends early", nil
	}
	if err != nil {
		return n, "", err
	}
	if k.size == indexEntrySize {
		if last.key <= base && n > 1 || last.val >= logSize && logSize > 0 || logSize == 0 {
			return n, fmt.Sprintf("last entry is offset %d at position %d", last.key, last.val), nil
		}
		return n, "", nil
	}
	if last.key <= 0 && n > 1 || last.val < base {
		return n, fmt.Sprintf("last entry is timestamp %d at offset %d", last.key, last.val), nil
	}
	return n, "", nil
}

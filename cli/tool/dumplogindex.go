package tool

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// Bytes of an entry.
const (
	offsetIndexEntry = 8  // relative offset int32, position int32
	timeIndexEntry   = 12 // timestamp int64, relative offset int32
	txnIndexEntry    = 34 // version int16, producer id, first, last, last stable offset: int64 each
	snapshotEntry    = 46 // see dumpSnapshot
)

// indexData is an index file in memory; what follows the last whole entry is left out.
type indexData struct {
	name  string // absolute
	base  int64
	size  int // bytes of the file
	data  []byte
	entry int // bytes of one
}

func (d *dumper) loadIndex(name string, base int64, entry int) (*indexData, error) {
	data, err := d.fs.ReadFile(d.abs(name))
	if err != nil {
		return nil, &exception{"java.io.FileNotFoundException", name + " (No such file or directory)"}
	}
	return &indexData{name: d.abs(name), base: base, size: len(data), data: data[:len(data)/entry*entry], entry: entry}, nil
}

func (x *indexData) entries() int { return len(x.data) / x.entry }

// offset is that of an entry; of none, the base.
func (x *indexData) offset(i int) int64 {
	if i < 0 {
		return x.base
	}
	return x.base + int64(int32(binary.BigEndian.Uint32(x.data[i*x.entry+x.entry-4-x.tail():])))
}

// tail is the number of bytes behind an entry's offset.
func (x *indexData) tail() int {
	if x.entry == offsetIndexEntry {
		return 4
	}
	return 0
}

func (x *indexData) position(i int) int64 {
	return int64(int32(binary.BigEndian.Uint32(x.data[i*offsetIndexEntry+4:])))
}

func (x *indexData) timestamp(i int) int64 {
	return int64(binary.BigEndian.Uint64(x.data[i*timeIndexEntry:]))
}

// lookup is the position of the last entry at or below an offset, 0 if there is none.
func (x *indexData) lookup(offset int64) int64 {
	// As Kafka: a search over all entries, zero ones at the end of a preallocated file included.
	n := sort.Search(x.entries(), func(i int) bool { return x.offset(i) > offset })
	if n == 0 {
		return 0
	}
	return x.position(n - 1)
}

func corruptIndex(format string, args ...any) error {
	return &exception{"org.apache.kafka.storage.internals.log.CorruptIndexException", fmt.Sprintf(format, args...)}
}

// sane is what a broker demands at its start.
func (x *indexData) sane() error {
	n := x.entries()
	last := x.offset(n - 1)
	if x.entry == offsetIndexEntry {
		switch {
		case n != 0 && last < x.base:
			return corruptIndex("Corrupt index found, index file %s has non-zero size but the last offset is %d which is less than the base offset %d", x.name, last, x.base)
		case x.size%offsetIndexEntry != 0:
			return corruptIndex("Index file %s is corrupt, found %d bytes which is neither positive nor a multiple of %d", x.name, x.size, offsetIndexEntry)
		}
		return nil
	}
	switch {
	case n != 0 && x.timestamp(n-1) < x.timestamp(0):
		return corruptIndex("Corrupt time index found, time index file (%s) has non-zero size but the last timestamp is %d which is less than the first timestamp %d",
			x.name, x.timestamp(n-1), x.timestamp(0))
	case n != 0 && last < x.base:
		return corruptIndex("Corrupt time index found, time index file (%s) has non-zero size but the last offset is %d which is less than the first offset %d",
			x.name, last, x.base)
	case x.size%timeIndexEntry != 0:
		return corruptIndex("Time index file %s is corrupt, found %d bytes which is neither positive nor a multiple of %d", x.name, x.size, timeIndexEntry)
	}
	return nil
}

// sibling is a file of the same segment.
func sibling(name, suffix string) string {
	base, _, _ := strings.Cut(path.Base(name), ".")
	return path.Join(path.Dir(name), base+suffix)
}

func (d *dumper) dumpIndex(name string) error {
	start, err := offsetOf(path.Base(name))
	if err != nil {
		return err
	}
	log, err := openBatches(d.fs, d.abs(sibling(name, ".log")), 0)
	if err != nil {
		return noSuchFile(d.abs(sibling(name, ".log")), err)
	}
	defer log.close()
	x, err := d.loadIndex(name, start, offsetIndexEntry)
	if err != nil {
		return err
	}
	if x.entries() == 0 {
		fmt.Fprintf(d.out, "%s is empty.\n", name)
		return nil
	}
	if d.o.sanityOnly {
		return d.sanity(name, x)
	}
	for i := range x.entries() {
		if i > 0 && x.offset(i) == x.base {
			return nil // a preallocated file ends in zeros
		}
		if err := d.dumpIndexEntry(name, x, i, log); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) sanity(name string, x *indexData) error {
	if err := x.sane(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%s passed sanity check.\n", name)
	return nil
}

func (d *dumper) dumpIndexEntry(name string, x *indexData, i int, log *batchFile) error {
	position, offset := x.position(i), x.offset(i)
	if position > log.size {
		return &exception{"java.lang.IllegalArgumentException", fmt.Sprintf("Slice from position %d exceeds end position of FileRecords(size=%d, file=%s, start=0, end=%d)",
			position, log.size, log.name, math.MaxInt32)}
	}
	log.seek(position)
	b, err := log.next()
	switch {
	case err != nil:
		return err
	case b == nil || b.Size() > d.o.maxMessageSize:
		return &exception{"java.util.NoSuchElementException", ""}
	}
	if last := lastOffsetOf(b); last != offset {
		d.mismatches.add(d.abs(name), offset, last)
	}
	if !d.o.verifyOnly {
		d.line = appendInt(d.line[:0], "offset: ", offset)
		d.line = append(appendInt(d.line, " position: ", position), '\n')
		d.out.Write(d.line)
	}
	return nil
}

// lastOffsetOf is the last offset of a batch of any format.
func lastOffsetOf(b batch.Batch) int64 {
	if b.Magic() < batch.Magic {
		return int64(binary.BigEndian.Uint64(b))
	}
	return b.LastOffset()
}

func (d *dumper) dumpTimeIndex(name string) error {
	start, err := offsetOf(path.Base(name))
	if err != nil {
		return err
	}
	log, err := openBatches(d.fs, d.abs(sibling(name, ".log")), 0)
	if err != nil {
		return noSuchFile(d.abs(sibling(name, ".log")), err)
	}
	defer log.close()
	offsets, err := d.loadIndex(sibling(name, ".index"), start, offsetIndexEntry)
	if err != nil {
		return err
	}
	x, err := d.loadIndex(name, start, timeIndexEntry)
	if err != nil {
		return err
	}
	if d.o.sanityOnly {
		return d.sanity(name, x)
	}
	previous := batch.NoTimestamp
	for i := range x.entries() {
		if i > 0 && x.offset(i) == x.base {
			return nil
		}
		log.seek(offsets.lookup(x.offset(i)))
		if err := d.checkTime(name, x, i, log, previous); err != nil {
			return err
		}
		previous = x.timestamp(i)
		if !d.o.verifyOnly {
			d.line = appendInt(d.line[:0], "timestamp: ", previous)
			d.line = append(appendInt(d.line, " offset: ", x.offset(i)), '\n')
			d.out.Write(d.line)
		}
	}
	return nil
}

// checkTime compares an entry with the batch that it means, the first at or after where log stands that ends at its offset or above.
func (d *dumper) checkTime(name string, x *indexData, i int, log *batchFile, previous int64) error {
	offset, timestamp, file := x.offset(i), x.timestamp(i), d.abs(name)
	var b batch.Batch
	for {
		var err error
		if b, err = log.next(); err != nil {
			return err
		}
		if b == nil {
			d.notFound.add(file, offset, -1)
			return nil
		}
		if lastOffsetOf(b) >= offset {
			break
		}
	}
	if last := lastOffsetOf(b); last != offset {
		d.notFound.add(file, offset, last)
		return nil
	}
	latest, err := d.latestTime(b)
	if err != nil {
		return err
	}
	if latest != timestamp {
		d.wrongTimes.add(file, timestamp, latest)
	}
	if previous >= timestamp {
		d.outOfOrder.add(file, timestamp, previous)
	}
	return nil
}

// latestTime is the latest time of a batch's records.
func (d *dumper) latestTime(b batch.Batch) (int64, error) {
	if b.Magic() < batch.Magic {
		return legacyTimestamp(b), nil
	}
	latest := batch.NoTimestamp
	if err := d.reader.Reset(b, batch.NoLimit); err != nil {
		return latest, &exception{"org.apache.kafka.common.KafkaException", err.Error()}
	}
	var rec batch.Record
	for d.reader.Next(&rec) {
		latest = max(latest, rec.Timestamp)
	}
	return latest, d.reader.Err()
}

func (d *dumper) dumpTxnIndex(name string) error {
	if _, err := offsetOf(path.Base(name)); err != nil {
		return err
	}
	x, err := d.loadIndex(name, 0, txnIndexEntry)
	if err != nil {
		return nil // Kafka makes the file only when it is written to
	}
	for e := range slices.Chunk(x.data, txnIndexEntry) {
		at := func(i int) int64 { return int64(binary.BigEndian.Uint64(e[i:])) }
		fmt.Fprintf(d.out, "version: 0 producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n", at(2), at(10), at(18), at(26))
	}
	return nil
}

// dumpSnapshot prints the producers of a snapshot:
//
//	0  version int16 (1)  2  crc uint32 (CRC-32C of what follows)  6  entries int32
//	   producerId int64 · epoch int16 · lastSequence int32 · lastOffset int64 · offsetDelta int32 · timestamp int64 · coordinatorEpoch int32 ·
//	   currentTxnFirstOffset int64
func (d *dumper) dumpSnapshot(name string) error {
	data, err := d.fs.ReadFile(d.abs(name))
	if err != nil {
		return noSuchFile(name, err)
	}
	if len(data) < 2 {
		fmt.Fprintln(d.err, "Snapshot failed schema validation: Error reading field 'version': java.nio.BufferUnderflowException")
		return nil
	}
	if v := int16(binary.BigEndian.Uint16(data)); v != 1 {
		fmt.Fprintf(d.err, "Snapshot failed schema validation: Snapshot contained an unknown file version %d\n", v)
		return nil
	}
	if len(data) < 10 {
		fmt.Fprintln(d.err, "Snapshot failed schema validation: Error reading field 'crc': java.nio.BufferUnderflowException")
		return nil
	}
	stored, computed := binary.BigEndian.Uint32(data[2:]), crc32.Checksum(data[6:], crc32.MakeTable(crc32.Castagnoli))
	if stored != computed {
		fmt.Fprintf(d.err, "Snapshot is corrupt (CRC is no longer valid). Stored crc: %d. Computed crc: %d\n", stored, computed)
		return nil
	}
	n := int(binary.BigEndian.Uint32(data[6:]))
	for e := range slices.Chunk(data[10:], snapshotEntry) {
		if n--; n < 0 || len(e) < snapshotEntry {
			break
		}
		d.out.Write(appendSnapshotEntry(d.line[:0], e))
	}
	return nil
}

func appendSnapshotEntry(dst, e []byte) []byte {
	u64 := func(i int) int64 { return int64(binary.BigEndian.Uint64(e[i:])) }
	u32 := func(i int) int64 { return int64(int32(binary.BigEndian.Uint32(e[i:]))) }
	dst = appendInt(dst, "producerId: ", u64(0))
	dst = appendInt(dst, " producerEpoch: ", int64(int16(binary.BigEndian.Uint16(e[8:]))))
	dst = appendInt(dst, " coordinatorEpoch: ", u32(34))
	dst = append(dst, " currentTxnFirstOffset: OptionalLong"...)
	if first := u64(38); first >= 0 {
		dst = append(appendInt(dst, "[", first), ']')
	} else {
		dst = append(dst, ".empty"...)
	}
	lastSequence, lastOffset, delta, timestamp := u32(10), u64(14), u32(22), u64(26)
	dst = appendInt(dst, " lastTimestamp: ", timestamp)
	if lastOffset >= 0 {
		first := lastSequence - delta
		if first < 0 {
			first += math.MaxInt32 + 1
		}
		dst = appendInt(dst, " firstSequence: ", first)
		dst = appendInt(dst, " lastSequence: ", lastSequence)
		dst = appendInt(dst, " lastOffset: ", lastOffset)
		dst = appendInt(dst, " offsetDelta: ", delta)
		dst = appendInt(dst, " timestamp: ", timestamp)
	}
	return append(dst, '\n')
}

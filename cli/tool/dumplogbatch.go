package tool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// dumpLog prints a segment or a snapshot.
func (d *dumper) dumpLog(name string) error {
	if err := d.logHead(name); err != nil {
		return err
	}
	limit := int64(0)
	if d.o.maxBytes != math.MaxInt32 {
		limit = int64(d.o.maxBytes)
	}
	f, err := openBatches(d.fs, d.abs(name), limit)
	if err != nil {
		return noSuchFile(name, err)
	}
	defer f.close()
	d.last = -1
	for {
		at := f.position
		b, err := f.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		d.line = d.appendBatch(d.line[:0], b, at)
		d.out.Write(d.line)
		if d.o.deep {
			if err := d.dumpRecords(name, b); err != nil {
				return err
			}
		}
	}
	if left := f.size - f.position; left > 0 && d.o.maxBytes == math.MaxInt32 {
		fmt.Fprintf(d.out, "Found %d invalid bytes at the end of %s\n", left, path.Base(name))
	}
	return nil
}

func (d *dumper) logHead(name string) error {
	base := path.Base(name)
	switch {
	case strings.HasSuffix(base, ".log"):
		start, err := offsetOf(base)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "Log starting offset: %d\n", start)
	case base == "bootstrap.checkpoint":
		fmt.Fprintln(d.out, "KRaft bootstrap snapshot")
	case len(base) < 20: // Kafka takes the first 20 characters for the offset
		return &exception{"java.lang.StringIndexOutOfBoundsException", fmt.Sprintf("begin 0, end 20, length %d", len(base))}
	default:
		offset, epoch, ok := strings.Cut(strings.TrimSuffix(base, ".checkpoint"), "-")
		o, err1 := strconv.ParseInt(offset, 10, 64)
		e, err2 := strconv.ParseInt(epoch, 10, 32)
		if !ok || err1 != nil || err2 != nil || len(offset) != 20 || len(epoch) != 10 {
			return &exception{"java.util.NoSuchElementException", "No value present"}
		}
		fmt.Fprintf(d.out, "Snapshot end offset: %d, epoch: %d\n", o, e)
	}
	return nil
}

// offsetOf is the offset that a file of a log is named by.
func offsetOf(base string) (int64, error) {
	digits, _, _ := strings.Cut(base, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, &exception{"java.lang.NumberFormatException", "For input string: " + strconv.Quote(digits)}
	}
	return n, nil
}

func timestampType(b batch.Batch) string {
	switch {
	case b.Magic() == 0:
		return "NoTimestampType"
	case b.Magic() == 1 && legacyAttributes(b)&batch.AttrLogAppendTime != 0, b.Magic() > 1 && b.IsLogAppendTime():
		return "LogAppendTime"
	}
	return "CreateTime"
}

func (d *dumper) appendBatch(dst []byte, b batch.Batch, at int64) []byte {
	if b.Magic() < batch.Magic {
		return appendLegacyBatch(dst, b, at)
	}
	dst = appendInt(dst, "baseOffset: ", b.BaseOffset())
	dst = appendInt(dst, " lastOffset: ", b.LastOffset())
	dst = appendInt(dst, " count: ", int64(b.Count()))
	dst = appendInt(dst, " baseSequence: ", int64(b.BaseSequence()))
	dst = appendInt(dst, " lastSequence: ", int64(b.LastSequence()))
	dst = appendInt(dst, " producerId: ", b.ProducerID())
	dst = appendInt(dst, " producerEpoch: ", int64(b.ProducerEpoch()))
	dst = appendInt(dst, " partitionLeaderEpoch: ", int64(b.LeaderEpoch()))
	dst = strconv.AppendBool(append(dst, " isTransactional: "...), b.IsTransactional())
	dst = strconv.AppendBool(append(dst, " isControl: "...), b.IsControl())
	dst = append(dst, " deleteHorizonMs: OptionalLong"...)
	if at, ok := b.DeleteHorizon(); ok {
		dst = append(appendInt(dst, "[", at), ']')
	} else {
		dst = append(dst, ".empty"...)
	}
	return appendBatchTail(dst, b, at, b.MaxTimestamp(), b.Codec(), b.CRC(), b.ValidCRC())
}

func appendBatchTail(dst []byte, b batch.Batch, at, timestamp int64, codec batch.Codec, crc uint32, valid bool) []byte {
	dst = append(appendInt(dst, " position: ", at), ' ')
	dst = append(dst, timestampType(b)...)
	dst = appendInt(dst, ": ", timestamp)
	dst = appendInt(dst, " size: ", int64(b.Size()))
	dst = appendInt(dst, " magic: ", int64(b.Magic()))
	dst = append(dst, " compresscodec: "...)
	dst = append(dst, codecName(codec)...)
	dst = appendInt(dst, " crc: ", int64(crc))
	dst = strconv.AppendBool(append(dst, " isvalid: "...), valid)
	return append(dst, '\n')
}

// codecName is a codec as Kafka's CompressionType calls it.
func codecName(c batch.Codec) string {
	if c == batch.None {
		return "none"
	}
	return c.String()
}

func appendInt(dst []byte, label string, v int64) []byte {
	return strconv.AppendInt(append(dst, label...), v, 10)
}

// The formats 0 and 1, which only logs of old brokers have:
//
//	 0  offset int64 · 8 size int32 · 12 crc uint32 · 16 magic int8 · 17 attributes int8 · 18 timestamp int64 (format 1) · key · value
//
// key and value have their length (-1 for null) in front. A compressed one holds others in its value.

func legacyAttributes(b batch.Batch) byte {
	if len(b) < 18 {
		return 0
	}
	return b[17]
}

func legacyTimestamp(b batch.Batch) int64 {
	if b.Magic() == 0 || len(b) < 26 {
		return batch.NoTimestamp
	}
	return int64(binary.BigEndian.Uint64(b[18:]))
}

func appendLegacyBatch(dst []byte, b batch.Batch, at int64) []byte {
	dst = appendInt(dst, "offset: ", int64(binary.BigEndian.Uint64(b)))
	crc := binary.BigEndian.Uint32(b[12:])
	codec := batch.Codec(legacyAttributes(b) & batch.AttrCodecMask)
	return appendBatchTail(dst, b, at, legacyTimestamp(b), codec, crc, crc32.ChecksumIEEE(b[16:]) == crc)
}

// legacyRecord reads an uncompressed message.
func legacyRecord(b batch.Batch) (rec batch.Record, ok bool) {
	at := 18
	if b.Magic() == 1 {
		at = 26
	}
	blob := func() (v []byte) {
		if !ok || at+4 > len(b) {
			ok = false
			return nil
		}
		n := int(int32(binary.BigEndian.Uint32(b[at:])))
		at += 4
		if n < 0 {
			return nil
		}
		if at+n > len(b) {
			ok = false
			return nil
		}
		at += n
		return b[at-n : at : at]
	}
	ok = true
	rec = batch.Record{Offset: int64(binary.BigEndian.Uint64(b)), Timestamp: legacyTimestamp(b)}
	rec.Key = blob()
	rec.Value = blob()
	return rec, ok
}

// dumpRecords prints the records of a batch.
func (d *dumper) dumpRecords(name string, b batch.Batch) error {
	if b.Magic() < batch.Magic {
		if legacyAttributes(b)&batch.AttrCodecMask != 0 {
			return &exception{"org.apache.kafka.common.errors.UnsupportedVersionException", "compressed messages of the formats before 2 are not read"}
		}
		rec, ok := legacyRecord(b)
		if !ok {
			return &exception{"org.apache.kafka.common.errors.CorruptRecordException", "a message ends before its value"}
		}
		return d.dumpRecord(name, b, &rec)
	}
	if err := d.reader.Reset(b, batch.NoLimit); err != nil {
		return &exception{"org.apache.kafka.common.KafkaException", err.Error()}
	}
	var rec batch.Record
	for d.reader.Next(&rec) {
		if err := d.dumpRecord(name, b, &rec); err != nil {
			return err
		}
	}
	if err := d.reader.Err(); err != nil {
		return &exception{"org.apache.kafka.common.InvalidRecordException", err.Error()}
	}
	return nil
}

func (d *dumper) dumpRecord(name string, b batch.Batch, rec *batch.Record) error {
	if rec.Offset != d.last+1 {
		d.gaps.add(d.abs(name), d.last, rec.Offset)
	}
	d.last = rec.Offset
	dst := d.line[:0]
	var err error
	prefix := "| "
	if !d.o.skipMetadata {
		prefix = " "
		if dst, err = d.appendMetadata(dst, b, rec); err != nil {
			return err
		}
	}
	if d.o.print && (b.Magic() < batch.Magic || !b.IsControl()) {
		key, value, err := d.parser.parse(rec)
		if err != nil {
			d.out.Write(dst)
			return err
		}
		if key != nil {
			dst = append(append(append(dst, prefix...), "key: "...), key...)
			prefix = " "
		}
		if value != nil {
			dst = append(append(append(dst, prefix...), "payload: "...), value...)
		}
	}
	d.line = append(dst, '\n')
	d.out.Write(d.line)
	return nil
}

func sizeOf(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

func (d *dumper) appendMetadata(dst []byte, b batch.Batch, rec *batch.Record) ([]byte, error) {
	dst = append(appendInt(dst, "| offset: ", rec.Offset), ' ')
	dst = append(dst, timestampType(b)...)
	dst = appendInt(dst, ": ", rec.Timestamp)
	dst = appendInt(dst, " keySize: ", sizeOf(rec.Key))
	dst = appendInt(dst, " valueSize: ", sizeOf(rec.Value))
	if b.Magic() < batch.Magic {
		crc := binary.BigEndian.Uint32(b[12:])
		dst = strconv.AppendBool(append(dst, " isValid: "...), crc32.ChecksumIEEE(b[16:]) == crc)
		return appendInt(dst, " crc: ", int64(crc)), nil
	}
	sequence := batch.NoSequence
	if b.BaseSequence() >= 0 {
		sequence = batch.AddSequence(b.BaseSequence(), rec.OffsetDelta)
	}
	dst = appendInt(dst, " sequence: ", int64(sequence))
	dst = append(dst, " headerKeys: ["...)
	first := true
	rec.Headers(func(key, _ []byte) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, javaString(key)...)
		return true
	})
	dst = append(dst, ']')
	if b.IsControl() {
		return d.appendControl(dst, rec)
	}
	return dst, nil
}

func (d *dumper) appendControl(dst []byte, rec *batch.Record) ([]byte, error) {
	kind, err := batch.ParseControlKey(rec.Key)
	if err != nil {
		return dst, &exception{"org.apache.kafka.common.InvalidRecordException", err.Error()}
	}
	label, name := "", ""
	switch kind {
	case batch.ControlAbort, batch.ControlCommit:
		if len(rec.Value) < 6 {
			return dst, &exception{"org.apache.kafka.common.InvalidRecordException", "Could not parse end transaction marker"}
		}
		word := "ABORT"
		if kind == batch.ControlCommit {
			word = "COMMIT"
		}
		dst = append(append(dst, " endTxnMarker: "...), word...)
		return appendInt(dst, " coordinatorEpoch: ", int64(int32(binary.BigEndian.Uint32(rec.Value[2:])))), nil
	case batch.ControlLeaderChange:
		label, name = " LeaderChange: ", "LeaderChangeMessage"
	case batch.ControlSnapshotHeader:
		label, name = " SnapshotHeader ", "SnapshotHeaderRecord"
	case batch.ControlSnapshotFooter:
		label, name = " SnapshotFooter ", "SnapshotFooterRecord"
	case batch.ControlKRaftVersion:
		label, name = " KRaftVersion ", "KRaftVersionRecord"
	case batch.ControlKRaftVoters:
		label, name = " KRaftVoters ", "VotersRecord"
	default:
		id := int64(int16(binary.BigEndian.Uint16(rec.Key[2:])))
		return append(appendInt(append(dst, " controlType: UNKNOWN"...), "(", id), ')'), nil
	}
	// The version is the body's first field.
	if len(rec.Value) < 2 {
		return dst, &exception{"java.nio.BufferUnderflowException", ""}
	}
	r := recordReader{data: rec.Value}
	dst = r.appendRecord(append(dst, label...), d.schemas().byName[name], int16(binary.BigEndian.Uint16(rec.Value)))
	if r.err != nil {
		return dst, &exception{"java.lang.RuntimeException", r.err.Error()}
	}
	return dst, nil
}

// abs is File.getAbsolutePath.
func (d *dumper) abs(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return path.Join(d.dir, name)
}

// noSuchFile is a file that cannot be opened as Java says it.
func noSuchFile(name string, err error) error {
	var java *exception
	if errors.As(err, &java) {
		return err
	}
	return &exception{"java.nio.file.NoSuchFileException", name}
}

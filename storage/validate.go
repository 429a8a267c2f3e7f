package storage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kaja-mq/kaja/protocol/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// How Log uses the validation, under the log mutex:
//
//	v, err := validateAndAssign(records, o, &cfg, assignment{Name: "topic-0", NextOffset: leo, WallMs: now})
//	err: refuse; nothing has changed but perhaps header fields in records.  v.Count == 0 and len(v.Records) == 0: nothing to append.
//	then: roll if needed, producers.analyze(v.Records, …), one write of v.Records, producers.apply, indexes.
//	v.Records are whole batches: batch.All(v.Records) gives each one's base and last offset, max timestamp and leader epoch.
//
// OriginReplication checks and takes whole batches as they are (no truncated tail, no batch of a higher leader epoch than
// o.LeaderEpoch); its offsets must be compared with the log end by the caller (v.FirstOffset < leo: UnexpectedAppendOffset).
//
// Errors are *InvalidRecordsError when the client is told a message or records, else they wrap a *kerr.Error. Kafka answers log
// start offset -1 for MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE and CORRUPT_MESSAGE, else the partition's.

// assignment is what an append gets from its log.
type assignment struct {
	Name       string // topic-partition, for messages
	NextOffset int64
	WallMs     int64 // now, for timestamp bounds and LogAppendTime
}

// validated is what may be written.
type validated struct {
	Records       []byte // the caller's, patched in place and cut to its whole batches, or new ones after recompression
	FirstOffset   int64
	LastOffset    int64
	MaxTimestamp  int64 // ms, -1 none
	LogAppendTime int64 // ms, -1 under CreateTime
	Count         int   // batches in Records
}

// validateAndAssign checks an append as Kafka's UnifiedLog and LogValidator do, in their order, and gives it offsets, leader
// epoch and time. Uncompressed batches allocate nothing.
func validateAndAssign(records []byte, o AppendOptions, cfg *LogConfig, a assignment) (validated, error) {
	v, source, err := analyzeRecords(records, o, cfg, a)
	if err != nil || v.Count == 0 || o.Origin == OriginReplication {
		return v, err
	}
	target := source
	if c, ok := batch.CodecOf(cfg.CompressionType); ok {
		target = c
	}
	w := validator{o: o, cfg: cfg, a: a, source: source, target: target, next: a.NextOffset}
	v.FirstOffset = a.NextOffset
	changed := false
	if source == batch.None && target == batch.None {
		err = w.assignUncompressed(&v)
	} else {
		changed, err = w.assignCompressed(&v)
	}
	if err != nil {
		return validated{}, err
	}
	v.LastOffset = w.next - 1
	v.LogAppendTime = batch.NoTimestamp
	if cfg.MessageTimestampLogAppendTime {
		v.LogAppendTime, v.MaxTimestamp = a.WallMs, a.WallMs
	}
	if changed {
		for b := range batch.All(v.Records) {
			if len(b) > int(cfg.MaxMessageBytes) {
				return validated{}, tooLarge(a, len(b), cfg)
			}
		}
	}
	if len(v.Records) > int(cfg.SegmentBytes) {
		return validated{}, fmt.Errorf("%w: %d bytes in append to %s exceed segment.bytes %d", kerr.RecordListTooLarge, len(v.Records), a.Name, cfg.SegmentBytes)
	}
	return v, nil
}

func tooLarge(a assignment, size int, cfg *LogConfig) error {
	return fmt.Errorf("%w: batch of %d bytes in append to %s exceeds max.message.bytes %d", kerr.MessageTooLarge, size, a.Name, cfg.MaxMessageBytes)
}

// analyzeRecords is the shallow part: base offset, size, CRC, codec of each batch, and the last codec that is one.
func analyzeRecords(records []byte, o AppendOptions, cfg *LogConfig, a assignment) (v validated, source batch.Codec, err error) {
	v = validated{FirstOffset: -1, LastOffset: -1, MaxTimestamp: batch.NoTimestamp, LogAppendTime: batch.NoTimestamp}
	left, valid := records, 0
	for {
		b, rest, err := batch.Next(left)
		if errors.Is(err, batch.ErrTruncated) || err == nil && b == nil {
			break // a truncated tail is dropped
		}
		if err != nil {
			return validated{}, source, fmt.Errorf("%w: append to %s: %w", kerr.CorruptMessage, a.Name, err)
		}
		left = rest
		if b.Magic() != batch.Magic {
			return validated{}, source, fmt.Errorf("%w: magic %d in append to %s", kerr.InvalidRecord, b.Magic(), a.Name)
		}
		if o.Origin == OriginClient && b.BaseOffset() != 0 {
			return validated{}, source, fmt.Errorf("%w: base offset in append to %s should be 0, but it is %d", kerr.InvalidRecord, a.Name, b.BaseOffset())
		}
		if o.Origin == OriginReplication && b.LeaderEpoch() != batch.NoLeaderEpoch && b.LeaderEpoch() > o.LeaderEpoch {
			break // KIP-1113: what comes from a later epoch is fetched again once this replica knows it
		}
		if v.Count > 0 && v.LastOffset >= b.LastOffset() && o.Origin == OriginReplication {
			return validated{}, source, fmt.Errorf("out of order offsets in append to %s: %d after %d: %w", a.Name, b.LastOffset(), v.LastOffset, kerr.UnknownServerError)
		}
		if o.Origin != OriginReplication && len(b) > int(cfg.MaxMessageBytes) {
			return validated{}, source, tooLarge(a, len(b), cfg)
		}
		if !b.ValidCRC() {
			return validated{}, source, fmt.Errorf("%w: stored crc %d in append to %s", kerr.CorruptMessage, b.CRC(), a.Name)
		}
		if b.Codec() > batch.Zstd {
			return validated{}, source, fmt.Errorf("%w: unknown compression type id %d", kerr.UnknownServerError, b.Codec())
		}
		if b.Codec() != batch.None {
			source = b.Codec()
		}
		if v.Count == 0 {
			v.FirstOffset = b.BaseOffset()
		}
		v.LastOffset = b.LastOffset()
		v.MaxTimestamp = max(v.MaxTimestamp, b.MaxTimestamp())
		v.Count++
		valid += len(b)
	}
	v.Records = records[:valid:valid]
	return v, source, nil
}

// validator is one append on its way through the deep part.
type validator struct {
	o              AppendOptions
	cfg            *LogConfig
	a              assignment
	source, target batch.Codec
	next           int64 // offset of the next record
	// Whether the records' own offsets run on from 0 over all batches, and the next one of that run.
	outOfOrder bool
	expected   int64
}

// assignUncompressed keeps the bytes and patches the headers.
func (w *validator) assignUncompressed(v *validated) error {
	v.MaxTimestamp = batch.NoTimestamp
	var r batch.Reader
	defer r.Close()
	for b := range batch.All(v.Records) {
		if err := w.checkBatch(b); err != nil {
			return err
		}
		maxTs, err := w.checkRecords(&r, b)
		if err != nil {
			return err
		}
		v.MaxTimestamp = max(v.MaxTimestamp, maxTs)
		w.patch(b, maxTs)
	}
	return nil
}

// patch writes what the broker decides into the header; only the timestamp needs a new CRC.
func (w *validator) patch(b batch.Batch, maxTs int64) {
	b.SetLastOffset(w.next - 1)
	b.SetLeaderEpoch(w.o.LeaderEpoch)
	if w.cfg.MessageTimestampLogAppendTime {
		maxTs = w.a.WallMs
	}
	b.SetMaxTimestamp(w.cfg.MessageTimestampLogAppendTime, maxTs)
}

// assignCompressed handles appends that come or go compressed: in place when the codec stays, else all records go into one new
// batch, where their offsets run on.
func (w *validator) assignCompressed(v *validated) (changed bool, err error) {
	first, rest, err := batch.Next(v.Records)
	if err != nil {
		return false, fmt.Errorf("%w: %w", kerr.CorruptMessage, err)
	}
	if w.source != batch.None && len(rest) > 0 {
		return false, fmt.Errorf("%w: compressed outer record has more than one batch", kerr.InvalidRecord)
	}
	inPlace := w.source == w.target || w.source == batch.None && first.IsControl()
	v.MaxTimestamp = batch.NoTimestamp
	start := w.next
	var r batch.Reader
	defer r.Close()
	for b := range batch.All(v.Records) {
		if err := w.checkBatch(b); err != nil {
			return false, err
		}
		maxTs, err := w.checkRecords(&r, b)
		if err != nil {
			return false, err
		}
		v.MaxTimestamp = max(v.MaxTimestamp, maxTs)
	}
	if inPlace && w.outOfOrder {
		// Kafka 4.4 means to build such a batch anew and trips over the keys that it skipped when it meant not to.
		return false, fmt.Errorf("%w: offsets in compressed append to %s do not run on from 0", kerr.UnknownServerError, w.a.Name)
	}
	if inPlace {
		w.patch(first, v.MaxTimestamp)
		return false, nil
	}
	w.next = start
	return true, w.rebuild(v, first)
}

// rebuild makes one batch of all records with the codec of the topic, with the producer of the first batch.
func (w *validator) rebuild(v *validated, first batch.Batch) error {
	out := batch.NewBuilder(make([]byte, 0, len(v.Records)+batch.HeaderSize), batch.Options{
		BaseOffset: w.next, LeaderEpoch: w.o.LeaderEpoch,
		ProducerID: first.ProducerID(), ProducerEpoch: first.ProducerEpoch(), BaseSequence: first.BaseSequence(),
		Codec: w.target, Level: w.level(), Transactional: first.IsTransactional(),
		LogAppendTime: w.cfg.MessageTimestampLogAppendTime, AppendTimeMs: w.a.WallMs,
	})
	var r batch.Reader
	defer r.Close()
	var rec batch.Record
	for b := range batch.All(v.Records) {
		if err := r.Reset(b, int(w.cfg.MaxDecompressedMessageBytes)); err != nil {
			return recordsError(err)
		}
		for r.Next(&rec) {
			if rec.Timestamp < 0 && rec.Timestamp != batch.NoTimestamp {
				return fmt.Errorf("%w: negative timestamp %d in append to %s", kerr.UnknownServerError, rec.Timestamp, w.a.Name)
			}
			out.AppendRecord(w.next, &rec)
			w.next++
		}
		if r.Err() != nil {
			return recordsError(r.Err())
		}
	}
	records, err := out.Finish()
	if err != nil {
		return fmt.Errorf("%w: append to %s: %w", kerr.UnknownServerError, w.a.Name, err)
	}
	v.Records, v.Count = records, 1
	v.MaxTimestamp = batch.Batch(records).MaxTimestamp()
	return nil
}

func (w *validator) level() int32 {
	switch w.target {
	case batch.Gzip:
		return w.cfg.CompressionGzipLevel
	case batch.LZ4:
		return w.cfg.CompressionLz4Level
	case batch.Zstd:
		return w.cfg.CompressionZstdLevel
	}
	return 0
}

// checkBatch is Kafka's LogValidator.validateBatch: of a client's header only.
func (w *validator) checkBatch(b batch.Batch) error {
	if w.o.Origin != OriginClient {
		return nil
	}
	byOffsets, count := b.LastOffset()-b.BaseOffset()+1, int64(b.Count())
	switch {
	case byOffsets <= 0:
		return fmt.Errorf("%w: batch has an invalid range [%d, %d]", kerr.InvalidRecord, b.BaseOffset(), b.LastOffset())
	case count <= 0:
		return fmt.Errorf("%w: invalid reported count %d", kerr.InvalidRecord, count)
	case byOffsets != count:
		return fmt.Errorf("%w: range [%d, %d] is inconsistent with the reported count %d", kerr.InvalidRecord, b.BaseOffset(), b.LastOffset(), count)
	case b.IsControl():
		return fmt.Errorf("%w: clients are not allowed to write control records", kerr.InvalidRecord)
	case b.HasProducerID() && b.BaseSequence() < 0:
		return fmt.Errorf("%w: invalid sequence number %d with producer id %d", kerr.InvalidRecord, b.BaseSequence(), b.ProducerID())
	}
	return nil
}

// checkRecords reads all records of a batch and counts next on.
func (w *validator) checkRecords(r *batch.Reader, b batch.Batch) (maxTs int64, err error) {
	maxTs = batch.NoTimestamp
	if err := r.Reset(b, int(w.cfg.MaxDecompressedMessageBytes)); err != nil {
		return maxTs, recordsError(err)
	}
	var bad []RecordError
	badTime := false
	var rec batch.Record
	for i := int32(0); r.Next(&rec); i++ {
		if msg, isTime := w.checkRecord(b, &rec); msg != "" {
			bad, badTime = append(bad, RecordError{Index: i, Message: msg}), badTime || isTime
		}
		maxTs = max(maxTs, rec.Timestamp)
		w.outOfOrder = w.outOfOrder || rec.Offset != w.expected
		w.expected++
		w.next++
	}
	if r.Err() != nil {
		return maxTs, recordsError(r.Err())
	}
	if len(bad) > 0 {
		return maxTs, rejected(bad, badTime)
	}
	return maxTs, nil
}

// checkRecord gives the complaint about one record in Kafka's words, which clients show.
func (w *validator) checkRecord(b batch.Batch, rec *batch.Record) (message string, aboutTime bool) {
	if w.cfg.CleanupCompact && rec.Key == nil {
		return "Compacted topic cannot accept message without key in topic partition " + w.a.Name, false
	}
	if !w.cfg.MessageTimestampLogAppendTime && rec.Timestamp != batch.NoTimestamp {
		before, after, now := w.cfg.MessageTimestampBeforeMaxMs, w.cfg.MessageTimestampAfterMaxMs, w.a.WallMs
		if diff := now - rec.Timestamp; diff > before || -diff > after {
			return fmt.Sprintf("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				rec.Timestamp, rec.Offset, now-before, now+after), true
		}
		return "", false
	}
	if b.IsLogAppendTime() {
		return "Invalid timestamp type in message " + w.describe(rec) + ". Producer should not set timestamp type to LogAppendTime.", true
	}
	return "", false
}

// describe is Java's toString of a record: a partial one, that knows lengths only, where Kafka skips keys and values.
func (w *validator) describe(rec *batch.Record) string {
	kind, null := "DefaultRecord", 0
	if w.source != batch.None && w.source == w.target {
		kind, null = "PartialDefaultRecord", -1
	}
	size := func(b []byte) int {
		if b == nil {
			return null
		}
		return len(b)
	}
	return fmt.Sprintf("%s(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)", kind, rec.Offset, rec.Timestamp, size(rec.Key), size(rec.Value))
}

// maxNamedErrors is how many bad records the message names.
const maxNamedErrors = 3

// rejected is the answer for batches with bad records: the whole list, and a message with the first of them.
func rejected(bad []RecordError, badTime bool) error {
	if badTime {
		return &InvalidRecordsError{Err: kerr.InvalidTimestamp, Message: "One or more records have been rejected due to invalid timestamp", Records: bad}
	}
	var list strings.Builder
	for i, e := range bad[:min(len(bad), maxNamedErrors)] {
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprintf(&list, "RecordError(batchIndex=%d, message='%s')", e.Index, e.Message)
	}
	return &InvalidRecordsError{
		Err: kerr.InvalidRecord, Records: bad,
		Message: fmt.Sprintf("One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: [%s]", len(bad), list.String()),
	}
}

// recordsError gives the code for what the record reader stumbled over.
func recordsError(err error) error {
	if errors.Is(err, batch.ErrDecompress) {
		return fmt.Errorf("%w: %w", kerr.UnknownServerError, err)
	}
	return fmt.Errorf("%w: %w", kerr.InvalidRecord, err)
}

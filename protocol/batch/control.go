package batch

import (
	"encoding/binary"
	"fmt"
)

// ControlType is the kind of a control record, from its key: version int16 (0), type int16.
type ControlType int16

// Control record types.
const (
	ControlAbort          ControlType = 0
	ControlCommit         ControlType = 1
	ControlLeaderChange   ControlType = 2
	ControlSnapshotHeader ControlType = 3
	ControlSnapshotFooter ControlType = 4
	ControlKRaftVersion   ControlType = 5
	ControlKRaftVoters    ControlType = 6
	ControlUnknown        ControlType = -1
)

const (
	controlKeySize  = 4
	markerValueSize = 6 // version int16 (0), coordinatorEpoch int32
)

// AppendControlKey encodes a control record's key.
func AppendControlKey(dst []byte, t ControlType) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	return binary.BigEndian.AppendUint16(dst, uint16(t))
}

// ParseControlKey decodes a control record's key: unknown types give ControlUnknown, as a newer broker may have written them.
func ParseControlKey(key []byte) (ControlType, error) {
	if len(key) < controlKeySize {
		return ControlUnknown, fmt.Errorf("%w: control record key of %d bytes, should be at least %d", ErrInvalidRecord, len(key), controlKeySize)
	}
	if v := int16(binary.BigEndian.Uint16(key)); v < 0 {
		return ControlUnknown, fmt.Errorf("%w: control record version %d", ErrInvalidRecord, v)
	}
	t := ControlType(binary.BigEndian.Uint16(key[2:]))
	if t < ControlAbort || t > ControlKRaftVoters {
		return ControlUnknown, nil
	}
	return t, nil
}

// Marker ends a transaction in a partition.
type Marker struct {
	Commit           bool
	CoordinatorEpoch int32
	Timestamp        int64 // ms
}

// MarkerOf reads the marker of a control batch, its first record. Not found: the batch is empty, as the cleaner leaves it.
func MarkerOf(b Batch) (m Marker, found bool, err error) {
	var r Reader
	if err := r.Reset(b, NoLimit); err != nil {
		return Marker{}, false, err
	}
	defer r.Close()
	var rec Record
	if !r.Next(&rec) {
		return Marker{}, false, r.Err()
	}
	t, err := ParseControlKey(rec.Key)
	if err != nil {
		return Marker{}, false, err
	}
	if t != ControlAbort && t != ControlCommit {
		return Marker{}, false, fmt.Errorf("%w: control record type %d is no end of a transaction", ErrInvalidRecord, t)
	}
	if len(rec.Value) < markerValueSize {
		return Marker{}, false, fmt.Errorf("%w: transaction marker value of %d bytes", ErrInvalidRecord, len(rec.Value))
	}
	return Marker{Commit: t == ControlCommit, CoordinatorEpoch: int32(binary.BigEndian.Uint32(rec.Value[2:])), Timestamp: rec.Timestamp}, true, nil
}

// AppendMarker appends a whole control batch with the marker; base offset 0 and leader epoch -1 until it is appended to a log.
func AppendMarker(dst []byte, producerID int64, producerEpoch int16, m Marker) []byte {
	t := ControlAbort
	if m.Commit {
		t = ControlCommit
	}
	var kv [controlKeySize + markerValueSize]byte
	key := AppendControlKey(kv[:0], t)
	value := binary.BigEndian.AppendUint32(kv[controlKeySize:controlKeySize+2], uint32(m.CoordinatorEpoch))
	return AppendControl(dst, ControlBatch{
		BaseTimestamp: m.Timestamp, LeaderEpoch: NoLeaderEpoch,
		ProducerID: producerID, ProducerEpoch: producerEpoch, Transactional: true,
	}, key, value)
}

// ControlBatch is the header of a control batch with one record.
type ControlBatch struct {
	BaseOffset    int64
	BaseTimestamp int64 // ms
	LeaderEpoch   int32
	ProducerID    int64 // NoProducerID but for markers
	ProducerEpoch int16
	Transactional bool
}

// AppendControl appends a control batch with one record, whose body is given encoded (LeaderChangeMessage, VotersRecord …).
func AppendControl(dst []byte, h ControlBatch, key, value []byte) []byte {
	b := NewBuilder(dst, Options{
		BaseOffset: h.BaseOffset, LeaderEpoch: h.LeaderEpoch, ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
		BaseSequence: NoSequence, Transactional: h.Transactional, Control: true,
	})
	b.Append(h.BaseOffset, h.BaseTimestamp, key, value)
	return b.finishUncompressed()
}

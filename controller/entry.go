package controller

import (
	"encoding/binary"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
)

// A raft entry is one record. Its data says beside the record's value where its batch begins, so that every voter writes the same
// batches with the same time stamps:
//
//	flags byte | int64 time stamp, if flagStart | int16 control type, if flagControl | value
//
// The empty entry of a new leader stands for the LeaderChange record, which each voter writes from what it knows.
const (
	flagStart   = 1 << 0 // first record of its batch
	flagControl = 1 << 1 // control record
)

// maxEntryHeader is the largest number of bytes before the value.
const maxEntryHeader = 1 + 8 + 2

// indexOf and offsetOf are I2: raft index = offset + 1.
func indexOf(offset int64) uint64 { return uint64(offset) + 1 }

func offsetOf(index uint64) int64 { return int64(index) - 1 }

// raftIDOf maps node ids, which may be 0, to raft's, which may not.
func raftIDOf(node int32) uint64 { return uint64(node) + 1 }

func nodeOf(id uint64) int32 { return int32(int64(id) - 1) }

// entriesOf makes the entries that propose a batch; index and term are raft's to set.
func entriesOf(b *LogBatch) []*pb.Entry {
	ents := make([]*pb.Entry, len(b.Values))
	block := make([]pb.Entry, len(b.Values))
	for i, v := range b.Values {
		block[i].Data = appendEntryData(make([]byte, 0, maxEntryHeader+len(v)), b, i)
		ents[i] = &block[i]
	}
	return ents
}

func appendEntryData(dst []byte, b *LogBatch, i int) []byte {
	var flags byte
	if i == 0 {
		flags |= flagStart
	}
	if b.Control != NotControl {
		flags |= flagControl
	}
	dst = append(dst, flags)
	if i == 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(b.TimestampMs))
	}
	if b.Control != NotControl {
		dst = binary.BigEndian.AppendUint16(dst, uint16(b.Control))
	}
	return append(dst, b.Values[i]...)
}

// entryData is an entry's data taken apart.
type entryData struct {
	start       bool
	timestampMs int64
	control     int16
	value       []byte
}

func parseEntry(data []byte) (d entryData, err error) {
	d.control = NotControl
	bad := func() (entryData, error) {
		return entryData{}, fmt.Errorf("raft entry of %d bytes is cut short", len(data))
	}
	if len(data) < 1 {
		return bad()
	}
	flags, rest := data[0], data[1:]
	if flags&flagStart != 0 {
		if len(rest) < 8 {
			return bad()
		}
		d.start, d.timestampMs, rest = true, int64(binary.BigEndian.Uint64(rest)), rest[8:]
	}
	if flags&flagControl != 0 {
		if len(rest) < 2 {
			return bad()
		}
		d.control, rest = int16(binary.BigEndian.Uint16(rest)), rest[2:]
	}
	d.value = rest
	return d, nil
}

// entriesFrom makes the entries that the batches stand for, of those with first ≤ index < limit.
func entriesFrom(batches []LogBatch, first, limit uint64) []*pb.Entry {
	var ents []*pb.Entry
	for bi := range batches {
		b := &batches[bi]
		for i := range b.Values {
			index := indexOf(b.BaseOffset + int64(i))
			if index < first || index >= limit {
				continue
			}
			e := &pb.Entry{Index: new(index), Term: new(uint64(b.Epoch))}
			if b.Control != ControlLeaderChange {
				e.Data = appendEntryData(nil, b, i)
			}
			ents = append(ents, e)
		}
	}
	return ents
}

// batchesFrom is the way back, for the log: leaderChange gives the body of the record that an empty entry stands for.
func batchesFrom(ents []*pb.Entry, nowMs int64, leaderChange func(term uint64) []byte) ([]LogBatch, error) {
	var batches []LogBatch
	for _, e := range ents {
		offset, epoch := offsetOf(e.GetIndex()), int32(e.GetTerm())
		if len(e.GetData()) == 0 {
			batches = append(batches, LogBatch{BaseOffset: offset, Epoch: epoch, TimestampMs: nowMs,
				Control: ControlLeaderChange, Values: [][]byte{leaderChange(e.GetTerm())}})
			continue
		}
		d, err := parseEntry(e.GetData())
		if err != nil {
			return nil, fmt.Errorf("at offset %d: %w", offset, err)
		}
		last := len(batches) - 1
		if d.start || last < 0 || batches[last].Epoch != epoch || batches[last].Control != d.control {
			if !d.start {
				d.timestampMs = nowMs // the batch's beginning came with an earlier message: its records follow in a batch of their own
			}
			batches = append(batches, LogBatch{BaseOffset: offset, Epoch: epoch, TimestampMs: d.timestampMs, Control: d.control})
			last++
		}
		batches[last].Values = append(batches[last].Values, d.value)
	}
	return batches, nil
}

package controller

import (
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// raftStorage is raft's view of the metadata log. Entries that raft has not applied yet are kept in memory, since raft reads
// each of them once more after it was written.
type raftStorage struct {
	log    Log
	hard   *pb.HardState
	voters []uint64
	tail   []*pb.Entry // what was appended and not applied yet, by index
}

// InitialState implements raft.Storage.
func (s *raftStorage) InitialState() (*pb.HardState, *pb.ConfState, error) {
	return s.hard, &pb.ConfState{Voters: s.voters}, nil
}

// FirstIndex implements raft.Storage.
func (s *raftStorage) FirstIndex() (uint64, error) { return indexOf(s.log.StartOffset()), nil }

// LastIndex implements raft.Storage.
func (s *raftStorage) LastIndex() (uint64, error) { return indexOf(s.log.EndOffset() - 1), nil }

// Term implements raft.Storage. The term before the first entry is that of the snapshot that ends there.
func (s *raftStorage) Term(index uint64) (uint64, error) {
	if index == 0 {
		return 0, nil
	}
	if n := len(s.tail); n > 0 && index >= s.tail[0].GetIndex() && index <= s.tail[n-1].GetIndex() {
		return s.tail[index-s.tail[0].GetIndex()].GetTerm(), nil
	}
	if epoch, ok := s.log.EpochOf(offsetOf(index)); ok {
		return uint64(epoch), nil
	}
	for _, snap := range s.log.Snapshots() {
		if indexOf(snap.EndOffset-1) == index {
			return uint64(snap.Epoch), nil
		}
	}
	if offsetOf(index) < s.log.StartOffset() {
		return 0, raft.ErrCompacted
	}
	return 0, raft.ErrUnavailable
}

// Entries implements raft.Storage.
func (s *raftStorage) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	if offsetOf(lo) < s.log.StartOffset() {
		return nil, raft.ErrCompacted
	}
	if offsetOf(hi-1) >= s.log.EndOffset() {
		return nil, raft.ErrUnavailable
	}
	if len(s.tail) > 0 && lo >= s.tail[0].GetIndex() {
		base := s.tail[0].GetIndex()
		return limitSize(s.tail[lo-base:hi-base:hi-base], maxSize), nil
	}
	var ents []*pb.Entry
	for next := lo; next < hi; {
		batches, err := s.log.Read(offsetOf(next), int(min(maxSize, 1<<20)))
		if err != nil {
			return nil, fmt.Errorf("read metadata log at offset %d: %w", offsetOf(next), err)
		}
		got := entriesFrom(batches, next, hi)
		if len(got) == 0 {
			return nil, raft.ErrUnavailable
		}
		ents = append(ents, got...)
		next = got[len(got)-1].GetIndex() + 1
		if sizeOf(ents) >= maxSize {
			break
		}
	}
	return limitSize(ents, maxSize), nil
}

// Snapshot implements raft.Storage. A sole voter never sends one.
func (s *raftStorage) Snapshot() (*pb.Snapshot, error) {
	return nil, raft.ErrSnapshotTemporarilyUnavailable
}

// appended remembers what was just written to the log.
func (s *raftStorage) appended(ents []*pb.Entry) { s.tail = append(s.tail, ents...) }

// applied forgets what raft will not ask for again.
func (s *raftStorage) applied(index uint64) {
	if len(s.tail) == 0 || index < s.tail[0].GetIndex() {
		return
	}
	n := int(min(index-s.tail[0].GetIndex()+1, uint64(len(s.tail))))
	clear(s.tail[:n])
	s.tail = s.tail[n:]
	if len(s.tail) == 0 {
		s.tail = nil
	}
}

func sizeOf(ents []*pb.Entry) (n uint64) {
	for _, e := range ents {
		n += entrySize(e)
	}
	return n
}

// entrySize is near to raft's own measure (the encoded message): only the order of magnitude matters.
func entrySize(e *pb.Entry) uint64 { return uint64(len(e.GetData())) + 16 }

func limitSize(ents []*pb.Entry, maxSize uint64) []*pb.Entry {
	var n uint64
	for i, e := range ents {
		n += entrySize(e)
		if i > 0 && n > maxSize {
			return ents[:i:i]
		}
	}
	return ents
}

// raftLogger sends raft's own lines to our log, one level lower: they are for developers.
type raftLogger struct{ l zerolog.Logger }

func (r raftLogger) Debug(v ...any)            { r.l.Trace().Msg(fmt.Sprint(v...)) }
func (r raftLogger) Debugf(f string, v ...any) { r.l.Trace().Msgf(f, v...) }
func (r raftLogger) Info(v ...any)             { r.l.Debug().Msg(fmt.Sprint(v...)) }
func (r raftLogger) Infof(f string, v ...any)  { r.l.Debug().Msgf(f, v...) }
func (r raftLogger) Warning(v ...any)          { r.l.Debug().Msg(fmt.Sprint(v...)) }
func (r raftLogger) Warningf(f string, v ...any) {
	r.l.Debug().Msgf(f, v...)
}
func (r raftLogger) Error(v ...any)            { r.l.Warn().Msg(fmt.Sprint(v...)) }
func (r raftLogger) Errorf(f string, v ...any) { r.l.Warn().Msgf(f, v...) }
func (r raftLogger) Fatal(v ...any)            { r.Panic(v...) }
func (r raftLogger) Fatalf(f string, v ...any) { r.Panicf(f, v...) }

// Panic and Panicf are called by raft when it has lost its footing; raft does not expect them to return.
func (r raftLogger) Panic(v ...any)            { failRaft(fmt.Sprint(v...)) }
func (r raftLogger) Panicf(f string, v ...any) { failRaft(fmt.Sprintf(f, v...)) }

var errStopped = errors.New("controller is stopped")

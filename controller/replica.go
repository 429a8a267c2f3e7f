package controller

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// raft's clock is not used by a quorum of one; the numbers only have to be valid.
const (
	electionTicks  = 10
	heartbeatTicks = 1
)

// replica is this node's raft replica with the machine on top. One goroutine at a time uses it.
type replica struct {
	o       Options
	publish func(*metadata.Image, *metadata.Delta)

	node    *raft.RawNode
	storage *raftStorage
	saved   QuorumState // what the quorum-state file has
	lead    uint64      // raft id, 0 none
	loaded  *loadedState

	m         *machine
	pending   []pendingCommand // proposed or waiting behind proposals, in order
	published *metadata.Image

	snap     snapshotPolicy
	lastTime int64 // of the last record, ms
	failed   error // the log can't be written any more
}

// pendingCommand waits for its last record to be committed.
type pendingCommand struct {
	index  uint64 // of the last record; of what went before when it has none
	img    *metadata.Image
	delta  *metadata.Delta // nil when the command changed nothing
	bytes  int64
	reply  func()
	refuse func(*kerr.Error)
}

// versioned is a record with the version that it is written in.
type versioned struct {
	record.Message
	version int16
}

// start loads what is there, becomes leader and writes this broker's registration.
func (r *replica) start() error {
	loaded, err := load(r.o.Log)
	if err != nil {
		return err
	}
	r.loaded, r.lastTime = loaded, loaded.lastTime
	if err := r.startRaft(loaded); err != nil {
		return err
	}
	r.snap.start(r.o, loaded)
	now := r.o.Clock.Wall().UnixMilli()
	r.m = newMachine(&r.o, loaded.img, r.o.Log.EndOffset())
	// The election is rounds for the votes, and one for the leader's empty entry: what is proposed before that is written and synced
	// together with it.
	if err := r.node.Campaign(); err != nil {
		return fmt.Errorf("campaign: %w", err)
	}
	for r.node.BasicStatus().RaftState != raft.StateLeader && r.node.HasReady() {
		if err := r.ready(); err != nil {
			return err
		}
	}
	invariant.Check(r.node.BasicStatus().RaftState == raft.StateLeader, "sole voter %d did not win its election", r.o.NodeID)
	r.m.becomeLeader(int32(r.node.BasicStatus().GetTerm()))
	if err := r.activate(now); err != nil {
		return err
	}
	if err := r.drain(); err != nil {
		return err
	}
	r.published = r.m.img
	r.publish(r.m.img, fullDelta(r.m.img))
	return nil
}

// activate proposes what a new leader has to say: the end of a transaction that was left open, the first records of a cluster, this
// node's registrations, and leaders for what this broker can lead.
func (r *replica) activate(now int64) error {
	r.m.now = now
	if r.loaded.openTransaction {
		reason := "the leader that began it is gone"
		r.proposeRecords(now, []versioned{{&record.AbortTransactionRecord{Reason: &reason}, 0}})
	}
	if r.m.img.MetadataVersion() == 0 {
		features := r.loaded.bootstrap
		if len(features) == 0 {
			features = initialFeatures()
			if err := r.writeFormat(now, features); err != nil {
				return err
			}
		}
		r.proposeRecords(now, r.m.bootstrap(features))
	}
	r.proposeRecords(now, r.m.registerController())
	r.proposeRecords(now, r.m.registerBroker())
	r.proposeRecords(now, r.m.electAtStart(r.o.CleanStart))
	return nil
}

// writeFormat leaves the snapshot that kafka-storage writes into a new directory.
func (r *replica) writeFormat(now int64, features []record.Message) error {
	if len(r.o.Log.Snapshots()) > 0 || r.o.Log.EndOffset() > 0 {
		return nil
	}
	b := LogBatch{Control: NotControl, TimestampMs: now}
	for _, msg := range features {
		b.Values = append(b.Values, record.Append(nil, msg, 0))
	}
	done := false
	err := r.o.Log.WriteSnapshot(SnapshotID{}, now, func() (LogBatch, bool) {
		first := !done
		done = true
		return b, first
	})
	if err != nil {
		return fmt.Errorf("write the first metadata snapshot: %w", err)
	}
	return nil
}

// proposeRecords proposes records that nobody waits for, cut into batches.
func (r *replica) proposeRecords(now int64, records []versioned) {
	for len(records) > 0 {
		n := min(len(records), maxActivationRecords)
		r.propose(now, command{}, effects{records: records[:n]})
		records = records[n:]
	}
}

// startRaft makes the raft node. A sole voter's log is committed as far as it reaches, so loaded.img has all of it.
func (r *replica) startRaft(loaded *loadedState) error {
	r.saved = loaded.state
	last := indexOf(r.o.Log.EndOffset() - 1)
	r.storage = &raftStorage{
		log:    r.o.Log,
		voters: []uint64{raftIDOf(r.o.NodeID)},
		hard: &pb.HardState{Term: new(uint64(max(loaded.state.LeaderEpoch, loaded.lastEpoch))),
			Vote: new(voteOf(loaded.state)), Commit: new(last)},
	}
	node, err := raft.NewRawNode(&raft.Config{
		ID:                       raftIDOf(r.o.NodeID),
		ElectionTick:             electionTicks,
		HeartbeatTick:            heartbeatTicks,
		Storage:                  r.storage,
		Applied:                  last,
		MaxSizePerMsg:            1 << 20,
		MaxCommittedSizePerReady: 64 << 20,
		MaxInflightMsgs:          256,
		CheckQuorum:              true,
		PreVote:                  true,
		Logger:                   raftLogger{r.o.Logger},
	})
	if err != nil {
		return fmt.Errorf("start raft: %w", err)
	}
	r.node = node
	return nil
}

// voteOf is raft's vote: who leads an epoch has the vote of everybody who follows it.
func voteOf(s QuorumState) uint64 {
	switch {
	case s.VotedID >= 0:
		return raftIDOf(s.VotedID)
	case s.LeaderID >= 0:
		return raftIDOf(s.LeaderID)
	}
	return raft.None
}

// step decides the queued commands, writes their records with one sync, and answers them.
func (r *replica) step(now time.Time, queue []command) (next time.Time, err error) {
	if r.failed != nil {
		for i := range queue {
			queue[i].refuse(kerr.NotController)
		}
		return time.Time{}, r.failed
	}
	wall := r.o.Clock.Wall().UnixMilli()
	for i := range queue {
		r.m.now = wall
		r.propose(wall, queue[i], queue[i].decide(r.m))
	}
	err = r.drain()
	if err == nil {
		next, err = r.snap.step(r, now)
	}
	if err != nil {
		r.failed = err
		for _, p := range r.pending {
			if p.refuse != nil {
				p.refuse(kerr.NotController)
			}
		}
		r.pending = nil
		return time.Time{}, err
	}
	return next, nil
}

// propose hands a command's records to raft as one batch and remembers the answer. The machine goes on with the image that the
// records lead to; it becomes visible when they are committed.
func (r *replica) propose(wall int64, cmd command, e effects) {
	p := pendingCommand{index: indexOf(r.m.next - 1), reply: e.reply, refuse: cmd.refuse}
	if len(e.records) > 0 {
		b := LogBatch{BaseOffset: r.m.next, Epoch: r.m.epoch, TimestampMs: wall, Control: NotControl}
		for _, rec := range e.records {
			v := record.Append(nil, rec.Message, rec.version)
			p.bytes += int64(len(v))
			b.Values = append(b.Values, v)
		}
		msg := &pb.Message{Type: pb.MsgProp.Enum(), From: new(raftIDOf(r.o.NodeID)), Entries: entriesOf(&b)}
		if err := r.node.Step(msg); err != nil {
			invariant.Failf("a sole leader's proposal was dropped: %v", err)
		}
		p.delta = r.m.apply(e.records)
		p.img = r.m.img
		p.index = indexOf(r.m.next - 1)
	}
	r.pending = append(r.pending, p)
}

// drain goes on until raft has nothing more to write or to apply.
func (r *replica) drain() error {
	for r.node.HasReady() {
		if err := r.ready(); err != nil {
			return err
		}
	}
	r.release(indexOf(r.m.next - 1))
	return nil
}

// ready is one round: state and entries to disk, then what is committed to the image and to the callers.
func (r *replica) ready() error {
	rd := r.node.Ready()
	if rd.SoftState != nil {
		r.lead = rd.SoftState.Lead
	}
	if len(rd.Entries) > 0 {
		if err := r.write(rd.Entries); err != nil {
			return err
		}
	}
	if n := len(rd.CommittedEntries); n > 0 {
		last := rd.CommittedEntries[n-1].GetIndex()
		r.release(last)
		r.storage.applied(last)
	}
	r.node.Advance(rd)
	return nil
}

// write makes the state, when it changed, and the entries durable. The vote of a sole voter is saved no earlier than what
// depends on it, the first entry of its term.
func (r *replica) write(ents []*pb.Entry) error {
	st := r.node.BasicStatus()
	want := r.saved
	want.LeaderID, want.LeaderEpoch, want.VotedID = nodeOf(r.lead), int32(st.GetTerm()), -1
	want.VotedDirectoryID = [16]byte{}
	if want.DataVersion == 0 {
		want.Voters = r.o.Voters
	}
	if !want.equal(r.saved) {
		if err := r.o.Log.SaveState(want); err != nil {
			return fmt.Errorf("save quorum state: %w", err)
		}
		r.saved = want
	}
	batches, err := batchesFrom(ents, r.o.Clock.Wall().UnixMilli(), r.leaderChange)
	if err != nil {
		return err
	}
	if err := r.o.Log.Append(batches); err != nil {
		return fmt.Errorf("append to metadata log: %w", err)
	}
	if err := r.o.Log.Sync(); err != nil {
		return fmt.Errorf("sync metadata log: %w", err)
	}
	r.lastTime = batches[len(batches)-1].TimestampMs
	r.storage.appended(ents)
	return nil
}

// leaderChange is the body of the record that a leader's empty entry stands for.
func (r *replica) leaderChange(uint64) []byte {
	msg := record.NewLeaderChangeMessage()
	msg.LeaderID = nodeOf(r.lead)
	for _, v := range r.o.Voters {
		msg.Voters = append(msg.Voters, record.LeaderChangeVoter{VoterID: v})
		msg.GrantingVoters = append(msg.GrantingVoters, record.LeaderChangeVoter{VoterID: v})
	}
	return msg.AppendTo(nil, 0)
}

// release publishes and answers, in order, what is committed up to index.
func (r *replica) release(index uint64) {
	n := 0
	for ; n < len(r.pending) && r.pending[n].index <= index; n++ {
		p := &r.pending[n]
		if p.delta != nil {
			r.snap.grew(p.bytes)
			if r.published == nil {
				continue // Start publishes once, when all of it is there
			}
			r.published = p.img
			r.publish(p.img, p.delta)
		}
		if p.reply != nil {
			p.reply()
		}
	}
	clear(r.pending[:n])
	if r.pending = r.pending[n:]; len(r.pending) == 0 {
		r.pending = nil
	}
}

// close closes the log; nothing is pending between two steps.
func (r *replica) close() error {
	invariant.Check(len(r.pending) == 0, "%d commands were left unanswered", len(r.pending))
	return r.o.Log.Close()
}

func (s QuorumState) equal(o QuorumState) bool {
	if s.LeaderID != o.LeaderID || s.LeaderEpoch != o.LeaderEpoch || s.VotedID != o.VotedID || s.DataVersion != o.DataVersion ||
		s.VotedDirectoryID != o.VotedDirectoryID || len(s.Voters) != len(o.Voters) {
		return false
	}
	for i := range s.Voters {
		if s.Voters[i] != o.Voters[i] {
			return false
		}
	}
	return true
}

// failRaft is where raft's own panics end.
func failRaft(msg string) { invariant.Failf("raft: %s", msg) }

package group

import (
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// offsetCommitVersion is the version of OffsetCommitValue that Kafka 4.4 writes; expiringCommitVersion that of a commit with a retention of
// its own (OffsetCommit before v5), the only one that has a field for it.
const (
	offsetCommitVersion   = 4
	expiringCommitVersion = 1
)

// noRetention is RetentionTimeMillis of a commit that is kept as long as the broker says.
const noRetention = -1

// partitionCommit is one partition of a commit, whichever API it came by.
type partitionCommit struct {
	topicPartition
	topicID     [16]byte
	offset      int64
	leaderEpoch int32
	metadata    *string
}

// OffsetCommit stores offsets. Topics have been resolved: name and id are both set, whatever the version.
func (s *Shard) OffsetCommit(now coordinator.Now, h coordinator.Handle, req *kmsg.OffsetCommitRequest) coordinator.Effects {
	by := committer{member: req.MemberID, instance: req.InstanceID, generation: req.Generation, version: req.Version}
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = req.Version
	var list []partitionCommit
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			list = append(list, partitionCommit{topicPartition{t.Topic, p.Partition}, t.TopicID, p.Offset, p.LeaderEpoch, p.Metadata})
		}
	}
	missing := kerr.IllegalGeneration
	if req.Version >= 9 {
		missing = kerr.GroupIDNotFound
	}
	retention := int64(noRetention)
	if req.Version <= 4 {
		retention = req.RetentionTimeMillis
	}
	e, codes := s.commit(now, req.Group, by, list, retention, missing)
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, codes[0]
			codes = codes[1:]
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	answer(&e, h, resp)
	return e
}

// TxnOffsetCommit stores offsets as part of the producer's transaction: they count from its commit on. Topics have been checked. A
// transaction's record is the producer's, so the caller has verified that the transaction is open.
func (s *Shard) TxnOffsetCommit(now coordinator.Now, h coordinator.Handle, req *kmsg.TxnOffsetCommitRequest) coordinator.Effects {
	by := committer{member: req.MemberID, instance: req.InstanceID, generation: req.Generation, txn: true, version: req.Version}
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	resp.Version = req.Version
	var list []partitionCommit
	for _, t := range req.Topics {
		id, _ := s.d.Topics.TopicID(t.Topic)
		for _, p := range t.Partitions {
			list = append(list, partitionCommit{topicPartition{t.Topic, p.Partition}, id, p.Offset, p.LeaderEpoch, p.Metadata})
		}
	}
	missing := kerr.IllegalGeneration
	if req.Version >= 6 {
		missing = kerr.GroupIDNotFound
	}
	e, codes := s.commit(now, req.Group, by, list, noRetention, missing)
	if len(e.Records) > 0 {
		e.Txn = &coordinator.Txn{ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch}
	}
	for _, t := range req.Topics {
		rt := kmsg.NewTxnOffsetCommitResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, codes[0]
			codes = codes[1:]
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	answer(&e, h, resp)
	return e
}

// commit decides about a commit: the records to write, and a code for each partition. missing is what is said of a group that does not
// exist, to somebody who claims to be in it.
func (s *Shard) commit(now coordinator.Now, id string, by committer, list []partitionCommit, retention int64, missing *kerr.Error) (e coordinator.Effects, codes []int16) {
	codes = make([]int16, len(list))
	all := func(err *kerr.Error) (coordinator.Effects, []int16) {
		for i := range codes {
			codes[i] = err.Code
		}
		return coordinator.Effects{}, codes
	}
	g := s.groups[id]
	if g == nil {
		if by.generation >= 0 {
			return all(missing)
		}
		// Made even if nothing of the commit is accepted, as in Kafka; it has no record of its own.
		g = &group{id: strings.Clone(id), classic: newClassicGroup(strings.Clone(id), now.WallMs())}
		s.groups[g.id] = g
	}
	if err := g.kind().validateCommit(by); err != nil {
		return all(s.commitError(err, by))
	}
	g.kind().committed(now, by)
	e.Clean = true // but for a simple group, which does not matter
	limit := int(s.d.Settings.Int("offset.metadata.max.bytes"))
	for i, c := range list {
		if c.metadata != nil && utf16Len(*c.metadata) > limit {
			codes[i] = kerr.OffsetMetadataTooLarge.Code
			continue
		}
		if err := g.kind().mayCommit(by, c.topicPartition, c.topicID); err != nil {
			return all(s.commitError(err, by)) // one partition refuses them all, as in Kafka
		}
		e.Records = append(e.Records, commitRecord(id, c, now.WallMs(), retention))
	}
	return e, codes
}

// commitError: before TxnOffsetCommit v6 a stale member epoch looks like an old generation.
func (s *Shard) commitError(err *kerr.Error, by committer) *kerr.Error {
	if by.txn && by.version < 6 && err == kerr.StaleMemberEpoch {
		return kerr.IllegalGeneration
	}
	return err
}

func commitRecord(group string, c partitionCommit, nowMs, retention int64) coordinator.Record {
	k, v := record.NewOffsetCommitKey(), record.NewOffsetCommitValue()
	k.Group, k.Topic, k.Partition = group, c.topic, c.partition
	v.Offset, v.LeaderEpoch, v.CommitTimestamp, v.TopicID = c.offset, c.leaderEpoch, nowMs, c.topicID
	if c.metadata != nil {
		v.Metadata = *c.metadata
	}
	if retention == noRetention {
		return newRecord(k, v, offsetCommitVersion)
	}
	v.ExpireTimestamp = nowMs + retention
	return newRecord(k, v, expiringCommitVersion)
}

// utf16Len is Java's String.length.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff && r != utf8.RuneError {
			n++
		}
	}
	return n
}

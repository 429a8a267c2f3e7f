package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
)

// memberEpochVersion is the first OffsetCommit that has a member epoch.
const memberEpochVersion = 9

// validateCommit: a commit must come from a member, but for one of a tool while nobody is in the group, and for one of a transaction
// whose client does not say who it is. An epoch behind the member's is judged partition by partition, see mayCommit.
func (g *consumerGroup) validateCommit(by committer) *kerr.Error {
	if by.generation < 0 && g.empty() || by.txn && by.generation == -1 && by.member == "" && by.instance == nil {
		return nil
	}
	m := g.members[by.member]
	switch {
	case m == nil:
		return kerr.UnknownMemberID
	case !by.txn && m.classic == nil && by.version < memberEpochVersion:
		return kerr.UnsupportedVersion
	case by.generation > m.epoch:
		return m.staleError()
	}
	return nil
}

// mayCommit: a member whose epoch went on while its commit was on the way may still commit what it has had since the epoch it knows
// (KIP-1251).
func (g *consumerGroup) mayCommit(by committer, tp topicPartition, topic [16]byte) *kerr.Error {
	m := g.members[by.member]
	if m == nil || by.generation >= m.epoch {
		return nil
	}
	since, ok := m.assigned[topic][tp.partition]
	if !ok {
		since, ok = m.revoking[topic][tp.partition]
	}
	if !ok || by.generation < since {
		return m.staleError()
	}
	return nil
}

// staleError is how a member is told of a wrong epoch.
func (m *consumerMember) staleError() *kerr.Error {
	if m.classic != nil {
		return kerr.IllegalGeneration
	}
	return kerr.StaleMemberEpoch
}

// validateFetch: who says that it is a member must be one, at its epoch.
func (g *consumerGroup) validateFetch(member *string, epoch int32) *kerr.Error {
	if member == nil {
		if epoch < 0 {
			return nil
		}
		return kerr.UnknownServerError // Kafka looks for a member without an id, and fails at that
	}
	m := g.members[*member]
	switch {
	case m == nil:
		return kerr.UnknownMemberID
	case epoch != m.epoch:
		return m.staleError()
	}
	return nil
}

// committed: a commit is no sign of life in a consumer group, as in Kafka.
func (g *consumerGroup) committed(coordinator.Now, committer) {}

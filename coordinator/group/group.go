package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
)

// group is one group id and what it is at the moment: exactly one of the kinds is set. A group that only has offsets, because a
// client committed without being a member, is a classic group without a protocol type ("simple"), as in Kafka.
type group struct {
	id       string
	classic  *classicGroup
	consumer *consumerGroup
}

// kind is what every kind of group can tell and do. Methods that return an error return nil or one of kerr's.
type kind interface {
	// typeName is the group type of ListGroups: classic or consumer.
	typeName() string
	// stateName is the state of ListGroups and of the describing APIs.
	stateName() string
	// protocol is the protocol type of ListGroups.
	protocol() string
	// validateCommit tells whether who asks may commit offsets.
	validateCommit(by committer) *kerr.Error
	// mayCommit tells whether an accepted committer may commit for this partition; a refusal refuses the whole commit.
	mayCommit(by committer, tp topicPartition, topicID [16]byte) *kerr.Error
	// validateFetch tells whether who asks may read the group's offsets; member is nil where the request has none.
	validateFetch(member *string, memberEpoch int32) *kerr.Error
	// validateDelete tells whether DeleteGroups may take the group away.
	validateDelete() *kerr.Error
	// committed hears of an accepted commit; it may keep the member's session alive.
	committed(now coordinator.Now, by committer)
	// subscribedTo tells whether offsets of the topic are in use: they neither expire nor can they be deleted.
	subscribedTo(topic string) bool
	// expiryBase is since when an offset that was committed at commitMs counts as unused; ok is false when it is in use.
	expiryBase(commitMs int64) (ms int64, ok bool)
	// empty tells whether nobody is in the group: without offsets it may go.
	empty() bool
	// tombstones take the group (not its offsets) out of the log. None are needed for what has no records.
	tombstones() []coordinator.Record
	// loaded starts the timers of a group that was read from the log.
	loaded(s *Shard, now coordinator.Now) coordinator.Effects
	// fire is called for the group's timers.
	fire(s *Shard, now coordinator.Now, t timer) coordinator.Effects
	// parked gives up the handles of calls that wait.
	parked() []coordinator.Handle
}

// committer is who commits offsets.
type committer struct {
	member     string
	instance   *string
	generation int32 // or member epoch
	txn        bool  // TxnOffsetCommit
	version    int16 // of the request
}

// kind is the group's kind; nil only while one is replaced by another.
func (g *group) kind() kind {
	switch {
	case g.classic != nil:
		return g.classic
	case g.consumer != nil:
		return g.consumer
	}
	return nil
}

// remove forgets a group, but not its offsets.
func (s *Shard) remove(id string) { delete(s.groups, id) }

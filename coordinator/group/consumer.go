package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// consumerGroup is a group of the consumer protocol (KIP-848).
type consumerGroup struct {
	members map[string]*consumerMember
}

// applyConsumer folds the records of consumer groups.
func (s *Shard) applyConsumer(key, value record.Message) {}

func (g *consumerGroup) typeName() string                         { return "consumer" }
func (g *consumerGroup) stateName() string                        { return "Empty" }
func (g *consumerGroup) protocol() string                         { return "consumer" }
func (g *consumerGroup) validateCommit(committer) *kerr.Error     { return nil }
func (g *consumerGroup) validateFetch(*string, int32) *kerr.Error { return nil }
func (g *consumerGroup) committed(coordinator.Now, committer)     {}
func (g *consumerGroup) subscribedTo(string) bool                 { return false }
func (g *consumerGroup) expiryBase(commitMs int64) (int64, bool)  { return commitMs, true }
func (g *consumerGroup) empty() bool                              { return len(g.members) == 0 }
func (g *consumerGroup) tombstones() []coordinator.Record         { return nil }
func (g *consumerGroup) parked() []coordinator.Handle             { return nil }
func (g *consumerGroup) loaded(*Shard, coordinator.Now) coordinator.Effects {
	return coordinator.Effects{}
}
func (g *consumerGroup) fire(*Shard, coordinator.Now, timer) coordinator.Effects {
	return coordinator.Effects{}
}

func (g *consumerGroup) validateDelete() *kerr.Error {
	if !g.empty() {
		return kerr.NonEmptyGroup
	}
	return nil
}

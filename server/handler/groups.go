package handler

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
)

// This file is what the APIs of groups have in common: from a group's id to its shard, from an outcome to an answer.

// GroupCoordinator runs steps on the shards of __consumer_offsets that this broker leads; *coordinator.Runtime[*group.Shard] is one.
type GroupCoordinator interface {
	// Submit runs step on the partition's machine, on the calling goroutine; an error says that it did not run.
	Submit(partition int32, step func(s *group.Shard, now coordinator.Now) coordinator.Effects) error
	// Partitions are those that this broker leads.
	Partitions() []int32
}

// groupStep is one call at the machine of its group.
type groupStep func(s *group.Shard, now coordinator.Now, h coordinator.Handle) coordinator.Effects

// groupOperations is what anybody may do to a group where no authorizer is configured.
const groupOperations int32 = 1<<aclRead | 1<<aclDelete | 1<<aclDescribe | 1<<aclDescribeConfigs | 1<<aclAlterConfigs

// coordinated runs step at the coordinator of the group and answers the call with what comes of it, now or later. fail makes the answer
// that tells of an error.
func (h *Handler) coordinated(c Call, groupID string, fail func(*kerr.Error) kmsg.Response, step groupStep) {
	g := &coordinatedCall{answer: c.Reply, fail: fail}
	h.submit(groupID, g, step)
	g.settle(c.Park)
}

// submit runs step with g as its handle.
func (h *Handler) submit(groupID string, g coordinator.Handle, step groupStep) {
	err := h.Groups.Submit(h.groupPartition(groupID), func(s *group.Shard, now coordinator.Now) coordinator.Effects { return step(s, now, g) })
	if err != nil {
		g.Fail(err)
	}
}

// groupPartition is the partition of __consumer_offsets that a group lives on.
func (h *Handler) groupPartition(groupID string) int32 {
	n := int32(h.Config().Int("offsets.topic.num.partitions"))
	if t := h.Images().Topic(offsetsTopic); t != nil {
		n = int32(len(t.Partitions))
	}
	return coordinator.PartitionFor(groupID, n)
}

// client tells the machine who calls.
func (h *Handler) client(c Call) group.Client {
	cl := group.Client{Host: "/" + c.Conn().RemoteHost(), FreshID: randomUUID()}
	if id := c.Header().ClientID; id != nil {
		cl.ID = *id
	}
	return cl
}

// randomUUID is a version 4 UUID in the form of org.apache.kafka.common.Uuid.
func randomUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// coordinatedCall is a call that a machine answers, perhaps before the handler returns, perhaps much later on another goroutine.
type coordinatedCall struct {
	answer func(kmsg.Response)
	fail   func(*kerr.Error) kmsg.Response

	mu     sync.Mutex
	parked bool          // guarded by mu
	resp   kmsg.Response // guarded by mu: came before settle
}

// Complete implements coordinator.Handle.
func (g *coordinatedCall) Complete(resp kmsg.Response) {
	g.mu.Lock()
	if !g.parked {
		g.resp = resp
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	g.answer(resp)
}

// Fail implements coordinator.Handle.
func (g *coordinatedCall) Fail(err error) { g.Complete(g.fail(coordinatorError(err))) }

// settle is called by the handler at its end: it answers, or parks the call until the machine does.
func (g *coordinatedCall) settle(park func()) {
	g.mu.Lock()
	resp := g.resp
	if resp == nil {
		park()
		g.parked = true
	}
	g.mu.Unlock()
	if resp != nil {
		g.answer(resp)
	}
}

// coordinatorError is what a client is told of an error of the coordinator's runtime or of its log
// (CoordinatorOperationExceptionHelper.handleOperationException).
func coordinatorError(err error) *kerr.Error {
	switch {
	case errors.Is(err, coordinator.ErrLoading):
		return kerr.CoordinatorLoadInProgress
	case errors.Is(err, coordinator.ErrNotAvailable):
		return kerr.CoordinatorNotAvailable
	case errors.Is(err, coordinator.ErrNotCoordinator):
		return kerr.NotCoordinator
	}
	var k *kerr.Error
	if !errors.As(err, &k) {
		return kerr.UnknownServerError
	}
	switch k {
	case kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut:
		return kerr.CoordinatorNotAvailable
	case kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch:
		return kerr.NotCoordinator
	case kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidFetchSize:
		return kerr.UnknownServerError
	}
	return k
}

package handler

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
)

// FindCoordinator (key 10), versions 0 to 6.
//
//	v1 key types, message  v3 flexible  v4 several keys (KIP-699)  v5 nothing new here (KIP-890)  v6 share partitions (KIP-932)
//
// Seen on Apache 4.4: before v4 the message of a success is NONE; an unknown key type refuses every key with a message, a bad key of a share
// partition only itself, without. Deviations: a missing internal topic is made before the answer, where Kafka answers COORDINATOR_NOT_AVAILABLE
// and lets the client ask again.
func (h *Handler) findCoordinator(c Call) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	if !decode(c, req) {
		return
	}
	if req.Version < 4 {
		req.CoordinatorKeys = []string{req.CoordinatorKey}
	}
	topic, ok := coordinatorTopic(req.CoordinatorType)
	if !ok {
		text := kerr.InvalidRequest.Description
		h.replyCoordinators(c, req, func(string) coordinatorAt { return coordinatorAt{err: kerr.InvalidRequest, text: &text} })
		return
	}
	find := func(key string) coordinatorAt { return h.coordinatorOf(c, req, topic, key) }
	if h.Images().Topic(topic) != nil || len(req.CoordinatorKeys) == 0 || !validKey(req, req.CoordinatorKeys[0]) {
		h.replyCoordinators(c, req, find)
		return
	}
	c.Park()
	h.createInternal(topic, func() { h.replyCoordinators(c, req, find) })
}

// coordinatorAt is where a coordinator is, or why that is not known.
type coordinatorAt struct {
	node int32
	host string
	port int32
	err  *kerr.Error
	text *string
}

// Key types of FindCoordinator.
const (
	groupKey = 0
	txnKey   = 1
	shareKey = 2
)

func coordinatorTopic(keyType int8) (string, bool) {
	switch keyType {
	case groupKey:
		return offsetsTopic, true
	case txnKey:
		return txnStateTopic, true
	case shareKey:
		return shareStateTopic, true
	}
	return "", false
}

func (h *Handler) replyCoordinators(c Call, req *kmsg.FindCoordinatorRequest, find func(key string) coordinatorAt) {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	resp.Version = req.Version
	for _, key := range req.CoordinatorKeys {
		at := find(key)
		rc := kmsg.NewFindCoordinatorResponseCoordinator()
		rc.Key, rc.NodeID, rc.Host, rc.Port, rc.ErrorMessage = key, at.node, at.host, at.port, kmsg.StringPtr("")
		if at.err != nil {
			rc.NodeID, rc.Port, rc.ErrorCode = -1, -1, at.err.Code
		}
		if at.text != nil {
			rc.ErrorMessage = at.text
		}
		if req.Version >= 4 {
			resp.Coordinators = append(resp.Coordinators, rc)
			continue
		}
		resp.NodeID, resp.Host, resp.Port, resp.ErrorCode = rc.NodeID, rc.Host, rc.Port, rc.ErrorCode
		resp.ErrorMessage = kmsg.StringPtr("NONE")
		if at.err != nil {
			resp.ErrorMessage = &at.err.Description
		}
	}
	c.Reply(resp)
}

// validKey: share partitions are for v6 and up, and their key is group:topic id:partition (SharePartitionKey.validate).
func validKey(req *kmsg.FindCoordinatorRequest, key string) bool {
	if req.CoordinatorType != shareKey {
		return true
	}
	parts := strings.Split(key, ":")
	if req.Version < 6 || len(parts) < 3 {
		return false
	}
	id, number := parts[len(parts)-2], parts[len(parts)-1]
	if strings.TrimSpace(strings.Join(parts[:len(parts)-2], ":")) == "" || strings.TrimSpace(id) == "" {
		return false
	}
	if _, err := strconv.ParseInt(number, 10, 32); err != nil {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(id, "="))
	return err == nil && len(raw) == 16
}

// coordinatorOf finds the leader of the key's partition.
func (h *Handler) coordinatorOf(c Call, req *kmsg.FindCoordinatorRequest, topic, key string) coordinatorAt {
	if !validKey(req, key) {
		return coordinatorAt{err: kerr.InvalidRequest}
	}
	missing := coordinatorAt{err: kerr.CoordinatorNotAvailable}
	img := h.Images()
	t := img.Topic(topic)
	if t == nil {
		return missing
	}
	p := t.Partition(coordinator.PartitionFor(key, int32(len(t.Partitions))))
	if p == nil || p.Leader < 0 {
		return missing
	}
	b := img.Broker(p.Leader)
	if b == nil || b.Fenced {
		return missing
	}
	v := h.viewpoint(c.Conn())
	e, ok := v.endpoint(b)
	if !ok {
		return missing
	}
	return coordinatorAt{node: b.ID, host: e.Host, port: int32(e.Port)}
}

// createInternal makes an internal topic and then goes on. That it could not be made is for the log: the client is told that the coordinator
// is not available, and asks again.
func (h *Handler) createInternal(topic string, then func()) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.TimeoutMillis = autoCreateTimeoutMs
	req.Topics = append(req.Topics, topicToCreate(topic, h.Config()))
	h.Controller.CreateTopics(req, func(resp *kmsg.CreateTopicsResponse) {
		for _, t := range resp.Topics {
			if err := kerr.ErrorForCode(t.ErrorCode); err != nil && t.ErrorCode != kerr.TopicAlreadyExists.Code {
				e := h.Log.Warn().Err(err).Str("topic", topic)
				if t.ErrorMessage != nil {
					e = e.Str("reason", *t.ErrorMessage)
				}
				e.Msg("internal topic cannot be created; coordinators are not available")
			}
		}
		then()
	})
}

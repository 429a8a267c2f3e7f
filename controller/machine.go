package controller

import (
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// machine decides: command in, records and answer out. It has no clock, no disk and no goroutine. Its image is ahead of the published
// one by the records that are proposed and not committed yet, so that the next command builds on them.
type machine struct {
	nodeID int32
	static *config.Static
	self   *Options // registration and endpoints of this node

	img   *metadata.Image
	next  int64 // offset of the next record
	epoch int32 // leader epoch
	now   int64 // wall clock of the command at hand, milliseconds

	random func() uint64

	resolver       *config.Resolver  // of the broker settings in img; nil: to be made
	collisionNames map[string]string // topics with . or _ in their names, by the name with . read as _; nil: to be made
}

func newMachine(o *Options, img *metadata.Image, next int64) *machine {
	return &machine{nodeID: o.NodeID, static: o.Static, self: o, img: img, next: next, random: o.Random}
}

// becomeLeader starts an epoch, whose first record, the LeaderChange, is already in the log.
func (m *machine) becomeLeader(epoch int32) {
	m.epoch = epoch
	m.next++
}

// apply moves the image on by records that will be at the next offsets.
func (m *machine) apply(records []versioned) *metadata.Delta {
	msgs := make([]record.Message, 0, len(records))
	for _, r := range records {
		switch r.Message.(type) {
		case *record.BeginTransactionRecord, *record.EndTransactionRecord, *record.AbortTransactionRecord, *record.NoOpRecord:
		default:
			msgs = append(msgs, r.Message)
		}
	}
	m.next += int64(len(records))
	img, delta, err := m.img.Apply(msgs, m.next-1, m.epoch)
	if err != nil {
		invariant.Failf("own records do not apply at offset %d: %v", m.next-1, err)
	}
	m.img = img
	for res := range delta.Configs {
		if res.Type == metadata.ResourceBroker {
			m.resolver = nil
		}
	}
	return delta
}

// at gives a record the version of the current metadata.version.
func (m *machine) at(msg record.Message) versioned {
	return versioned{msg, record.VersionAt(msg, m.img.MetadataVersion())}
}

// brokerConfig is this node's effective configuration.
func (m *machine) brokerConfig() *config.Resolver {
	if m.resolver == nil {
		m.resolver = config.Broker(m.static, m.img.Config(metadata.ResourceBroker, ""), m.img.Config(metadata.ResourceBroker, strconv.Itoa(int(m.nodeID))))
	}
	return m.resolver
}

// topicConfig is the effective view of a topic's settings.
func (m *machine) topicConfig(topic string) config.TopicView {
	return config.TopicOf(m.brokerConfig(), m.img.Config(metadata.ResourceTopic, topic))
}

// newID makes a topic id as Kafka does: random, never one that its base64 form begins with a dash, never one of the reserved ids.
func (m *machine) newID() (id [16]byte) {
	for {
		for i := 0; i < 16; i += 8 {
			v := m.random()
			for j := range 8 {
				id[i+j] = byte(v >> (8 * j))
			}
		}
		id[6] = id[6]&0x0f | 0x40 // version 4
		id[8] = id[8]&0x3f | 0x80 // variant 1
		if id[0]>>2 == 62 {       // base64url digit 62 is the dash
			continue
		}
		if m.img.TopicByID(id) == nil {
			return id
		}
	}
}

// apiError is a code with the message that Kafka's clients get; the zero value is success.
type apiError struct {
	code    int16
	message string
	none    bool // no message goes out
}

func fail(err *kerr.Error, message string) apiError {
	return apiError{code: err.Code, message: message}
}

// failBare is an error without a message.
func failBare(err *kerr.Error) apiError { return apiError{code: err.Code, none: true} }

// failDefault is an error with the text that Kafka's Errors gives it.
func failDefault(err *kerr.Error) apiError {
	return apiError{code: err.Code, message: defaultMessage(err)}
}

func (e apiError) failed() bool { return e.code != 0 }

// text is the message field: null for success.
func (e apiError) text() *string {
	if e.code == 0 || e.none {
		return nil
	}
	return &e.message
}

// defaultMessage is the text of org.apache.kafka.common.protocol.Errors where clients see it.
func defaultMessage(err *kerr.Error) string {
	switch err {
	case kerr.UnknownTopicOrPartition:
		return "This server does not host this topic-partition."
	case kerr.UnknownTopicID:
		return "This server does not host this topic ID."
	case kerr.NotController:
		return "This is not the correct controller for this cluster."
	case kerr.RequestTimedOut:
		return "The request timed out."
	case kerr.TopicDeletionDisabled:
		return "Topic deletion is disabled."
	case kerr.ElectionNotNeeded:
		return "Leader election not needed for topic partition."
	case kerr.NoReassignmentInProgress:
		return "No partition reassignment is in progress."
	}
	return err.Description
}

// configError turns a refusal of package config into an answer.
func configError(err error) apiError {
	if err == nil {
		return apiError{}
	}
	var v *config.InvalidValueError
	if errors.As(err, &v) {
		return apiError{code: v.Code, message: v.Message}
	}
	return fail(kerr.InvalidConfig, err.Error())
}

package record

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// Message is a key or a value: one of the structs in zz_generated.go, by pointer.
type Message interface {
	// APIKey is the record's type; a key and a value of one type belong together.
	APIKey() int16
	// RecordName is Kafka's name of it, e.g. OffsetCommitValue.
	RecordName() string
	// VersionRange is the range of versions that can be written and read.
	VersionRange() (lo, hi int16)
	// AppendTo appends the body, without the number in front. Fields that the version lacks are left out.
	AppendTo(dst []byte, version int16) []byte
	readFrom(r *kbin.Reader, version int16)
}

// Topic says which of the internal topics a record is on: each numbers its types from 0.
type Topic int8

// The internal topics.
const (
	GroupTopic Topic = iota // __consumer_offsets
	TxnTopic                // __transaction_state
	ShareTopic              // __share_group_state
)

// ErrMalformed is in every error of the readers but ErrUnknownType.
var ErrMalformed = errors.New("malformed record of an internal topic")

// ErrUnknownType is for a type that Kafka 4.4 does not have. A later Kafka may have written it: loading skips such a record.
var ErrUnknownType = errors.New("unknown record type of an internal topic")

// AppendKey appends a record's key: type int16 | body. Keys have one version.
func AppendKey(dst []byte, key Message) []byte {
	dst = kbin.AppendInt16(dst, key.APIKey())
	return key.AppendTo(dst, 0)
}

// AppendValue appends a record's value: version int16 | body.
func AppendValue(dst []byte, value Message, version int16) []byte {
	dst = kbin.AppendInt16(dst, version)
	return value.AppendTo(dst, version)
}

// ReadKey reads a record's key. It shares no memory with b.
func ReadKey(t Topic, b []byte) (Message, error) {
	r := kbin.Reader{Src: b}
	typ := r.Int16()
	if !r.Ok() {
		return nil, fmt.Errorf("%w: a key of %d bytes", ErrMalformed, len(b))
	}
	msg := newKey(t, typ)
	if msg == nil {
		return nil, fmt.Errorf("%w: %d", ErrUnknownType, typ)
	}
	return msg, readBody(r.Src, msg, 0)
}

// ReadValue reads the value of a record whose key was of the given type, and the version it was written in. It shares no memory with b.
func ReadValue(t Topic, typ int16, b []byte) (Message, int16, error) {
	r := kbin.Reader{Src: b}
	version := r.Int16()
	if !r.Ok() {
		return nil, 0, fmt.Errorf("%w: a value of %d bytes", ErrMalformed, len(b))
	}
	msg := newValue(t, typ)
	if msg == nil {
		return nil, version, fmt.Errorf("%w: %d", ErrUnknownType, typ)
	}
	return msg, version, readBody(r.Src, msg, version)
}

// readBody leaves alone what may come after the body, as Kafka does here.
func readBody(b []byte, msg Message, version int16) error {
	if lo, hi := msg.VersionRange(); version < lo || version > hi {
		return fmt.Errorf("%w: %s has no version %d", ErrMalformed, msg.RecordName(), version)
	}
	r := kbin.Reader{Src: b}
	msg.readFrom(&r, version)
	if !r.Ok() {
		return fmt.Errorf("%w: %s version %d in %d bytes", ErrMalformed, msg.RecordName(), version, len(b))
	}
	return nil
}

func newKey(t Topic, typ int16) Message {
	switch t {
	case GroupTopic:
		return newGroupKey(typ)
	case TxnTopic:
		return newTxnKey(typ)
	case ShareTopic:
		return newShareKey(typ)
	}
	return nil
}

func newValue(t Topic, typ int16) Message {
	switch t {
	case GroupTopic:
		return newGroupValue(typ)
	case TxnTopic:
		return newTxnValue(typ)
	case ShareTopic:
		return newShareValue(typ)
	}
	return nil
}

package record

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// Message is a record: one of the structs in zz_generated.go, by pointer.
type Message interface {
	// APIKey is the record's type, -1 for the bodies of control records.
	APIKey() int16
	// RecordName is Kafka's name of it, e.g. PartitionRecord.
	RecordName() string
	// VersionRange is the range of versions that can be written and read.
	VersionRange() (lo, hi int16)
	// AppendTo appends the body, without a frame. Fields that the version lacks are left out.
	AppendTo(dst []byte, version int16) []byte
	readFrom(r *kbin.Reader, version int16)
}

// frameVersion is the only framing that Kafka writes: org.apache.kafka.server.common.serialization.AbstractApiMessageSerde.
const frameVersion = 1

// ErrMalformed is in every error of Read and ReadBody.
var ErrMalformed = errors.New("malformed metadata record")

// Append appends the value of a record of the metadata log:
//
//	frame version uvarint | type uvarint | version uvarint | body
func Append(dst []byte, msg Message, version int16) []byte {
	dst = kbin.AppendUvarint(dst, frameVersion)
	dst = kbin.AppendUvarint(dst, uint32(msg.APIKey()))
	dst = kbin.AppendUvarint(dst, uint32(version))
	return msg.AppendTo(dst, version)
}

// Read reads the value of a record of the metadata log. The message shares no memory with b.
func Read(b []byte) (Message, int16, error) {
	r := kbin.Reader{Src: b}
	frame, key, version := r.Uvarint(), r.Uvarint(), r.Uvarint()
	if !r.Ok() {
		return nil, 0, fmt.Errorf("%w: %d bytes hold no frame", ErrMalformed, len(b))
	}
	if frame != frameVersion {
		return nil, 0, fmt.Errorf("%w: frame version %d", ErrMalformed, frame)
	}
	if key > maxKey || New(int16(key)) == nil {
		return nil, 0, fmt.Errorf("%w: unknown type %d", ErrMalformed, key)
	}
	msg := New(int16(key))
	if _, hi := msg.VersionRange(); version > uint32(hi) {
		return nil, 0, fmt.Errorf("%w: %s has no version %d", ErrMalformed, msg.RecordName(), version)
	}
	return msg, int16(version), ReadBody(r.Src, msg, int16(version))
}

// maxKey bounds the type before it is narrowed; Kafka 4.4 has 0 to 29.
const maxKey = 1 << 14

// ReadBody reads a body without a frame into msg, as the control records of the log have it. Bytes left over are an error.
func ReadBody(b []byte, msg Message, version int16) error {
	if lo, hi := msg.VersionRange(); version < lo || version > hi {
		return fmt.Errorf("%w: %s has no version %d", ErrMalformed, msg.RecordName(), version)
	}
	r := kbin.Reader{Src: b}
	msg.readFrom(&r, version)
	if !r.Ok() {
		return fmt.Errorf("%w: %s version %d in %d bytes", ErrMalformed, msg.RecordName(), version, len(b))
	}
	if len(r.Src) > 0 {
		return fmt.Errorf("%w: %d bytes after %s version %d", ErrMalformed, len(r.Src), msg.RecordName(), version)
	}
	return nil
}

// New returns an empty record of a type, nil when there is none. The defaults are not set; see the New… constructors for that.
func New(key int16) Message { return newMetadata(key) }

// Versions of the metadata feature at which a record got a new version: org.apache.kafka.server.common.MetadataVersion.
const (
	brokerFencingMigration = 8  // 3.4-IV0
	directoryAssignment    = 17 // 3.7-IV2
	eligibleLeaderReplicas = 23 // 4.0-IV1
	cordonedLogDirs        = 30 // 4.3-IV0
)

// VersionAt is the version that Kafka 4.4 writes a record in at a metadata.version. (A BrokerRegistrationChangeRecord is written in the
// least version that has its fields, whatever the metadata.version: the controller sets only what that allows.)
func VersionAt(msg Message, metadataVersion int16) int16 {
	switch m := msg.(type) {
	case *RegisterBrokerRecord:
		switch {
		case metadataVersion >= cordonedLogDirs:
			return 4
		case metadataVersion >= directoryAssignment:
			return 3
		case metadataVersion >= brokerFencingMigration:
			return 2
		}
		return 1
	case *BrokerRegistrationChangeRecord:
		switch {
		case m.CordonedLogDirs != nil:
			return 3
		case len(m.LogDirs) > 0:
			return 2
		case m.InControlledShutdown != 0:
			return 1
		}
	case *PartitionRecord, *PartitionChangeRecord:
		switch {
		case metadataVersion >= eligibleLeaderReplicas:
			return 2
		case metadataVersion >= directoryAssignment:
			return 1
		}
	}
	return 0
}

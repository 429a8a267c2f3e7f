package record

import "github.com/twmb/franz-go/pkg/kbin"

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

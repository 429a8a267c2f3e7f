package tool

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/kaja-mq/kaja/protocol/batch"
)

// recordParser renders a record's key and value; nil for what is not printed. An error ends the tool.
type recordParser interface {
	parse(rec *batch.Record) (key, value []byte, err error)
}

// plainParser is Kafka's Decoder classes.
type plainParser struct{ key, value func([]byte) ([]byte, error) }

func (p plainParser) parse(rec *batch.Record) (key, value []byte, err error) {
	if rec.Key != nil {
		if key, err = p.key(rec.Key); err != nil {
			return nil, nil, err
		}
	}
	if rec.Value != nil {
		value, err = p.value(rec.Value)
	}
	return key, value, err
}

// decoderOf finds one of org.apache.kafka.tools.api's decoders.
func decoderOf(class string) (func([]byte) ([]byte, error), bool) {
	switch strings.TrimPrefix(class, "org.apache.kafka.tools.api.") {
	case "StringDecoder":
		return func(b []byte) ([]byte, error) { return []byte(javaString(b)), nil }, true
	case "IntegerDecoder":
		return func(b []byte) ([]byte, error) { return intDecoder(b, 4) }, true
	case "LongDecoder":
		return func(b []byte) ([]byte, error) { return intDecoder(b, 8) }, true
	case "DefaultDecoder": // an array of bytes as Java names it, but for the address
		return func([]byte) ([]byte, error) { return []byte("[B@0"), nil }, true
	}
	return nil, false
}

func intDecoder(b []byte, size int) ([]byte, error) {
	if len(b) < size {
		return nil, &exception{"java.nio.BufferUnderflowException", ""}
	}
	if size == 4 {
		return strconv.AppendInt([]byte{}, int64(int32(binary.BigEndian.Uint32(b))), 10), nil
	}
	return strconv.AppendInt([]byte{}, int64(binary.BigEndian.Uint64(b)), 10), nil
}

// coordinatorParser reads the records of __consumer_offsets, __transaction_state and __share_group_state.
type coordinatorParser struct {
	family  string
	schemas *schemas
	keys    map[int16][2]*schema // by type: key and value
	buf     []byte
}

func newCoordinatorParser(s *schemas, family string) *coordinatorParser {
	p := &coordinatorParser{family: family, schemas: s, keys: map[int16][2]*schema{}}
	for _, r := range s.byName {
		if r.family != family {
			continue
		}
		pair := p.keys[r.key]
		if strings.HasSuffix(r.name, "Key") {
			pair[0] = r
		} else {
			pair[1] = r
		}
		p.keys[r.key] = pair
	}
	return p
}

func (p *coordinatorParser) parse(rec *batch.Record) (key, value []byte, err error) {
	if rec.Key == nil {
		return nil, nil, &exception{"java.lang.RuntimeException",
			fmt.Sprintf("Failed to decode message at offset %d using the specified decoder (message had a missing key)", rec.Offset)}
	}
	if len(rec.Key) < 2 {
		return skipped(rec.Offset, "Could not read version from key's buffer."), nil, nil
	}
	kind := int16(binary.BigEndian.Uint16(rec.Key))
	pair, ok := p.keys[kind]
	if !ok {
		return fmt.Appendf(nil, "Unknown record type %d at offset %d, skipping.", kind, rec.Offset), nil, nil
	}
	dst := append(p.buf[:0], `{"type":"`...)
	dst = append(strconv.AppendInt(dst, int64(kind), 10), `","data":`...)
	r := recordReader{data: rec.Key[2:]}
	dst = append(r.appendRecord(dst, pair[0], 0), '}')
	if r.err != nil {
		return skipped(rec.Offset, fmt.Sprintf("Could not read record with version %d from key's buffer due to: %v.", kind, r.err)), nil, nil
	}
	split := len(dst)
	if rec.Value == nil {
		dst = append(dst, "<DELETE>"...)
	} else if dst, err = p.appendValue(dst, pair[1], rec.Value); err != nil {
		return skipped(rec.Offset, err.Error()), nil, nil
	}
	p.buf = dst
	return dst[:split:split], dst[split:], nil
}

func skipped(offset int64, why string) []byte {
	return fmt.Appendf(nil, "Error at offset %d, skipping. %s", offset, why)
}

func (p *coordinatorParser) appendValue(dst []byte, s *schema, value []byte) ([]byte, error) {
	if len(value) < 2 {
		return dst, thrown(classRuntime, "Could not read version from value's buffer.")
	}
	version := int16(binary.BigEndian.Uint16(value))
	if !s.valid.has(version) {
		return dst, thrown(classRuntime, "Could not read record with version %d from value's buffer due to: Can't read version %d of %s.", version, version, s.name)
	}
	dst = append(dst, `{"version":"`...)
	dst = append(strconv.AppendInt(dst, int64(version), 10), `","data":`...)
	r := recordReader{data: value[2:]}
	switch s.name {
	case "GroupMetadataValue":
		p.readMembers(&r)
	case "TransactionLogValue":
		r.text = transactionStatus
	}
	dst = append(r.appendRecord(dst, s, version), '}')
	if r.err != nil {
		return dst, thrown(classRuntime, "Could not read record with version %d from value's buffer due to: %v.", version, r.err)
	}
	return dst, nil
}

// readMembers makes the subscriptions and assignments of members readable if they speak the consumer protocol.
func (p *coordinatorParser) readMembers(r *recordReader) {
	consumer := false
	r.text = func(field string, json []byte) ([]byte, bool) {
		if field == "protocolType" {
			consumer = string(json) == `"consumer"`
		}
		return nil, false
	}
	r.embedded = func(field string, value []byte) ([]byte, bool) {
		name := map[string]string{"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}[field]
		if !consumer || name == "" || len(value) < 2 {
			return nil, false
		}
		inner := recordReader{data: value[2:]}
		json := inner.appendRecord(nil, p.schemas.byName[name], int16(binary.BigEndian.Uint16(value)))
		return json, inner.err == nil
	}
}

// transactionStatus names the state of a transaction.
func transactionStatus(field string, json []byte) ([]byte, bool) {
	names := []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}
	n, err := strconv.Atoi(string(json))
	if field != "transactionStatus" || err != nil || n < 0 || n >= len(names) {
		return nil, false
	}
	return []byte(`"` + names[n] + `"`), true
}

// metadataParser reads the records of __cluster_metadata.
type metadataParser struct {
	records map[int16]*schema
	names   map[int16]string // as Kafka's enum has them
	buf     []byte
}

func newMetadataParser(s *schemas) *metadataParser {
	p := &metadataParser{records: map[int16]*schema{}, names: map[int16]string{}}
	for _, r := range s.byName {
		if r.family == "metadata" {
			p.records[r.key], p.names[r.key] = r, snakeUpper(r.name)
		}
	}
	return p
}

// snakeUpper turns NoOpRecord into NO_OP_RECORD.
func snakeUpper(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(c))
	}
	return b.String()
}

func (p *metadataParser) parse(rec *batch.Record) (key, value []byte, err error) {
	if p.buf, err = p.appendRecord(p.buf[:0], rec.Value); err != nil {
		return nil, fmt.Appendf(nil, "Error at %d, skipping. %v", rec.Offset, err), nil
	}
	return nil, p.buf, nil
}

func (p *metadataParser) appendRecord(dst, value []byte) ([]byte, error) {
	r := recordReader{data: value}
	frame, kind, version := r.uvarint(), int16(r.uvarint()), int16(r.uvarint())
	s, known := p.records[kind]
	switch {
	case r.err != nil:
		return dst, thrown(classRuntime, "Error while reading frame version")
	case frame == 0:
		return dst, thrown(classRuntime, "Could not deserialize metadata record with frame version 0. "+
			"Note that upgrades from the preview release of KRaft in 2.8 to newer versions are not supported.")
	case frame != 1:
		return dst, thrown(classRuntime, "Could not deserialize metadata record due to unknown frame version %d(only frame version 1 is supported)", frame)
	case !known:
		return dst, thrown(classRuntime, "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id %d", kind)
	case !s.valid.has(version):
		return dst, thrown(classRuntime, "Can't read version %d of %s", version, s.name)
	}
	dst = append(append(append(dst, `{"type":"`...), p.names[kind]...), `","version":`...)
	dst = append(strconv.AppendInt(dst, int64(version), 10), `,"data":`...)
	dst = append(r.appendRecord(dst, s, version), '}')
	switch {
	case r.err != nil:
		return dst, thrown(classRuntime, "Failed to deserialize record with type %d", kind)
	case len(r.data) > 0:
		return dst, thrown(classRuntime, "Found %d byte(s) of garbage after record", len(r.data))
	}
	return dst, nil
}

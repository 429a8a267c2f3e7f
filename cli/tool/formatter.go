package tool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/coordinator/record"
)

const (
	consumerPackage       = "org.apache.kafka.tools.consumer."
	defaultFormatterClass = consumerPackage + "DefaultMessageFormatter"
)

// formatter prints records as one of Kafka's MessageFormatters.
type formatter interface {
	// write prints a record; nothing but out's own failures may come out in parts.
	write(out *bufio.Writer, r *kgo.Record) error
}

// newFormatter finds a formatter by the name of its class. warn gets what Kafka's class logs while it is configured.
func newFormatter(class string, props map[string]string, warn func(msg string, err error)) (formatter, error) {
	name, ok := strings.CutPrefix(class, consumerPackage)
	if ok {
		switch name {
		case "DefaultMessageFormatter", "LoggingMessageFormatter": // what the latter logs is below what the tools show
			return newTextFormatter(props, warn), nil
		case "NoOpMessageFormatter":
			return silentFormatter{}, nil
		case "OffsetsMessageFormatter":
			return newRecordFormatter(record.GroupTopic, 0, 1), nil
		case "GroupMetadataMessageFormatter":
			return newRecordFormatter(record.GroupTopic, 2), nil
		case "ShareGroupMessageFormatter":
			return newRecordFormatter(record.GroupTopic, shareGroupRecordTypes...), nil
		case "TransactionLogMessageFormatter":
			return newRecordFormatter(record.TxnTopic), nil
		case "group.share.ShareGroupStateMessageFormatter":
			return newRecordFormatter(record.ShareTopic), nil
		}
	}
	return nil, thrown("java.lang.ClassNotFoundException", "%s", class)
}

// silentFormatter prints nothing.
type silentFormatter struct{}

func (silentFormatter) write(*bufio.Writer, *kgo.Record) error { return nil }

// textFormatter prints chosen columns: DefaultMessageFormatter.
type textFormatter struct {
	timestamp, partition, offset, delivery, epoch, headers, key, value bool

	keySeparator, lineSeparator, headersSeparator, nullLiteral []byte
	printKey, printValue, printHeader                          deserializer // nil for the bytes as they are
}

func newTextFormatter(props map[string]string, warn func(msg string, err error)) *textFormatter {
	is := func(name string, def bool) bool {
		if v, ok := props[name]; ok {
			return javaTrue(v)
		}
		return def
	}
	text := func(name, def string) []byte {
		if v, ok := props[name]; ok {
			def = v
		}
		return []byte(def)
	}
	printer := func(name string) deserializer {
		class, ok := props[name]
		if !ok {
			return nil
		}
		d, err := newDeserializer(class)
		if err != nil {
			warn("Unable to instantiate a deserializer from "+class, err)
		}
		return d
	}
	return &textFormatter{
		timestamp: is("print.timestamp", false), partition: is("print.partition", false), offset: is("print.offset", false),
		delivery: is("print.delivery", false), epoch: is("print.epoch", false), headers: is("print.headers", false),
		key: is("print.key", false), value: is("print.value", true),
		keySeparator: text("key.separator", "\t"), lineSeparator: text("line.separator", "\n"),
		headersSeparator: text("headers.separator", ","), nullLiteral: text("null.literal", "null"),
		printKey: printer("key.deserializer"), printValue: printer("value.deserializer"), printHeader: printer("headers.deserializer"),
	}
}

// column is one of a record's, in the order of print.
type column struct {
	on    bool
	print func(out *bufio.Writer, r *kgo.Record) error
}

func (f *textFormatter) write(out *bufio.Writer, r *kgo.Record) error {
	columns := [...]column{
		{f.timestamp, writeTimestamp},
		{f.partition, func(out *bufio.Writer, r *kgo.Record) error {
			return writeStrings(out, "Partition:", strconv.Itoa(int(r.Partition)))
		}},
		{f.offset, func(out *bufio.Writer, r *kgo.Record) error {
			return writeStrings(out, "Offset:", strconv.FormatInt(r.Offset, 10))
		}},
		{f.delivery, func(out *bufio.Writer, _ *kgo.Record) error { return writeStrings(out, "Delivery:NOT_PRESENT") }},
		// The console consumer hands on records without their epoch.
		{f.epoch, func(out *bufio.Writer, _ *kgo.Record) error { return writeStrings(out, "Epoch:NOT_PRESENT") }},
		{f.headers, f.writeHeaders},
		{f.key, func(out *bufio.Writer, r *kgo.Record) error { return f.writeBytes(out, f.printKey, r.Key) }},
		{f.value, func(out *bufio.Writer, r *kgo.Record) error { return f.writeBytes(out, f.printValue, r.Value) }},
	}
	last := -1
	for i := range columns {
		if columns[i].on {
			last = i
		}
	}
	for i := range columns {
		if !columns[i].on {
			continue
		}
		if err := columns[i].print(out, r); err != nil {
			return err
		}
		separator := f.keySeparator
		if i == last {
			separator = f.lineSeparator
		}
		if _, err := out.Write(separator); err != nil {
			return err
		}
	}
	return nil
}

func writeStrings(out *bufio.Writer, parts ...string) error {
	for _, s := range parts {
		if _, err := out.WriteString(s); err != nil {
			return err
		}
	}
	return nil
}

func writeTimestamp(out *bufio.Writer, r *kgo.Record) error {
	kind := "CreateTime:"
	switch r.Attrs.TimestampType() {
	case 1:
		kind = "LogAppendTime:"
	case -1:
		return writeStrings(out, "NO_TIMESTAMP")
	}
	return writeStrings(out, kind, strconv.FormatInt(r.Timestamp.UnixMilli(), 10))
}

func (f *textFormatter) writeHeaders(out *bufio.Writer, r *kgo.Record) error {
	if len(r.Headers) == 0 {
		return writeStrings(out, "NO_HEADERS")
	}
	for i, h := range r.Headers {
		if err := writeStrings(out, h.Key, ":"); err != nil {
			return err
		}
		if err := f.writeBytes(out, f.printHeader, h.Value); err != nil {
			return err
		}
		if i < len(r.Headers)-1 {
			if _, err := out.Write(f.headersSeparator); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeBytes prints null as its literal; as in Kafka, a deserializer gets to see that literal too.
func (f *textFormatter) writeBytes(out *bufio.Writer, d deserializer, b []byte) error {
	if b == nil {
		b = f.nullLiteral
	}
	if d == nil {
		_, err := out.Write(b)
		return err
	}
	s, err := d(b)
	if err != nil {
		return err
	}
	return writeStrings(out, s)
}

// recordFormatter prints records of an internal topic as JSON, without line ends.
type recordFormatter struct {
	schemas *schemas
	topic   record.Topic
	types   []int16 // that are printed; none means all
}

// shareGroupRecordTypes are those of share groups, from ShareGroupMemberMetadata to ShareGroupStatePartitionMetadata.
var shareGroupRecordTypes = []int16{10, 11, 12, 13, 14, 15}

func newRecordFormatter(topic record.Topic, types ...int16) *recordFormatter {
	return &recordFormatter{loadSchemas(), topic, types}
}

func (f *recordFormatter) write(out *bufio.Writer, r *kgo.Record) error {
	json, err := f.json(r)
	if err != nil {
		return thrown(classRuntime, "Could not read record at offset %d due to: %s", r.Offset, err.Error())
	}
	_, err = out.Write(json)
	return err
}

var errShortRecord = errors.New("record is too short")

// json is nil for a record that is not printed: without a key, of another type or of one that is not known.
func (f *recordFormatter) json(r *kgo.Record) ([]byte, error) {
	if r.Key == nil {
		return nil, nil
	}
	if len(r.Key) < 2 {
		return nil, errShortRecord
	}
	typ := int16(binary.BigEndian.Uint16(r.Key))
	family := [...]string{record.GroupTopic: "group", record.TxnTopic: "txn", record.ShareTopic: "share"}[f.topic]
	key := f.schemas.keyed(family, typ, "Key")
	if key == nil || !f.prints(typ) {
		return nil, nil
	}
	reader := recordReader{data: r.Key[2:]}
	json := append([]byte(`{"key":{"type":`), strconv.Itoa(int(typ))...)
	json = append(json, `,"data":`...)
	json = reader.appendRecord(json, key, 0)
	if reader.err != nil {
		return nil, reader.err
	}
	if r.Value == nil {
		return append(json, `},"value":null}`...), nil
	}
	if len(r.Value) < 2 {
		return nil, errShortRecord
	}
	version := int16(binary.BigEndian.Uint16(r.Value))
	value := f.schemas.keyed(family, typ, "Value")
	if value == nil || !value.valid.has(version) {
		return nil, thrown(classRuntime, "Unknown record version %d", version)
	}
	reader = recordReader{data: r.Value[2:]}
	if f.topic == record.TxnTopic {
		reader.text = transactionStatusName
	}
	json = append(json, `},"value":{"version":`...)
	json = strconv.AppendInt(json, int64(version), 10)
	json = append(json, `,"data":`...)
	json = reader.appendRecord(json, value, version)
	return append(json, `}}`...), reader.err
}

func (f *recordFormatter) prints(typ int16) bool {
	if len(f.types) == 0 {
		return true
	}
	for _, t := range f.types {
		if t == typ {
			return true
		}
	}
	return false
}

// transactionStatusName puts the state's name in the place of its number, as a string.
func transactionStatusName(field string, json []byte) ([]byte, bool) {
	if field != "transactionStatus" {
		return nil, false
	}
	names := [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}
	n, err := strconv.Atoi(string(json))
	if err != nil || n < 0 || n >= len(names) {
		return strconv.AppendQuote(nil, string(json)), true
	}
	return strconv.AppendQuote(nil, names[n]), true
}

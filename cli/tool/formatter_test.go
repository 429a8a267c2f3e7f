package tool

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/coordinator/record"
)

func formatted(t *testing.T, class string, props map[string]string, r *kgo.Record) string {
	t.Helper()
	var warned []string
	f, err := newFormatter(class, props, func(msg string, err error) { warned = append(warned, msg+": "+javaToString(err)) })
	if err != nil {
		return javaToString(err)
	}
	var s strings.Builder
	w := bufio.NewWriter(&s)
	if err := f.write(w, r); err != nil {
		return javaToString(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(warned, s.String()), "|")
}

func TestTextFormatter(t *testing.T) {
	f := func(r kgo.Record, want string, props ...string) {
		t.Helper()
		m := make(map[string]string)
		for _, p := range props {
			k, v, _ := strings.Cut(p, "=")
			m[k] = v
		}
		if got := formatted(t, defaultFormatterClass, m, &r); got != want {
			t.Errorf("%v: got %q, want %q", props, got, want)
		}
	}
	r := kgo.Record{Topic: "t", Partition: 1, Offset: 7, Timestamp: time.UnixMilli(12), Key: []byte("k"), Value: []byte("v"),
		Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}, {Key: "n"}}}
	all := []string{"print.timestamp=true", "print.partition=true", "print.offset=true", "print.delivery=true", "print.epoch=true", "print.headers=true", "print.key=true"}
	f(r, "v\n")
	f(r, "CreateTime:12\tPartition:1\tOffset:7\tDelivery:NOT_PRESENT\tEpoch:NOT_PRESENT\th:x,n:null\tk\tv\n", all...)
	f(r, "k;", "print.key=true", "print.value=false", "line.separator=;")
	f(r, "h:x+n:0-k\n", "print.headers=true", "print.key=true", "print.value=no", "key.separator=-", "headers.separator=+", "null.literal=0")
	f(r, "", "print.value=false")
	f(kgo.Record{}, "NO_HEADERS\tnull\tnull\n", "print.headers=true", "print.key=true")
	f(r, "org.apache.kafka.common.errors.SerializationException: Size of data received by LongDeserializer is not 8",
		"value.deserializer=org.apache.kafka.common.serialization.LongDeserializer")
	f(r, "Unable to instantiate a deserializer from foo.Bar: java.lang.ClassNotFoundException: foo.Bar|v\n", "value.deserializer=foo.Bar")
}

func TestFormatterClasses(t *testing.T) {
	f := func(class, want string) {
		t.Helper()
		if got := formatted(t, class, nil, &kgo.Record{Value: []byte("v")}); got != want {
			t.Errorf("%s: got %q, want %q", class, got, want)
		}
	}
	f(consumerPackage+"LoggingMessageFormatter", "v\n")
	f(consumerPackage+"NoOpMessageFormatter", "")
	f(consumerPackage+"OffsetsMessageFormatter", "") // a record without a key
	f("foo.Bar", "java.lang.ClassNotFoundException: foo.Bar")
	f(consumerPackage+"Foo", "java.lang.ClassNotFoundException: "+consumerPackage+"Foo")
}

func TestRecordFormatter(t *testing.T) {
	f := func(name string, key, value []byte, want string) {
		t.Helper()
		if got := formatted(t, consumerPackage+name, nil, &kgo.Record{Key: key, Value: value, Offset: 5}); got != want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, want)
		}
	}
	offsetKey := record.AppendKey(nil, &record.OffsetCommitKey{Group: "g", Topic: "t", Partition: 2})
	offset := record.AppendValue(nil, &record.OffsetCommitValue{Offset: 1, LeaderEpoch: -1, CommitTimestamp: 9, TopicID: [16]byte{1}}, 4)
	f("OffsetsMessageFormatter", offsetKey, offset,
		`{"key":{"type":1,"data":{"group":"g","topic":"t","partition":2}},"value":{"version":4,"data":{"offset":1,"leaderEpoch":-1,"metadata":"","commitTimestamp":9,"topicId":"AQAAAAAAAAAAAAAAAAAAAA"}}}`)
	f("OffsetsMessageFormatter", offsetKey, nil, `{"key":{"type":1,"data":{"group":"g","topic":"t","partition":2}},"value":null}`)
	f("GroupMetadataMessageFormatter", offsetKey, offset, "")
	f("OffsetsMessageFormatter", []byte{9, 9}, nil, "") // a type of a later Kafka

	txnKey := record.AppendKey(nil, &record.TransactionLogKey{TransactionalID: "x"})
	txn := record.NewTransactionLogValue()
	txn.ProducerID, txn.TransactionStatus = 3, 1
	f("TransactionLogMessageFormatter", txnKey, record.AppendValue(nil, txn, 0),
		`{"key":{"type":0,"data":{"transactionalId":"x"}},"value":{"version":0,"data":{"producerId":3,"producerEpoch":0,"transactionTimeoutMs":0,"transactionStatus":"Ongoing","transactionPartitions":[],"transactionLastUpdateTimestampMs":0,"transactionStartTimestampMs":0}}}`)
	f("TransactionLogMessageFormatter", txnKey, []byte{0, 0, 1}, "java.lang.RuntimeException: Could not read record at offset 5 due to: null")
}

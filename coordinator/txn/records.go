package txn

import (
	"slices"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// valueVersion is the version of TransactionLogValue that goes with a level of the feature transaction.version
// (TransactionVersion.transactionLogValueVersion).
func valueVersion(level int16) int16 {
	if level >= 1 {
		return 1
	}
	return 0
}

// writable tells whether the log may have transactions of a version: at level 0 of the feature its records have no place for it. Clients know
// the level and do not ask for it (seen on Apache 4.4, where such a call leaves the id without an answer to anything else as well).
func (s *Shard) writable(version int16) bool { return version == 0 || valueVersion(s.d.Level()) >= 1 }

// recordOf is what Kafka's TransactionLog writes for t as it shall be.
func recordOf(t *transaction, level int16) coordinator.Record {
	k, v := record.NewTransactionLogKey(), record.NewTransactionLogValue()
	k.TransactionalID = t.id
	v.ProducerID, v.PreviousProducerID, v.NextProducerID = t.producerID, t.prevProducerID, t.nextProducerID
	v.ProducerEpoch, v.TransactionTimeoutMs, v.TransactionStatus = t.epoch, t.timeoutMs, int8(t.state)
	v.TransactionStartTimestampMs, v.TransactionLastUpdateTimestampMs = t.startMs, t.updateMs
	v.ClientTransactionVersion = t.version
	v.TransactionPartitions = nil
	if t.state != Empty {
		v.TransactionPartitions = byTopic(t.partitions)
	}
	return coordinator.Record{Key: record.AppendKey(nil, k), Value: record.AppendValue(nil, v, valueVersion(level))}
}

// byTopic groups sorted partitions. The result is never nil, which the log tells apart.
func byTopic(list []Partition) []record.PartitionsSchema {
	out := []record.PartitionsSchema{}
	for _, p := range list {
		if n := len(out); n == 0 || out[n-1].Topic != p.Topic {
			s := record.NewPartitionsSchema()
			s.Topic = p.Topic
			out = append(out, *s)
		}
		last := &out[len(out)-1]
		last.PartitionIDs = append(last.PartitionIDs, p.Partition)
	}
	return out
}

func tombstone(id string) coordinator.Record {
	k := record.NewTransactionLogKey()
	k.TransactionalID = id
	return coordinator.Record{Key: record.AppendKey(nil, k)}
}

// decode reads a record; ok is false for what this version does not know. value is nil for a tombstone.
func decode(rec coordinator.Record) (id string, value *record.TransactionLogValue, ok bool) {
	key, err := record.ReadKey(record.TxnTopic, rec.Key)
	if err != nil {
		return "", nil, false
	}
	k, ok := key.(*record.TransactionLogKey)
	if !ok || rec.Value == nil {
		return keyID(k), nil, ok
	}
	msg, _, err := record.ReadValue(record.TxnTopic, k.APIKey(), rec.Value)
	if err != nil {
		return "", nil, false
	}
	value, ok = msg.(*record.TransactionLogValue)
	return k.TransactionalID, value, ok
}

func keyID(k *record.TransactionLogKey) string {
	if k == nil {
		return ""
	}
	return k.TransactionalID
}

// set takes a record's value over.
func (t *transaction) set(v *record.TransactionLogValue) {
	t.producerID, t.prevProducerID, t.nextProducerID = v.ProducerID, v.PreviousProducerID, v.NextProducerID
	t.epoch, t.timeoutMs, t.state = v.ProducerEpoch, v.TransactionTimeoutMs, State(v.TransactionStatus)
	t.startMs, t.updateMs = v.TransactionStartTimestampMs, v.TransactionLastUpdateTimestampMs
	t.version = v.ClientTransactionVersion
	t.partitions = nil
	for i := range v.TransactionPartitions {
		for _, p := range v.TransactionPartitions[i].PartitionIDs {
			t.partitions = append(t.partitions, Partition{v.TransactionPartitions[i].Topic, p})
		}
	}
	slices.SortFunc(t.partitions, comparePartitions)
}

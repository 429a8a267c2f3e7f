package group

import (
	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// newRecord encodes a key and a value of the given version.
func newRecord(key, value record.Message, version int16) coordinator.Record {
	return coordinator.Record{Key: record.AppendKey(nil, key), Value: record.AppendValue(nil, value, version)}
}

// tombstone deletes what the key names.
func tombstone(key record.Message) coordinator.Record {
	return coordinator.Record{Key: record.AppendKey(nil, key)}
}

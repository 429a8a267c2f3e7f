package controller

import "github.com/kaja-mq/kaja/metadata/record"

// ProducerIDBlockSize is how many producer ids a broker gets at a time: ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE.
const ProducerIDBlockSize = 1000

// allocateProducerIDs hands this broker the next block.
func (m *machine) allocateProducerIDs() (first int64, records []versioned) {
	first = max(m.img.NextProducerID(), 0)
	r := &record.ProducerIdsRecord{BrokerID: m.nodeID, BrokerEpoch: -1, NextProducerID: first + ProducerIDBlockSize}
	if b := m.img.Broker(m.nodeID); b != nil {
		r.BrokerEpoch = b.Epoch
	}
	return first, []versioned{m.at(r)}
}

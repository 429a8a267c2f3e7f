package controller

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// maxActivationRecords bounds one batch of what a start writes; Kafka's bound for a user's operation is the same
// (QuorumController.MAX_RECORDS_PER_USER_OP). Each record stands for itself, so the batches may be cut anywhere.
const maxActivationRecords = 10000

// bootstrap are the first records of a cluster: its features, and what they ask for, in a transaction of the metadata log.
func (m *machine) bootstrap(features []record.Message) []versioned {
	level := int16(0)
	elr := false
	for _, msg := range features {
		f, ok := msg.(*record.FeatureLevelRecord)
		if !ok {
			continue
		}
		if f.Name == metadataVersionFeature {
			level = f.FeatureLevel
		}
		elr = elr || f.Name == elrFeature && f.FeatureLevel >= 1
	}
	var records []versioned
	name := "Bootstrap records"
	bracket := level >= metadataTransactionVersion
	if bracket {
		records = append(records, versioned{&record.BeginTransactionRecord{Name: &name}, 0})
	}
	for _, msg := range features {
		records = append(records, versioned{msg, record.VersionAt(msg, level)})
	}
	if elr {
		records = append(records, m.elrSafetyRecords()...)
	}
	if bracket {
		records = append(records, versioned{&record.EndTransactionRecord{}, 0})
	}
	return records
}

// initialFeatures are the bootstrap records of a directory that nobody has formatted.
func initialFeatures() []record.Message {
	var msgs []record.Message
	for _, f := range Features() {
		if f.Initial > 0 {
			msgs = append(msgs, &record.FeatureLevelRecord{Name: f.Name, FeatureLevel: f.Initial})
		}
	}
	return msgs
}

// registerController tells where this controller is; nothing when it has no listener of its own.
func (m *machine) registerController() []versioned {
	if len(m.self.VoterEndpoints) == 0 || m.img.MetadataVersion() < controllerRegistrationVersion {
		return nil
	}
	r := &record.RegisterControllerRecord{ControllerID: m.nodeID, IncarnationID: m.self.Broker.Incarnation}
	for _, e := range m.self.VoterEndpoints {
		r.EndPoints = append(r.EndPoints, record.ControllerEndpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range Features() {
		r.Features = append(r.Features, record.ControllerFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
	}
	return []versioned{m.at(r)}
}

// registerBroker registers this node's broker for a new life: fenced, then with its cordoned directories (none), then unfenced, as a
// broker of Kafka's does it in three requests. Its epoch is the offset of the registration.
func (m *machine) registerBroker() []versioned {
	b := &m.self.Broker
	r := &record.RegisterBrokerRecord{BrokerID: m.nodeID, IncarnationID: b.Incarnation, BrokerEpoch: m.next, Fenced: true, LogDirs: b.LogDirs}
	if b.Rack != "" {
		r.Rack = &b.Rack
	}
	for _, e := range m.endpoints(m.img.Config(metadata.ResourceBroker, strconv.Itoa(int(m.nodeID)))) {
		r.EndPoints = append(r.EndPoints, record.BrokerEndpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range Features() {
		r.Features = append(r.Features, record.BrokerFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
	}
	records := []versioned{m.at(r)}
	if m.img.MetadataVersion() >= cordonedLogDirsVersion {
		records = append(records, versioned{&record.BrokerRegistrationChangeRecord{BrokerID: m.nodeID, BrokerEpoch: m.next, CordonedLogDirs: [][16]byte{}}, 3})
	}
	const unfenced = -1 // BrokerRegistrationFencingChange.UNFENCE
	return append(records, versioned{&record.BrokerRegistrationChangeRecord{BrokerID: m.nodeID, BrokerEpoch: m.next, Fenced: unfenced}, 0})
}

// unregisterBroker decides an UnregisterBroker request: the broker leaves all ISRs, then its registration goes.
func (m *machine) unregisterBroker(req *kmsg.UnregisterBrokerRequest) ([]versioned, *kmsg.UnregisterBrokerResponse) {
	resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
	b := m.img.Broker(req.BrokerID)
	if b == nil {
		err := fail(kerr.BrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", req.BrokerID))
		resp.ErrorCode, resp.ErrorMessage = err.code, err.text()
		return nil, resp
	}
	var records []versioned
	m.eachPartition(func(t *metadata.Topic, id int32, p *metadata.Partition) {
		if c := m.withoutBroker(t, id, p, b.ID); c != nil {
			records = append(records, m.at(c))
		}
	})
	return append(records, m.at(&record.UnregisterBrokerRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch})), resp
}

func (m *machine) eachPartition(f func(t *metadata.Topic, id int32, p *metadata.Partition)) {
	for t := range m.img.Topics() {
		for i := range t.Partitions {
			if p := &t.Partitions[i]; p.Exists() {
				f(t, int32(i), p)
			}
		}
	}
}

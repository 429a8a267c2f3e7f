package controller

import (
	"strconv"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// advertisedListeners is the setting that a broker may be given while it runs, as before KRaft: its registration follows.
const advertisedListeners = "advertised.listeners"

// endpoints are those that this broker registers: what is set on it while it runs goes before what it was started with. A stored value that
// no longer fits the listeners is passed over.
func (m *machine) endpoints(stored map[string]string) []Endpoint {
	value, ok := stored[advertisedListeners]
	if !ok || m.self.Advertise == nil {
		return m.self.Broker.Endpoints
	}
	list, err := config.Broker(m.static, nil, map[string]string{advertisedListeners: value}).Advertised()
	if err != nil {
		return m.self.Broker.Endpoints
	}
	return m.self.Advertise(list)
}

// readvertise writes this broker's registration anew, under the same epoch, when records change advertised.listeners on it.
func (m *machine) readvertise(records []versioned) []versioned {
	self := metadata.Resource{Type: metadata.ResourceBroker, Name: strconv.Itoa(int(m.nodeID))}
	for _, r := range records {
		c, ok := r.Message.(*record.ConfigRecord)
		if !ok || c.Name != advertisedListeners || c.ResourceType != self.Type || c.ResourceName != self.Name {
			continue
		}
		b := m.img.Broker(m.nodeID)
		if b == nil {
			return records
		}
		stored := map[string]string{}
		if c.Value != nil {
			stored[advertisedListeners] = *c.Value
		}
		out := &record.RegisterBrokerRecord{BrokerID: b.ID, IncarnationID: b.Incarnation, BrokerEpoch: b.Epoch, Fenced: b.Fenced,
			InControlledShutdown: b.InControlledShutdown, LogDirs: b.LogDirs, Rack: b.Rack}
		for _, e := range m.endpoints(stored) {
			out.EndPoints = append(out.EndPoints, record.BrokerEndpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
		}
		for _, f := range b.Features {
			out.Features = append(out.Features, record.BrokerFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
		}
		records = append(records, m.at(out))
		if b.CordonedLogDirs != nil && m.img.MetadataVersion() >= cordonedLogDirsVersion {
			records = append(records, versioned{&record.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, CordonedLogDirs: b.CordonedLogDirs}, 3})
		}
		return records
	}
	return records
}

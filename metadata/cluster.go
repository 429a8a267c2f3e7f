package metadata

import (
	"cmp"
	"iter"
	"slices"
)

// Endpoint is where a node can be reached under the name of a listener.
type Endpoint struct {
	Name             string
	Host             string
	Port             uint16
	SecurityProtocol int16 // org.apache.kafka.common.security.auth.SecurityProtocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
}

// SupportedFeature is a range of levels that a node supports.
type SupportedFeature struct {
	Name     string
	Min, Max int16
}

// Broker is a registered broker, fenced or not.
type Broker struct {
	ID                   int32
	Epoch                int64
	Incarnation          [16]byte
	Endpoints            []Endpoint
	Features             []SupportedFeature
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool
	LogDirs              [][16]byte
	CordonedLogDirs      [][16]byte // nil where the broker said nothing of it
	isMigratingZkBroker  bool
}

// Endpoint returns the broker's endpoint at a listener.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) { return endpointOf(b.Endpoints, listener) }

// Controller is a registered controller.
type Controller struct {
	ID               int32
	Incarnation      [16]byte
	Endpoints        []Endpoint
	Features         []SupportedFeature
	zkMigrationReady bool
}

// Endpoint returns the controller's endpoint at a listener.
func (c *Controller) Endpoint(listener string) (Endpoint, bool) {
	return endpointOf(c.Endpoints, listener)
}

func endpointOf(endpoints []Endpoint, listener string) (Endpoint, bool) {
	for _, e := range endpoints {
		if e.Name == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Broker returns a registered broker, nil when there is none of that id.
func (img *Image) Broker(id int32) *Broker {
	if i, ok := findBroker(img.brokers, id); ok {
		return img.brokers[i]
	}
	return nil
}

// BrokerAlive tells whether a broker is registered and not fenced.
func (img *Image) BrokerAlive(id int32) bool {
	b := img.Broker(id)
	return b != nil && !b.Fenced
}

// Brokers iterates the registered brokers by id, fenced ones too.
func (img *Image) Brokers() iter.Seq[*Broker] { return slices.Values(img.brokers) }

// BrokerCount is how many brokers are registered.
func (img *Image) BrokerCount() int { return len(img.brokers) }

// Controller returns a registered controller, nil when there is none of that id.
func (img *Image) Controller(id int32) *Controller {
	if i, ok := findController(img.controllers, id); ok {
		return img.controllers[i]
	}
	return nil
}

// Controllers iterates the registered controllers by id.
func (img *Image) Controllers() iter.Seq[*Controller] { return slices.Values(img.controllers) }

func findBroker(list []*Broker, id int32) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(b *Broker, id int32) int { return cmp.Compare(b.ID, id) })
}

func findController(list []*Controller, id int32) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(c *Controller, id int32) int { return cmp.Compare(c.ID, id) })
}

// DirOnline tells whether a replica in the directory can serve, as BrokerRegistration.hasOnlineDir: a broker that named no directories has them
// all online, and a directory that is not known yet counts as online.
func (b *Broker) DirOnline(dir [16]byte) bool {
	switch {
	case dir == DirUnassigned || dir == DirMigrating || len(b.LogDirs) == 0:
		return true
	case dir == DirLost:
		return false
	}
	return slices.Contains(b.LogDirs, dir)
}

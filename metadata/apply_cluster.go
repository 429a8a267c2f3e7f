package metadata

import (
	"fmt"
	"slices"

	"github.com/kaja-mq/kaja/metadata/record"
)

func (a *applier) registerBroker(r *record.RegisterBrokerRecord) {
	b := &Broker{ID: r.BrokerID, Epoch: r.BrokerEpoch, Incarnation: r.IncarnationID, Rack: r.Rack, Fenced: r.Fenced,
		InControlledShutdown: r.InControlledShutdown, LogDirs: r.LogDirs, CordonedLogDirs: r.CordonedLogDirs,
		isMigratingZkBroker: r.IsMigratingZkBroker}
	for _, e := range r.EndPoints {
		b.Endpoints = append(b.Endpoints, Endpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range r.Features {
		b.Features = append(b.Features, SupportedFeature{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	a.putBroker(b)
}

// putBroker adds or replaces. There are few brokers: the list is copied each time.
func (a *applier) putBroker(b *Broker) {
	list := slices.Clone(a.img.brokers)
	if i, ok := findBroker(list, b.ID); ok {
		list[i] = b
	} else {
		list = slices.Insert(list, i, b)
	}
	a.img.brokers = list
	a.brokerChanged(b.ID)
}

func (a *applier) brokerChanged(id int32) {
	if !slices.Contains(a.delta.Brokers, id) {
		a.delta.Brokers = append(a.delta.Brokers, id)
	}
}

// registered returns the broker if it is registered in this epoch.
func (a *applier) registered(id int32, epoch int64) (*Broker, error) {
	b := a.img.Broker(id)
	switch {
	case b == nil:
		return nil, fmt.Errorf("broker %d is not registered", id)
	case b.Epoch != epoch:
		return nil, fmt.Errorf("broker %d has epoch %d, not %d", id, b.Epoch, epoch)
	}
	return b, nil
}

func (a *applier) unregisterBroker(r *record.UnregisterBrokerRecord) error {
	if _, err := a.registered(r.BrokerID, r.BrokerEpoch); err != nil {
		return err
	}
	a.img.brokers = slices.DeleteFunc(slices.Clone(a.img.brokers), func(b *Broker) bool { return b.ID == r.BrokerID })
	a.brokerChanged(r.BrokerID)
	return nil
}

func (a *applier) changeBroker(id int32, epoch int64, change func(*Broker)) error {
	old, err := a.registered(id, epoch)
	if err != nil {
		return err
	}
	b := *old
	change(&b)
	a.putBroker(&b)
	return nil
}

// brokerRegistrationChange: in Fenced 1 fences and -1 unfences, in InControlledShutdown 1 begins it; what is absent stays.
func (a *applier) brokerRegistrationChange(r *record.BrokerRegistrationChangeRecord) error {
	if r.Fenced < -1 || r.Fenced > 1 || r.InControlledShutdown < 0 || r.InControlledShutdown > 1 {
		return fmt.Errorf("broker %d: unknown change fenced=%d inControlledShutdown=%d", r.BrokerID, r.Fenced, r.InControlledShutdown)
	}
	return a.changeBroker(r.BrokerID, r.BrokerEpoch, func(b *Broker) {
		if r.Fenced != 0 {
			b.Fenced = r.Fenced > 0
		}
		if r.InControlledShutdown != 0 {
			b.InControlledShutdown = true
		}
		if len(r.LogDirs) > 0 {
			b.LogDirs = r.LogDirs
		}
		if r.CordonedLogDirs != nil {
			b.CordonedLogDirs = r.CordonedLogDirs
		}
	})
}

func (a *applier) registerController(r *record.RegisterControllerRecord) {
	c := &Controller{ID: r.ControllerID, Incarnation: r.IncarnationID, zkMigrationReady: r.ZkMigrationReady}
	for _, e := range r.EndPoints {
		c.Endpoints = append(c.Endpoints, Endpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range r.Features {
		c.Features = append(c.Features, SupportedFeature{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	list := slices.Clone(a.img.controllers)
	if i, ok := findController(list, c.ID); ok {
		list[i] = c
	} else {
		list = slices.Insert(list, i, c)
	}
	a.img.controllers = list
	a.delta.Controllers = append(a.delta.Controllers, c.ID)
}

func (a *applier) unregisterController(r *record.UnregisterControllerRecord) error {
	if a.img.Controller(r.ControllerID) == nil {
		return fmt.Errorf("controller %d is not registered", r.ControllerID)
	}
	a.img.controllers = slices.DeleteFunc(slices.Clone(a.img.controllers), func(c *Controller) bool { return c.ID == r.ControllerID })
	a.delta.Controllers = append(a.delta.Controllers, r.ControllerID)
	return nil
}

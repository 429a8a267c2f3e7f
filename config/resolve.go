package config

import (
	"strings"
)

// resolve works out what several properties decide together: who this node is, where it listens, where its data lies.
func (l *loader) resolve(s *Static) error {
	for _, f := range []func(*Static) error{l.identity, l.listen, l.advertise, l.quorum, l.directories, l.console} {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) identity(s *Static) error {
	roles, ok := s.parsed["process.roles"]
	if !ok {
		l.warn("process.roles is not set: running as broker and controller")
		roles = "broker,controller"
		s.parsed["process.roles"] = roles
	}
	s.broker, s.controller = oneOf(roles, "broker"), oneOf(roles, "controller")
	node, hasNode := s.parsed["node.id"]
	old, hasOld := s.parsed["broker.id"]
	switch {
	case hasNode && hasOld && node != old:
		return refuse("broker.id=%s and node.id=%s differ; remove broker.id", old, node)
	case !hasNode && hasOld:
		s.parsed["node.id"] = old
	case !hasNode:
		l.warn("node.id is not set: taking 1")
		s.parsed["node.id"] = "1"
	}
	s.parsed["broker.id"] = s.parsed["node.id"]
	s.given["node.id"], s.given["broker.id"] = s.parsed["node.id"], s.parsed["node.id"] // Kafka describes both as given
	id := s.Int("node.id")
	if id < 0 {
		return refuse("node.id=%d is negative; give each node a number from 0", id)
	}
	s.nodeID = int32(id)
	return nil
}

func (l *loader) listen(s *Static) error {
	for _, n := range s.List("controller.listener.names") {
		s.controllerListeners = append(s.controllerListeners, strings.ToUpper(n))
	}
	var err error
	raw, _ := s.Value("listener.security.protocol.map")
	if s.protocols, err = protocolMap(raw); err != nil {
		return refuse("%v", err)
	}
	if !s.IsSet("listener.security.protocol.map") { // Kafka maps the controller listeners to PLAINTEXT unless a map is given
		for _, n := range s.controllerListeners {
			if _, ok := s.protocols[n]; !ok {
				s.protocols[n] = "PLAINTEXT"
			}
		}
	}
	if s.listeners, err = s.endpoints("listeners", s.List("listeners")); err != nil {
		return err
	}
	ports := map[string]string{}
	for _, li := range s.listeners {
		if li.Port == 0 {
			continue
		}
		if other, dup := ports[li.Addr()]; dup {
			return refuse("listeners: %s and %s are both on %s; give each listener a port of its own", other, li.Name, li.Addr())
		}
		ports[li.Addr()] = li.Name
	}
	return nil
}

// endpoints reads a list of NAME://host:port: well formed, each name once and known to the protocol map.
func (s *Static) endpoints(property string, list []string) ([]Listener, error) {
	var out []Listener
	seen := map[string]bool{}
	for _, e := range list {
		li, err := parseListener(e)
		if err != nil {
			return nil, refuse("%s: %v", property, err)
		}
		if seen[li.Name] {
			return nil, refuse("%s has two entries named %s; listener names must differ", property, li.Name)
		}
		seen[li.Name] = true
		proto, ok := s.protocols[li.Name]
		if !ok {
			return nil, refuse("%s: no security protocol is defined for listener %s; add %s:PLAINTEXT (or SSL, SASL_…) to listener.security.protocol.map", property, li.Name, li.Name)
		}
		li.Protocol = proto
		out = append(out, li)
	}
	return out, nil
}

func (l *loader) advertise(s *Static) error {
	if err := l.interBroker(s); err != nil {
		return err
	}
	if _, set := s.parsed["advertised.listeners"]; !set {
		for _, li := range s.Listeners() {
			if unspecified(li.Host) {
				return refuse("listener %s would advertise %s, to which no client can connect; set advertised.listeners to a name that clients can reach, or to auto", li.Name, li.Host)
			}
			s.advertised = append(s.advertised, li)
		}
		return nil
	}
	if !s.broker {
		return refuse("advertised.listeners is for brokers; remove it, since process.roles is only controller")
	}
	var err error
	s.advertised, err = s.AdvertisedBy(s.List("advertised.listeners"))
	return err
}

// interBroker finds the listener that brokers use among themselves: by name, else the first of the protocol.
func (l *loader) interBroker(s *Static) error {
	if !s.broker {
		return nil
	}
	name, byName := s.parsed["inter.broker.listener.name"]
	_, byProtocol := s.parsed["security.inter.broker.protocol"]
	if byName && byProtocol {
		return refuse("inter.broker.listener.name and security.inter.broker.protocol are both set; keep one of them")
	}
	proto := s.Str("security.inter.broker.protocol")
	if !byName {
		name = proto
	}
	name = strings.ToUpper(name)
	if s.IsControllerListener(name) {
		return refuse("inter.broker.listener.name %s is among controller.listener.names; brokers need a listener of their own", name)
	}
	list := s.Listeners()
	if len(list) == 0 {
		return refuse("no listener is left for clients: every entry of listeners is in controller.listener.names; add one such as PLAINTEXT://:9092")
	}
	for _, li := range list {
		if li.Name == name {
			s.interBroker = name
			return nil
		}
	}
	if byName || byProtocol || !s.SoleVoter() {
		return refuse("listener %s, by which brokers talk to each other, is not among listeners; set inter.broker.listener.name to one of them", name)
	}
	s.interBroker = list[0].Name // alone, nobody talks to it
	return nil
}

func (l *loader) quorum(s *Static) error {
	for _, e := range s.List("controller.quorum.voters") {
		v, err := parseVoter(e)
		if err != nil {
			return refuse("controller.quorum.voters: %q is not of the form id@host:port", e)
		}
		for _, o := range s.voters {
			if o.ID == v.ID {
				return refuse("controller.quorum.voters names node %d twice; keep one of them", v.ID)
			}
		}
		s.voters = append(s.voters, v)
	}
	s.bootstrap = s.List("controller.quorum.bootstrap.servers")
	member := false
	for _, v := range s.voters {
		member = member || v.ID == s.nodeID
	}
	switch {
	case s.controller && len(s.voters) > 0 && !member:
		return refuse("controller.quorum.voters does not name node %d although it is a controller; add %d@host:port or change node.id", s.nodeID, s.nodeID)
	case !s.controller && member:
		return refuse("controller.quorum.voters names node %d although process.roles has no controller; add controller or remove the entry", s.nodeID)
	case !s.controller && len(s.voters) == 0 && len(s.bootstrap) == 0:
		return refuse("a broker without the controller role needs controller.quorum.bootstrap.servers or controller.quorum.voters")
	case !s.controller && len(s.controllerListeners) == 0:
		return refuse("a broker without the controller role needs controller.listener.names")
	}
	return l.controllerPorts(s)
}

func (l *loader) controllerPorts(s *Static) error {
	own := s.ControllerListeners()
	if !s.controller && len(own) > 0 {
		return refuse("listeners has the controller listener %s although process.roles has no controller; remove it", own[0].Name)
	}
	if !s.controller || len(own) > 0 {
		return nil
	}
	if len(s.voters) > 1 || !s.broker || len(s.bootstrap) > 0 {
		return refuse("a controller needs one of controller.listener.names among listeners, such as CONTROLLER://:9093")
	}
	return nil // alone, no other node needs a way in
}

func (l *loader) directories(s *Static) error {
	dirs := s.List("log.dirs")
	if len(dirs) == 0 {
		dirs = s.List("log.dir")
	}
	if len(dirs) == 0 {
		return refuse("no data directory is given; set log.dirs")
	}
	s.logDirs = dirs
	s.metadataDir = dirs[0]
	if m := s.Str("metadata.log.dir"); m != "" {
		s.metadataDir = m
	}
	return nil
}

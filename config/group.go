package config

import "fmt"

// GroupView resolves a group's properties: its own over the broker's.
type GroupView struct {
	broker *Resolver
	own    map[string]string
}

// GroupOf makes the view of a group with its own (stored) settings; nil for none.
func GroupOf(broker *Resolver, own map[string]string) GroupView { return GroupView{broker, own} }

// Value is a group property's effective normal form as DescribeConfigs shows it.
func (g GroupView) Value(name string) string {
	p := Lookup(ScopeGroup, name)
	if p == nil {
		return ""
	}
	if text, ok := g.own[name]; ok {
		if norm, err := p.Parse(text); err == nil {
			return norm
		}
	}
	if v, ok := g.fromBroker(p); ok {
		return v
	}
	return p.Default
}

// fromBroker is the broker's value behind a group property. streams.assignor.name takes the first of group.streams.assignors.
func (g GroupView) fromBroker(p *Property) (string, bool) {
	if len(p.Synonyms) == 0 {
		return "", false
	}
	v, ok := g.broker.Value(p.Synonyms[0].Name)
	if ok && p.Name == "streams.assignor.name" {
		if list := splitList(v); len(list) > 0 {
			return list[0], true
		}
		return "", false
	}
	return v, ok
}

// Int is a number as the coordinators use it: within the bounds that the broker sets now, whatever was stored earlier.
func (g GroupView) Int(name string) int64 {
	if _, ok := g.own[name]; !ok {
		if n, ok := g.broker.groupInts[name]; ok {
			return n
		}
	}
	return g.bounded(name)
}

// bounded is Int without what is known beforehand.
func (g GroupView) bounded(name string) int64 {
	n := toInt(g.Value(name), true)
	for _, b := range groupBounds {
		if b.name != name {
			continue
		}
		if b.low != "" {
			n = max(n, g.broker.Int(b.low))
		}
		if b.high != "" {
			n = min(n, g.broker.Int(b.high))
		}
	}
	return n
}

// boundedInts are the numbers of groups without settings of their own: heartbeats ask for them each time.
func boundedInts(r *Resolver) map[string]int64 {
	m := make(map[string]int64, len(groupBounds))
	for _, b := range groupBounds {
		m[b.name] = GroupView{broker: r}.bounded(b.name)
	}
	return m
}

// Bool is a BOOLEAN.
func (g GroupView) Bool(name string) bool { return g.Value(name) == "true" }

// List is a LIST.
func (g GroupView) List(name string) []string { return splitList(g.Value(name)) }

// Synonyms is the chain of a group property: its own value, then the broker's effective one or the default.
func (g GroupView) Synonyms(name string) []SynonymValue {
	var out []SynonymValue
	p := Lookup(ScopeGroup, name)
	if p == nil {
		return nil
	}
	if v, ok := g.own[name]; ok {
		out = append(out, SynonymValue{name, v, SourceDynamicGroup})
	}
	if len(p.Synonyms) > 0 {
		return append(out, g.broker.BrokerSynonyms(p.Synonyms[0].Name)...)
	}
	if p.HasDefault() {
		out = append(out, SynonymValue{name, p.Default, SourceDefault})
	}
	return out
}

// groupBounds are the broker properties between which a group's number must lie, in the order in which Kafka checks them.
var groupBounds = []struct{ name, low, high string }{
	{"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
	{"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	{"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
	{"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
	{"share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
	{"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
	{"share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"},
	{"share.partition.max.record.locks", "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
	{"share.assignment.interval.ms", "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
	{"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
	{"streams.session.timeout.ms", "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
	{"streams.num.standby.replicas", "", "group.streams.max.standby.replicas"},
	{"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
	{"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", ""},
	{"streams.num.warmup.replicas", "", "group.streams.max.warmup.replicas"},
}

// ValidateGroup checks one setting of a group by itself.
func ValidateGroup(name, value string) error {
	p := Lookup(ScopeGroup, name)
	if p == nil {
		return badConfig(name, "Unknown group config name: "+name)
	}
	_, err := p.Parse(value)
	return err
}

// ValidateGroupConfigs checks all of a group's settings after a change: names, values, then the broker's bounds.
func ValidateGroupConfigs(broker *Resolver, configs map[string]string) error {
	names := sortedNames(configs)
	for _, n := range names {
		if Lookup(ScopeGroup, n) == nil {
			return ValidateGroup(n, "")
		}
	}
	for _, n := range names {
		if err := ValidateGroup(n, configs[n]); err != nil {
			return err
		}
	}
	if tags := splitList(configs["streams.rack.aware.assignment.tags"]); len(unique(tags)) != len(tags) {
		return badConfig("streams.rack.aware.assignment.tags", "streams.rack.aware.assignment.tags must not contain duplicate tag keys.")
	}
	g := GroupOf(broker, configs)
	if err := g.checkBounds(); err != nil {
		return err
	}
	return g.checkRelations()
}

func (g GroupView) checkBounds() error {
	for _, b := range groupBounds {
		if _, ok := g.own[b.name]; !ok {
			continue
		}
		n := toInt(g.Value(b.name), true)
		var lo, hi int64
		if b.low != "" {
			lo = g.broker.Int(b.low)
		}
		if b.high != "" {
			hi = g.broker.Int(b.high)
		}
		switch {
		case b.low != "" && b.high != "" && (n < lo || n > hi):
			return badConfig(b.name, fmt.Sprintf("%s must be in the range %d to %d inclusive.", b.name, lo, hi))
		case b.low == "" && n > hi:
			return badConfig(b.name, fmt.Sprintf("%s must be less than or equal to %d", b.name, hi))
		case b.high == "" && n < lo:
			return badConfig(b.name, fmt.Sprintf("%s must be greater than or equal to %d", b.name, lo))
		}
	}
	return nil
}

func (g GroupView) checkRelations() error {
	if a, ok := g.own["streams.assignor.name"]; ok {
		if list := g.broker.List("group.streams.assignors"); !contains(list, trim(a)) {
			return badConfig("streams.assignor.name", fmt.Sprintf("streams.assignor.name '%s' is not a registered task assignor. Registered assignors are: %s.",
				trim(a), javaList(list)))
		}
	}
	for _, kind := range []string{"consumer", "share", "streams"} {
		session, beat := kind+".session.timeout.ms", kind+".heartbeat.interval.ms"
		_, a := g.own[session]
		_, b := g.own[beat]
		if (a || b) && toInt(g.Value(session), true) <= toInt(g.Value(beat), true) {
			return badConfig(session, session+" must be greater than "+beat)
		}
	}
	if t := trim(g.own["errors.deadletterqueue.topic.name"]); len(t) > 1 && t[:2] == "__" {
		return badConfig("errors.deadletterqueue.topic.name", "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
	}
	return nil
}

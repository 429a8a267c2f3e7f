package config

import (
	"strings"

	"github.com/kaja-mq/kaja/internal/invariant"
)

// Source numbers where a value comes from, as DescribeConfigs does.
type Source int8

// Sources of DescribeConfigs v1+.
const (
	SourceDynamicTopic         Source = 1
	SourceDynamicBroker        Source = 2
	SourceDynamicDefaultBroker Source = 3
	SourceStaticBroker         Source = 4
	SourceDefault              Source = 5
	SourceDynamicBrokerLogger  Source = 6
	SourceDynamicClientMetrics Source = 7
	SourceDynamicGroup         Source = 8
)

// SynonymValue is one link of a synonym chain, the strongest first.
type SynonymValue struct {
	Name   string
	Value  string
	Source Source
}

// Resolver is the broker's effective configuration: per-broker over cluster-wide over static over Kafka's defaults. Immutable; make
// a new one when the image's configs of the broker or of the default broker ("") change. The maps given stay the caller's.
type Resolver struct {
	static     *Static
	dynDefault map[string]string
	dynBroker  map[string]string
	parsed     map[string]string // normal form of the dynamic values that are valid
	advertised []Listener        // by the dynamic value; nil without one
	invalid    error             // why there is none although it is set
	groupInts  map[string]int64  // see boundedInts
}

// Broker makes the effective view. Values that do not parse are left out, as Kafka does after logging them.
func Broker(static *Static, clusterDefault, perBroker map[string]string) *Resolver {
	r := &Resolver{static: static, dynDefault: clusterDefault, dynBroker: perBroker, parsed: map[string]string{}}
	for _, m := range []map[string]string{clusterDefault, perBroker} {
		for name, text := range m {
			p := Lookup(ScopeBroker, name)
			if p == nil || p.Mode == ReadOnly && name != advertisedListeners {
				continue
			}
			if norm, err := p.Parse(text); err == nil {
				r.parsed[name] = norm
			}
		}
	}
	if v, ok := r.parsed[advertisedListeners]; ok {
		r.advertised, r.invalid = static.AdvertisedBy(splitList(v))
	}
	r.groupInts = boundedInts(r)
	return r
}

// Advertised are the endpoints that clients are told, see Static.Advertised; those that the broker was started with when an error says
// that what was set since cannot be used.
func (r *Resolver) Advertised() ([]Listener, error) {
	if r.advertised == nil {
		return r.static.Advertised(), r.invalid
	}
	return r.advertised, nil
}

// AdvertisesAuto tells whether clients of the listener are told the address that they came to.
func (r *Resolver) AdvertisesAuto(listener string) bool {
	list, _ := r.Advertised() // the others hold as well
	for i := range list {
		if list[i].Name == listener {
			return list[i].Auto
		}
	}
	return false
}

// Static is what the process was started with.
func (r *Resolver) Static() *Static { return r.static }

// Value is a property's effective normal form, false when it is null.
func (r *Resolver) Value(name string) (string, bool) {
	if v, ok := r.parsed[name]; ok {
		return v, true
	}
	return r.static.Value(name)
}

// Int is a number (INT, SHORT, LONG); 0 when null.
func (r *Resolver) Int(name string) int64 { return toInt(r.Value(name)) }

// Float is a DOUBLE.
func (r *Resolver) Float(name string) float64 { return toFloat(r.Value(name)) }

// Bool is a BOOLEAN.
func (r *Resolver) Bool(name string) bool { v, _ := r.Value(name); return v == "true" }

// Str is a STRING, CLASS or PASSWORD; "" when null.
func (r *Resolver) Str(name string) string { v, _ := r.Value(name); return v }

// List is a LIST.
func (r *Resolver) List(name string) []string { v, _ := r.Value(name); return splitList(v) }

// Lists tells whether a LIST has the element.
func (r *Resolver) Lists(name, element string) bool {
	v, _ := r.Value(name)
	for e := range strings.SplitSeq(v, ",") {
		if strings.Trim(e, blanks) == element {
			return true
		}
	}
	return false
}

// ForListener is a property as it holds for one listener: its own value below listener.name.NAME. (in lower case), else the broker's.
func (r *Resolver) ForListener(listener, name string) (string, bool) {
	p := Lookup(ScopeBroker, name)
	if p == nil {
		invariant.Failf("no broker property is named %s", name)
	}
	own := "listener.name." + strings.ToLower(listener) + "." + name
	for _, m := range []map[string]string{r.dynBroker, r.dynDefault, r.static.given} {
		if text, ok := m[own]; ok {
			if v, err := p.Parse(text); err == nil {
				return v, true
			}
		}
	}
	return r.Value(name)
}

// ListenerInt is a number of a listener, see ForListener; 0 when null.
func (r *Resolver) ListenerInt(listener, name string) int64 {
	return toInt(r.ForListener(listener, name))
}

// ladders are the broker properties that give one duration in several units; the first that is set holds.
var ladders = [...][]Synonym{
	{{"log.retention.ms", 1}, {"log.retention.minutes", 60_000}, {"log.retention.hours", 3_600_000}},
	{{"log.roll.ms", 1}, {"log.roll.hours", 3_600_000}},
	{{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", 3_600_000}},
	{{"log.flush.interval.ms", 1}, {"log.flush.scheduler.interval.ms", 1}},
}

// LogRetentionMs is the broker's retention: log.retention.{ms,minutes,hours}; -1 is without end.
func (r *Resolver) LogRetentionMs() int64 { return max(r.ladder(0), -1) }

// LogRollMs is log.roll.{ms,hours}.
func (r *Resolver) LogRollMs() int64 { return r.ladder(1) }

// LogRollJitterMs is log.roll.jitter.{ms,hours}.
func (r *Resolver) LogRollJitterMs() int64 { return r.ladder(2) }

// LogFlushMs is log.flush.interval.ms, or log.flush.scheduler.interval.ms.
func (r *Resolver) LogFlushMs() int64 { return r.ladder(3) }

func (r *Resolver) ladder(i int) int64 {
	for _, s := range ladders[i] {
		if v, ok := r.Value(s.Name); ok {
			n := toInt(v, true)
			if n > 0 {
				n *= s.Factor
			}
			return n
		}
	}
	return 0
}

// brokerSynonyms are the names whose values may stand for a broker property, itself first (DynamicBrokerConfig.brokerConfigSynonyms).
func brokerSynonyms(name string) []string {
	for _, l := range ladders[:3] {
		for i, s := range l {
			if s.Name == name {
				out := []string{name}
				for _, o := range l[i+1:] {
					out = append(out, o.Name)
				}
				return out
			}
		}
	}
	if name == "log.flush.interval.ms" {
		return []string{name, "log.flush.scheduler.interval.ms"}
	}
	if base := baseName(name); base != "" {
		return []string{name, base}
	}
	return []string{name}
}

// BrokerSynonyms is the chain of a broker property: per-broker, cluster-wide, static and default values of it and its synonyms,
// strongest first. As in Kafka the chain starts with the first link that carries the property's own name, and is empty when none does.
func (r *Resolver) BrokerSynonyms(name string) []SynonymValue {
	var out []SynonymValue
	names := brokerSynonyms(name)
	add := func(src Source, get func(string) (string, bool)) {
		for _, n := range names {
			if v, ok := get(n); ok {
				out = append(out, SynonymValue{n, v, src})
			}
		}
	}
	add(SourceDynamicBroker, from(r.dynBroker))
	add(SourceDynamicDefaultBroker, from(r.dynDefault))
	add(SourceStaticBroker, from(r.static.given))
	add(SourceDefault, defaultOf)
	for i := range out {
		if out[i].Name == name {
			return out[i:]
		}
	}
	return nil
}

func from(m map[string]string) func(string) (string, bool) {
	return func(n string) (string, bool) { v, ok := m[n]; return v, ok }
}

func defaultOf(name string) (string, bool) {
	p := Lookup(ScopeBroker, name)
	if p == nil || !p.HasDefault() || p.Visibility == DynamicOnly {
		return "", false
	}
	return p.Default, true
}

package config

import (
	"fmt"
	"maps"
	"strings"
)

// ValidateBroker checks one dynamic setting of a broker (perBroker) or of the cluster-wide default by itself.
func ValidateBroker(name, value string, perBroker bool) error {
	return ValidateBrokerConfigs(map[string]string{name: value}, perBroker)
}

// ValidateBrokerConfigs checks dynamic broker settings as Kafka's DynamicBrokerConfig does: may they be changed, may they be changed
// at this level, are the values valid. Names that Kafka does not know pass. How the values fit the running broker is
// (*Resolver).ValidateChange.
func ValidateBrokerConfigs(configs map[string]string, perBroker bool) error {
	names := sortedNames(configs)
	var fixed, local, bare []string
	for _, name := range names {
		p, known := dynamicProperty(name)
		prefixed := strings.HasPrefix(name, "listener.name.")
		switch {
		case !known:
		case name == advertisedListeners:
			local = append(local, name)
		case p.Mode == ReadOnly && !prefixed:
			fixed = append(fixed, name)
		case p.Mode == PerBroker || prefixed && !oneOf(clusterLevelListenerSettings, p.Name):
			local = append(local, name)
		}
		if oneOf(perListenerSecurity, name) {
			bare = append(bare, name)
		}
	}
	if len(fixed) > 0 {
		return badRequest(fixed[0], "Cannot update these configs dynamically: "+javaList(fixed))
	}
	if len(bare) > 0 {
		return badRequest(bare[0], "These security configs can be dynamically updated only per-listener using the listener prefix: "+javaList(bare))
	}
	for _, name := range names {
		p, known := dynamicProperty(name)
		if !known {
			continue
		}
		p.Name = name
		if _, err := p.Parse(configs[name]); err != nil {
			return badRequest(name, err.Error())
		}
	}
	if !perBroker && len(local) > 0 {
		return badRequest(local[0], "Cannot update these configs at default cluster level, broker id must be specified: "+javaList(local))
	}
	return nil
}

// advertisedListeners may be set for a broker while it runs, as in Kafka before KRaft: what address leads to a container is often known only
// once it runs. DescribeConfigs calls it read-only, as 4.4.0 does.
const advertisedListeners = "advertised.listeners"

// clusterLevelListenerSettings may be set for a listener at the cluster-wide default too.
const clusterLevelListenerSettings = "max.connection.creation.rate,max.connections,num.network.threads"

// perListenerSecurity may be changed only behind a listener's prefix.
const perListenerSecurity = "ssl.key.password,ssl.keystore.certificate.chain,ssl.keystore.key,ssl.keystore.location,ssl.keystore.password,ssl.keystore.type," +
	"ssl.truststore.certificates,ssl.truststore.location,ssl.truststore.password,ssl.truststore.type"

// dynamicProperty finds a broker property by its name or below a listener's prefix.
func dynamicProperty(name string) (Property, bool) {
	p := Lookup(ScopeBroker, name)
	if p == nil {
		if p = Lookup(ScopeBroker, baseName(name)); p == nil {
			return Property{}, false
		}
	}
	return *p, true
}

// PropertyOf finds the property that types a broker setting: its own, or the one below a listener's prefix; nil when nobody knows it.
func PropertyOf(name string) *Property {
	if p := Lookup(ScopeBroker, name); p != nil {
		return p
	}
	return Lookup(ScopeBroker, baseName(name))
}

// threadCounts may at most be doubled or halved in one step.
var threadCounts = [...]string{"num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads"}

// ValidateChange checks a change of the dynamic settings of one level (per broker, or the cluster-wide default) against the running
// broker: ValidateBrokerConfigs of what is set, then how all values fit together after the change.
func (r *Resolver) ValidateChange(set map[string]string, deleted []string, perBroker bool) error {
	if err := ValidateBrokerConfigs(set, perBroker); err != nil {
		return err
	}
	next := Broker(r.static, changed(r.dynDefault, set, deleted), r.dynBroker)
	if perBroker {
		next = Broker(r.static, r.dynDefault, changed(r.dynBroker, set, deleted))
	}
	if err := relations(next.Value); err != nil {
		return badRequest("", "requirement failed: "+err.Error())
	}
	for _, kind := range []string{"consumer", "share", "streams"} {
		name, bound := "group."+kind+".assignment.interval.ms", "group."+kind+".max.assignment.interval.ms"
		if next.Int(name) > next.Int(bound) {
			return badRequest(name, name+" must be less than or equal to "+bound)
		}
		if bound = "group." + kind + ".min.assignment.interval.ms"; next.Int(name) < next.Int(bound) {
			return badRequest(name, name+" must be greater than or equal to "+bound)
		}
	}
	if value, ok := set[advertisedListeners]; ok {
		if _, err := r.static.AdvertisedBy(splitList(value)); err != nil {
			return badRequest(advertisedListeners, err.Error())
		}
	}
	for _, name := range [...]string{"listeners", "listener.security.protocol.map"} {
		was, _ := r.Value(name)
		if now, _ := next.Value(name); now != was {
			return badRequest(name, name+" can't be changed while kaja runs; set it in server.properties and start again")
		}
	}
	if err := validateOverrides(next.Str("max.connections.per.ip.overrides")); err != nil {
		return err
	}
	return r.validateThreads(next)
}

// changed is a copy of m after a change.
func changed(m, set map[string]string, deleted []string) map[string]string {
	out := make(map[string]string, len(m)+len(set))
	maps.Copy(out, m)
	for _, name := range deleted {
		delete(out, name)
	}
	maps.Copy(out, set)
	return out
}

func (r *Resolver) validateThreads(next *Resolver) error {
	for _, name := range threadCounts {
		was, now := r.Int(name), next.Int(name)
		if now == was {
			continue
		}
		why := ""
		switch {
		case now <= 0:
			why = "value should be at least 1"
		case now > was*2:
			why = fmt.Sprintf("value should not be greater than double the current value %d", was)
		case now < was/2:
			why = fmt.Sprintf("value should be at least half the current value %d", was)
		}
		if why != "" {
			return badRequest(name, fmt.Sprintf("Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for "+
				"%s=%d, %s for configuration Invalid dynamic configuration", name, now, why))
		}
	}
	return nil
}

// validateOverrides reads max.connections.per.ip.overrides: host:count, comma-separated.
func validateOverrides(value string) error {
	_, err := ConnectionOverrides(value)
	return err
}

// ConnectionOverrides reads max.connections.per.ip.overrides into limits by host.
func ConnectionOverrides(value string) (map[string]int, error) {
	m := map[string]int{}
	for _, e := range splitList(value) {
		i := strings.LastIndexByte(e, ':')
		if i < 0 {
			continue
		}
		n, err := parseInt32(trim(e[i+1:]))
		if err != nil {
			return nil, badRequest("max.connections.per.ip.overrides", `For input string: "`+trim(e[i+1:])+`"`)
		}
		m[trim(e[:i])] = n
	}
	return m, nil
}

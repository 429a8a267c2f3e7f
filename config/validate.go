package config

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// Op is an operation of IncrementalAlterConfigs.
type Op int8

// Operations.
const (
	OpSet Op = iota
	OpDelete
	OpAppend
	OpSubtract
)

// IsList tells whether APPEND and SUBTRACT may be used.
func IsList(s Scope, name string) bool {
	p := Lookup(s, name)
	if p == nil && s == ScopeBroker && baseName(name) != "" {
		p = Lookup(s, baseName(name))
	}
	return p != nil && p.Type == TypeList
}

// Alter applies APPEND or SUBTRACT of a comma-separated value to the current one, as Kafka does: elements that are there are not
// appended again. The property must be a list.
func Alter(op Op, current, operand string) string {
	old := splitAlter(current)
	switch op {
	case OpAppend:
		for _, e := range splitAlter(operand) {
			if !contains(old, e) {
				old = append(old, e)
			}
		}
	case OpSubtract:
		gone := splitAlter(operand)
		kept := old[:0]
		for _, e := range old {
			if !contains(gone, e) {
				kept = append(kept, e)
			}
		}
		old = kept
	}
	return strings.Join(old, ",")
}

// splitAlter splits without trimming blanks, as the controller does; "" is one empty element only when it stands alone.
func splitAlter(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func contains(list []string, e string) bool {
	for _, o := range list {
		if o == e {
			return true
		}
	}
	return false
}

// CurrentForAlter is what APPEND and SUBTRACT start from: the stored value, else the property's default (for a topic the broker's
// effective value).
func CurrentForAlter(s Scope, broker *Resolver, stored map[string]string, name string) string {
	if v, ok := stored[name]; ok {
		return v
	}
	if s == ScopeTopic {
		return TopicOf(broker, nil).Value(name)
	}
	if p := Lookup(s, name); p != nil {
		return p.Default
	}
	return ""
}

// ValidateTopic checks one setting of a topic. The error's text is Kafka's.
func ValidateTopic(name, value string) error {
	p := Lookup(ScopeTopic, name)
	if p == nil {
		return badConfig(name, "Unknown topic config name: " + name)
	}
	_, err := p.Parse(value)
	return err
}

// ValidateTopicConfigs checks all of a topic's settings after a change: each by itself in order of name, then together.
func ValidateTopicConfigs(broker *Resolver, configs map[string]string) error {
	for _, name := range sortedNames(configs) {
		if err := ValidateTopic(name, configs[name]); err != nil {
			return err
		}
	}
	t := TopicOf(broker, configs)
	if lo, hi := t.Int("min.compaction.lag.ms"), t.Int("max.compaction.lag.ms"); lo > hi {
		return badConfig("min.compaction.lag.ms", fmt.Sprintf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", lo, hi))
	}
	if t.Bool("remote.storage.enable") {
		return badConfig("remote.storage.enable", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// ValidateBroker checks one dynamic setting of a broker (perBroker) or of the cluster-wide default.
func ValidateBroker(name, value string, perBroker bool) error {
	return ValidateBrokerConfigs(map[string]string{name: value}, perBroker)
}

// ValidateBrokerConfigs checks dynamic broker settings as Kafka does: may they be changed, may they be changed here, are they valid.
func ValidateBrokerConfigs(configs map[string]string, perBroker bool) error {
	var fixed, local []string
	for _, name := range sortedNames(configs) {
		p, known := dynamicProperty(name)
		if known && p.Mode == ReadOnly {
			fixed = append(fixed, name)
		}
		if p.Mode == PerBroker || strings.HasPrefix(name, "listener.name.") {
			local = append(local, name)
		}
	}
	if len(fixed) > 0 {
		return badRequest(fixed[0], "Cannot update these configs dynamically: [" + strings.Join(fixed, ", ") + "]")
	}
	if !perBroker && len(local) > 0 {
		return badRequest(local[0], "Cannot update these configs at default cluster level, broker id must be specified: [" + strings.Join(local, ", ") + "]")
	}
	for _, name := range sortedNames(configs) {
		p, known := dynamicProperty(name)
		if !known {
			continue // Kafka keeps what it does not know, for plug-ins
		}
		p.Name = name
		if _, err := p.Parse(configs[name]); err != nil {
			return badRequest(name, err.Error())
		}
	}
	return nil
}

func dynamicProperty(name string) (Property, bool) {
	p := Lookup(ScopeBroker, name)
	if p == nil {
		if p = Lookup(ScopeBroker, baseName(name)); p == nil {
			return Property{}, false
		}
	}
	return *p, true
}

// ValidateClientMetrics checks one setting of a client metrics subscription (KIP-714).
func ValidateClientMetrics(name, value string) error {
	p := Lookup(ScopeClientMetrics, name)
	if p == nil {
		return badRequest(name, "Unknown client metrics configuration: " + name)
	}
	norm, err := p.Parse(value)
	if err != nil {
		return err
	}
	switch name {
	case "interval.ms":
		if n := toInt(norm, true); n < 100 || n > 3_600_000 {
			return badRequest(name, fmt.Sprintf("Invalid value %d for interval.ms, interval must be between 100 and 3600000 (1 hour)", n))
		}
	case "match":
		return validateMatch(splitList(norm))
	}
	return nil
}

// matchNames are what a client metrics subscription may select by.
const matchNames = "client_instance_id,client_id,client_software_name,client_software_version,client_source_address,client_source_port"

func validateMatch(list []string) error {
	for _, e := range list {
		k, _, ok := strings.Cut(e, "=")
		if !ok || !oneOf(matchNames, trim(k)) {
			return badConfig("match", "Illegal client matching pattern: " + e)
		}
	}
	return nil
}

// ValidateGroup checks one setting of a group against its type; ValidateGroupConfigs also against the broker's bounds.
func ValidateGroup(name, value string) error {
	p := Lookup(ScopeGroup, name)
	if p == nil {
		return badConfig(name, "Unknown group config name: " + name)
	}
	_, err := p.Parse(value)
	return err
}

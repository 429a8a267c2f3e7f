package config

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

func parseInt32(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err
}

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

// IsList tells whether APPEND and SUBTRACT may be used: only on the lists of topics and brokers, as the controller knows no others.
func IsList(s Scope, name string) bool {
	if s != ScopeTopic && s != ScopeBroker {
		return false
	}
	p := Lookup(s, name)
	if p == nil && s == ScopeBroker {
		p = Lookup(s, baseName(name))
	}
	return p != nil && p.Type == TypeList
}

// NotAList is the error of an APPEND or SUBTRACT on what is no list. Brokers word it otherwise than the rest.
func NotAList(s Scope, op Op, name string) error {
	word := "APPEND"
	if op == OpSubtract {
		word = "SUBTRACT"
	}
	if s == ScopeBroker {
		return badConfig(name, "Config value "+strings.ToLower(word)+" is not allowed for config key: "+name)
	}
	return badConfig(name, "Can't "+word+" to key "+name+" because its type is not LIST.")
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
		return badConfig(name, "Unknown topic config name: "+name)
	}
	_, err := p.Parse(value)
	return err
}

// ValidateTopicConfigs checks all of a topic's settings after a change: names, then values, then together.
func ValidateTopicConfigs(broker *Resolver, configs map[string]string) error {
	names := sortedNames(configs)
	for _, name := range names {
		if Lookup(ScopeTopic, name) == nil {
			return ValidateTopic(name, "")
		}
	}
	for _, name := range names {
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

// ValidateClientMetrics checks one setting of a client metrics subscription (KIP-714).
func ValidateClientMetrics(name, value string) error {
	p := Lookup(ScopeClientMetrics, name)
	if p == nil {
		return badRequest(name, "Unknown client metrics configuration: "+name)
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
		f := strings.Split(e, "=")
		if len(f) != 2 || !oneOf(matchNames, trim(f[0])) || trim(f[1]) == "" {
			return badConfig("match", "Illegal client matching pattern: "+e)
		}
		if _, err := regexp.Compile(trim(f[1])); err != nil {
			return badConfig("match", "Illegal client matching pattern: "+e)
		}
	}
	return nil
}

// javaList is how Java prints a list.
func javaList(list []string) string { return "[" + strings.Join(list, ", ") + "]" }

package config

import (
	"sort"
	"strings"
)

// Scope is the kind of resource that a property belongs to.
type Scope uint8

// Scopes: which table a property stands in.
const (
	ScopeBroker Scope = iota
	ScopeTopic
	ScopeGroup
	ScopeClientMetrics
	scopeCount
)

// String is the word that Kafka's messages use for the scope.
func (s Scope) String() string {
	switch s {
	case ScopeBroker:
		return "broker"
	case ScopeTopic:
		return "topic"
	case ScopeGroup:
		return "group"
	}
	return "client metrics"
}

// Type is a property's type with the number that DescribeConfigs gives it on the wire.
type Type int8

// Types as numbered by DescribeConfigs v3+.
const (
	TypeUnknown Type = iota
	TypeBoolean
	TypeString
	TypeInt
	TypeShort
	TypeLong
	TypeDouble
	TypeList
	TypeClass
	TypePassword
)

// String is Kafka's name of the type, as in its messages.
func (t Type) String() string {
	return [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}[t]
}

// Mode tells whether and where a broker property may be changed while the broker runs.
type Mode uint8

// Modes of broker properties; the other scopes are always Dynamic.
const (
	ReadOnly Mode = iota
	PerBroker
	ClusterWide
	Dynamic
)

// String is Kafka's word for the mode.
func (m Mode) String() string {
	return [...]string{"read-only", "per-broker", "cluster-wide", "dynamic"}[m]
}

// Visibility tells whether DescribeConfigs shows a property.
type Visibility uint8

// Visibilities.
const (
	Public      Visibility = iota
	Internal               // accepted, never described
	DynamicOnly            // described only while it is set
)

// Effect tells what kaja does with a property.
type Effect uint8

// Effects; docs/configuration.md and the test of the tables are made from them.
const (
	// Effective properties do what Kafka's documentation says.
	Effective Effect = iota
	// Coming properties are known, validated and described; the named feature will read them.
	Coming
	// NoEffect properties cannot mean anything in kaja; Note says why. Setting one is no risk and warns nobody.
	NoEffect
	// Unsupported properties ask for something that kaja does not do: a value other than the default gives one warning.
	Unsupported
	// Refused properties stop the start when they have another value than the default.
	Refused
)

// String is the word used in docs/configuration.md.
func (e Effect) String() string {
	return [...]string{"effective", "coming", "without effect", "not supported", "refused"}[e]
}

// Synonym is a broker property that gives a topic or group property its default, counted Factor times (hours to milliseconds).
type Synonym struct {
	Name   string
	Factor int64
}

// Default kinds: a property has a default value, the default null, or must be given.
const (
	defaultValue = iota
	defaultNull
	defaultNone
)

// Property is one row of Kafka's tables.
type Property struct {
	Name       string
	Type       Type
	Default    string // meaningful when HasDefault
	defaults   uint8
	check      check
	Visibility Visibility
	Mode       Mode
	Synonyms   []Synonym
	Effect     Effect
	Note       string // which feature (Coming) or why (NoEffect, Unsupported, Refused)
	Doc        string
}

// HasDefault tells whether the default is a value (not null, not missing).
func (p *Property) HasDefault() bool { return p.defaults == defaultValue }

// Required tells whether Kafka has no default at all.
func (p *Property) Required() bool { return p.defaults == defaultNone }

// Sensitive tells whether the value is never shown.
func (p *Property) Sensitive() bool { return p.Type == TypePassword }

// Properties is a scope's table sorted by name. Read only.
func Properties(s Scope) []Property {
	switch s {
	case ScopeBroker:
		return brokerProperties[:]
	case ScopeTopic:
		return topicProperties[:]
	case ScopeGroup:
		return groupProperties[:]
	case ScopeClientMetrics:
		return metricsProperties[:]
	}
	return nil
}

// Lookup finds a property by its exact name; nil when Kafka has none.
func Lookup(s Scope, name string) *Property {
	t := Properties(s)
	i := sort.Search(len(t), func(i int) bool { return t[i].Name >= name })
	if i < len(t) && t[i].Name == name {
		return &t[i]
	}
	return nil
}

// IsOwn tells a property that only kaja has: it is read at the start and never described, since tools of Kafka take DescribeConfigs for
// Kafka's own table.
func IsOwn(name string) bool { return strings.HasPrefix(name, ownPrefix) }

// ownPrefix begins the names of kaja's own properties.
const ownPrefix = "kaja."

// Documentation is one line for people about the property, in kaja's own words.
func (p *Property) Documentation() string {
	if p.Doc != "" {
		return p.Doc
	}
	return "The property " + p.Name + " of type " + p.Type.String() + "."
}

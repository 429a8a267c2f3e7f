// Package config knows every property of Apache Kafka 4.4.0 once: name, type, default, validator, dynamic or not, broker, topic, group or
// client metrics; reads server.properties, the environment dialects and overrides; resolves synonyms and dynamic values.
//
// Owns: the property tables (tables.go, made by scripts/genconfig from properties.tsv, which was taken from Kafka itself, and
// effects.tsv, which says what kaja does with each), the static configuration, the order of resolution, the levels of loggers.
//
//	I1  a value that Kafka would refuse is refused, with Kafka's text; at start the line also says where the value came from.
//	I2  secrets never leave: values of type PASSWORD and of unknown names are in no error, warning or description.
//	I3  precedence: override, environment, file, default; for dynamic settings: per broker, cluster-wide, then those.
//	I4  kaja's own defaults hold only when neither a file nor the environment configures anything.
//
// Start here: Load gives a Static; Broker makes of it and the image's settings a Resolver; TopicOf, TopicConfig and GroupOf resolve
// further; Validate… and (*Resolver).ValidateChange judge alterations.
//
// Called by everybody. Static and Resolver are immutable; Loggers locks itself. No goroutines.
// Not here: storing dynamic values (metadata), describing them on the wire (server/handler), doing what they say.
package config

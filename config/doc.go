// Package config knows every property of Apache Kafka 4.4.0 once: name, type, default, validator, dynamic or not, broker, topic or group;
// reads server.properties, the environment dialects and overrides; resolves synonyms and dynamic values.
//
// Owns: the property tables (generated from the real broker's), the static configuration, resolution order.
//
//	I1  a value that Kafka would refuse is refused, with a message that says what to do.
//	I2  secrets never leave (Password values are not printed).
//
// Called by everybody. Static values are immutable after Load. Not here: storing dynamic values (metadata), describing them on the wire (server/handler).
package config

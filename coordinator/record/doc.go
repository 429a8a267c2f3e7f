// Package record is the codecs of the records of internal topics, generated from Kafka's schemas.
//
// Owns: nothing yet that runs; see ARCHITECTURE.md for what comes. Machines here know no clock, logger, socket or lock: event and time in,
// records, replies and timers out. Called by coordinator's runtime.
package record

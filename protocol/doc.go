// Package protocol is what travels between a client and a broker, apart from the meaning of the requests: frames, headers, the
// version table, spliced responses. Bodies are encoded and decoded by kmsg.
//
// Owns: the table of API keys and versions that kaja answers (table.go), frame and header formats.
//
//	I1  a length is checked against its limit before anything is allocated for it.
//	I2  what is decoded without copying aliases the frame; whoever keeps it clones it.
//	I3  version ranges are those of Apache Kafka 4.4.0 and not kmsg's.
//
// Called by server, server/handler, and by everything that names an API. No goroutines, no locks: values only.
// Not here: sockets (server), record batches (protocol/batch), what a request does (server/handler).
package protocol

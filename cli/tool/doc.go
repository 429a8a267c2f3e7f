// Package tool has Kafka's own command-line tools under their usual names, built on franz-go.
//
// Owns: their options, output and exit codes. A file or a few per tool (topics*.go, configs*.go, …) and what they share: the two
// ways in which Kafka's tools read their command line (jopt*.go, argparse*.go, with Java's line breaks in breakline.go), clients
// from bootstrap lists and property files (client.go, controllers.go, security.go, properties.go), errors as Java's exceptions
// (exception.go) and the order of Java's hash maps (javamap.go).
//
//	I1  what a tool prints on standard output and error, and its exit code, are those of 4.4.0's tool byte for byte, except for log
//	    lines, stack traces and lists whose order is random there; docs/deviations.md has the differences that are meant.
//	I2  a call costs its work: nothing of the broker, of cobra or of the other tools is made for it.
//	I3  a tool returns; it ends no process and leaves no goroutine behind but those that end with the client it closes.
//
// Start here: tools.go lists the tools, env.go is the world they see, topics.go is a typical one.
//
// Called by cli, on the main goroutine. Nothing is shared between calls.
// Not here: protocol code of its own, rules of the broker. A check that the broker makes too is made here only where Kafka's tool
// makes it.
package tool

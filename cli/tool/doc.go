// Package tool has Kafka's own command-line tools under their usual names, built on franz-go.
//
// Owns: their options and output. Called by cli. Not here: protocol code of its own.
package tool

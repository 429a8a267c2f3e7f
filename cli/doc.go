// Package cli is the command line: kaja serve and its siblings, exit codes, one-line errors.
//
// Owns: flags, the process's logger, signals. Called by main. Not here: the broker (server), Kafka's tools (cli/tool).
package cli

// Package cli is the command line: kaja serve and its siblings, exit codes, one-line errors.
//
// Owns: flags, the process's logger, signals, exit codes.
//
//	I1  whatever goes wrong is one line on standard error that says what to do, and exit code 1; a wrong command line is exit code 2.
//	I2  the lines that tooling waits for are logged when the broker serves, not before, "Kafka Server started" among the last.
//	I3  SIGTERM and SIGINT stop the broker in order; a second one ends the process at once.
//	I4  doctor changes nothing, but for a file that it makes and removes to see whether one may write.
//
// Called by main. The commands run on the calling goroutine; serve has one more, which waits for signals and ends with it.
// Not here: the broker (server), what a setting means (config), Kafka's tools (cli/tool).
package cli

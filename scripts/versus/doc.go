// Command versus runs Apache Kafka and another broker side by side, interleaves the same loads on both, and compares what they cost.
//
//	go run ./scripts/versus [-rounds N] [-only REGEX] [-out docs/performance.md] [-- COMMAND … {port} … {dir}]
//	go run ./scripts/versus -gate [-- COMMAND …]      one broker beside the kernel's own cost, with bounds (scripts/costs)
//
// Without a command it builds kaja. Kafka 4.4.0 is started by ../shared/kafka/kafka (KAFKA names another such script, KAFKA_HOME a
// distribution). Both get directories on the same disk; every round runs each load on both, in changing order, with topics of its own;
// medians and the least figures of the rounds after the warm ones are compared. The kernel's cost comes from scripts/floor in the same run.
//
// Owns: the brokers' processes, and their directories, which it removes. Figures are CPU seconds of the brokers and memory: wall times
// are given for what waits (start, recovery, groups) and mean little on a busy machine.
// Not here: the loads (scripts/load).
package main

// Command capacity measures a broker with many partitions: creation of 1,000 topics, memory with 10,000 partitions, stop and restart.
//
//	go run ./scripts/capacity -addr 127.0.0.1:29510 -- ./kaja serve --override listeners=PLAINTEXT://127.0.0.1:29510 …
//
// Owns: the broker's process. One goroutine. The limits are those that ARCHITECTURE.md promises; a figure over its limit fails the run.
// Not here: load.
package main

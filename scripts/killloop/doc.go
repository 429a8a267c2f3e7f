// Command killloop kills a broker with SIGKILL again and again while clients write, and checks after each restart that everything
// that was acknowledged is there, once and in order.
//
//	go run ./scripts/killloop -rounds 50 -seed 1 -addr 127.0.0.1:29500 -- ./kaja serve --override listeners=PLAINTEXT://127.0.0.1:29500 …
//
// Owns: the broker's process and the ledger of what was acknowledged.
//
//	I1  an acknowledged record stands at the offset it was acknowledged with, with its bytes.
//	I2  an idempotent producer's records are in the log once, in the order they were sent, also when it retried over a kill.
//	I3  a topic whose creation was acknowledged is there with its id, its config as last acknowledged; a deleted one is gone.
//
// One goroutine drives the rounds, one writes per partition; all are joined before the next kill's check.
// Not here: power cuts (a SIGKILL leaves the page cache), several brokers.
package main

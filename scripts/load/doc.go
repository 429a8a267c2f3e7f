// Command load drives a broker of Kafka's protocol and prints what that cost the broker.
//
//	go run ./scripts/load MODE -addr HOST:PORT -pid BROKERPID [flags]      (MODE -h lists the flags)
//
// Modes: produce, fetch (large requests, CPU seconds per GiB); small (one request after the other: produce, metadata, apiversions, fetch,
// heartbeat, consumer-heartbeat, commit, transaction: microseconds per request); tail (produce to a waiting consumer); catchup (a reader from the disk
// beside a live producer); conns, idle, first,
// topics, group, compact; groups (idle ones), offsets (committed, then loaded by a broker that starts again).
//
// Owns: nothing of the broker but what it creates there. Requests are encoded once and answers are cut up by hand, so that the generator
// takes as little as possible of the machine that the broker runs on. Figures are CPU seconds (user and system) of the broker's process,
// which hold on a busy machine; wall times do not. The last line of the output is one JSON object.
//
//	I1  an answer with an error ends the run: no figure is made of refusals.
//	I2  nothing but the measured requests runs between start and stop of the meter.
//
// Called by scripts/versus, and by people. One goroutine per connection writes, one reads.
package main

// Command floor measures what the kernel alone costs a broker: receiving bytes, CRC-32C, writing them to a file; and sending a file.
//
//	go run ./scripts/floor -dir DIR [-mib N]
//
// It starts itself as a server (a thread per connection, blocking system calls, nothing decoded), drives it, and prints the CPU seconds per
// GiB of that process and the microseconds per small request as one JSON object. No broker that keeps Kafka's promises can be below.
//
// Owns: the server's process and its files below DIR, which it removes.
// Not here: a protocol. A request is its length and so many bytes; one that starts with a zero byte is written to the file, else it
// names how many bytes of the file to send.
package main

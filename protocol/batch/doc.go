// Package batch is the v2 record batch, on the wire and on disk the same bytes: read and patched in place, validated, iterated, built, compressed.
//
// Owns: the layout of batches and records, the codecs (gzip, snappy, lz4, zstd).
//
//	I1  nothing is decoded that Kafka's validation does not demand.
//	I2  base offset and leader epoch lie outside the CRC; whoever changes anything else renews it.
//	I3  no allocation beyond a checked, announced size; decompression is bounded.
//
// Called by storage, replica, coordinators and tools. No goroutines; pooled codecs are safe for concurrent use.
// Not here: offsets' meaning, producer state (storage), what is refused with which code (storage's validation calls in here).
package batch

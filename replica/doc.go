// Package replica is a partition as this broker plays it: leader or follower, how far it is replicated, who waits for it.
//
// Owns: role, leader epoch, ISR, high watermark, last stable offset and parked calls of each local partition.
//
//	I1  logStartOffset ≤ lastStableOffset ≤ highWatermark ≤ logEndOffset, at every unlock.
//	I2  highWatermark does not go back while the leader epoch stays.
//	I3  a parked call is completed exactly once: by progress, by its deadline, by loss of leadership or by its connection's end.
//	I4  a partition serves before the image that names it is published, and no longer after the image without it.
//	I5  an append whose fsync is demanded moves the high watermark only when the fsync is done.
//
// Called by server/handler (produce, fetch), by the coordinators through PartitionWriter, and by metadata deltas. Any goroutine may call.
// Partition.mu guards role, high watermark and produces that wait, and is held over an append; Partition.wmu, taken after it, guards the
// list of fetches that wait. Reads take no lock: the role is an immutable state behind a pointer, the watermarks are atomics.
// Completions are collected under the locks (Wakes) and run after; a caller that holds a lock of its own passes Wakes and fires later.
// No goroutines: deadlines come from internal/wheel, fsyncs from the log's group commit.
//
// A fetch that waits is looked at by each append of its partitions and nobody else. It is claimed once (an atomic), which decides between
// append, deadline and cancellation; links made while it was being claimed are taken back by Park itself.
//
// Not here: bytes on disk (storage), who should lead (controller), what a request looks like (server/handler).
package replica

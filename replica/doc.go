// Package replica is a partition as this broker plays it: leader or follower, how far it is replicated, who waits for it.
//
// Owns: role, leader epoch, ISR, high watermark, last stable offset and parked calls of each local partition.
//   I1  logStartOffset ≤ lastStableOffset ≤ highWatermark ≤ logEndOffset, at every unlock.
//   I2  highWatermark does not go back while the leader epoch stays.
//   I3  a parked call is completed exactly once: by progress, by its deadline, by loss of leadership or by its connection's end.
//
// Called by server/handler (produce, fetch), by the coordinators through PartitionWriter, and by metadata deltas.
// Any goroutine may call; Partition.mu guards all; completions run after it is released.
// Not here: bytes on disk (storage), who should lead (controller), what a request looks like (server/handler).
package replica

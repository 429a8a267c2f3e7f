// Package storage is one partition's log on disk, and the log directories that hold many of them, in Kafka's formats.
//
// Owns: segments, offset, time and transaction indexes, producer state and its snapshots, leader epoch cache, recovery, retention, compaction,
// the checkpoint files, meta.properties, partition.metadata, directory locks.
//
//	I1  logStartOffset ≤ every readable offset < logEndOffset; offsets grow without overlap, leader epochs never fall.
//	I2  bytes below the recovery point were synced; what was acknowledged survives kill -9, what was flushed survives a power cut.
//	I3  a reader holds a reference to its segment: deletion never pulls a file from under it.
//	I4  a failed write leaves log and memory as before, or takes the directory offline.
//	I5  memory does not grow with the log's size.
//	I6  compaction never loses the last value of a key, nor changes an offset: what it removes is superseded by records that are durable.
//
// Called by replica, by the server for the metadata log (OpenStandalone), by tools (Check). Appends of one log take turns under its
// mutex; readers use an immutable segment list, atomics and a mutex that is never held across I/O. Periodic work is Manager steps (retention,
// flush, checkpoints, file deletion, moves, cleaning), run by Start; syncs for waiters run on a goroutine per log that is joined by Close.
//
// Lock order: Manager.changeMu, Manager.mu, Log.cleanMu, Log.syncMu, Log.mu, tail.mu, segment.mu, segmentFiles.mu. OnDirFailure, the done of FlushGroup,
// ConfigOf and the high watermark source are called without any of them but changeMu: they create, delete and move no logs.
//
// Reading order: log.go (what a log holds), append.go, read.go, segment.go, index.go, flush.go, load.go and recover.go (start), retention.go,
// truncate.go, manager.go, dirs.go, loops.go, moves.go (between directories), check.go; cleaner.go (threads), cleanerselect.go (which log),
// cleanerpass.go (one cleaning), cleanerfilter.go (what stays), cleanerswap.go (how it takes its place).
//
// Not here: who leads, high watermark (replica), requests (server/handler).
package storage

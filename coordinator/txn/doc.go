// Package txn is the transaction coordinator on one partition of __transaction_state: a pure machine.
//
// Owns: Shard (a coordinator.Machine), the transactional ids whose hash leads to its partition, and for each of them the producer id
// and epoch, the state of its transaction and the partitions in it.
//
//	I1  hard state changes only in Apply. Soft: the epoch before the last one (Kafka does not keep it in the log either), when a
//	    transaction began on the monotonic clock, EndTxn calls that wait for the end.
//	I2  a decision (PrepareCommit, PrepareAbort) is never changed: from its record on, markers go to every partition of the transaction
//	    until all of them are in, over restarts too, and only then it is complete.
//	I3  markers leave when the decision is committed, not before.
//	I4  an epoch that was fenced never gets a transaction again: fencing raises the epoch in the record that decides on the abort.
//	I5  every parked Handle is answered once: by the end of the transaction, by the word that it takes longer, or by Dropped.
//
// Versions of the protocol: with version 2 (KIP-890) the end of a transaction raises the epoch, so that a retry is told from the end of the
// next transaction by its epoch; with 0 and 1 the epoch stays and a retry by the state. Which one is the client's choice per call.
//
// Called by coordinator's runtime under the shard's mutex. No clock, logger, random source, goroutine or lock in here: time and fresh
// producer ids come as arguments. Not here: which partition an id lives on, writing markers (Outbox), what a response looks like.
package txn

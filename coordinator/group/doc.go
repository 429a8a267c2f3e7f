// Package group is the state of the groups and offsets on one partition of __consumer_offsets: pure machines.
//
// Owns: Shard (a coordinator.Machine), classic groups, consumer groups (KIP-848), their server-side assignors, committed offsets.
// One name space: a group id is of one kind at a time, and may move between classic and consumer while it runs.
//
//	I1  hard state (what a restart must know) changes only in Apply, ApplyTxn and EndTxn; everything else is soft: parked calls,
//	    session deadlines, who has heartbeated.
//	I2  every parked Handle is answered exactly once; Dropped answers those that are left.
//	I3  no partition is assigned to two members of a consumer group at one time (KIP-848 reconciliation).
//	I4  map order is never visible: what can be seen from outside is iterated sorted.
//
// Called by coordinator's runtime under the shard's mutex. No clock, logger, random source, goroutine or lock in here: time and
// fresh ids come as arguments. Not here: which partition a group lives on, the log, sockets, authorisation.
package group

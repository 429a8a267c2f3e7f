// Package coordinator runs replicated state machines over internal topics: loading, appending, replying once committed, timers.
//
// Owns: one shard per internal partition, its pending replies and timers.
//
//	I1  state changes only by applying records; serving and loading use the same apply.
//	I2  a reply leaves only after its records are committed.
//	I3  an append that fails, or a lost leadership, drops the shard; it is loaded again.
//
// Called by server/handler on the caller's goroutine; a shard runs to completion under its mutex. It declares the interfaces it needs
// (PartitionWriter …) and server wires them. Not here: rules of groups, transactions, share state (its sub-packages).
package coordinator

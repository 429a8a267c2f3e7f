// Package coordinator runs replicated state machines over internal topics: loading, appending, replying once committed, timers.
//
// Owns: one shard per internal partition, its pending replies and timers; which partition a key lives on (PartitionFor).
//
//	I1  state changes only by applying records; serving and loading use the same apply.
//	I2  a reply leaves only after its records, and all written before them, are committed; each call is answered once.
//	I3  an append that fails, or a lost leadership, drops the shard; it is loaded again. But a step that declared itself Clean has changed
//	    nothing else: its refused write only fails its call.
//
// Called by server/handler on the caller's goroutine: a step runs to completion under its shard's mutex, which is held over the append.
// Replies, and what the log has to tell others, leave after it is unlocked. Loads and timers run on the process's workers (Options.Go).
// It declares the interfaces it needs (PartitionWriter …) and server wires them. Not here: rules of groups, transactions, share state (its
// sub-packages), what an error is on the wire (server/handler).
package coordinator

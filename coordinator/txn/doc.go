// Package txn is the transaction coordinator's pure machine.
//
// Owns: nothing yet that runs; see ARCHITECTURE.md for what comes. Machines here know no clock, logger, socket or lock: event and time in,
// records, replies and timers out. Called by coordinator's runtime.
package txn

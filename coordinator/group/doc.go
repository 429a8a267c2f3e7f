// Package group is groups of every kind and their offsets: pure machines (classic, consumer).
//
// Owns: nothing yet that runs; see ARCHITECTURE.md for what comes. Machines here know no clock, logger, socket or lock: event and time in,
// records, replies and timers out. Called by coordinator's runtime.
package group

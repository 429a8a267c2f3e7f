// Package naps lets Go's runtime sleep longer.
//
// The runtime has a thread of its own (sysmon) that looks after the others. Whenever a process has woken up it sleeps 20 µs at a time, fifty times
// and more, before its naps become longer. Each costs a timer and two switches, 5 to 10 µs of CPU in a virtual machine: half of what a broker
// with some hundred requests a second takes, and a tenth to a quarter of what a busy one does (docs/performance.md).
// Linux lengthens the sleep of a thread by its timer slack. A thread has that of the thread it was started by, and sysmon is started before
// anything of ours runs; so the process sets the slack and executes its program again, under the same process id.
//
// It does so only with the very file that runs, and only where the slack stays set: a program that was deleted or replaced meanwhile, and a thread with
// a real-time policy, which has no slack, go on as they are.
//
// What it costs: timers come up to the slack later, and a processor whose thread is in a long system call is given to another thread that much later; and while the
// successor begins (some hundred microseconds) a signal does what it does to any program that begins: SIGTERM ends it, and a container's first process,
// which Linux protects, misses it.
//
// Owns: nothing. Called by cli before it serves. Not here: the pools and loops of server.
package naps

import "time"

const (
	// Variable names the environment variable that sets another slack, as Go writes durations; 0s leaves the system's (50 µs).
	Variable = "KAJA_TIMER_SLACK"
	// Default is as long as measurements got better without answers getting later: at 1 ms a part of the gain is missing, from
	// 3 ms on the latest of 100 answers under load come later.
	Default = 2 * time.Millisecond
	// Max is the longest slack: the runtime would take no note of blocked threads for too long.
	Max = 10 * time.Millisecond
)

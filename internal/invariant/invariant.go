// Package invariant stops the process when something that must hold does not: going on could lose data.
//
// Owns: nothing. Called by everybody for conditions that only a bug of kaja can break, never for what a client or a disk can cause.
// Enabled is a constant, so that costly checks behind it vanish from release builds.
package invariant

import "fmt"

// Failf stops the process with a stack.
func Failf(format string, args ...any) {
	panic("invariant broken: " + fmt.Sprintf(format, args...))
}

// Check stops the process unless ok.
func Check(ok bool, format string, args ...any) {
	if !ok {
		Failf(format, args...)
	}
}

//go:build race || invariants

package invariant

// Enabled switches costly checks on: in race builds, and with the build tag invariants.
const Enabled = true

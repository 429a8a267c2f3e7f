// Package share is a share partition at its leader (KIP-932): records in flight, their locks and delivery counts, share sessions. A pure machine.
//
// Owns: nothing yet; it comes with share groups. Called by replica. Not here: durable share state (coordinator/share).
package share

// Package cache bounds what is kept open or kept in memory: Handles for open files, Cost (the only place that imports ristretto) for
// what may be dropped at any time.
//
// Owns: who is dropped when. Invariants: I1 a handle is closed exactly once, when the last reference is gone. I2 a Cost may forget
// anything at any time and shows a Set only eventually: never for correctness.
// Called by storage (segment files), security (decisions), replica. Any goroutine may call; nothing is called back under a lock.
// Not here: what the cached things mean.
package cache

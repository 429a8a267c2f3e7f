// Package metric counts what happens on the hot path, for the console to show.
//
// Owns: histograms of durations, and the traffic of topics. Everything is atomics; counting allocates nothing once a topic is known.
//
//	I1  counters never fall while the process runs; a topic that is deleted keeps counting for the broker's sum.
//	I2  whoever has nothing to count into (a nil Traffic or Topic) pays one comparison.
//
// Called by replica, server and server/handler, and read by server for the console. Any goroutine may call. No goroutines, no locks but
// that of the map of topics, which is taken when a partition is made and when metrics are read.
// Not here: names of metrics, HTTP (console), what is only read when somebody looks (server/metrics.go).
package metric

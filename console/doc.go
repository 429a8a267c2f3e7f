// Package console is the one HTTP port: metrics for Prometheus, health and readiness. It is off unless configured.
//
// Owns: the HTTP server, and the catalogue of metrics: their names, meanings and labels (catalog.go, told to people in docs/metrics.md).
//
//	I1  nothing here runs until somebody asks, and nothing is counted here: what a scrape shows is read when it comes.
//	I2  a metric that is not in the catalogue cannot be shown.
//	I3  requests change nothing: whoever reaches the port learns of the broker and cannot harm it.
//
// Called by server, which gives the numbers through Options. Goroutines: net/http's, one per connection and one that accepts; Close joins
// the latter and ends the others.
// Not here: counting (internal/metric), what the numbers are read from (server).
package console

// Package console is the one HTTP port: health, metrics, a page to look at, REST controls. It is off unless configured.
//
// Owns: nothing yet that runs. Called by server. Not here: what the numbers mean (internal/metric).
package console

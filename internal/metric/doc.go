// Package metric is counters and gauges that the console shows.
package metric

// Package cache is the only place that imports ristretto: cost-bounded caches for segment handles, index pages, decoded batches.
package cache

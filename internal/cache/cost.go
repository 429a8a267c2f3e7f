package cache

import (
	"fmt"

	"github.com/dgraph-io/ristretto/v2"
)

// Cost is a cache bounded by the sum of its entries' costs; what is used often stays.
type Cost[K ristretto.Key, V any] struct{ c *ristretto.Cache[K, V] }

// averageEntryBytes is what ristretto's counters are sized by: ten counters for each entry of this cost, as its authors advise.
const averageEntryBytes = 512

// NewCost makes a cache of at most maxCost (bytes, or any other measure that Set is given).
func NewCost[K ristretto.Key, V any](maxCost int64) (*Cost[K, V], error) {
	c, err := ristretto.NewCache(&ristretto.Config[K, V]{
		NumCounters: max(10*maxCost/averageEntryBytes, 100),
		MaxCost:     maxCost,
		BufferItems: 64, // ristretto's advice
	})
	if err != nil {
		return nil, fmt.Errorf("make cache of %d: %w", maxCost, err)
	}
	return &Cost[K, V]{c: c}, nil
}

// Get gives what is there.
func (c *Cost[K, V]) Get(k K) (V, bool) { return c.c.Get(k) }

// Set may put v in, visible some time later.
func (c *Cost[K, V]) Set(k K, v V, cost int64) { c.c.Set(k, v, cost) }

// Delete takes k out.
func (c *Cost[K, V]) Delete(k K) { c.c.Del(k) }

// Clear empties the cache.
func (c *Cost[K, V]) Clear() { c.c.Clear() }

// Wait returns when every Set before it is visible: for tests.
func (c *Cost[K, V]) Wait() { c.c.Wait() }

// Close ends the cache's goroutine.
func (c *Cost[K, V]) Close() { c.c.Close() }

package metadata

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
)

// owner marks the nodes that one Apply has made and may therefore still change. It is not of size zero, so that each has an address of
// its own.
type owner struct{ _ byte }

// shardCount cuts an index so that a change copies a 128th of it: with 10,000 topics about 80 entries.
const shardCount = 128

// index is a persistent hash map: put and remove return an index that shares all untouched shards. The zero pointer is empty.
type index[K comparable, V any] struct {
	own    *owner
	seed   maphash.Seed
	shards [shardCount]indexShard[K, V]
}

type indexShard[K comparable, V any] struct {
	own     *owner
	entries map[K]V
}

func (x *index[K, V]) shardOf(k K) int {
	return int(maphash.Comparable(x.seed, k) % shardCount)
}

func (x *index[K, V]) get(k K) (v V, ok bool) {
	if x == nil {
		return v, false
	}
	v, ok = x.shards[x.shardOf(k)].entries[k]
	return v, ok
}

// writable returns the index and the shard of k in a form that o may change.
func (x *index[K, V]) writable(o *owner, k K) (*index[K, V], map[K]V) {
	switch {
	case x == nil:
		x = &index[K, V]{own: o, seed: maphash.MakeSeed()}
	case x.own != o:
		c := *x
		c.own, x = o, &c
	}
	s := &x.shards[x.shardOf(k)]
	if s.own != o {
		s.own, s.entries = o, maps.Clone(s.entries)
		if s.entries == nil {
			s.entries = map[K]V{}
		}
	}
	return x, s.entries
}

func (x *index[K, V]) put(o *owner, k K, v V) *index[K, V] {
	x, entries := x.writable(o, k)
	entries[k] = v
	return x
}

func (x *index[K, V]) remove(o *owner, k K) *index[K, V] {
	if _, ok := x.get(k); !ok {
		return x
	}
	x, entries := x.writable(o, k)
	delete(entries, k)
	return x
}

// chunkMax is where a chunk of an ordered map is cut in two: a change copies at most so many entries and one pointer per chunk.
const chunkMax = 128

// ordered is a persistent sorted map in two levels. The zero pointer is empty; cmp comes with every call, so that it need not be kept.
type ordered[K, V any] struct {
	own    *owner
	n      int
	chunks []*chunk[K, V] // none empty; keys ascend through all
}

type chunk[K, V any] struct {
	own     *owner
	entries []entry[K, V]
}

type entry[K, V any] struct {
	key   K
	value V
}

func (m *ordered[K, V]) len() int {
	if m == nil {
		return 0
	}
	return m.n
}

// find returns the chunk and the place in it where k is, or would be.
func (m *ordered[K, V]) find(cmp func(a, b K) int, k K) (c, i int, found bool) {
	c, _ = slices.BinarySearchFunc(m.chunks, k, func(x *chunk[K, V], k K) int { return cmp(x.entries[len(x.entries)-1].key, k) })
	if c == len(m.chunks) {
		if c == 0 {
			return 0, 0, false
		}
		return c - 1, len(m.chunks[c-1].entries), false
	}
	i, found = slices.BinarySearchFunc(m.chunks[c].entries, k, func(e entry[K, V], k K) int { return cmp(e.key, k) })
	return c, i, found
}

func (m *ordered[K, V]) get(cmp func(a, b K) int, k K) (v V, ok bool) {
	if m == nil {
		return v, false
	}
	c, i, found := m.find(cmp, k)
	if !found {
		return v, false
	}
	return m.chunks[c].entries[i].value, true
}

// from iterates upwards from the first key at or after k.
func (m *ordered[K, V]) from(cmp func(a, b K) int, k K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m == nil || m.n == 0 {
			return
		}
		c, i, _ := m.find(cmp, k)
		m.walk(c, i, yield)
	}
}

// all iterates upwards.
func (m *ordered[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m != nil {
			m.walk(0, 0, yield)
		}
	}
}

func (m *ordered[K, V]) walk(c, i int, yield func(K, V) bool) {
	for ; c < len(m.chunks); c, i = c+1, 0 {
		for _, e := range m.chunks[c].entries[i:] {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// writable returns the map in a form that o may change; a chunk is made so by own.
func (m *ordered[K, V]) writable(o *owner) *ordered[K, V] {
	switch {
	case m == nil:
		return &ordered[K, V]{own: o}
	case m.own != o:
		return &ordered[K, V]{own: o, n: m.n, chunks: slices.Clone(m.chunks)}
	}
	return m
}

func (m *ordered[K, V]) chunkOf(o *owner, c int) *chunk[K, V] {
	if x := m.chunks[c]; x.own != o {
		m.chunks[c] = &chunk[K, V]{own: o, entries: append(make([]entry[K, V], 0, len(x.entries)+1), x.entries...)}
	}
	return m.chunks[c]
}

func (m *ordered[K, V]) put(o *owner, cmp func(a, b K) int, k K, v V) *ordered[K, V] {
	m = m.writable(o)
	if len(m.chunks) == 0 {
		m.chunks = append(m.chunks, &chunk[K, V]{own: o, entries: []entry[K, V]{{key: k, value: v}}})
		m.n++
		return m
	}
	c, i, found := m.find(cmp, k)
	x := m.chunkOf(o, c)
	if found {
		x.entries[i].value = v
		return m
	}
	m.n++
	x.entries = slices.Insert(x.entries, i, entry[K, V]{key: k, value: v})
	if len(x.entries) > chunkMax {
		half := len(x.entries) / 2
		upper := &chunk[K, V]{own: o, entries: slices.Clone(x.entries[half:])}
		clear(x.entries[half:])
		x.entries = x.entries[:half]
		m.chunks = slices.Insert(m.chunks, c+1, upper)
	}
	return m
}

func (m *ordered[K, V]) remove(o *owner, cmp func(a, b K) int, k K) *ordered[K, V] {
	if _, ok := m.get(cmp, k); !ok {
		return m
	}
	m = m.writable(o)
	c, i, _ := m.find(cmp, k)
	m.n--
	if len(m.chunks[c].entries) == 1 {
		m.chunks = slices.Delete(m.chunks, c, c+1)
		return m
	}
	x := m.chunkOf(o, c)
	x.entries = slices.Delete(x.entries, i, i+1)
	return m
}

package metadata

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func compareInts(a, b int) int { return a - b }

// TestPersistentMaps: by chance, the two maps hold what a plain map holds, and every state that was kept stays as it was.
func TestPersistentMaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var m *ordered[int, int]
	var x *index[int, int]
	model := map[int]int{}
	type kept struct {
		m     *ordered[int, int]
		x     *index[int, int]
		model map[int]int
	}
	var states []kept
	o := &owner{}
	for i := range 20_000 {
		k := r.IntN(3000)
		if r.IntN(3) == 0 {
			m, x = m.remove(o, compareInts, k), x.remove(o, k)
			delete(model, k)
		} else {
			m, x = m.put(o, compareInts, k, i), x.put(o, k, i)
			model[k] = i
		}
		if r.IntN(50) == 0 {
			o = &owner{} // what is there now may not be written any more
		}
		if r.IntN(700) == 0 {
			states = append(states, kept{m: m, x: x, model: maps.Clone(model)})
			o = &owner{}
		}
	}
	states = append(states, kept{m: m, x: x, model: model})
	for i, s := range states {
		if s.m.len() != len(s.model) {
			t.Fatalf("state %d: %d entries, want %d", i, s.m.len(), len(s.model))
		}
		keys := slices.Sorted(maps.Keys(s.model))
		at := 0
		for k, v := range s.m.all() {
			if k != keys[at] || v != s.model[k] {
				t.Fatalf("state %d: entry %d is %d=%d, want %d=%d", i, at, k, v, keys[at], s.model[keys[at]])
			}
			at++
		}
		for k := range 3000 {
			want, ok := s.model[k]
			if v, found := s.m.get(compareInts, k); v != want || found != ok {
				t.Fatalf("state %d: ordered %d is %d %t, want %d %t", i, k, v, found, want, ok)
			}
			if v, found := s.x.get(k); v != want || found != ok {
				t.Fatalf("state %d: index %d is %d %t, want %d %t", i, k, v, found, want, ok)
			}
		}
		for range 100 {
			from := r.IntN(3100) - 50
			var got []int
			for k := range s.m.from(compareInts, from) {
				if got = append(got, k); len(got) == 3 {
					break
				}
			}
			first, _ := slices.BinarySearch(keys, from)
			if want := keys[first:min(first+3, len(keys))]; !slices.Equal(got, want) {
				t.Fatalf("state %d: from %d: %v, want %v", i, from, got, want)
			}
		}
	}
}

func TestEmptyMaps(t *testing.T) {
	var m *ordered[int, int]
	var x *index[int, int]
	for range m.all() {
		t.Error("an empty map has an entry")
	}
	for range m.from(compareInts, 1) {
		t.Error("an empty map has an entry from 1")
	}
	if m.remove(&owner{}, compareInts, 1) != nil || x.remove(&owner{}, 1) != nil {
		t.Error("removing from an empty map made one")
	}
	o := &owner{}
	m = m.put(o, compareInts, 1, 1)
	if m = m.remove(o, compareInts, 1); m.len() != 0 {
		t.Errorf("%d entries after the last was removed", m.len())
	}
	if _, ok := m.put(o, compareInts, 2, 2).get(compareInts, 2); !ok {
		t.Error("an emptied map takes no entry")
	}
}

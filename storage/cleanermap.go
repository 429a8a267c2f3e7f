package storage

import (
	"hash/maphash"
	"math"
	"math/bits"
)

const (
	mapSlotBytes = 24 // as in Kafka, whose map holds 16 bytes of MD5 and an offset: the same buffer holds the same number of keys
	mapMinSlots  = 1 << 10
)

// mapSlot is a key's last offset. Of the key there are two hashes of 64 bits with seeds of their own: that two keys of a full map share
// both has a chance below 2^-80, and nobody outside knows the seeds.
type mapSlot struct {
	h1, h2 uint64
	next   int64 // offset + 1, 0 empty
}

// offsetMap knows the last offset of each key in the part of a log that a pass has looked at. It holds as many keys as Kafka's does in
// a buffer of that size, but takes memory only as keys come: never more than the buffer, the copy while it grows included.
type offsetMap struct {
	slots        []mapSlot
	n            int
	limit        int // keys at most
	grown        int // slots when fully grown
	jump         int // slots beyond which the next growth is the last one
	latest       int64
	seed1, seed2 maphash.Seed
}

// newOffsetMap bounds the map by a buffer's size and its load factor; it will never be asked to hold more than atMost keys.
func newOffsetMap(bufferBytes int64, loadFactor float64, atMost int64) *offsetMap {
	slots := int(min(bufferBytes, math.MaxInt32) / mapSlotBytes)
	m := &offsetMap{latest: -1, seed1: maphash.MakeSeed(), seed2: maphash.MakeSeed()}
	m.limit = max(min(int(float64(slots)*loadFactor), slots-1), 0)
	m.jump = (slots - m.limit) / 4
	m.grown = max(slots-m.jump, m.limit+1)
	if atMost < math.MaxInt32 {
		m.grown = min(m.grown, max(int(atMost)*4/3, mapMinSlots)+1)
	}
	m.slots = make([]mapSlot, min(m.grown, mapMinSlots))
	return m
}

// full says that no further key may be put, which Kafka asks before it looks whether the key is there.
func (m *offsetMap) full() bool { return m.n >= m.limit }

// put notes that the key's last record has that offset; offsets come in ascending order.
func (m *offsetMap) put(key []byte, offset int64) {
	if m.n >= len(m.slots)-len(m.slots)/4 && len(m.slots) < m.grown {
		m.grow()
	}
	h1, h2 := maphash.Bytes(m.seed1, key), maphash.Bytes(m.seed2, key)
	s := m.find(h1, h2)
	if s.next == 0 {
		s.h1, s.h2 = h1, h2
		m.n++
	}
	s.next = offset + 1
	m.latest = offset
}

// get is the key's last offset, -1 when it is unknown.
func (m *offsetMap) get(key []byte) int64 {
	if m.n == 0 {
		return -1
	}
	return m.find(maphash.Bytes(m.seed1, key), maphash.Bytes(m.seed2, key)).next - 1
}

// find gives the key's slot, or the empty one where it belongs. There always is an empty one.
func (m *offsetMap) find(h1, h2 uint64) *mapSlot {
	hi, _ := bits.Mul64(h1, uint64(len(m.slots)))
	for i := int(hi); ; i++ {
		if i == len(m.slots) {
			i = 0
		}
		s := &m.slots[i]
		if s.next == 0 || s.h1 == h1 && s.h2 == h2 {
			return s
		}
	}
}

func (m *offsetMap) grow() {
	n := 2 * len(m.slots)
	if n > m.jump {
		n = m.grown
	}
	old := m.slots
	m.slots = make([]mapSlot, min(n, m.grown))
	for i := range old {
		if old[i].next != 0 {
			*m.find(old[i].h1, old[i].h2) = old[i]
		}
	}
}

// reached notes that everything up to offset has been looked at.
func (m *offsetMap) reached(offset int64) { m.latest = max(m.latest, offset) }

// bytes is the memory taken.
func (m *offsetMap) bytes() int64 { return int64(len(m.slots)) * mapSlotBytes }

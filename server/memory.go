package server

import (
	"sync"
)

// memory bounds the bytes of incomplete and waiting requests of all connections: queued.max.request.bytes. As in Kafka the whole
// request is reserved when its size is known, a reservation succeeds while anything is left (so that the bound may be passed by one
// request and the admitted ones can always complete), and a connection that gets none is not read until others are done.
type memory struct {
	mu      sync.Mutex
	limited bool
	free    int64    // guarded by mu
	waiting []func() // guarded by mu; run without it when bytes become free
}

func newMemory(limit int64) *memory { return &memory{limited: limit > 0, free: limit} }

// reserve takes n bytes, or registers retry (which must not block) for when it is worth trying again and reports false.
func (m *memory) reserve(n int, retry func()) bool {
	if !m.limited {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.free <= 0 {
		m.waiting = append(m.waiting, retry)
		return false
	}
	m.free -= int64(n)
	return true
}

// release gives n bytes back and lets all that wait try again.
func (m *memory) release(n int) {
	if !m.limited || n == 0 {
		return
	}
	m.mu.Lock()
	m.free += int64(n)
	var wake []func()
	if m.free > 0 {
		wake, m.waiting = m.waiting, nil
	}
	m.mu.Unlock()
	for _, f := range wake {
		f()
	}
}

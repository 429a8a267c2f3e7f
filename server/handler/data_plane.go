package handler

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"github.com/kaja-mq/kaja/protocol"
	"github.com/kaja-mq/kaja/replica"
)

// DataPlane is what the handlers of records have besides the rest of the Handler: Produce, Fetch and the look-ups of offsets.
type DataPlane struct {
	Replicas *replica.Manager
	// Txn verifies transactional produces; nil as long as there is no transaction coordinator.
	Txn TxnVerifier
	// ProducerIDs hands out producer ids.
	ProducerIDs *ProducerIDs
	// Sessions are the fetch sessions.
	Sessions *FetchSessions
	// Counting tells that traffic is counted (replica.Options.Traffic).
	Counting bool

	produces producePool
	fetches  fetchPool
	splices  protocol.SplicePool
	parked   parkedFetches
}

// NewDataPlane makes the data plane's part of a Handler. sessionSlots is max.incremental.fetch.session.cache.slots; allocate gets a block
// of producer ids from the controller.
func NewDataPlane(r *replica.Manager, sessionSlots func() int, allocate func(done func(first int64, count int32, err error))) *DataPlane {
	return &DataPlane{Replicas: r, ProducerIDs: NewProducerIDs(allocate), Sessions: NewFetchSessions(sessionSlots, randomID)}
}

// randomID is a random int32: session ids must not be guessed by other clients.
func randomID() int32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return int32(binary.BigEndian.Uint32(b[:]))
}

// parkedFetches knows the one fetch that a connection may have parked, so that the end of the connection ends it. Connections are asked
// to report their end once, not for each fetch.
type parkedFetches struct {
	mu    sync.Mutex
	conns map[uint64]parkedFetch // guarded by mu; the zero value: known, nothing parked
}

// parkedFetch is a waiter and what its completion would run.
type parkedFetch struct {
	waiter *replica.FetchWaiter
	resume func()
}

// set notes what c has parked; the zero value when nothing is any more.
func (p *parkedFetches) set(c Conn, f parkedFetch) {
	id := c.ID()
	p.mu.Lock()
	if p.conns == nil {
		p.conns = map[uint64]parkedFetch{}
	}
	_, known := p.conns[id]
	if known || f.waiter != nil {
		p.conns[id] = f
	}
	p.mu.Unlock()
	if !known && f.waiter != nil {
		c.OnClose(func() { p.closed(id) })
	}
}

// closed ends what the connection has parked.
func (p *parkedFetches) closed(id uint64) {
	p.mu.Lock()
	f := p.conns[id]
	delete(p.conns, id)
	p.mu.Unlock()
	if f.waiter != nil && f.waiter.Cancel() {
		f.resume()
	}
}

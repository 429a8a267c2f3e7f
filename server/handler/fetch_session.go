package handler

import (
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/replica"
)

// Fetch sessions (KIP-227): the broker remembers the partitions of a consumer or follower, and answers only what changed.
// The rules are those of Kafka's FetchSession, with one cache where Kafka has eight.

// Session epochs with a meaning of their own.
const (
	initialSessionEpoch = 0  // a full fetch that wants a session
	finalSessionEpoch   = -1 // a full fetch without one, which ends the session it names
)

// sessionEvictionAge is how long a session must have been idle, or must have existed, before another may take its place:
// min.incremental.fetch.session.eviction.ms, which Kafka does not document.
const sessionEvictionAge = 2 * time.Minute

// fetchPartition is what a fetch asks of one partition.
type fetchPartition struct {
	topic            string // owned, "" while an id is not known
	id               [16]byte
	partition        int32
	maxBytes         int32
	offset           int64
	leaderEpoch      int32
	lastFetchedEpoch int32
}

// sessionKey is a partition's identity in a session: by id, or by name where ids are not used.
type sessionKey struct {
	id        [16]byte
	topic     string
	partition int32
}

func (p *fetchPartition) key() sessionKey {
	k := sessionKey{id: p.id, partition: p.partition}
	if p.id == ([16]byte{}) {
		k.topic = p.topic
	}
	return k
}

// sessionPartition is a partition that a session remembers, with what its reader was told last.
type sessionPartition struct {
	fetchPartition
	highWatermark int64
	logStart      int64
	replica       *replica.Partition // where it was found last
	prev, next    *sessionPartition  // the order in which it is served next
}

// fetchSession is one session. Its partitions are guarded by its mutex; what decides on eviction by that of the cache.
type fetchSession struct {
	id       int32
	usesIDs  bool
	follower bool
	created  time.Time

	mu         sync.Mutex
	epoch      int32 // the next one that is expected; guarded by mu
	partitions map[sessionKey]*sessionPartition
	first      *sessionPartition
	last       *sessionPartition

	used      time.Time // guarded by the cache's mu
	size      int       // guarded by the cache's mu; when last used
	evictable struct{ byFollowers, byAll bool }
}

// FetchSessions is the cache of sessions.
type FetchSessions struct {
	slots func() int   // max.incremental.fetch.session.cache.slots
	newID func() int32 // random

	mu       sync.Mutex
	sessions map[int32]*fetchSession // guarded by mu
	evicted  uint64                  // guarded by mu
}

// NewFetchSessions makes an empty cache for slots() sessions, whose ids come from newID.
func NewFetchSessions(slots func() int, newID func() int32) *FetchSessions {
	return &FetchSessions{slots: slots, newID: newID, sessions: map[int32]*fetchSession{}}
}

// Len is the number of sessions.
func (s *FetchSessions) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// sessionRequest is the part of a fetch that concerns its session.
type sessionRequest struct {
	id, epoch  int32
	usesIDs    bool
	partitions []fetchPartition
	forgotten  []sessionKey
}

// sessionKind is how a fetch is answered.
type sessionKind uint8

const (
	sessionless sessionKind = iota
	sessionFull             // all partitions; a session is made if there is room
	sessionIncremental
)

// sessionContext goes with a fetch from its request to its response.
type sessionContext struct {
	kind    sessionKind
	session *fetchSession // of sessionIncremental
	epoch   int32         // the epoch that the response belongs to
}

// begin finds or updates the session that a request names. An error is the answer's top level code.
func (s *FetchSessions) begin(q *sessionRequest, now time.Time) (sessionContext, error) {
	if q.epoch == initialSessionEpoch || q.epoch == finalSessionEpoch {
		if q.id != 0 {
			s.mu.Lock()
			delete(s.sessions, q.id)
			s.mu.Unlock()
		}
		if q.epoch == finalSessionEpoch {
			return sessionContext{kind: sessionless}, nil
		}
		return sessionContext{kind: sessionFull}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[q.id]
	if x == nil {
		return sessionContext{}, kerr.FetchSessionIDNotFound
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.epoch != q.epoch:
		return sessionContext{}, kerr.InvalidFetchSessionEpoch
	case x.usesIDs != q.usesIDs:
		return sessionContext{}, kerr.FetchSessionTopicIDError
	}
	x.updateLocked(q)
	if len(x.partitions) == 0 {
		delete(s.sessions, q.id)
		return sessionContext{kind: sessionless}, nil
	}
	s.touchLocked(x, len(x.partitions), now)
	x.epoch = nextSessionEpoch(x.epoch)
	return sessionContext{kind: sessionIncremental, session: x, epoch: x.epoch}, nil
}

// nextSessionEpoch wraps to 1: 0 and -1 have meanings.
func nextSessionEpoch(e int32) int32 {
	if e+1 <= 0 {
		return 1
	}
	return e + 1
}

// updateLocked takes added, changed and forgotten partitions into the session.
func (x *fetchSession) updateLocked(q *sessionRequest) {
	for i := range q.partitions {
		p := &q.partitions[i]
		if old := x.partitions[p.key()]; old != nil {
			topic := old.topic
			old.fetchPartition = *p
			old.topic = topic
			continue
		}
		x.addLocked(&sessionPartition{fetchPartition: *p, highWatermark: -1, logStart: -1})
	}
	for _, k := range q.forgotten {
		if old := x.partitions[k]; old != nil {
			x.unlinkLocked(old)
			delete(x.partitions, k)
		}
	}
}

// addLocked appends a partition whose name may still alias a frame.
func (x *fetchSession) addLocked(p *sessionPartition) {
	p.topic = strings.Clone(p.topic)
	x.partitions[p.key()] = p
	x.linkLocked(p)
}

func (x *fetchSession) linkLocked(p *sessionPartition) {
	p.prev, p.next = x.last, nil
	if x.last != nil {
		x.last.next = p
	} else {
		x.first = p
	}
	x.last = p
}

func (x *fetchSession) unlinkLocked(p *sessionPartition) {
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		x.first = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		x.last = p.prev
	}
	p.prev, p.next = nil, nil
}

// create makes a session of the partitions just answered and returns its id, 0 if there is no room.
func (s *FetchSessions) create(entries []fetchEntry, usesIDs, follower bool, now time.Time) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= s.slots() && !s.evictLocked(len(entries), follower, now) {
		return 0
	}
	x := &fetchSession{usesIDs: usesIDs, follower: follower, created: now, epoch: 1, partitions: make(map[sessionKey]*sessionPartition, len(entries))}
	for i := range entries {
		e := &entries[i]
		x.addLocked(&sessionPartition{fetchPartition: e.fetchPartition, highWatermark: e.res.HighWatermark, logStart: e.res.LogStartOffset, replica: e.replica})
	}
	for x.id == 0 || s.sessions[x.id] != nil {
		x.id = s.newID() & 0x7fffffff
	}
	s.sessions[x.id] = x
	s.touchLocked(x, len(x.partitions), now)
	return x.id
}

// touchLocked notes a use. Whether a session may be evicted is decided when it is used, as in Kafka.
func (s *FetchSessions) touchLocked(x *fetchSession, size int, now time.Time) {
	x.used, x.size = now, size
	old := now.Sub(x.created) > sessionEvictionAge
	x.evictable.byFollowers = !x.follower || old
	x.evictable.byAll = old
}

// evictLocked makes room for a session of size partitions: a stale session goes first, else the least valuable one that may go
// if the new one is worth as much. Followers are worth more than consumers, then more partitions, then the younger id.
func (s *FetchSessions) evictLocked(size int, follower bool, now time.Time) bool {
	var oldest, least *fetchSession
	for _, x := range s.sessions {
		if oldest == nil || x.used.Before(oldest.used) || x.used.Equal(oldest.used) && x.id < oldest.id {
			oldest = x
		}
		may := x.evictable.byAll || follower && x.evictable.byFollowers
		if may && (least == nil || x.lessThan(least.follower, least.size, least.id)) {
			least = x
		}
	}
	switch {
	case oldest == nil:
		return false // no slots at all
	case now.Sub(oldest.used) > sessionEvictionAge:
		delete(s.sessions, oldest.id)
	case least == nil || !least.lessThan(follower, size, 0):
		return false
	default:
		delete(s.sessions, least.id)
	}
	s.evicted++
	return true
}

// lessThan compares what sessions are worth.
func (x *fetchSession) lessThan(follower bool, size int, id int32) bool {
	switch {
	case x.follower != follower:
		return follower
	case x.size != size:
		return x.size < size
	}
	return x.id < id
}

// load lists what an incremental fetch asks for, in the order of the session.
func (c *sessionContext) load(entries []fetchEntry) []fetchEntry {
	x := c.session
	x.mu.Lock()
	defer x.mu.Unlock()
	for p := x.first; p != nil; p = p.next {
		entries = append(entries, fetchEntry{fetchPartition: p.fetchPartition, cached: p, replica: p.replica})
	}
	return entries
}

// keep marks the entries that an incremental answer contains and notes what its reader is told. Partitions with data move to the
// end of the session, so that all get their turn when the response is full.
func (c *sessionContext) keep(entries []fetchEntry) error {
	x := c.session
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.epoch != c.epoch {
		return kerr.InvalidFetchSessionEpoch // another request of the session came between
	}
	for i := range entries {
		e := &entries[i]
		p := e.cached
		p.topic, p.replica = e.topic, e.replica
		e.skip = !p.changed(e)
		if e.skip {
			continue
		}
		if e.size() > 0 {
			x.unlinkLocked(p)
			x.linkLocked(p)
		}
	}
	return nil
}

// changed tells whether the answer has anything new for the reader, and remembers it as told.
func (p *sessionPartition) changed(e *fetchEntry) bool {
	must := e.size() > 0 || e.res.Diverges
	if p.highWatermark != e.res.HighWatermark {
		must, p.highWatermark = true, e.res.HighWatermark
	}
	if p.logStart != e.res.LogStartOffset {
		must, p.logStart = true, e.res.LogStartOffset
	}
	if e.err != nil {
		must, p.highWatermark = true, -1 // so that it is sent again once the error is gone
	}
	return must
}

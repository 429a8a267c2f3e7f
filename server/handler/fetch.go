package handler

import (
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/replica"
)

// Fetch (key 1), versions 4 to 18.
//
//	v4 isolation level, aborted transactions  v5 log start offset  v7 sessions (KIP-227)  v9 leader epoch (KIP-320)  v11 rack, follower
//	fetching (KIP-392)  v12 flexible, last fetched epoch (KIP-595)  v13 topic ids (KIP-516)  v15 replica state (KIP-903)
//	v16 node endpoints (KIP-951)  v17 directory ids (KIP-853)  v18 high watermark of the reader (KIP-1166)
//
// Seen on Apache 4.4: an unknown topic or partition does not end a wait, an error of the log does; such refusals follow the others in
// the response and carry an empty list of aborted transactions, errors of the log a null one; session errors come with session id 0 and
// no topics; a session by ids keeps the names it found, so that a deleted topic becomes UNKNOWN_TOPIC_OR_PARTITION in it and one made again
// INCONSISTENT_TOPIC_ID; an isolation level that there is not is UNKNOWN_SERVER_ERROR, before topic ids for each partition too; a last fetched epoch beyond the leader's is OFFSET_OUT_OF_RANGE.
//
// fetch_session.go has the sessions, fetch_plan.go what is read and when it is answered, fetch_response.go the bytes. Records do not
// pass through here: a response is header pieces and file ranges.

// fetchCall is a Fetch on its way; pooled.
type fetchCall struct {
	h       *Handler
	c       Call
	version int16
	limits  fetchLimits
	read    replica.ReadOptions // what is the same for all partitions
	ctx     sessionContext
	usesIDs bool
	entries []fetchEntry
	tail    []fetchEntry // refused before the log was asked; after the others
	session sessionRequest
}

type fetchPool struct{ p sync.Pool }

func (p *fetchPool) get() *fetchCall {
	if f, ok := p.p.Get().(*fetchCall); ok {
		return f
	}
	return new(fetchCall)
}

func (p *fetchPool) put(f *fetchCall) {
	if cap(f.entries) > maxPooledParts {
		return
	}
	clear(f.entries)
	clear(f.tail)
	clear(f.session.partitions)
	clear(f.session.forgotten)
	*f = fetchCall{entries: f.entries[:0], tail: f.tail[:0],
		session: sessionRequest{partitions: f.session.partitions[:0], forgotten: f.session.forgotten[:0]}}
	p.p.Put(f)
}

func (h *Handler) fetch(c Call) {
	var req kmsg.FetchRequest
	if !decodeUnsafe(c, &req) {
		return
	}
	f := h.Data.fetches.get()
	f.h, f.c, f.version, f.usesIDs = h, c, req.Version, req.Version >= 13
	f.limits = limitsOf(req.MaxWaitMillis, req.MinBytes, req.MaxBytes, h.Config().Int("fetch.max.bytes"))
	f.options(&req)
	f.asks(&req)
	if f.read.Replica < 0 && !isolationKnown(req.IsolationLevel) {
		f.refuseAll(kerr.UnknownServerError)
		return
	}
	ctx, err := h.Data.Sessions.begin(&f.session, h.Clock.Mono())
	if err != nil {
		f.refuse(err)
		return
	}
	f.ctx = ctx
	if ctx.kind == sessionIncremental {
		f.entries = ctx.load(f.entries)
	} else {
		f.takeAll()
	}
	f.resolve(h.Images())
	p := f.readAll()
	if f.limits.answers(p) {
		f.answer()
		return
	}
	f.park(time.Duration(req.MaxWaitMillis) * time.Millisecond)
}

// options are who reads and how much it may see.
func (f *fetchCall) options(req *kmsg.FetchRequest) {
	f.read = replica.ReadOptions{Replica: req.ReplicaID, ReadCommitted: req.IsolationLevel == readCommitted}
	if req.Version >= 15 {
		f.read.Replica = req.ReplicaState.ID
	}
	// Consumers may read from followers from v11 on, where they tell their rack.
	f.read.LeaderOnly = f.read.Replica >= 0 || req.Version < 11
	f.markFollower()
}

// asks takes the partitions and the session out of the request. Names alias the frame.
func (f *fetchCall) asks(req *kmsg.FetchRequest) {
	s := &f.session
	s.id, s.epoch, s.usesIDs = req.SessionID, req.SessionEpoch, f.usesIDs
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			s.partitions = append(s.partitions, fetchPartition{topic: t.Topic, id: t.TopicID, partition: p.Partition, maxBytes: p.PartitionMaxBytes,
				offset: p.FetchOffset, leaderEpoch: p.CurrentLeaderEpoch, lastFetchedEpoch: p.LastFetchedEpoch})
		}
	}
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, p := range t.Partitions {
			s.forgotten = append(s.forgotten, (&fetchPartition{topic: t.Topic, id: t.TopicID, partition: p}).key())
		}
	}
}

// takeAll makes entries of all partitions of a full fetch. A partition that is named twice keeps its place and takes the later wishes.
func (f *fetchCall) takeAll() {
	var seen map[sessionKey]int
	if len(f.session.partitions) > maxScanned {
		seen = make(map[sessionKey]int, len(f.session.partitions))
	}
	for i := range f.session.partitions {
		p := &f.session.partitions[i]
		if at, ok := f.find(p.key(), seen); ok {
			f.entries[at].fetchPartition = *p
			continue
		}
		if seen != nil {
			seen[p.key()] = len(f.entries)
		}
		f.entries = append(f.entries, fetchEntry{fetchPartition: *p})
	}
}

func (f *fetchCall) find(k sessionKey, seen map[sessionKey]int) (int, bool) {
	if seen != nil {
		at, ok := seen[k]
		return at, ok
	}
	for i := range f.entries {
		if f.entries[i].partition == k.partition && f.entries[i].key() == k {
			return i, true
		}
	}
	return 0, false
}

// resolve finds the replicas. What the image does not have goes to the tail with its error.
func (f *fetchCall) resolve(img *metadata.Image) {
	kept := f.entries[:0]
	for i := range f.entries {
		e := f.entries[i]
		if f.resolveOne(img, &e) {
			kept = append(kept, e)
			continue
		}
		e.fail(e.err)
		f.tail = append(f.tail, e)
	}
	f.entries = kept
}

// resolveOne reports whether the log can be asked. Names become the image's, which outlive the frame.
func (f *fetchCall) resolveOne(img *metadata.Image, e *fetchEntry) bool {
	if e.replica != nil && !e.replica.Removed() && (e.id == ([16]byte{}) || e.replica.TopicID() == e.id) {
		return true // found by an earlier fetch of the session
	}
	e.replica = nil
	var t *metadata.Topic
	switch {
	case !f.usesIDs || e.topic != "":
		t = img.Topic(e.topic)
	default:
		t = img.TopicByID(e.id)
		if t == nil {
			e.err = kerr.UnknownTopicID
			return false
		}
	}
	if t == nil || t.Partition(e.partition) == nil {
		e.err = kerr.UnknownTopicOrPartition
		return false
	}
	e.topic = t.Name
	if f.usesIDs && t.ID != e.id {
		e.err = kerr.InconsistentTopicID
		return true
	}
	if e.replica = f.h.Data.Replicas.Partition(t.ID, e.partition); e.replica == nil {
		e.err = kerr.NotLeaderForPartition
	}
	return true
}

// readAll asks the logs, within the limits of the whole response.
func (f *fetchCall) readAll() fetchProgress {
	var p fetchProgress
	budget := fetchBudget{left: f.limits.maxBytes, minOne: true}
	for i := range f.entries {
		e := &f.entries[i]
		f.readOne(e, &budget)
		p.count(e)
	}
	return p
}

func (f *fetchCall) readOne(e *fetchEntry, budget *fetchBudget) {
	e.aborted = false
	if e.replica == nil { // an error since resolve
		e.res = replica.ReadResult{HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1}
		return
	}
	o := f.read
	o.Offset, o.LeaderEpoch, o.LastFetchedEpoch = e.offset, e.leaderEpoch, e.lastFetchedEpoch
	o.MaxBytes, o.MinOne = budget.ask(e.maxBytes)
	e.res, e.err = e.replica.Read(o)
	e.aborted = e.res.Aborted != nil
	budget.took(e.size())
}

// release gives back what was read.
func (f *fetchCall) release() {
	for i := range f.entries {
		if r := f.entries[i].res.Range; r != nil {
			r.Release()
			f.entries[i].res.Range = nil
		}
	}
}

// park waits for data: one waiter on all partitions and the deadline. Whoever completes it runs again on its own goroutine.
func (f *fetchCall) park(maxWait time.Duration) {
	f.release()
	for i := range f.tail {
		f.tail[i].topic = strings.Clone(f.tail[i].topic)
	}
	// Names in the request alias the frame; the entries have the image's.
	clear(f.session.partitions)
	clear(f.session.forgotten)
	f.c.Park()
	watches := make([]replica.Watch, 0, len(f.entries))
	for i := range f.entries {
		e := &f.entries[i]
		if e.replica != nil {
			watches = append(watches, replica.Watch{Partition: e.replica, Offset: e.offset, MaxBytes: int(e.maxBytes),
				ReadCommitted: f.read.ReadCommitted, Follower: f.read.Replica >= 0})
		}
	}
	h, conn := f.h, f.c.Conn()
	w := h.Data.Replicas.NewWaiter(int64(f.limits.minBytes), watches, f.resume)
	h.Data.parked.set(conn, parkedFetch{w, f.resume})
	w.Park(h.Clock.Mono().Add(maxWait)) // f may be gone from here on
}

// resume answers a parked fetch with what can be read now; f must not be used after.
func (f *fetchCall) resume() {
	f.h.Data.parked.set(f.c.Conn(), parkedFetch{})
	if f.c.Conn().Closed() {
		f.c.NoReply()
		f.h.Data.fetches.put(f)
		return
	}
	for i := range f.entries {
		e := &f.entries[i]
		if e.replica != nil && e.replica.Removed() {
			e.replica, e.err = nil, kerr.NotLeaderForPartition
			if f.h.Images().TopicByID(e.topicID()) == nil {
				e.err = kerr.UnknownTopicOrPartition
			}
		}
	}
	f.readAll()
	f.answer()
}

// topicID is the id of the topic that the entry was found under; the zero id before.
func (e *fetchEntry) topicID() [16]byte {
	if e.replica != nil {
		return e.replica.TopicID()
	}
	return e.id
}

// refuse answers with an error of the session.
func (f *fetchCall) refuse(err error) {
	r := fetchResponse{version: f.version, code: codeOf(err), codes: f, splices: &f.h.Data.splices}
	f.c.ReplySplice(r.encode())
	f.h.Data.fetches.put(f)
}

// refuseAll answers with an error of the request: before topic ids it is told of each partition too.
func (f *fetchCall) refuseAll(err error) {
	r := fetchResponse{version: f.version, code: codeOf(err), codes: f, splices: &f.h.Data.splices}
	if !f.usesIDs {
		f.takeAll()
		for i := range f.entries {
			f.entries[i].fail(err)
		}
		r.entries = f.entries
	}
	f.c.ReplySplice(r.encode())
	f.h.Data.fetches.put(f)
}

// fail makes the entry one that was refused before the log was asked.
func (e *fetchEntry) fail(err error) {
	e.err, e.early, e.aborted = err, true, true
	e.res = replica.ReadResult{HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1}
}

// code implements errorCodes.
func (f *fetchCall) code(err error) int16 { return f.h.code(err, f.c) }

// answer sends what was read.
func (f *fetchCall) answer() {
	r := fetchResponse{version: f.version, codes: f, splices: &f.h.Data.splices}
	f.entries = append(f.entries, f.tail...)
	switch f.ctx.kind {
	case sessionFull:
		r.sessionID = f.h.Data.Sessions.create(f.entries, f.usesIDs, f.read.Replica >= 0, f.h.Clock.Mono())
	case sessionIncremental:
		r.sessionID = f.ctx.session.id
		if err := f.ctx.keep(f.entries); err != nil {
			f.release()
			f.entries = f.entries[:0]
			r.code = codeOf(err)
		}
	}
	r.entries = f.entries
	f.count()
	if f.version >= 16 {
		f.leaders(&r)
	}
	f.c.ReplySplice(r.encode())
	f.h.Data.fetches.put(f)
}

// leaders adds who leads the partitions that were asked of the wrong broker or epoch.
func (f *fetchCall) leaders(r *fetchResponse) {
	for i := range r.entries {
		e := &r.entries[i]
		if e.skip || e.err == nil || !tellsLeader(codeOf(e.err)) {
			continue
		}
		img := f.h.Images()
		e.leader, e.leaderAt = f.h.leaderOf(img, img.TopicByID(e.topicID()), e.partition)
		known := false
		for _, b := range r.brokers {
			known = known || b.id == e.leader
		}
		b := img.Broker(e.leader)
		if known || b == nil || b.Fenced {
			continue
		}
		v := f.h.viewpoint(f.c.Conn())
		if at, ok := v.endpoint(b); ok {
			r.brokers = append(r.brokers, fetchBroker{id: e.leader, host: at.Host, port: int32(at.Port), rack: b.Rack})
		}
	}
}

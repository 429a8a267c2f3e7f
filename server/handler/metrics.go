package handler

// countProduce counts a call's partitions in the traffic of their topics.
func (h *Handler) countProduce(pc *produceCall) {
	if !h.Data.Counting {
		return
	}
	for i := range pc.parts {
		if p := &pc.parts[i]; p.replica != nil && !p.skip {
			p.replica.Traffic().Produced(p.err != nil)
		}
	}
}

// count counts what is about to be sent.
func (f *fetchCall) count() {
	if !f.h.Data.Counting {
		return
	}
	for i := range f.entries {
		if e := &f.entries[i]; e.replica != nil && !e.skip {
			e.replica.Traffic().Fetched(int64(e.size()), f.read.Replica >= 0, e.err != nil)
		}
	}
}

// FollowerMarker is a Call that wants to know which fetches are those of other brokers.
type FollowerMarker interface{ FromFollower() }

// markFollower tells the call that its fetch is another broker's.
func (f *fetchCall) markFollower() {
	if m, ok := f.c.(FollowerMarker); ok && f.read.Replica >= 0 {
		m.FromFollower()
	}
}

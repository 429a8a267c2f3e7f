package group

import (
	"time"

	"github.com/kaja-mq/kaja/coordinator"
)

// Timers of the members of a consumer group, beside timerSession.
const (
	timerRevoke = "revoke" // a member has to have given up partitions
	timerRejoin = "rejoin" // a member of the classic protocol has to have answered to a rebalance by a JoinGroup
	timerResync = "resync" // and to its JoinGroup by a SyncGroup
	timerHold   = "hold"   // a heartbeat that is held back
	timerRegex  = "regex"  // the next piece of resolving a group's regular expressions
)

// consumerTimers are the deadlines of a member, zero when there is none. The timer of the session may be set to an earlier moment than its
// deadline: a heartbeat only moves the deadline, and the timer finds out.
type consumerTimers struct {
	key     string
	session time.Time
	armed   time.Time // when the session's timer fires

	revoke      time.Time
	revokeEpoch int32 // the epoch that the member must have left by then
	rejoin      time.Time
	resync      time.Time
}

func (g *consumerGroup) timersOf(id string) *consumerTimers {
	c := g.timers[id]
	if c == nil {
		c = &consumerTimers{key: timerKey(timerSession, g.id, id)}
		g.timers[id] = c
	}
	return c
}

// keepAlive gives a member time until it is heard of again.
func (t *turn) keepAlive(id string, d time.Duration) {
	c := t.g.timersOf(id)
	c.session = t.now.Mono.Add(d)
	if c.armed.IsZero() || c.session.Before(c.armed) {
		c.armed = c.session
		setTimer(&t.e, c.key, c.session)
	}
}

func (t *turn) setRevoke(m *consumerMember) {
	c := t.g.timersOf(m.id)
	c.revoke, c.revokeEpoch = t.now.Mono.Add(millis(m.rebalanceTimeoutMs)), m.epoch
	setTimer(&t.e, timerKey(timerRevoke, t.g.id, m.id), c.revoke)
}

func (t *turn) cancelRevoke(id string) {
	if c := t.g.timers[id]; c != nil {
		t.cancel(timerRevoke, id, &c.revoke)
	}
}

// setRejoin starts the time that a classic member has for its JoinGroup, unless it runs already.
func (t *turn) setRejoin(m *consumerMember) {
	if c := t.g.timersOf(m.id); c.rejoin.IsZero() {
		c.rejoin = t.now.Mono.Add(millis(m.rebalanceTimeoutMs))
		setTimer(&t.e, timerKey(timerRejoin, t.g.id, m.id), c.rejoin)
	}
}

func (t *turn) setResync(m *consumerMember) {
	c := t.g.timersOf(m.id)
	c.resync = t.now.Mono.Add(millis(m.rebalanceTimeoutMs))
	setTimer(&t.e, timerKey(timerResync, t.g.id, m.id), c.resync)
}

// cancel ends a deadline, if there is one.
func (t *turn) cancel(what, id string, deadline *time.Time) {
	if !deadline.IsZero() {
		*deadline = time.Time{}
		cancelTimer(&t.e, timerKey(what, t.g.id, id))
	}
}

// cancelTimers ends all deadlines of a member that is on its way out.
func (t *turn) cancelTimers(id string) {
	t.soft = true
	c := t.g.timers[id]
	if c == nil {
		return
	}
	t.cancel(timerSession, id, &c.armed)
	t.cancel(timerRevoke, id, &c.revoke)
	t.cancel(timerRejoin, id, &c.rejoin)
	t.cancel(timerResync, id, &c.resync)
	delete(t.g.timers, id)
}

// loaded gives the members of a group that was read from the log the time to be heard of.
func (g *consumerGroup) loaded(s *Shard, now coordinator.Now) coordinator.Effects {
	t := &turn{s: s, now: now, g: g}
	session := millis(int32(s.d.Settings.GroupInt(g.id, "consumer.session.timeout.ms")))
	for _, m := range g.sorted() {
		t.keepAlive(m.id, session)
		if m.state == memberUnrevoked {
			t.setRevoke(m)
		}
	}
	return t.e
}

// fire throws a member out whose time for something is over.
func (g *consumerGroup) fire(s *Shard, now coordinator.Now, fired timer) coordinator.Effects {
	t := &turn{s: s, now: now, g: g}
	if fired.what == timerRegex {
		t.resolve()
		return t.e
	}
	if fired.what == timerHold {
		t.heldOver(fired.member)
		return t.finish()
	}
	m, c := g.members[fired.member], g.timers[fired.member]
	if m == nil {
		delete(g.timers, fired.member) // its record was refused
	}
	if m == nil || c == nil {
		return t.e
	}
	key := timerKey(fired.what, fired.group, fired.member)
	switch fired.what {
	case timerSession:
		c.armed = time.Time{}
		if now.Mono.Before(c.session) {
			c.armed = c.session
			setTimer(&t.e, key, c.armed)
			return t.e
		}
		t.fence(m)
	case timerRevoke:
		if t.over(&c.revoke, key) && m.epoch == c.revokeEpoch {
			t.fence(m)
		}
	case timerRejoin:
		if t.over(&c.rejoin, key) {
			t.fence(m)
		}
	case timerResync:
		if t.over(&c.resync, key) {
			t.fence(m)
		}
	}
	return t.e
}

// over tells whether a deadline has come. A timer that fires although its deadline was moved or cancelled meanwhile is put right.
func (t *turn) over(deadline *time.Time, key string) bool {
	if deadline.IsZero() {
		return false
	}
	if t.now.Mono.Before(*deadline) {
		setTimer(&t.e, key, *deadline)
		return false
	}
	*deadline = time.Time{}
	return true
}

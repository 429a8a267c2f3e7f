package group

import (
	"strconv"
	"strings"
	"time"

	"github.com/kaja-mq/kaja/coordinator"
)

// What a timer is for. The first word of its key.
const (
	timerExpiry  = "expiry"  // offsets of all groups
	timerSession = "session" // a member's session
	timerPending = "pending" // a member id that was given out and not used yet
	timerJoin    = "join"    // the end of a classic group's join phase
	timerInitial = "initial" // the delay of the first rebalance of a classic group
	timerSync    = "sync"    // the end of a classic group's sync phase
)

// timer is a key taken apart.
type timer struct {
	what, group, member string
}

// timerKey makes the key of a timer: what, the length of the group's id, the ids. Ids may contain any byte.
func timerKey(what, group, member string) string {
	return what + " " + strconv.Itoa(len(group)) + " " + group + member
}

func parseTimer(key string) (timer, bool) {
	what, rest, ok := strings.Cut(key, " ")
	if !ok {
		return timer{what: key}, key == timerExpiry
	}
	length, ids, ok := strings.Cut(rest, " ")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n > len(ids) {
		return timer{}, false
	}
	return timer{what, ids[:n], ids[n:]}, true
}

func setTimer(e *coordinator.Effects, key string, at time.Time) {
	e.Timers = append(e.Timers, coordinator.TimerChange{Key: key, At: at})
}

func cancelTimer(e *coordinator.Effects, key string) {
	e.Timers = append(e.Timers, coordinator.TimerChange{Key: key})
}

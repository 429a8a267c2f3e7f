package group

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/record"
)

// classicState is org.apache.kafka.coordinator.group.classic.ClassicGroupState without Dead: a dead group is not in the table.
type classicState uint8

const (
	stateEmpty classicState = iota
	statePreparing
	stateCompleting
	stateStable
)

func (s classicState) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}[s]
}

// consumerProtocolType is the protocol type of consumers: the coordinator looks into their subscriptions.
const consumerProtocolType = "consumer"

// classicGroup is a group whose members agree among themselves: the leader assigns.
//
// Hard state is what its record carries: generation, protocol, leader, members with their assignments. A rebalance that is under way
// (state, generation + 1, who has joined) is soft: a restart in the middle goes back to the last record, and the members' next
// heartbeats start over.
type classicGroup struct {
	id           string
	state        classicState
	previous     classicState
	since        int64 // wall clock in ms of the last change of state; -1 unknown
	generation   int32
	protocolType string // empty until the first member
	protocolName *string
	leader       string // empty when there is none
	members      map[string]*classicMember
	static       map[string]string // instance id → member id
	pendingJoin  map[string]bool   // ids given out with MEMBER_ID_REQUIRED
	pendingSync  map[string]bool   // members of the generation that have not synced yet
	votes        map[string]int    // protocol → how many members support it
	awaitingJoin int               // members with a parked JoinGroup
	// subscribed are the topics that consumers subscribe to; nil when the coordinator does not know.
	subscribed map[string]bool
	// The first join phase may be extended: newMember says that somebody came since its last extension, which was by delay, and remaining
	// by how much it still may.
	newMember bool
	delay     time.Duration
	remaining time.Duration
}

// classicMember is a member of a classic group.
type classicMember struct {
	id               string
	instance         *string
	clientID         string
	clientHost       string
	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	protocols        []classicProtocol
	assignment       []byte

	isNew    bool
	join     coordinator.Handle // parked JoinGroup, nil when none
	joinV    int16
	sync     coordinator.Handle // parked SyncGroup, nil when none
	syncV    int16
	deadline time.Time // of its session: a heartbeat only moves this, the timer finds out
	armed    time.Time // when the timer fires, zero when there is none
	timerKey string
}

// classicProtocol is a protocol that a member supports, in its order of preference.
type classicProtocol struct {
	name     string
	metadata []byte
}

func newClassicGroup(id string, nowMs int64) *classicGroup {
	return &classicGroup{id: id, since: nowMs, members: map[string]*classicMember{}, static: map[string]string{},
		pendingJoin: map[string]bool{}, pendingSync: map[string]bool{}, votes: map[string]int{}}
}

func (g *classicGroup) typeName() string  { return "classic" }
func (g *classicGroup) stateName() string { return g.state.String() }
func (g *classicGroup) protocol() string  { return g.protocolType }
func (g *classicGroup) empty() bool       { return g.state == stateEmpty }

// validateMember tells whether the ids belong to a member and to each other.
func (g *classicGroup) validateMember(member string, instance *string) *kerr.Error {
	if instance != nil {
		switch id, ok := g.static[*instance]; {
		case !ok:
			return kerr.UnknownMemberID
		case id != member:
			return kerr.FencedInstanceID
		}
	}
	if g.members[member] == nil {
		return kerr.UnknownMemberID
	}
	return nil
}

func (g *classicGroup) validateCommit(by committer) *kerr.Error {
	switch {
	case by.generation < 0 && g.state == stateEmpty:
		return nil // an admin client, or a consumer without group management
	case by.generation >= 0 || by.member != "" || by.instance != nil:
		if err := g.validateMember(by.member, by.instance); err != nil {
			return err
		}
		if by.generation != g.generation {
			return kerr.IllegalGeneration
		}
	case !by.txn && g.state != stateEmpty:
		return kerr.UnknownMemberID
	}
	if !by.txn && g.state == stateCompleting {
		return kerr.RebalanceInProgress // the member knows the newest generation, but not yet what it may commit
	}
	return nil
}

func (g *classicGroup) mayCommit(committer, topicPartition, [16]byte) *kerr.Error { return nil }

func (g *classicGroup) validateFetch(*string, int32) *kerr.Error { return nil }

func (g *classicGroup) validateDelete() *kerr.Error {
	if g.state != stateEmpty {
		return kerr.NonEmptyGroup
	}
	return nil
}

// committed: commits keep the session of a member alive, as in Kafka.
func (g *classicGroup) committed(now coordinator.Now, by committer) {
	if m := g.members[by.member]; m != nil && (g.state == stateStable || g.state == statePreparing) {
		m.deadline = now.Mono.Add(m.sessionTimeout)
	}
}

func (g *classicGroup) subscribedTo(topic string) bool {
	if g.subscribed == nil {
		return g.protocolType == consumerProtocolType
	}
	return g.subscribed[topic]
}

// expiryBase is ClassicGroup.offsetExpirationCondition.
func (g *classicGroup) expiryBase(commitMs int64) (int64, bool) {
	switch {
	case g.protocolType == "":
		return commitMs, true
	case g.state == stateEmpty:
		if g.since < 0 {
			return commitMs, true
		}
		return g.since, true
	case g.protocolType == consumerProtocolType && g.subscribed != nil && g.state == stateStable:
		return commitMs, true
	}
	return 0, false
}

func (g *classicGroup) tombstones() []coordinator.Record {
	k := record.NewGroupMetadataKey()
	k.Group = g.id
	return []coordinator.Record{tombstone(k)}
}

func (g *classicGroup) parked() (out []coordinator.Handle) {
	for _, m := range g.sorted() {
		if m.join != nil {
			out = append(out, m.join)
		}
		if m.sync != nil {
			out = append(out, m.sync)
		}
	}
	return out
}

// sorted lists the members by id.
func (g *classicGroup) sorted() []*classicMember {
	out := make([]*classicMember, 0, len(g.members))
	for _, id := range slices.Sorted(maps.Keys(g.members)) {
		out = append(out, g.members[id])
	}
	return out
}

// metadataOf is what the member said to a protocol.
func (m *classicMember) metadataOf(protocol string) []byte {
	for _, p := range m.protocols {
		if p.name == protocol {
			return p.metadata
		}
	}
	return nil
}

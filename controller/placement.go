package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/metadata"
)

// placer spreads replicas over brokers and racks as Kafka's StripedReplicaPlacer does: the brokers of each rack stand in a list that
// begins at a random place, racks too; partitions take racks in turn, and within a rack brokers in turn. Leaders (the first replica)
// are unfenced brokers, where there are any in the rack; fenced ones come last.
type placer struct {
	racks    []rackList
	unfenced int
	total    int
	offset   int // of the next partition's first rack
	epoch    int
}

// rackList is the brokers of one rack.
type rackList struct {
	unfenced brokerList
	fenced   brokerList
}

// brokerList hands out brokers, beginning one further each time its epoch changes.
type brokerList struct {
	brokers []int32
	epoch   int
	index   int
	offset  int
}

func (l *brokerList) start(offset int) {
	if len(l.brokers) > 0 {
		l.offset = offset % len(l.brokers)
	}
}

func (l *brokerList) next(epoch int) (int32, bool) {
	if len(l.brokers) == 0 {
		return 0, false
	}
	if l.epoch != epoch {
		l.epoch = epoch
		l.index = 0
		l.offset = (l.offset + 1) % len(l.brokers)
	}
	if l.index >= len(l.brokers) {
		return 0, false
	}
	b := l.brokers[(l.index+l.offset)%len(l.brokers)]
	l.index++
	return b, true
}

func (r *rackList) next(epoch int) (int32, bool) {
	if b, ok := r.unfenced.next(epoch); ok {
		return b, true
	}
	return r.fenced.next(epoch)
}

// newPlacer looks at the usable brokers: registered, and not with all their log directories cordoned.
func (m *machine) newPlacer() *placer {
	p := &placer{}
	names := []string{}
	byRack := map[string]*rackList{}
	for b := range m.img.Brokers() {
		if len(b.LogDirs) > 0 && len(b.CordonedLogDirs) == len(b.LogDirs) {
			continue
		}
		rack := ""
		if b.Rack != nil {
			rack = *b.Rack
		}
		r := byRack[rack]
		if r == nil {
			r = &rackList{}
			byRack[rack] = r
			names = append(names, rack)
		}
		p.total++
		if b.Fenced || b.InControlledShutdown {
			r.fenced.brokers = append(r.fenced.brokers, b.ID)
		} else {
			p.unfenced++
			r.unfenced.brokers = append(r.unfenced.brokers, b.ID)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		r := byRack[name]
		r.unfenced.start(m.intn(len(r.unfenced.brokers)))
		r.fenced.start(m.intn(len(r.fenced.brokers)))
		p.racks = append(p.racks, *r)
	}
	p.offset = m.intn(len(p.racks))
	return p
}

// intn is a number below n, 0 when there is none.
func (m *machine) intn(n int) int {
	if n <= 1 {
		return 0
	}
	return int(m.random() % uint64(n))
}

// check says why rf replicas can't be had.
func (p *placer) check(rf int) apiError {
	problem := ""
	switch {
	case rf <= 0:
		problem = fmt.Sprintf("Invalid replication factor %d: the replication factor must be positive.", rf)
	case p.unfenced == 0:
		problem = "All brokers are currently fenced, or have all their log directories cordoned."
	case rf > p.total:
		problem = fmt.Sprintf("The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.",
			rf, p.total)
	default:
		return apiError{}
	}
	return fail(kerr.InvalidReplicationFactor, problem)
}

// place chooses the replicas of the next partition; check(rf) has passed.
func (p *placer) place(rf int) []int32 {
	p.epoch++
	firstRack := p.offset
	replicas := make([]int32, 0, rf)
	// The leader is the first unfenced broker of the racks in turn.
	for i := range p.racks {
		if b, ok := p.racks[(firstRack+i)%len(p.racks)].unfenced.next(p.epoch); ok {
			replicas = append(replicas, b)
			firstRack = (firstRack + i + 1) % len(p.racks)
			break
		}
	}
	for rack := firstRack; len(replicas) < rf; rack = (rack + 1) % len(p.racks) {
		if b, ok := p.racks[rack].next(p.epoch); ok {
			replicas = append(replicas, b)
		}
	}
	p.offset = (p.offset + 1) % len(p.racks)
	return replicas
}

// checkManual validates a replica list given by hand; size 0 allows any number of replicas.
func (m *machine) checkManual(replicas []int32, size int) apiError {
	bad := func(format string, args ...any) apiError {
		return fail(kerr.InvalidReplicaAssignment, fmt.Sprintf(format, args...))
	}
	if len(replicas) == 0 {
		return bad("The manual partition assignment includes an empty replica list.")
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		b := m.img.Broker(id)
		switch {
		case b == nil:
			return bad("The manual partition assignment includes broker %d, but no such broker is registered.", id)
		case i > 0 && sorted[i-1] == id:
			return bad("The manual partition assignment includes the broker %d more than once.", id)
		case len(b.LogDirs) > 0 && len(b.CordonedLogDirs) == len(b.LogDirs):
			return bad("The manual partition assignment includes broker %d, but all its log directories are cordoned.", id)
		}
	}
	if size > 0 && len(replicas) != size {
		return bad("The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).",
			len(replicas), size)
	}
	return apiError{}
}

// active tells whether a broker may lead and be in an ISR.
func (m *machine) active(id int32) bool {
	b := m.img.Broker(id)
	return b != nil && !b.Fenced && !b.InControlledShutdown
}

func (m *machine) activeOf(replicas []int32) []int32 {
	var isr []int32
	for _, id := range replicas {
		if m.active(id) {
			isr = append(isr, id)
		}
	}
	return isr
}

// defaultDirs are the directories of a new partition's replicas: the broker's only one, else it is the broker that chooses.
func (m *machine) defaultDirs(replicas []int32) [][16]byte {
	dirs := make([][16]byte, len(replicas))
	for i, id := range replicas {
		dirs[i] = metadata.DirUnassigned
		if b := m.img.Broker(id); b != nil && len(b.LogDirs) == 1 {
			dirs[i] = b.LogDirs[0]
		}
	}
	return dirs
}

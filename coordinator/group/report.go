package group

// Report is a group as monitoring shows it.
type Report struct {
	ID      string
	Type    string // as in ListGroups: classic, consumer
	State   string
	Members int
	Offsets []CommittedOffset // by topic and partition
}

// CommittedOffset is where a group has come to in a partition; those of open transactions are not among them.
type CommittedOffset struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Reports tells of all groups of the shard, by id.
func (s *Shard) Reports() []Report {
	var out []Report
	for _, g := range s.sortedGroups() {
		k := g.kind()
		if k == nil {
			continue
		}
		r := Report{ID: g.id, Type: k.typeName(), State: k.stateName()}
		if g.classic != nil {
			r.Members = len(g.classic.members)
		}
		if g.consumer != nil {
			r.Members = len(g.consumer.members)
		}
		o := s.offsets.groups[g.id]
		for _, tp := range o.all(false) {
			c, _ := o.get(tp)
			r.Offsets = append(r.Offsets, CommittedOffset{tp.topic, tp.partition, c.offset})
		}
		out = append(out, r)
	}
	return out
}

package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// Election types of ElectLeaders.
const (
	electPreferred = 0
	electUnclean   = 1
)

// electLeaders decides an ElectLeaders request. Without a list of topics it is about all partitions, and those that need no election
// are not in the answer.
func (m *machine) electLeaders(req *kmsg.ElectLeadersRequest) ([]versioned, *kmsg.ElectLeadersResponse) {
	if req.ElectionType != electPreferred && req.ElectionType != electUnclean {
		return nil, refuseElectLeaders(req, fail(kerr.InvalidRequest, fmt.Sprintf("Unknown election type %d", req.ElectionType)))
	}
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	var records []versioned
	elect := func(topic string, partition int32) kmsg.ElectLeadersResponseTopicPartition {
		change, err := m.electLeader(topic, partition, req.ElectionType)
		if change != nil {
			records = append(records, m.at(change))
		}
		out := kmsg.NewElectLeadersResponseTopicPartition()
		out.Partition, out.ErrorCode, out.ErrorMessage = partition, err.code, err.text()
		return out
	}
	if req.Topics == nil {
		for t := range m.img.Topics() {
			out := kmsg.NewElectLeadersResponseTopic()
			out.Topic = t.Name
			for i := range t.Partitions {
				if p := elect(t.Name, int32(i)); p.ErrorCode != kerr.ElectionNotNeeded.Code {
					out.Partitions = append(out.Partitions, p)
				}
			}
			if len(out.Partitions) > 0 {
				resp.Topics = append(resp.Topics, out)
			}
		}
		return records, resp
	}
	for _, t := range req.Topics {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, elect(t.Topic, p))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return records, resp
}

func refuseElectLeaders(req *kmsg.ElectLeadersRequest, err apiError) *kmsg.ElectLeadersResponse {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	resp.ErrorCode = err.code
	for _, t := range req.Topics {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			op := kmsg.NewElectLeadersResponseTopicPartition()
			op.Partition, op.ErrorCode, op.ErrorMessage = p, err.code, err.text()
			out.Partitions = append(out.Partitions, op)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (m *machine) electLeader(topic string, partition int32, kind int8) (*record.PartitionChangeRecord, apiError) {
	t := m.img.Topic(topic)
	if t == nil {
		return nil, fail(kerr.UnknownTopicOrPartition, "No such topic as "+topic)
	}
	p := t.Partition(partition)
	switch {
	case p == nil:
		return nil, fail(kerr.UnknownTopicOrPartition, fmt.Sprintf("No such partition as %s-%d", topic, partition))
	case kind == electPreferred && p.Leader == p.Replicas[0], kind == electUnclean && p.Leader != metadata.NoLeader:
		return nil, failDefault(kerr.ElectionNotNeeded)
	case kind == electPreferred:
		if !m.canLead(p, p.Replicas[0]) || !slices.Contains(p.ISR, p.Replicas[0]) {
			return nil, fail(kerr.PreferredLeaderNotAvailable, "The preferred leader was not available.")
		}
		c := changeOf(t, partition)
		c.Leader = p.Replicas[0]
		return c, apiError{}
	}
	if c := m.electAny(t, partition, p, true); c != nil {
		return c, apiError{}
	}
	return nil, fail(kerr.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available.")
}

func changeOf(t *metadata.Topic, partition int32) *record.PartitionChangeRecord {
	c := record.NewPartitionChangeRecord()
	c.TopicID, c.PartitionID = t.ID, partition
	return c
}

// electAny gives a leaderless partition a leader: an active replica of the ISR, else of the eligible leader replicas, else the last
// known leader where there was only one, else (unclean) any active replica. nil when there is nobody.
func (m *machine) electAny(t *metadata.Topic, partition int32, p *metadata.Partition, unclean bool) *record.PartitionChangeRecord {
	c := changeOf(t, partition)
	for _, id := range p.Replicas {
		if slices.Contains(p.ISR, id) && m.canLead(p, id) {
			c.Leader = id
			return c
		}
	}
	candidates := p.ELR
	if len(p.ELR) == 0 && len(p.ISR) == 0 && len(p.LastKnownELR) == 1 && m.elrEnabled() {
		candidates = p.LastKnownELR
	}
	if i := slices.IndexFunc(p.Replicas, func(id int32) bool { return slices.Contains(candidates, id) && m.canLead(p, id) }); i >= 0 {
		m.leadAlone(t, p, c, p.Replicas[i])
		return c
	}
	if unclean {
		if i := slices.IndexFunc(p.Replicas, func(id int32) bool { return m.canLead(p, id) }); i >= 0 {
			m.leadAlone(t, p, c, p.Replicas[i])
			return c
		}
	}
	return nil
}

// leadAlone makes a replica from outside the ISR the leader and the ISR. Once the ISR is as large as min.insync.replicas demands,
// nobody outside of it is eligible any more (KIP-966).
func (m *machine) leadAlone(t *metadata.Topic, p *metadata.Partition, c *record.PartitionChangeRecord, leader int32) {
	c.Leader, c.ISR = leader, []int32{leader}
	if len(p.ELR) == 0 && len(p.LastKnownELR) == 0 {
		return
	}
	c.EligibleLeaderReplicas, c.LastKnownELR = []int32{}, []int32{}
	if need := min(m.minISR(t.Name), len(p.Replicas)); need > 1 {
		c.EligibleLeaderReplicas = slices.DeleteFunc(slices.Clone(p.ELR), func(id int32) bool { return id == leader })
	}
}

func (m *machine) minISR(topic string) int { return int(m.topicConfig(topic).Int(minInsyncReplicas)) }

// withoutBroker takes a broker out of a partition's ISR and eligible leaders, and gives the partition another leader where there is
// one. nil when the broker is in neither.
func (m *machine) withoutBroker(t *metadata.Topic, partition int32, p *metadata.Partition, gone int32) *record.PartitionChangeRecord {
	inISR, inELR := slices.Contains(p.ISR, gone), slices.Contains(p.ELR, gone)
	if !inISR && !inELR {
		return nil
	}
	c := changeOf(t, partition)
	without := func(list []int32) []int32 {
		out := []int32{}
		for _, id := range list {
			if id != gone {
				out = append(out, id)
			}
		}
		return out
	}
	isr := p.ISR
	if inISR {
		isr = without(p.ISR)
		c.ISR = isr
	}
	if inELR {
		c.EligibleLeaderReplicas = without(p.ELR)
	}
	if p.Leader == gone {
		c.Leader = metadata.NoLeader
		for _, id := range p.Replicas {
			if slices.Contains(isr, id) && m.canLead(p, id) {
				c.Leader = id
				break
			}
		}
		if c.Leader == metadata.NoLeader && m.elrEnabled() && len(p.LastKnownELR) == 0 {
			c.LastKnownELR = []int32{gone}
		}
	}
	return c
}

// electAtStart gives leaders to the partitions that have none and can have this broker, and takes it out of those whose directory is gone. After a start that was not clean it also raises
// the epochs of those that this broker leads: records that clients have seen may be gone.
func (m *machine) electAtStart(clean bool) []versioned {
	var records []versioned
	m.eachPartition(func(t *metadata.Topic, id int32, p *metadata.Partition) {
		var c *record.PartitionChangeRecord
		switch {
		case m.inDirs(p, m.nodeID, nil):
			c = m.withoutDir(t, id, p, m.nodeID)
		case p.Leader == metadata.NoLeader:
			c = m.electAny(t, id, p, m.topicConfig(t.Name).Bool("unclean.leader.election.enable"))
		case !clean && p.Leader == m.nodeID:
			c = changeOf(t, id)
			c.Leader = m.nodeID
		}
		if c != nil {
			records = append(records, m.at(c))
		}
	})
	return records
}

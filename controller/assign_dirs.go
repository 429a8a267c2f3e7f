package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// The log directories of brokers (KIP-858): where replicas are, and what follows when a directory fails.

// MaxDirAssignments is how many replicas one AssignReplicasToDirs may name, as many as a broker of Kafka's sends in one request.
const MaxDirAssignments = 2250

// DirAssignment says in which log directory a broker has its replica of a partition.
type DirAssignment struct {
	Topic     [16]byte
	Partition int32
	Dir       [16]byte
}

// AssignReplicasToDirs records where this broker's replicas are (KIP-858); those that are known, or that are not this broker's, change nothing.
func (c *Controller) AssignReplicasToDirs(dirs []DirAssignment, done func(error)) {
	c.submit(command{
		decide: func(m *machine) effects {
			return effects{records: m.assignReplicasToDirs(m.nodeID, dirs), reply: func() { done(nil) }}
		},
		refuse: func(err *kerr.Error) { done(err) },
	})
}

// assignReplicasToDirs is ReplicationControlManager.handleAssignReplicasToDirs for directories that are online.
func (m *machine) assignReplicasToDirs(broker int32, dirs []DirAssignment) (records []versioned) {
	if m.img.MetadataVersion() < directoryAssignmentVersion {
		return nil
	}
	for _, d := range dirs {
		t := m.img.TopicByID(d.Topic)
		if t == nil {
			continue
		}
		p := t.Partition(d.Partition)
		if p == nil {
			continue
		}
		i := slices.Index(p.Replicas, broker)
		if i < 0 || i < len(p.Dirs) && p.Dirs[i] == d.Dir {
			continue
		}
		c := changeOf(t, d.Partition)
		c.Directories = make([][16]byte, len(p.Replicas))
		for j := range c.Directories {
			c.Directories[j] = metadata.DirUnassigned
		}
		copy(c.Directories, p.Dirs)
		c.Directories[i] = d.Dir
		records = append(records, m.at(c))
	}
	return records
}

// ReportOfflineDirs records that log directories of this broker have failed: their partitions lose it as leader and from the ISR.
func (c *Controller) ReportOfflineDirs(dirs [][16]byte, done func(error)) {
	c.submit(command{
		decide: func(m *machine) effects {
			return effects{records: m.dirsOffline(m.nodeID, dirs), reply: func() { done(nil) }}
		},
		refuse: func(err *kerr.Error) { done(err) },
	})
}

// dirsOffline is ReplicationControlManager.handleDirectoriesOffline.
func (m *machine) dirsOffline(broker int32, dirs [][16]byte) (records []versioned) {
	b := m.img.Broker(broker)
	if b == nil || m.img.MetadataVersion() < directoryAssignmentVersion {
		return nil
	}
	var gone, left [][16]byte
	for _, d := range b.LogDirs {
		if slices.Contains(dirs, d) {
			gone = append(gone, d)
		} else {
			left = append(left, d)
		}
	}
	if len(gone) == 0 || len(left) == 0 { // without any directory the broker ends
		return nil
	}
	m.eachPartition(func(t *metadata.Topic, id int32, p *metadata.Partition) {
		if m.inDirs(p, broker, gone) {
			if c := m.withoutDir(t, id, p, broker); c != nil {
				records = append(records, m.at(c))
			}
		}
	})
	return append(records, m.at(&record.BrokerRegistrationChangeRecord{BrokerID: broker, BrokerEpoch: b.Epoch, LogDirs: left}))
}

// inDirs tells whether the broker's replica of a partition is in one of the directories; nil are all that are not online.
func (m *machine) inDirs(p *metadata.Partition, broker int32, dirs [][16]byte) bool {
	i, b := slices.Index(p.Replicas, broker), m.img.Broker(broker)
	if i < 0 || i >= len(p.Dirs) || b == nil {
		return false
	}
	if dirs == nil {
		return !b.DirOnline(p.Dirs[i])
	}
	return slices.Contains(dirs, p.Dirs[i])
}

// canLead tells whether a replica is on an active broker and in a directory that is online.
func (m *machine) canLead(p *metadata.Partition, id int32) bool {
	i := slices.Index(p.Replicas, id)
	return m.active(id) && (i < 0 || i >= len(p.Dirs) || m.img.Broker(id).DirOnline(p.Dirs[i]))
}

// withoutDir takes a broker whose directory has failed out of a partition's ISR. Its data may come back with the directory: where too few
// are left in the ISR it stays eligible, and known as the last leader (KIP-966). nil when nothing changes.
func (m *machine) withoutDir(t *metadata.Topic, partition int32, p *metadata.Partition, broker int32) *record.PartitionChangeRecord {
	if p.Leader != broker && !slices.Contains(p.ISR, broker) {
		return nil
	}
	c := changeOf(t, partition)
	isr := subtract(p.ISR, []int32{broker})
	if len(isr) > 0 || m.elrEnabled() { // without eligible leaders the ISR keeps its last member
		c.ISR = append([]int32{}, isr...)
	}
	if p.Leader == broker {
		c.Leader = metadata.NoLeader
		for _, id := range p.Replicas {
			if slices.Contains(isr, id) && m.canLead(p, id) {
				c.Leader = id
				break
			}
		}
	}
	if !m.elrEnabled() || len(isr) >= min(m.minISR(t.Name), len(p.Replicas)) {
		return c
	}
	elr := slices.Clone(p.ELR)
	for _, id := range p.ISR {
		if !slices.Contains(elr, id) && !slices.Contains(isr, id) {
			elr = append(elr, id)
		}
	}
	if !slices.Equal(elr, p.ELR) {
		c.EligibleLeaderReplicas = elr
	}
	if len(isr) == 0 && !slices.Equal(p.LastKnownELR, []int32{p.Leader}) {
		c.LastKnownELR = []int32{p.Leader}
	}
	return c
}

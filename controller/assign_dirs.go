package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/metadata"
)

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

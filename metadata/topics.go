package metadata

import (
	"iter"
	"strings"
)

// NoLeader stands for a partition without a leader.
const NoLeader int32 = -1

// Values of Partition.RecoveryState: org.apache.kafka.metadata.LeaderRecoveryState.
const (
	LeaderRecovered  int8 = 0
	LeaderRecovering int8 = 1
)

// Directory ids that are no directory: org.apache.kafka.common.DirectoryId.
var (
	DirMigrating  = [16]byte{} // the replica comes from a metadata.version without directories
	DirUnassigned = [16]byte{15: 1}
	DirLost       = [16]byte{15: 2}
)

// Topic is a topic as one image has it.
type Topic struct {
	Name string
	ID   [16]byte
	// Partitions by id. One that does not Exist is a hole, which only a log cut short between two records has.
	Partitions []Partition
}

// Partition is a partition as one image has it. The slices are shared between partitions and images: never write to them.
type Partition struct {
	Replicas, ISR, Adding, Removing []int32
	Leader                          int32 // NoLeader when there is none
	LeaderEpoch, PartitionEpoch     int32
	Dirs                            [][16]byte // of the replicas, in their order
	ELR, LastKnownELR               []int32
	RecoveryState                   int8
}

// Exists is false for a hole in Topic.Partitions.
func (p *Partition) Exists() bool { return len(p.Replicas) > 0 }

// Partition returns partition id, nil when there is none.
func (t *Topic) Partition(id int32) *Partition {
	if id < 0 || int(id) >= len(t.Partitions) || !t.Partitions[id].Exists() {
		return nil
	}
	return &t.Partitions[id]
}

// Topic returns the topic of a name, nil when there is none.
func (img *Image) Topic(name string) *Topic {
	t, _ := img.topicsByKey.get(name)
	return t
}

// TopicByID returns the topic of an id, nil when there is none.
func (img *Image) TopicByID(id [16]byte) *Topic {
	t, _ := img.topicsByID.get(id)
	return t
}

// Topics iterates the topics by name.
func (img *Image) Topics() iter.Seq[*Topic] { return values(img.topics.all()) }

// TopicsFrom iterates the topics whose names are not less than name, by name.
func (img *Image) TopicsFrom(name string) iter.Seq[*Topic] {
	return values(img.topics.from(strings.Compare, name))
}

// TopicCount is how many topics there are, PartitionCount how many partitions they have together.
func (img *Image) TopicCount() int { return img.topics.len() }

// PartitionCount is how many partitions all topics have together.
func (img *Image) PartitionCount() int { return img.partitions }

func values[K, V any](seq iter.Seq2[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range seq {
			if !yield(v) {
				return
			}
		}
	}
}

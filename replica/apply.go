package replica

import (
	"slices"

	"github.com/kaja-mq/kaja/metadata"
)

// ApplyDelta makes this broker's partitions what the image says, for the topics that changed. It is called on one goroutine, in the order
// of the images, before the image is published: a client that sees a topic in the metadata finds its partitions serving.
func (m *Manager) ApplyDelta(img *metadata.Image, d *metadata.Delta) {
	for _, t := range d.SortedTopics() {
		if t.New == nil {
			m.Remove(t.Old.ID)
			continue
		}
		for _, i := range t.Partitions {
			m.applyPartition(t.New, i)
		}
	}
}

// ApplyImage is ApplyDelta for all topics of an image: the first one after a start, or one that came as a snapshot. Topics that are not
// in it are removed.
func (m *Manager) ApplyImage(img *metadata.Image) {
	var gone []TopicID
	m.Partitions(func(p *Partition) bool {
		if p.partition == 0 || !slices.Contains(gone, p.id) {
			if img.TopicByID(p.id) == nil {
				gone = append(gone, p.id)
			}
		}
		return true
	})
	for _, id := range gone {
		m.Remove(id)
	}
	for t := range img.Topics() {
		for i := range t.Partitions {
			m.applyPartition(t, int32(i))
		}
	}
}

func (m *Manager) applyPartition(t *metadata.Topic, i int32) {
	mp := t.Partition(i)
	if mp == nil {
		return
	}
	at := slices.Index(mp.Replicas, m.o.NodeID)
	if at < 0 {
		m.RemovePartition(t.ID, i)
		return
	}
	a := Assignment{Topic: t.Name, ID: t.ID, Partition: i, Replicas: mp.Replicas, ISR: mp.ISR, Leader: mp.Leader, LeaderEpoch: mp.LeaderEpoch,
		PartitionEpoch: mp.PartitionEpoch}
	if at < len(mp.Dirs) {
		a.Dir = mp.Dirs[at]
	}
	m.Assign(a)
}

package metadata

import (
	"maps"
	"slices"
)

// Delta is what one Apply changed. It belongs to whoever called Apply; all in it is read only.
type Delta struct {
	// Topics that were created, changed or deleted, by id; one that was created and deleted by the same records is not in it.
	Topics map[[16]byte]*TopicDelta
	// Configs are the resources whose settings changed, with the names that did; a deleted topic's are among them.
	Configs map[Resource][]string
	// Brokers and Controllers are the ids of those that were registered, changed or unregistered.
	Brokers, Controllers []int32
	// Features are the names of those whose level changed.
	Features []string
	// Quotas are the entities for which something was set or removed.
	Quotas [][]EntityPart
	// Scrams are the credentials that were set or removed.
	Scrams []ScramKey
	// ACLs and DelegationTokens are the ids of those that were added, changed or removed.
	ACLs             [][16]byte
	DelegationTokens []string
	// ProducerIDs tells that a block of producer ids was handed out.
	ProducerIDs bool
}

// TopicDelta is what happened to one topic.
type TopicDelta struct {
	Old        *Topic  // nil for a new topic
	New        *Topic  // nil for a deleted topic
	Partitions []int32 // ids of new and changed partitions, ascending
}

// ID is the topic's.
func (d *TopicDelta) ID() [16]byte {
	if d.New != nil {
		return d.New.ID
	}
	return d.Old.ID
}

// Empty tells that nothing changed that anybody could see.
func (d *Delta) Empty() bool {
	return len(d.Topics)+len(d.Configs)+len(d.Brokers)+len(d.Controllers)+len(d.Features)+len(d.Quotas)+len(d.Scrams)+
		len(d.ACLs)+len(d.DelegationTokens) == 0 && !d.ProducerIDs
}

// SortedTopics are the topics of the delta by name, deleted before created, so that everybody goes through them in one order.
func (d *Delta) SortedTopics() []*TopicDelta {
	list := make([]*TopicDelta, 0, len(d.Topics))
	for _, t := range d.Topics {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *TopicDelta) int {
		an, bn := a.named(), b.named()
		if an.Name != bn.Name {
			if an.Name < bn.Name {
				return -1
			}
			return 1
		}
		switch {
		case a.New == nil && b.New != nil:
			return -1
		case a.New != nil && b.New == nil:
			return 1
		}
		return compareIDs(an.ID, bn.ID)
	})
	return list
}

func (d *TopicDelta) named() *Topic {
	if d.New != nil {
		return d.New
	}
	return d.Old
}

// FullDelta is what changed from nothing to img: what a reader gets that starts with img.
func FullDelta(img *Image) *Delta {
	d := &Delta{Topics: make(map[[16]byte]*TopicDelta, img.TopicCount()), Configs: map[Resource][]string{}, ProducerIDs: img.producerIDs >= 0}
	for t := range img.Topics() {
		ids := make([]int32, 0, len(t.Partitions))
		for id := range t.Partitions {
			if t.Partitions[id].Exists() {
				ids = append(ids, int32(id))
			}
		}
		d.Topics[t.ID] = &TopicDelta{New: t, Partitions: ids}
	}
	for res, set := range img.Configs() {
		d.Configs[res] = slices.Sorted(maps.Keys(set))
	}
	for b := range img.Brokers() {
		d.Brokers = append(d.Brokers, b.ID)
	}
	for c := range img.Controllers() {
		d.Controllers = append(d.Controllers, c.ID)
	}
	for name := range img.Features() {
		d.Features = append(d.Features, name)
	}
	for q := range img.Quotas() {
		d.Quotas = append(d.Quotas, q.Entity)
	}
	for k := range img.Scrams() {
		d.Scrams = append(d.Scrams, k)
	}
	for id := range img.ACLs() {
		d.ACLs = append(d.ACLs, id)
	}
	for t := range img.DelegationTokens() {
		d.DelegationTokens = append(d.DelegationTokens, t.ID)
	}
	return d
}

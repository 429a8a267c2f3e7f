package metadata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kaja-mq/kaja/metadata/record"
)

// noLeaderChange in a PartitionChangeRecord keeps leader and leader epoch.
const noLeaderChange int32 = -2

func (a *applier) topic(r *record.TopicRecord) error {
	if _, ok := a.touched[r.TopicID]; ok || a.old.TopicByID(r.TopicID) != nil {
		return fmt.Errorf("topic id %x is taken", r.TopicID)
	}
	if t := a.topicNamed(r.Name); t != nil {
		return fmt.Errorf("topic name %q is taken by id %x", r.Name, t.ID)
	}
	t := &touchedTopic{changed: map[int32]struct{}{}}
	t.New = &Topic{Name: r.Name, ID: r.TopicID}
	a.touched[r.TopicID] = t
	a.created = append(a.created, t)
	return nil
}

// topicNamed returns the topic that has a name now. A new topic comes into the indexes only by finish.
func (a *applier) topicNamed(name string) *Topic {
	if old := a.old.Topic(name); old != nil {
		if t, ok := a.touched[old.ID]; !ok || t.New != nil {
			return old
		}
	}
	// Few are created by one Apply where names collide at all, but loading a log makes thousands: look from the newest.
	if t, ok := a.byName()[name]; ok && t.New != nil {
		return t.New
	}
	return nil
}

// byName indexes the created topics.
func (a *applier) byName() map[string]*touchedTopic {
	if a.names == nil {
		a.names = map[string]*touchedTopic{}
	}
	for _, t := range a.created[a.named:] {
		if t.New != nil {
			a.names[t.New.Name] = t
		}
	}
	a.named = len(a.created)
	return a.names
}

// touch returns a topic in a form that may be changed, nil when there is none of that id.
func (a *applier) touch(id [16]byte) *touchedTopic {
	if t, ok := a.touched[id]; ok {
		if t.New == nil {
			return nil
		}
		return t
	}
	old := a.old.TopicByID(id)
	if old == nil {
		return nil
	}
	t := &touchedTopic{changed: map[int32]struct{}{}}
	t.Old = old
	t.New = &Topic{Name: old.Name, ID: old.ID, Partitions: slices.Clone(old.Partitions)}
	a.touched[id] = t
	return t
}

func (a *applier) partition(r *record.PartitionRecord) error {
	t := a.touch(r.TopicID)
	if t == nil {
		return fmt.Errorf("no topic %x", r.TopicID)
	}
	have := len(t.New.Partitions)
	switch {
	case r.PartitionID < 0 || int(r.PartitionID) > have+maxPartitionGap:
		return fmt.Errorf("partition %d of topic %q with %d partitions", r.PartitionID, t.New.Name, have)
	case len(r.Replicas) == 0:
		return fmt.Errorf("partition %d of topic %q without replicas", r.PartitionID, t.New.Name)
	}
	p := Partition{
		Replicas: r.Replicas, ISR: r.ISR, Adding: r.AddingReplicas, Removing: r.RemovingReplicas,
		Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch, RecoveryState: r.LeaderRecoveryState,
		ELR: r.EligibleLeaderReplicas, LastKnownELR: r.LastKnownELR,
	}
	p.Dirs = dirsFor(r.Directories, len(r.Replicas))
	a.set(t, r.PartitionID, p)
	return nil
}

// set puts a partition into a topic that is ours.
func (a *applier) set(t *touchedTopic, id int32, p Partition) {
	p.normalize()
	for int(id) >= len(t.New.Partitions) {
		t.New.Partitions = append(t.New.Partitions, Partition{Leader: NoLeader})
	}
	if !t.New.Partitions[id].Exists() {
		a.img.partitions++
	}
	t.New.Partitions[id] = p
	t.changed[id] = struct{}{}
}

// normalize drops what is empty and shares what is equal: thousands of partitions are kept.
func (p *Partition) normalize() {
	for _, s := range []*[]int32{&p.ISR, &p.Adding, &p.Removing, &p.ELR, &p.LastKnownELR} {
		if len(*s) == 0 {
			*s = nil
		}
	}
	if slices.Equal(p.ISR, p.Replicas) {
		p.ISR = p.Replicas
	}
}

// dirsFor fills up for records of a metadata.version without directories: PartitionRegistration.defaultToMigrating.
func dirsFor(dirs [][16]byte, replicas int) [][16]byte {
	for _, d := range dirs {
		if d != DirMigrating {
			return dirs
		}
	}
	return make([][16]byte, replicas)
}

func (a *applier) partitionChange(r *record.PartitionChangeRecord) error {
	t := a.touch(r.TopicID)
	if t == nil {
		return fmt.Errorf("no topic %x", r.TopicID)
	}
	old := t.New.Partition(r.PartitionID)
	if old == nil {
		return fmt.Errorf("topic %q has no partition %d", t.New.Name, r.PartitionID)
	}
	p := *old
	for _, f := range []struct {
		from []int32
		to   *[]int32
	}{{r.Replicas, &p.Replicas}, {r.ISR, &p.ISR}, {r.AddingReplicas, &p.Adding}, {r.RemovingReplicas, &p.Removing},
		{r.EligibleLeaderReplicas, &p.ELR}, {r.LastKnownELR, &p.LastKnownELR}} {
		if f.from != nil {
			*f.to = f.from
		}
	}
	if len(p.Replicas) == 0 {
		return fmt.Errorf("partition %d of topic %q without replicas", r.PartitionID, t.New.Name)
	}
	if r.Directories != nil {
		p.Dirs = r.Directories
	}
	p.Dirs = dirsFor(p.Dirs, len(p.Replicas))
	if r.Leader != noLeaderChange {
		p.Leader = r.Leader
		p.LeaderEpoch++
	}
	if r.LeaderRecoveryState >= 0 {
		p.RecoveryState = r.LeaderRecoveryState
	}
	p.PartitionEpoch++
	a.set(t, r.PartitionID, p)
	return nil
}

func (a *applier) removeTopic(r *record.RemoveTopicRecord) error {
	t := a.touch(r.TopicID)
	if t == nil {
		return fmt.Errorf("no topic %x", r.TopicID)
	}
	gone := t.New
	for i := range gone.Partitions {
		if gone.Partitions[i].Exists() {
			a.img.partitions--
		}
	}
	t.New, t.changed = nil, nil
	delete(a.names, gone.Name)
	if t.Old != nil {
		a.img.topicsByID = a.img.topicsByID.remove(a.own, gone.ID)
		a.img.topicsByKey = a.img.topicsByKey.remove(a.own, gone.Name)
		a.img.topics = a.img.topics.remove(a.own, strings.Compare, gone.Name)
	}
	res := Resource{Type: ResourceTopic, Name: gone.Name}
	for name := range a.img.Config(res.Type, res.Name) {
		a.configChanged(res, name)
	}
	a.img.configs = a.img.configs.remove(a.own, compareResources, res)
	return nil
}

// clearELR empties the eligible leaders of one topic, or of all.
func (a *applier) clearELR(r *record.ClearElrRecord) error {
	if r.TopicName != "" {
		t := a.topicNamed(r.TopicName)
		if t == nil {
			return fmt.Errorf("no topic %q", r.TopicName)
		}
		a.clearTopicELR(t)
		return nil
	}
	for t := range a.old.Topics() {
		a.clearTopicELR(t)
	}
	for _, t := range a.created {
		if t.New != nil {
			a.clearTopicELR(t.New)
		}
	}
	return nil
}

func (a *applier) clearTopicELR(topic *Topic) {
	if t, ok := a.touched[topic.ID]; ok {
		if topic = t.New; topic == nil {
			return
		}
	}
	for id := range topic.Partitions {
		p := topic.Partitions[id]
		if len(p.ELR)+len(p.LastKnownELR) == 0 {
			continue
		}
		p.ELR, p.LastKnownELR = nil, nil
		a.set(a.touch(topic.ID), int32(id), p)
	}
}

package server

import (
	"slices"

	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/storage"
)

// The metadata says of each replica which log directory it is in (KIP-858). The controller knows only of brokers with one directory;
// with several it is the broker that chooses and tells, as Kafka's does by AssignReplicasToDirs: after it has made a log, after a log has
// moved, and after a start for what moved or was lost sight of while it was down.

// assignDirs tells the controller of the partitions whose directory is not the recorded one: of the topics in d, of all without one.
func (b *Broker) assignDirs(img *metadata.Image, d *metadata.Delta) {
	var found []controller.DirAssignment
	if d == nil {
		for t := range img.Topics() {
			for i := range t.Partitions {
				found = b.strayFrom(t, int32(i), found)
			}
		}
	} else {
		for _, c := range d.SortedTopics() {
			if c.New == nil {
				continue
			}
			for _, i := range c.Partitions {
				found = b.strayFrom(c.New, i, found)
			}
		}
	}
	for part := range slices.Chunk(found, controller.MaxDirAssignments) {
		b.tellDirs(part)
	}
}

// strayFrom appends the partition's directory where it is not the recorded one.
func (b *Broker) strayFrom(t *metadata.Topic, i int32, found []controller.DirAssignment) []controller.DirAssignment {
	mp := t.Partition(i)
	if mp == nil {
		return found
	}
	at := slices.Index(mp.Replicas, b.NodeID())
	l := b.store.Get(t.ID, i)
	if at < 0 || l == nil || !l.Online() || at < len(mp.Dirs) && mp.Dirs[at] == l.DirID() {
		return found
	}
	return append(found, controller.DirAssignment{Topic: t.ID, Partition: i, Dir: l.DirID()})
}

// logMoved tells of a log that has arrived in another directory.
func (b *Broker) logMoved(key storage.PartitionKey) {
	if l := b.store.Get(key.ID, key.Partition); l != nil {
		b.tellDirs([]controller.DirAssignment{{Topic: key.ID, Partition: key.Partition, Dir: l.DirID()}})
	}
}

// tellDirs does not wait: clients need not know, and the next start would find what did not arrive.
func (b *Broker) tellDirs(dirs []controller.DirAssignment) {
	b.control.AssignReplicasToDirs(dirs, func(err error) {
		if err != nil {
			b.o.Log.Warn().Err(err).Int("partitions", len(dirs)).Msg("directories of partitions are not recorded")
		}
	})
}

// reportOffline tells the controller which directories have failed: their partitions have no leader here any more.
func (b *Broker) reportOffline() {
	var gone [][16]byte
	for _, d := range b.store.Dirs() {
		if !d.Online && d.ID != ([16]byte{}) {
			gone = append(gone, d.ID)
		}
	}
	if len(gone) == 0 || b.control == nil {
		return
	}
	b.control.ReportOfflineDirs(gone, func(err error) {
		if err != nil {
			b.o.Log.Warn().Err(err).Msg("failed log directories are not recorded")
		}
	})
}

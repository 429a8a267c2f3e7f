package metadata

import (
	"iter"
	"maps"
	"slices"

	"github.com/kaja-mq/kaja/metadata/record"
)

// Records iterates the records that a snapshot of the image has between its header and its footer: folded over Empty they give the image
// again. The groups come in Kafka's order (org.apache.kafka.image.MetadataImage.write); inside a group, where Kafka's order is that of a
// hash map, it is sorted here. Write each in record.VersionAt(rec, img.MetadataVersion()).
func (img *Image) Records() iter.Seq[record.Message] {
	return func(yield func(record.Message) bool) {
		for _, part := range []func(func(record.Message) bool) bool{img.featureRecords, img.clusterRecords, img.topicRecords,
			img.configRecords, img.quotaRecords, img.producerIDRecords, img.aclRecords, img.scramRecords, img.tokenRecords} {
			if !part(yield) {
				return
			}
		}
	}
}

// featureRecords puts metadata.version first: a reader must know it before all else.
func (img *Image) featureRecords(yield func(record.Message) bool) bool {
	if v := img.MetadataVersion(); v != 0 && !yield(&record.FeatureLevelRecord{Name: MetadataVersionFeature, FeatureLevel: v}) {
		return false
	}
	for name, level := range img.Features() {
		if name != MetadataVersionFeature && !yield(&record.FeatureLevelRecord{Name: name, FeatureLevel: level}) {
			return false
		}
	}
	return true
}

func (img *Image) clusterRecords(yield func(record.Message) bool) bool {
	for _, b := range img.brokers {
		r := &record.RegisterBrokerRecord{BrokerID: b.ID, IsMigratingZkBroker: b.isMigratingZkBroker, IncarnationID: b.Incarnation,
			BrokerEpoch: b.Epoch, Rack: b.Rack, Fenced: b.Fenced, InControlledShutdown: b.InControlledShutdown, LogDirs: b.LogDirs,
			CordonedLogDirs: b.CordonedLogDirs}
		for _, e := range b.Endpoints {
			r.EndPoints = append(r.EndPoints, record.BrokerEndpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
		}
		for _, f := range b.Features {
			r.Features = append(r.Features, record.BrokerFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
		}
		if !yield(r) {
			return false
		}
	}
	for _, c := range img.controllers {
		r := &record.RegisterControllerRecord{ControllerID: c.ID, IncarnationID: c.Incarnation, ZkMigrationReady: c.zkMigrationReady}
		for _, e := range c.Endpoints {
			r.EndPoints = append(r.EndPoints, record.ControllerEndpoint{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
		}
		for _, f := range c.Features {
			r.Features = append(r.Features, record.ControllerFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
		}
		if !yield(r) {
			return false
		}
	}
	return true
}

func (img *Image) topicRecords(yield func(record.Message) bool) bool {
	for t := range img.Topics() {
		if !yield(&record.TopicRecord{Name: t.Name, TopicID: t.ID}) {
			return false
		}
		for id := range t.Partitions {
			p := &t.Partitions[id]
			if p.Exists() && !yield(p.record(t.ID, int32(id))) {
				return false
			}
		}
	}
	return true
}

// record is the partition as a record of its own.
func (p *Partition) record(topicID [16]byte, id int32) *record.PartitionRecord {
	return &record.PartitionRecord{PartitionID: id, TopicID: topicID, Replicas: p.Replicas, ISR: p.ISR, RemovingReplicas: p.Removing,
		AddingReplicas: p.Adding, Leader: p.Leader, LeaderRecoveryState: p.RecoveryState, LeaderEpoch: p.LeaderEpoch,
		PartitionEpoch: p.PartitionEpoch, Directories: p.Dirs, EligibleLeaderReplicas: p.ELR, LastKnownELR: p.LastKnownELR}
}

func (img *Image) configRecords(yield func(record.Message) bool) bool {
	for res, set := range img.Configs() {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			value := set[name]
			if !yield(&record.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: name, Value: &value}) {
				return false
			}
		}
	}
	return true
}

func (img *Image) quotaRecords(yield func(record.Message) bool) bool {
	for q := range img.Quotas() {
		entity := make([]record.EntityData, 0, len(q.Entity))
		for _, p := range q.Entity {
			entity = append(entity, record.EntityData{EntityType: p.Type, EntityName: p.Name})
		}
		for _, key := range slices.Sorted(maps.Keys(q.Values)) {
			if !yield(&record.ClientQuotaRecord{Entity: entity, Key: key, Value: q.Values[key]}) {
				return false
			}
		}
	}
	return true
}

// producerIDRecords: a snapshot does not say which broker had the last block.
func (img *Image) producerIDRecords(yield func(record.Message) bool) bool {
	return img.producerIDs < 0 || yield(&record.ProducerIdsRecord{BrokerID: -1, BrokerEpoch: -1, NextProducerID: img.producerIDs})
}

func (img *Image) aclRecords(yield func(record.Message) bool) bool {
	for id, a := range img.ACLs() {
		if !yield(&record.AccessControlEntryRecord{ID: id, ResourceType: a.ResourceType, ResourceName: a.ResourceName,
			PatternType: a.PatternType, Principal: a.Principal, Host: a.Host, Operation: a.Operation, PermissionType: a.PermissionType}) {
			return false
		}
	}
	return true
}

func (img *Image) scramRecords(yield func(record.Message) bool) bool {
	for k, c := range img.Scrams() {
		if !yield(&record.UserScramCredentialRecord{Name: k.User, Mechanism: k.Mechanism, Salt: c.Salt, StoredKey: c.StoredKey,
			ServerKey: c.ServerKey, Iterations: c.Iterations}) {
			return false
		}
	}
	return true
}

func (img *Image) tokenRecords(yield func(record.Message) bool) bool {
	for t := range img.DelegationTokens() {
		if !yield(&record.DelegationTokenRecord{Owner: t.Owner, Requester: t.Requester, Renewers: t.Renewers,
			IssueTimestamp: t.IssueTimestamp, MaxTimestamp: t.MaxTimestamp, ExpirationTimestamp: t.ExpirationTimestamp, TokenID: t.ID}) {
			return false
		}
	}
	return true
}

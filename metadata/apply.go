package metadata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kaja-mq/kaja/metadata/record"
)

// ErrInconsistent is in every error of Apply: the records do not fit the image, which only a damaged log or a bug brings about.
var ErrInconsistent = errors.New("metadata records do not fit")

// maxPartitionGap bounds the hole that a partition record may leave below it, so that a damaged id cannot make the image grow at will.
const maxPartitionGap = 1024

// Apply returns the image after the records and what they changed. offset and epoch are those of the last record. On an error the image
// stays as it was, and there is no delta. The records are not kept, but slices in them are: do not write to them afterwards.
func (img *Image) Apply(recs []record.Message, offset int64, epoch int32) (*Image, *Delta, error) {
	a := &applier{own: &owner{}, old: img, touched: map[[16]byte]*touchedTopic{}, delta: &Delta{}}
	next := *img
	a.img = &next
	for i, rec := range recs {
		if err := a.apply(rec); err != nil {
			return img, nil, fmt.Errorf("%w: record %d of %d up to offset %d, %s: %w", ErrInconsistent, i, len(recs), offset, rec.RecordName(), err)
		}
	}
	a.finish()
	next.Offset, next.Epoch = offset, epoch
	return &next, a.delta, nil
}

// applier is one Apply on its way.
type applier struct {
	own     *owner
	old     *Image
	img     *Image // being made
	delta   *Delta
	touched map[[16]byte]*touchedTopic
	created []*touchedTopic          // in order of creation
	names   map[string]*touchedTopic // of created[:named]
	named   int
}

// touchedTopic is a topic that this Apply made or copied; New is ours to change.
type touchedTopic struct {
	TopicDelta
	changed map[int32]struct{}
}

func (a *applier) apply(rec record.Message) error {
	switch r := rec.(type) {
	case *record.TopicRecord:
		return a.topic(r)
	case *record.PartitionRecord:
		return a.partition(r)
	case *record.PartitionChangeRecord:
		return a.partitionChange(r)
	case *record.RemoveTopicRecord:
		return a.removeTopic(r)
	case *record.ClearElrRecord:
		return a.clearELR(r)
	case *record.ConfigRecord:
		a.config(Resource{Type: r.ResourceType, Name: r.ResourceName}, r.Name, r.Value)
	case *record.RegisterBrokerRecord:
		a.registerBroker(r)
	case *record.UnregisterBrokerRecord:
		return a.unregisterBroker(r)
	case *record.FenceBrokerRecord:
		return a.changeBroker(r.ID, r.Epoch, func(b *Broker) { b.Fenced = true })
	case *record.UnfenceBrokerRecord:
		return a.changeBroker(r.ID, r.Epoch, func(b *Broker) { b.Fenced = false })
	case *record.BrokerRegistrationChangeRecord:
		return a.brokerRegistrationChange(r)
	case *record.RegisterControllerRecord:
		a.registerController(r)
	case *record.UnregisterControllerRecord:
		return a.unregisterController(r)
	case *record.FeatureLevelRecord:
		a.featureLevel(r)
	case *record.ProducerIdsRecord:
		a.img.producerIDs, a.delta.ProducerIDs = r.NextProducerID, true
	default:
		return a.applySecurity(rec)
	}
	return nil
}

// applySecurity is the second half of apply.
func (a *applier) applySecurity(rec record.Message) error {
	img, d := a.img, a.delta
	switch r := rec.(type) {
	case *record.ClientQuotaRecord:
		a.quota(r)
	case *record.UserScramCredentialRecord:
		k := ScramKey{User: r.Name, Mechanism: r.Mechanism}
		c := &ScramCredential{Salt: r.Salt, StoredKey: r.StoredKey, ServerKey: r.ServerKey, Iterations: r.Iterations}
		img.scram = img.scram.put(a.own, compareScramKeys, k, c)
		d.Scrams = append(d.Scrams, k)
	case *record.RemoveUserScramCredentialRecord:
		k := ScramKey{User: r.Name, Mechanism: r.Mechanism}
		img.scram = img.scram.remove(a.own, compareScramKeys, k)
		d.Scrams = append(d.Scrams, k)
	case *record.AccessControlEntryRecord:
		img.acls = img.acls.put(a.own, compareIDs, r.ID, &ACL{ResourceType: r.ResourceType, ResourceName: r.ResourceName,
			PatternType: r.PatternType, Principal: r.Principal, Host: r.Host, Operation: r.Operation, PermissionType: r.PermissionType})
		d.ACLs = append(d.ACLs, r.ID)
	case *record.RemoveAccessControlEntryRecord:
		if img.ACL(r.ID) == nil {
			return fmt.Errorf("no ACL %x", r.ID)
		}
		img.acls = img.acls.remove(a.own, compareIDs, r.ID)
		d.ACLs = append(d.ACLs, r.ID)
	case *record.DelegationTokenRecord:
		img.tokens = img.tokens.put(a.own, strings.Compare, r.TokenID, &DelegationToken{ID: r.TokenID, Owner: r.Owner,
			Requester: r.Requester, Renewers: r.Renewers, IssueTimestamp: r.IssueTimestamp, MaxTimestamp: r.MaxTimestamp,
			ExpirationTimestamp: r.ExpirationTimestamp})
		d.DelegationTokens = append(d.DelegationTokens, r.TokenID)
	case *record.RemoveDelegationTokenRecord:
		img.tokens = img.tokens.remove(a.own, strings.Compare, r.TokenID)
		d.DelegationTokens = append(d.DelegationTokens, r.TokenID)
	case *record.NoOpRecord, *record.ZkMigrationStateRecord:
		// Nothing of it is kept: a NoOp only makes the log grow, and a migration from ZooKeeper ended before 4.0.
	case *record.BeginTransactionRecord, *record.EndTransactionRecord, *record.AbortTransactionRecord:
		// Whoever reads the log applies the records of a transaction when it has ended, or never.
	default:
		return fmt.Errorf("no rule for type %d", rec.APIKey())
	}
	return nil
}

// finish makes the delta and the indexes of what was touched.
func (a *applier) finish() {
	for id, t := range a.touched {
		old, kept := t.Old, t.New
		switch {
		case kept != nil:
			a.img.topicsByID = a.img.topicsByID.put(a.own, id, kept)
			a.img.topicsByKey = a.img.topicsByKey.put(a.own, kept.Name, kept)
			a.img.topics = a.img.topics.put(a.own, strings.Compare, kept.Name, kept)
		case old == nil:
			continue
		}
		t.Partitions = slices.Sorted(maps.Keys(t.changed))
		if a.delta.Topics == nil {
			a.delta.Topics = make(map[[16]byte]*TopicDelta, len(a.touched))
		}
		a.delta.Topics[id] = &t.TopicDelta
	}
}

func (a *applier) featureLevel(r *record.FeatureLevelRecord) {
	if r.FeatureLevel == 0 {
		a.img.features = a.img.features.remove(a.own, strings.Compare, r.Name)
	} else {
		a.img.features = a.img.features.put(a.own, strings.Compare, r.Name, r.FeatureLevel)
	}
	a.delta.Features = append(a.delta.Features, r.Name)
}

// config sets a value, or removes it when value is nil. A resource on which nothing is left is gone.
func (a *applier) config(res Resource, name string, value *string) {
	old, _ := a.img.configs.get(compareResources, res)
	next := make(map[string]string, len(old)+1)
	maps.Copy(next, old)
	if value == nil {
		delete(next, name)
	} else {
		next[name] = *value
	}
	if len(next) == 0 {
		a.img.configs = a.img.configs.remove(a.own, compareResources, res)
	} else {
		a.img.configs = a.img.configs.put(a.own, compareResources, res, next)
	}
	a.configChanged(res, name)
}

func (a *applier) configChanged(res Resource, name string) {
	if a.delta.Configs == nil {
		a.delta.Configs = map[Resource][]string{}
	}
	if !slices.Contains(a.delta.Configs[res], name) {
		a.delta.Configs[res] = append(a.delta.Configs[res], name)
	}
}

func (a *applier) quota(r *record.ClientQuotaRecord) {
	parts := make([]EntityPart, 0, len(r.Entity))
	for _, e := range r.Entity {
		parts = append(parts, EntityPart{Type: e.EntityType, Name: e.EntityName})
	}
	entity := sortEntity(parts)
	key := entityKey(entity)
	q := &Quota{Entity: entity, Values: map[string]float64{}}
	if old, ok := a.img.quotas.get(strings.Compare, key); ok {
		maps.Copy(q.Values, old.Values)
	}
	if r.Remove {
		delete(q.Values, r.Key)
	} else {
		q.Values[r.Key] = r.Value
	}
	if len(q.Values) == 0 {
		a.img.quotas = a.img.quotas.remove(a.own, strings.Compare, key)
	} else {
		a.img.quotas = a.img.quotas.put(a.own, strings.Compare, key, q)
	}
	a.delta.Quotas = append(a.delta.Quotas, entity)
}

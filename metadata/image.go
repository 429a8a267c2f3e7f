package metadata

import (
	"iter"
	"strings"
	"sync/atomic"
)

// MetadataVersionFeature is the feature whose level is the metadata.version.
const MetadataVersionFeature = "metadata.version"

// Resource types of ConfigRecord: org.apache.kafka.common.config.ConfigResource.Type.
const (
	ResourceTopic         int8 = 2
	ResourceBroker        int8 = 4
	ResourceBrokerLogger  int8 = 8
	ResourceClientMetrics int8 = 16
	ResourceGroup         int8 = 32
)

// Image is the cluster's metadata at one offset of the metadata log. It never changes: whoever holds one may read it from any goroutine
// and keep it. What its methods return belongs to it and is read only too.
type Image struct {
	// Offset is that of the last record in it, -1 when there is none; Epoch is the leader epoch of that record.
	Offset int64
	Epoch  int32

	features    *ordered[string, int16] // finalized levels, metadata.version among them
	brokers     []*Broker               // by id
	controllers []*Controller           // by id
	topicsByID  *index[[16]byte, *Topic]
	topicsByKey *index[string, *Topic]
	topics      *ordered[string, *Topic]
	partitions  int
	configs     *ordered[Resource, map[string]string]
	quotas      *ordered[string, *Quota] // by the canonical form of the entity
	producerIDs int64                    // next, -1 when none was handed out
	acls        *ordered[[16]byte, *ACL]
	scram       *ordered[ScramKey, *ScramCredential]
	tokens      *ordered[string, *DelegationToken]
}

// Empty returns the image before the first record.
func Empty() *Image { return &Image{Offset: -1, Epoch: -1, producerIDs: -1} }

// Holder publishes an image to everybody. The zero value holds none.
type Holder struct{ p atomic.Pointer[Image] }

// NewHolder returns one that holds the empty image.
func NewHolder() *Holder {
	h := &Holder{}
	h.Store(Empty())
	return h
}

// Load returns the newest image, nil before the first Store.
func (h *Holder) Load() *Image { return h.p.Load() }

// Store publishes img. Only the one goroutine that applies records calls it.
func (h *Holder) Store(img *Image) { h.p.Store(img) }

// Feature returns the finalized level of a feature; false when it is not finalized, which counts as level 0.
func (img *Image) Feature(name string) (int16, bool) { return img.features.get(strings.Compare, name) }

// Features iterates the finalized features by name.
func (img *Image) Features() iter.Seq2[string, int16] { return img.features.all() }

// MetadataVersion is the level of metadata.version, 0 before it is known.
func (img *Image) MetadataVersion() int16 {
	v, _ := img.Feature(MetadataVersionFeature)
	return v
}

// NextProducerID is the first producer id that no block has, -1 when none was handed out.
func (img *Image) NextProducerID() int64 { return img.producerIDs }

// Config returns what is set on a resource, nil when nothing is. Topics are named; brokers by their id in decimal, "" for all of them.
func (img *Image) Config(resourceType int8, name string) map[string]string {
	m, _ := img.configs.get(compareResources, Resource{Type: resourceType, Name: name})
	return m
}

// Configs iterates all resources on which something is set, by type and name.
func (img *Image) Configs() iter.Seq2[Resource, map[string]string] { return img.configs.all() }

// Resource names what a config is set on.
type Resource struct {
	Type int8
	Name string
}

func compareResources(a, b Resource) int {
	if a.Type != b.Type {
		return int(a.Type) - int(b.Type)
	}
	return strings.Compare(a.Name, b.Name)
}

package handler

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
)

// Metadata (key 3), versions 0 to 13.
//
//	v1 null for all topics, controller, racks, internal topics  v2 cluster id  v3 throttle  v4 auto-creation asked for (KIP-204)
//	v5 offline replicas  v7 leader epochs (KIP-320)  v8 authorized operations (KIP-430)  v9 flexible  v10 topic ids (KIP-516)
//	v11 cluster operations gone (KIP-700)  v12 topics by id  v13 error at the top (KIP-1102)
//
// Seen on Apache 4.4.0: v0 takes an empty list for all topics, later versions for none. A name that comes twice is answered once. As
// soon as one topic has an id, those without are left out. An id or a missing name before v12 spoils the request: every topic gets
// INVALID_REQUEST and brokers, cluster and controller are missing; neither id nor name in v12 does the same with UNKNOWN_SERVER_ERROR.
// A topic that is being made by this request is UNKNOWN_TOPIC_OR_PARTITION, the client asks again. Before v4 every request makes
// topics. The controller is any broker that is alive, since each passes on what the controller does.
// Deviations: topics that exist come in the order of the request (by name when all are asked for), Kafka's order is that of a hash set;
// the answer to a request that makes topics waits until they are there, so that asking again succeeds at once.
func (h *Handler) metadata(c Call) {
	req := kmsg.NewPtrMetadataRequest()
	if !decode(c, req) {
		return
	}
	if code := checkMetadata(req); code != 0 {
		c.Reply(spoiledMetadata(req, code))
		return
	}
	v := metadataView{img: h.Images(), viewpoint: h.viewpoint(c.Conn()), version: req.Version}
	v.topicOperations = req.Version >= 8 && req.IncludeTopicAuthorizedOperations
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID, resp.ControllerID = &h.ClusterID, anyBroker(v.img, c.Conn().ID())
	if req.Version >= 8 && req.Version <= 10 && req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	resp.Brokers = v.brokers()
	var missing []string
	switch {
	case req.Topics == nil || req.Version == 0 && len(req.Topics) == 0:
		resp.Topics = v.all()
	case hasTopicID(req):
		resp.Topics = v.byID(req)
	default:
		resp.Topics, missing = v.byName(req)
	}
	mayCreate := req.Version < 4 || req.AllowAutoTopicCreation
	if mayCreate && h.Config().Bool("auto.create.topics.enable") && h.autoCreate(c, missing, func() { c.Reply(resp) }) {
		return
	}
	c.Reply(resp)
}

// checkMetadata returns the code that the whole request is answered with, 0 when it can be served.
func checkMetadata(req *kmsg.MetadataRequest) int16 {
	nameless := false
	for i := range req.Topics {
		t := &req.Topics[i]
		if req.Version < 12 && (t.Topic == nil || t.TopicID != [16]byte{}) {
			return kerr.InvalidRequest.Code
		}
		nameless = nameless || t.Topic == nil
	}
	if nameless && !hasTopicID(req) {
		return kerr.UnknownServerError.Code
	}
	return 0
}

func hasTopicID(req *kmsg.MetadataRequest) bool {
	for i := range req.Topics {
		if req.Topics[i].TopicID != [16]byte{} {
			return true
		}
	}
	return false
}

// spoiledMetadata answers every topic of the request with one code: org.apache.kafka.common.requests.MetadataRequest.getErrorResponse.
func spoiledMetadata(req *kmsg.MetadataRequest, code int16) *kmsg.MetadataResponse {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	resp.ControllerID, resp.ErrorCode = -1, code
	empty := ""
	for _, t := range req.Topics {
		rt := kmsg.NewMetadataResponseTopic()
		rt.ErrorCode, rt.Topic, rt.TopicID = code, t.Topic, t.TopicID
		if rt.Topic == nil {
			rt.Topic = &empty
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// metadataView is an image as a client of one listener sees it.
type metadataView struct {
	viewpoint
	img             *metadata.Image
	version         int16
	topicOperations bool
	// partitions is memory for the partitions of many topics at once.
	partitions []kmsg.MetadataResponseTopicPartition
}

// brokers are those that are alive and can be reached by the listener.
func (v *metadataView) brokers() []kmsg.MetadataResponseBroker {
	brokers := make([]kmsg.MetadataResponseBroker, 0, v.img.BrokerCount())
	for b := range v.img.Brokers() {
		if e, ok := v.endpoint(b); ok && !b.Fenced {
			rb := kmsg.NewMetadataResponseBroker()
			rb.NodeID, rb.Host, rb.Port, rb.Rack = b.ID, e.Host, int32(e.Port), b.Rack
			brokers = append(brokers, rb)
		}
	}
	return brokers
}

func (v *metadataView) all() []kmsg.MetadataResponseTopic {
	topics := make([]kmsg.MetadataResponseTopic, 0, v.img.TopicCount())
	v.partitions = make([]kmsg.MetadataResponseTopicPartition, 0, v.img.PartitionCount())
	for t := range v.img.Topics() {
		topics = append(topics, v.topic(t))
	}
	return topics
}

// byID serves the topics that have an id. An id that is asked for twice is answered once.
func (v *metadataView) byID(req *kmsg.MetadataRequest) []kmsg.MetadataResponseTopic {
	topics := make([]kmsg.MetadataResponseTopic, 0, len(req.Topics))
	seen := make(map[[16]byte]struct{}, len(req.Topics))
	for i := range req.Topics {
		id := req.Topics[i].TopicID
		if _, again := seen[id]; again || id == [16]byte{} {
			continue
		}
		seen[id] = struct{}{}
		if t := v.img.TopicByID(id); t != nil {
			topics = append(topics, v.topic(t))
			continue
		}
		rt := kmsg.NewMetadataResponseTopic()
		rt.ErrorCode, rt.TopicID = kerr.UnknownTopicID.Code, id
		topics = append(topics, rt)
	}
	return topics
}

// byName serves names, those that exist first, and returns the valid names that do not exist.
func (v *metadataView) byName(req *kmsg.MetadataRequest) (topics []kmsg.MetadataResponseTopic, missing []string) {
	topics = make([]kmsg.MetadataResponseTopic, 0, len(req.Topics))
	seen := make(map[string]struct{}, len(req.Topics))
	var unknown []kmsg.MetadataResponseTopic
	for i := range req.Topics {
		name := *req.Topics[i].Topic
		if _, again := seen[name]; again {
			continue
		}
		seen[name] = struct{}{}
		if t := v.img.Topic(name); t != nil {
			topics = append(topics, v.topic(t))
			continue
		}
		rt := kmsg.NewMetadataResponseTopic()
		rt.Topic, rt.IsInternal, rt.ErrorCode = &name, isInternalTopic(name), kerr.UnknownTopicOrPartition.Code
		if validTopicName(name) {
			missing = append(missing, name)
		} else {
			rt.ErrorCode = kerr.InvalidTopicException.Code
		}
		if v.topicOperations {
			rt.AuthorizedOperations = topicOperations // of a name that is not there, too; not of an unknown id
		}
		unknown = append(unknown, rt)
	}
	return append(topics, unknown...), missing
}

func (v *metadataView) topic(t *metadata.Topic) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID, rt.IsInternal = &t.Name, t.ID, isInternalTopic(t.Name)
	if v.topicOperations {
		rt.AuthorizedOperations = topicOperations
	}
	first := len(v.partitions)
	if cap(v.partitions)-first < len(t.Partitions) {
		v.partitions, first = make([]kmsg.MetadataResponseTopicPartition, 0, len(t.Partitions)), 0
	}
	for id := range t.Partitions {
		if p := &t.Partitions[id]; p.Exists() {
			v.partitions = append(v.partitions, v.partition(int32(id), p))
		}
	}
	rt.Partitions = v.partitions[first:len(v.partitions):len(v.partitions)]
	return rt
}

func (v *metadataView) partition(id int32, p *metadata.Partition) kmsg.MetadataResponseTopicPartition {
	rp := kmsg.NewMetadataResponseTopicPartition()
	rp.Partition, rp.Leader, rp.LeaderEpoch = id, p.Leader, p.LeaderEpoch
	rp.Replicas, rp.ISR, rp.OfflineReplicas = p.Replicas, p.ISR, offlineReplicas(v.img, p, v.listener)
	if v.version == 0 {
		rp.Replicas, rp.ISR = v.alive(p.Replicas), v.alive(p.ISR)
	}
	switch leader := v.img.Broker(p.Leader); {
	case leader == nil:
		rp.ErrorCode, rp.Leader = kerr.LeaderNotAvailable.Code, metadata.NoLeader
	case !reachable(leader, v.listener):
		rp.ErrorCode, rp.Leader = kerr.LeaderNotAvailable.Code, metadata.NoLeader
		if v.version >= 6 {
			rp.ErrorCode = kerr.ListenerNotFound.Code
		}
	case len(rp.Replicas) < len(p.Replicas) || len(rp.ISR) < len(p.ISR):
		rp.ErrorCode = kerr.ReplicaNotAvailable.Code
	}
	return rp
}

// alive leaves out the replicas that a client of the listener cannot reach; only v0 hides them.
func (v *metadataView) alive(replicas []int32) []int32 {
	var alive []int32
	for _, id := range replicas {
		if b := v.img.Broker(id); b != nil && !b.Fenced && reachable(b, v.listener) {
			alive = append(alive, id)
		}
	}
	return alive
}

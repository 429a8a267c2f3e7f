package handler

import (
	"github.com/kaja-mq/kaja/metadata"
)

// This file is what several of the APIs that only read the image have in common.

// What anybody may do where no authorizer is configured, a bit for each org.apache.kafka.common.acl.AclOperation that Kafka knows on
// the kind of resource.
const (
	topicOperations   int32 = 1<<aclRead | 1<<aclWrite | 1<<aclCreate | 1<<aclDelete | 1<<aclAlter | 1<<aclDescribe | 1<<aclDescribeConfigs | 1<<aclAlterConfigs
	clusterOperations int32 = 1<<aclCreate | 1<<aclAlter | 1<<aclDescribe | 1<<aclClusterAction | 1<<aclDescribeConfigs | 1<<aclAlterConfigs | 1<<aclIdempotentWrite
)

// Operations of ACLs.
const (
	aclRead            = 3
	aclWrite           = 4
	aclCreate          = 5
	aclDelete          = 6
	aclAlter           = 7
	aclDescribe        = 8
	aclClusterAction   = 9
	aclDescribeConfigs = 10
	aclAlterConfigs    = 11
	aclIdempotentWrite = 12
)

// maxTopicNameLength leaves room for "-" and a partition in a directory's name of 255 bytes.
const maxTopicNameLength = 249

// validTopicName is org.apache.kafka.common.internals.Topic.validate without its message.
func validTopicName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > maxTopicNameLength {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// Names of the internal topics.
const (
	offsetsTopic    = "__consumer_offsets"
	txnStateTopic   = "__transaction_state"
	shareStateTopic = "__share_group_state"
)

// isInternalTopic is org.apache.kafka.common.internals.Topic.isInternal.
func isInternalTopic(name string) bool {
	return name == offsetsTopic || name == txnStateTopic || name == shareStateTopic
}

// anyBroker picks a broker that is alive, -1 when none is; one connection gets the same for as long as the brokers stay the same.
func anyBroker(img *metadata.Image, conn uint64) int32 {
	alive := make([]int32, 0, img.BrokerCount())
	for b := range img.Brokers() {
		if !b.Fenced {
			alive = append(alive, b.ID)
		}
	}
	if len(alive) == 0 {
		return -1
	}
	return alive[conn%uint64(len(alive))]
}

// reachable tells whether a broker has the listener, be it fenced or not.
func reachable(b *metadata.Broker, listener string) bool {
	_, ok := b.Endpoint(listener)
	return ok
}

// offlineReplicas are those whose broker is gone, fenced or without the listener, or whose log directory is offline.
func offlineReplicas(img *metadata.Image, p *metadata.Partition, listener string) []int32 {
	var offline []int32
	for i, id := range p.Replicas {
		b := img.Broker(id)
		if b == nil || b.Fenced || !reachable(b, listener) || (i < len(p.Dirs) && !b.DirOnline(p.Dirs[i])) {
			offline = append(offline, id)
		}
	}
	return offline
}

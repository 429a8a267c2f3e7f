package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Controller is what handlers ask of the metadata quorum; *controller.Controller is one. All methods are asynchronous: done is called once,
// on the controller's goroutine, after the image with the change is what Images returns; it must not block. A handler parks its call first.
type Controller interface {
	CreateTopics(req *kmsg.CreateTopicsRequest, done func(*kmsg.CreateTopicsResponse))
	DeleteTopics(req *kmsg.DeleteTopicsRequest, done func(*kmsg.DeleteTopicsResponse))
	CreatePartitions(req *kmsg.CreatePartitionsRequest, done func(*kmsg.CreatePartitionsResponse))
	AlterConfigs(req *kmsg.AlterConfigsRequest, done func(*kmsg.AlterConfigsResponse))
	IncrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest, done func(*kmsg.IncrementalAlterConfigsResponse))
	AlterClientQuotas(req *kmsg.AlterClientQuotasRequest, done func(*kmsg.AlterClientQuotasResponse))
	AlterUserSCRAMCredentials(req *kmsg.AlterUserSCRAMCredentialsRequest, done func(*kmsg.AlterUserSCRAMCredentialsResponse))
	UpdateFeatures(req *kmsg.UpdateFeaturesRequest, done func(*kmsg.UpdateFeaturesResponse))
	ElectLeaders(req *kmsg.ElectLeadersRequest, done func(*kmsg.ElectLeadersResponse))
	AlterPartitionAssignments(req *kmsg.AlterPartitionAssignmentsRequest, done func(*kmsg.AlterPartitionAssignmentsResponse))
	ListPartitionReassignments(req *kmsg.ListPartitionReassignmentsRequest, done func(*kmsg.ListPartitionReassignmentsResponse))
	DescribeQuorum(req *kmsg.DescribeQuorumRequest, done func(*kmsg.DescribeQuorumResponse))
	AllocateProducerIDs(done func(first int64, count int32, err error))
	UnregisterBroker(req *kmsg.UnregisterBrokerRequest, done func(*kmsg.UnregisterBrokerResponse))
}

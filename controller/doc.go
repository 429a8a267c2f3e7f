// Package controller is the metadata quorum: a pure machine that turns commands into Kafka's metadata records, on etcd raft with one voter or many.
//
// Owns: the decision about topics, leaders, ISRs, brokers, configs, quotas, SCRAM, features, producer ids; the metadata log's entries.
//
//	I1  state changes only by applying records. The machine is ahead of what is published by the records that are proposed and not
//	    committed yet, so that commands decided together see each other; nobody else sees those.
//	I2  raft index = Kafka offset + 1, raft term = leader epoch: one entry is one record of __cluster_metadata-0 (ADR 0001).
//	I3  a command is answered after its records are committed and the local image has them, in order.
//	I4  nothing is proposed that Kafka 4.4.0 could not read back.
//
// Called by server/handler through Controller, wired to storage by server through Log. One goroutine owns raft and the machine;
// callers hand over commands and are called back without a lock held. Commands that wait while the log is written share the next write
// and sync. Alone it is a quorum of one: it does not tick and writes no NoOpRecord, which Kafka does twice a second.
// Not here: sockets, files, what a broker does with the image (server, replica).
//
// The API, in short (one method per changing request, asynchronous; done runs on the controller's goroutine after the image with
// the command's records was published, must not block, and is called exactly once, also at Close):
//
//	c, err := controller.Start(controller.Options{...})
//	c.Image() *metadata.Image
//	c.CreateTopics(req *kmsg.CreateTopicsRequest, done func(*kmsg.CreateTopicsResponse))
//	c.DeleteTopics, CreatePartitions, AlterConfigs, IncrementalAlterConfigs, AlterClientQuotas, AlterUserSCRAMCredentials, UpdateFeatures,
//	c.ElectLeaders, AlterPartitionAssignments, ListPartitionReassignments, DescribeQuorum, UnregisterBroker: the same shape with kmsg's types
//	c.AllocateProducerIDs(done func(first int64, count int32, err error))
//	c.Close() error
package controller

// Package metadata is the cluster image: immutable, replaced as a whole, changed only by applying Kafka's metadata records.
//
// Owns: Image and its parts (features, cluster, topics, configs, quotas, SCRAM, ACLs, producer ids, delegation tokens), Delta.
//
//	I1  an Image never changes after it is published; Apply makes a new one that shares what did not change.
//	I2  an image equals the fold of Apply over the records up to its offset, and over the records of its own snapshot.
//	I3  a deleted topic's id never resolves again.
//
// Called by controller (which applies), and read through an atomic pointer by everybody else. No goroutines, no locks.
// Not here: deciding which records to write (controller), files (storage), what the configs mean (config).
package metadata

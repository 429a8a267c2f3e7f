// Package metadata is the cluster image: immutable, replaced as a whole, changed only by applying Kafka's metadata records.
//
// Owns: Image and its parts (features, cluster, topics, configs, quotas, SCRAM, ACLs, producer ids, delegation tokens), Delta, Holder.
//
//	I1  an Image never changes after it is published; Apply makes a new one that shares what did not change.
//	I2  an image equals the fold of Apply over the records up to its offset, and over the records of its own snapshot.
//	I3  a deleted topic's id never resolves again.
//	I4  what differs between two images is in the Delta of the Apply between them.
//
// Called by controller (which applies), and read through an atomic pointer by everybody else. No goroutines, no locks: an Image may be read
// by all, an Apply belongs to its caller.
//
// How it shares (persistent.go): an index of 128 hash shards and a sorted map in chunks of at most 128 entries. A change copies a shard and
// a chunk, not the whole, and copies it once per Apply: what an Apply has made carries its owner mark and is written in place. Creating
// a topic beside 10,000 partitions copies some 10 KB; a topic of one partition is kept in some 450 bytes.
//
// Not here: deciding which records to write (controller), the transactions that bracket records in the log (whoever reads the log), files
// (storage), what the configs mean (config).
package metadata

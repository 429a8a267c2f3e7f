package tool

import (
	"fmt"
	"slices"
	"unicode/utf16"
)

// Kafka's tools print the entries of Java's HashMap as they come. Their order is part of the output, and it follows from the
// hash codes of the keys and from the order of insertion.

// javaStringHash is String.hashCode: 31 over the UTF-16 code units.
func javaStringHash(s string) int32 {
	var h int32
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(u)
	}
	return h
}

// topicPartition is a key of many of these maps.
type topicPartition struct {
	Topic     string
	Partition int32
}

// String is the name of the partition's directory.
func (tp topicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

func (tp topicPartition) javaHash() int32 {
	return 31*(31+tp.Partition) + javaStringHash(tp.Topic)
}

// compareTopicPartitions sorts by topic (as Java compares strings for the characters topics have), then by number.
func compareTopicPartitions(a, b topicPartition) int {
	if a.Topic != b.Topic {
		if a.Topic < b.Topic {
			return -1
		}
		return 1
	}
	return int(a.Partition) - int(b.Partition)
}

const (
	javaMapSize   = 16 // HashMap.DEFAULT_INITIAL_CAPACITY
	javaMapFillOf = 4  // it doubles once more than three quarters are taken
	javaMapFill   = 3
)

// javaMapOrder sorts keys, which are in the order of insertion and without duplicates, as a HashMap that grew with them lists
// them: by bucket, and within one by insertion.
func javaMapOrder[K any](keys []K, hash func(K) int32) []K {
	size := javaMapSize
	for len(keys) > size/javaMapFillOf*javaMapFill {
		size *= 2
	}
	bucket := func(k K) int {
		h := uint32(hash(k))
		return int((h ^ h>>16) & uint32(size-1))
	}
	out := slices.Clone(keys)
	slices.SortStableFunc(out, func(a, b K) int { return bucket(a) - bucket(b) })
	return out
}

// javaStringOrder is javaMapOrder of strings; duplicates count once, where they came first.
func javaStringOrder(keys []string) []string {
	seen := make(map[string]bool, len(keys))
	var once []string
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			once = append(once, k)
		}
	}
	return javaMapOrder(once, javaStringHash)
}

// javaPartitionOrder is javaMapOrder of partitions; duplicates count once, where they came first.
func javaPartitionOrder(keys []topicPartition) []topicPartition {
	seen := make(map[topicPartition]bool, len(keys))
	var once []topicPartition
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			once = append(once, k)
		}
	}
	return javaMapOrder(once, topicPartition.javaHash)
}

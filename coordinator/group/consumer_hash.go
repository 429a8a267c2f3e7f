package group

import (
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf16"
)

// The metadata hash of a group tells whether its topics changed: which exist, how many partitions they have, on which racks these lie. It is
// in the group's record, so it is Kafka's to the bit (Utils.computeTopicHash and computeGroupHash): else every group would be assigned
// anew when Kafka and kaja change places. Numbers are little-endian, strings are their UTF-16 units followed by their count.

// topicHashMagic is the version of the hash in its first byte.
const topicHashMagic = 0

func appendHashString(dst []byte, s string) []byte {
	units := utf16.Encode([]rune(s))
	for _, u := range units {
		dst = binary.LittleEndian.AppendUint16(dst, u)
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(len(units)))
}

// topicHash is the hash of one topic that exists.
func topicHash(topics Topics, id topicID, name string) int64 {
	count := topics.Partitions(id)
	b := append(make([]byte, 0, 64+4*count), topicHashMagic)
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(id[:8]))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(id[8:]))
	b = appendHashString(b, name)
	b = binary.LittleEndian.AppendUint32(b, uint32(count))
	for p := range count {
		b = binary.LittleEndian.AppendUint32(b, uint32(p))
		racks := slices.Clone(topics.Racks(id, p))
		slices.Sort(racks)
		for _, r := range racks {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(utf16.Encode([]rune(r)))))
			b = appendHashString(b, r)
		}
	}
	return int64(xxh3(b))
}

// groupHash is the hash of all subscribed topics that exist, 0 when there is none.
func groupHash(topics Topics, names map[string]subscribers) int64 {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if id, ok := topics.TopicID(name); ok {
			b = binary.LittleEndian.AppendUint64(b, uint64(topicHash(topics, id, name)))
		}
	}
	if b == nil {
		return 0
	}
	return int64(xxh3(b))
}

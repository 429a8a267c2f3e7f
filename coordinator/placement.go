package coordinator

// HashCode is Java's String.hashCode.
func HashCode(s string) (h int32) {
	for _, r := range s {
		if r > 0xffff { // two UTF-16 units
			r -= 0x10000
			h = h*31 + (0xd800 + r>>10)
			r = 0xdc00 + r&0x3ff
		}
		h = h*31 + r
	}
	return h
}

// PartitionFor is the partition of an internal topic with n partitions on which the state of a group, a transactional id or a share
// partition lives.
func PartitionFor(key string, n int32) int32 {
	if n <= 0 {
		return 0
	}
	h := HashCode(key)
	if h == -1<<31 { // org.apache.kafka.common.utils.Utils.abs
		return 0
	}
	if h < 0 {
		h = -h
	}
	return h % n
}

package coordinator

import "testing"

// The hashes are those of a JVM.
func TestHashCode(t *testing.T) {
	f := func(s string, want int32) {
		t.Helper()
		if got := HashCode(s); got != want {
			t.Errorf("HashCode(%q) = %d, want %d", s, got, want)
		}
	}
	f("", 0)
	f("a", 97)
	f("group", 98629247)
	f("polygenelubricants", -1<<31)
	f("größe", 98762257)
	f("😀", 1772899)
}

func TestPartitionFor(t *testing.T) {
	f := func(key string, n, want int32) {
		t.Helper()
		if got := PartitionFor(key, n); got != want {
			t.Errorf("PartitionFor(%q, %d) = %d, want %d", key, n, got, want)
		}
	}
	f("", 50, 0)
	f("group", 50, 47)
	f("polygenelubricants", 50, 0)
	f("group", 0, 0)
}

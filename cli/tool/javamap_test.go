package tool

import (
	"fmt"
	"strings"
	"testing"
)

// The orders are those in which Apache Kafka 4.4.0 printed these keys.
func TestJavaPartitionOrder(t *testing.T) {
	f := func(want string, keys ...topicPartition) {
		t.Helper()
		var got []string
		for _, tp := range javaPartitionOrder(keys) {
			got = append(got, fmt.Sprintf("%s-%d", tp.Topic, tp.Partition))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("order of %v: got %s, want %s", keys, s, want)
		}
	}
	f("")
	f("tb.one-2 tb.one-0 tb.one-1", topicPartition{"tb.one", 0}, topicPartition{"tb.one", 1}, topicPartition{"tb.one", 2}, topicPartition{"tb.one", 0})
	f("tb.two-0 tb.one-2 tb.one-0 tb.one-1", topicPartition{"tb.one", 0}, topicPartition{"tb.one", 1}, topicPartition{"tb.one", 2}, topicPartition{"tb.two", 0})
	f("tb.empty-1 tb.empty-0", topicPartition{"tb.empty", 0}, topicPartition{"tb.empty", 1})
}

func TestJavaStringOrder(t *testing.T) {
	f := func(want string, keys ...string) {
		t.Helper()
		if got := strings.Join(javaStringOrder(keys), " "); got != want {
			t.Errorf("order of %q: got %s, want %s", keys, got, want)
		}
	}
	f("tb.g2 tb.g1", "tb.g1", "tb.g2", "tb.g1")
	f("a é", "é", "a")
	// Past three quarters of 16 the map doubles, and the order is another one.
	thirteen := []string{"m", "l", "k", "j", "i", "h", "g", "f", "e", "d", "c", "b", "a"}
	f("p q a r b c", "r", "q", "p", "c", "b", "a")
	f("a b c d e f g h i j k l m", thirteen...)
}

func TestJavaStringHash(t *testing.T) {
	f := func(s string, want int32) {
		t.Helper()
		if got := javaStringHash(s); got != want {
			t.Errorf("hash of %q: got %d, want %d", s, got, want)
		}
	}
	f("", 0)
	f("a", 97)
	f("polygenelubricants", -2147483648)
	f("𝄞", 1772394) // two code units
}

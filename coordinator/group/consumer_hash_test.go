package group

import "testing"

// rackedTopics has racks on the first partition only.
type rackedTopics struct{ *worldTopics }

func (t rackedTopics) Racks(_ topicID, p int32) []string {
	if p == 0 {
		return t.racks
	}
	return nil
}

// The expected value was computed by the library of Apache Kafka 4.4.0 from the same fields.
func TestTopicHash(t *testing.T) {
	topics := rackedTopics{&worldTopics{ids: map[string]topicID{}, counts: map[topicID]int32{}, racks: []string{"rack1"}}}
	id := topicID{7: 1, 15: 2}
	topics.ids["foo"], topics.counts[id] = id, 2
	if got, want := topicHash(topics, id, "foo"), int64(5981006602373922346); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// A group without existing topics has no hash; names, order of racks and the rest of the cluster make no difference where they should not.
func TestGroupHash(t *testing.T) {
	topics := &worldTopics{ids: map[string]topicID{}, counts: map[topicID]int32{}}
	one := map[string]subscribers{"foo": {byName: 1}, "gone": {byName: 2}}
	if got := groupHash(topics, one); got != 0 {
		t.Errorf("no topic exists: got %d", got)
	}
	topics.set("foo", 2)
	topics.racks = []string{"b", "a"}
	before := groupHash(topics, one)
	topics.racks = []string{"a", "b"}
	topics.set("other", 5)
	if got := groupHash(topics, map[string]subscribers{"foo": {byRegex: 1}}); got != before || got == 0 {
		t.Errorf("got %d, want %d", got, before)
	}
	topics.racks = []string{"a"}
	if groupHash(topics, one) == before {
		t.Error("the racks make no difference")
	}
}

package controller

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// maxTopicNameLength is org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH: room for "-partition" and a suffix in a file name.
const maxTopicNameLength = 249

// checkTopicName says what is wrong with a name, in Kafka's words.
func checkTopicName(name string) apiError {
	problem := ""
	switch {
	case name == "":
		problem = "the empty string is not allowed"
	case name == "." || name == "..":
		problem = "'" + name + "' is not allowed"
	case len(name) > maxTopicNameLength && javaLength(name) > maxTopicNameLength:
		problem = "the length of '" + name + "' is longer than the max allowed length " + strconv.Itoa(maxTopicNameLength)
	case !legalTopicChars(name):
		problem = "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	default:
		return apiError{}
	}
	return fail(kerr.InvalidTopicException, "Topic name is invalid: "+problem)
}

// javaLength counts UTF-16 units, as String.length does.
func javaLength(s string) (n int) {
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

func legalTopicChars(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Names that differ only in . and _ would share the names of their metrics.
func hasCollisionChars(name string) bool { return strings.ContainsAny(name, "._") }

func collisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }

// collides finds an existing topic whose name collides with the name.
func (m *machine) collides(name string) (other string, ok bool) {
	if !hasCollisionChars(name) {
		return "", false
	}
	if m.collisionNames == nil {
		m.collisionNames = map[string]string{}
		for t := range m.img.Topics() {
			if hasCollisionChars(t.Name) {
				m.collisionNames[collisionKey(t.Name)] = t.Name
			}
		}
	}
	other, ok = m.collisionNames[collisionKey(name)]
	return other, ok
}

// noteTopic and dropTopic keep the collision table with the image.
func (m *machine) noteTopic(name string) {
	if m.collisionNames != nil && hasCollisionChars(name) {
		m.collisionNames[collisionKey(name)] = name
	}
}

// dropTopic forgets a deleted topic. Of names that collide only one can exist but for those created by one request, so the table
// is made again when it is next needed.
func (m *machine) dropTopic(name string) {
	if m.collisionNames != nil && hasCollisionChars(name) {
		m.collisionNames = nil
	}
}

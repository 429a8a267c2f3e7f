package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// ParseContent reads a content file (docs/content.md) into c, which may be nil. Errors are one line that begins with the name and the line.
func ParseContent(c *Content, name string, data []byte) (*Content, error) {
	if c == nil {
		c = &Content{}
	}
	p := contentParser{name: name}
	var doc, next yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err == io.EOF {
		return c, nil // nothing, or comments only
	} else if err != nil {
		return nil, yamlError(name, err)
	}
	if err := dec.Decode(&next); err == nil {
		return nil, p.errorf(&next, "a second document begins; put all topics into the first")
	} else if err != io.EOF {
		return nil, yamlError(name, err)
	}
	root, err := p.fields(doc.Content[0], "the file", "topics")
	if err != nil {
		return nil, err
	}
	topics, err := p.list(root["topics"], "topics")
	if err != nil {
		return nil, err
	}
	for _, n := range topics {
		t, err := p.topic(n)
		if err != nil {
			return nil, err
		}
		if !c.add(t) {
			return nil, p.errorf(n, "topic %s is there twice; keep one of them", t.name)
		}
	}
	return c, nil
}

// yamlLine is how the library tells where a text is malformed.
var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?line (\d+): (?s:(.*))`)

func yamlError(name string, err error) error {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s:%s: %s", name, m[1], strings.Join(strings.Fields(m[2]), " "))
	}
	return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
}

// contentParser turns nodes into what they mean.
type contentParser struct {
	name   string
	merges int
}

func (p *contentParser) at(n *yaml.Node) string { return p.name + ":" + strconv.Itoa(n.Line) }

func (p *contentParser) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s: %s", p.at(n), fmt.Sprintf(format, args...))
}

// real follows an alias.
func real(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// fields takes a mapping apart whose keys are among those known.
func (p *contentParser) fields(n *yaml.Node, what string, known ...string) (map[string]*yaml.Node, error) {
	out := map[string]*yaml.Node{}
	if n = real(n); isNull(n) {
		return out, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n, "%s must be made of keys and values (%s: …)", what, known[0])
	}
	pairs, err := p.pairs(n, maxDepth)
	if err != nil {
		return nil, err
	}
	for _, f := range pairs {
		if !slices.Contains(known, f.key) {
			return nil, p.errorf(f.at, "%s has no %s; known are %s", what, f.key, strings.Join(known, ", "))
		}
		out[f.key] = f.value
	}
	return out, nil
}

func (p *contentParser) list(n *yaml.Node, what string) ([]*yaml.Node, error) {
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, p.errorf(n, "%s must be a list: each entry begins with a dash", what)
	}
	out := make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		out[i] = real(n.Content[i])
	}
	return out, nil
}

func (p *contentParser) topic(n *yaml.Node) (contentTopic, error) {
	t := contentTopic{at: p.at(n), partitions: -1, replicas: -1}
	if isNull(n) {
		return t, p.errorf(n, "a topic needs a name")
	}
	if n.Kind == yaml.ScalarNode { // "- orders" is a topic with defaults
		t.name = n.Value
		return t, p.checkTopic(n, &t)
	}
	f, err := p.fields(n, "a topic", "name", "partitions", "replicas", "configs", "records")
	if err != nil {
		return t, err
	}
	if isNull(f["name"]) {
		return t, p.errorf(n, "a topic needs a name")
	}
	if t.name, err = p.scalar(f["name"], "name"); err != nil {
		return t, err
	}
	partitions, err := p.count(f["partitions"], "partitions", math.MaxInt32)
	if err != nil {
		return t, err
	}
	replicas, err := p.count(f["replicas"], "replicas", math.MaxInt16)
	if err != nil {
		return t, err
	}
	t.partitions, t.replicas = int32(partitions), int16(replicas)
	if t.configs, err = p.configs(f["configs"]); err != nil {
		return t, err
	}
	if err := p.checkTopic(n, &t); err != nil {
		return t, err
	}
	records, err := p.list(f["records"], "records")
	if err != nil {
		return t, err
	}
	for _, rn := range records {
		r, err := p.record(rn)
		if err != nil {
			return t, err
		}
		if r.key == nil && t.compacted() {
			return t, p.errorf(rn, "topic %s is compacted: its records need a key", t.name)
		}
		if t.partitions > 0 && r.partition >= t.partitions {
			return t, p.errorf(rn, "topic %s has %d partitions, numbered from 0; there is no %d", t.name, t.partitions, r.partition)
		}
		t.records = append(t.records, r)
	}
	return t, nil
}

func (p *contentParser) checkTopic(n *yaml.Node, t *contentTopic) error {
	if !legalTopic(t.name) {
		return p.errorf(n, "%q cannot be the name of a topic: letters, digits, dots, _ and - are allowed, 249 at most", t.name)
	}
	if internalTopic(t.name) {
		return p.errorf(n, "%s", internalProblem(t.name))
	}
	return nil
}

// legalTopic is Kafka's rule for names of topics.
func legalTopic(name string) bool {
	return name != "" && len(name) <= 249 && name != "." && name != ".." && strings.Trim(name, topicCharacters) == ""
}

// topicCharacters are those that names of topics are made of.
const topicCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

func (t *contentTopic) compacted() bool {
	for _, c := range t.configs {
		if c.name == "cleanup.policy" {
			return slices.Contains(strings.Split(strings.ReplaceAll(c.value, " ", ""), ","), "compact")
		}
	}
	return false
}

func (p *contentParser) scalar(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return "", p.errorf(n, "%s must be a single value", what)
	}
	return n.Value, nil
}

// count is a number from 1, -1 when it is left out.
func (p *contentParser) count(n *yaml.Node, what string, most int64) (int64, error) {
	if isNull(n) {
		return -1, nil
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || v < 1 || v > most {
		return 0, p.errorf(n, "%s must be a number from 1 to %d; leave it out for the broker's default", what, most)
	}
	return v, nil
}

func (p *contentParser) configs(n *yaml.Node) (out []contentConfig, _ error) {
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n, "configs must be made of keys and values (retention.ms: 60000)")
	}
	pairs, err := p.pairs(n, maxDepth)
	if err != nil {
		return nil, err
	}
	for _, f := range pairs {
		v, value := f.value, f.value.Value
		if v.Kind == yaml.SequenceNode { // cleanup.policy: [compact, delete]
			var parts []string
			for _, e := range v.Content {
				parts = append(parts, real(e).Value)
			}
			value = strings.Join(parts, ",")
		} else if v.Kind != yaml.ScalarNode || isNull(v) {
			return nil, p.errorf(v, "%s must be a value or a list of values", f.key)
		}
		if err := config.ValidateTopic(f.key, value); err != nil {
			return nil, p.errorf(f.at, "%s", err.Error())
		}
		out = append(out, contentConfig{f.key, value})
	}
	return out, nil
}

func (p *contentParser) record(n *yaml.Node) (contentRecord, error) {
	r := contentRecord{at: p.at(n), partition: -1, timestamp: -1}
	f, err := p.fields(n, "a record", "key", "value", "headers", "partition", "timestamp")
	if err != nil {
		return r, err
	}
	if _, ok := f["value"]; !ok {
		return r, p.errorf(n, "a record needs a value (null makes a tombstone)")
	}
	if r.key, err = p.bytes(f["key"]); err != nil {
		return r, err
	}
	if r.value, err = p.bytes(f["value"]); err != nil {
		return r, err
	}
	if v := f["partition"]; !isNull(v) {
		i, err := strconv.ParseInt(v.Value, 10, 32)
		if v.Kind != yaml.ScalarNode || err != nil || i < 0 {
			return r, p.errorf(v, "partition must be a number from 0; leave it out to let the key decide")
		}
		r.partition = int32(i)
	}
	if v := f["timestamp"]; !isNull(v) {
		if r.timestamp, err = p.timestamp(v); err != nil {
			return r, err
		}
	}
	r.headers, err = p.headers(f["headers"])
	return r, err
}

// timestamp is milliseconds, or a time as ISO 8601 writes it.
func (p *contentParser) timestamp(n *yaml.Node) (int64, error) {
	if ms, err := strconv.ParseInt(n.Value, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, n.Value); err == nil && n.Kind == yaml.ScalarNode && t.UnixMilli() >= 0 {
			return t.UnixMilli(), nil
		}
	}
	return 0, p.errorf(n, "timestamp must be milliseconds or a time such as 2026-01-31T12:00:00Z")
}

func (p *contentParser) headers(n *yaml.Node) (out []batch.Header, _ error) {
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n, "headers must be made of keys and values")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := p.bytes(real(n.Content[i+1]))
		if err != nil {
			return nil, err
		}
		out = append(out, batch.Header{Key: n.Content[i].Value, Value: v})
	}
	return out, nil
}

// createTopicsVariable is the variable that container images know for topics.
const createTopicsVariable = "KAFKA_CREATE_TOPICS"

// ParseCreateTopics reads the value of KAFKA_CREATE_TOPICS into c, which may be nil: name[:partitions[:replicas[:cleanup.policy]]], separated
// by commas or line breaks. A topic that is in c already stays as it is there.
func ParseCreateTopics(c *Content, text string) (*Content, error) {
	n, before := 0, "" // the policy of the entry before
	for _, entry := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		n++
		t, err := createTopicsEntry(entry)
		if err == nil && before == "compact" && entry == "delete" || before == "delete" && entry == "compact" {
			err = errors.New("for both policies write compact+delete; a comma begins the next topic")
		}
		before = ""
		if len(t.configs) > 0 {
			before = t.configs[0].value
		}
		if err != nil {
			return nil, fmt.Errorf("%s: entry %d (%s): %w", createTopicsVariable, n, entry, err)
		}
		t.at = fmt.Sprintf("%s: entry %d (%s)", createTopicsVariable, n, entry)
		if c == nil {
			c = &Content{}
		}
		c.add(t)
	}
	return c, nil
}

func createTopicsEntry(entry string) (contentTopic, error) {
	t := contentTopic{partitions: -1, replicas: -1}
	f := strings.SplitN(entry, ":", 4)
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	number := func(i int, what string, bits int) (int64, error) {
		if i >= len(f) || f[i] == "" {
			return -1, nil
		}
		v, err := strconv.ParseInt(f[i], 10, bits)
		if err != nil || v < 1 {
			return 0, fmt.Errorf("%s must be a number from 1; the form is name:partitions:replicas:cleanup.policy", what)
		}
		return v, nil
	}
	if t.name = f[0]; !legalTopic(t.name) {
		return t, fmt.Errorf("%q cannot be the name of a topic", t.name)
	}
	if internalTopic(t.name) {
		return t, errors.New(internalProblem(t.name))
	}
	partitions, err := number(1, "partitions", 32)
	if err != nil {
		return t, err
	}
	replicas, err := number(2, "replicas", 16)
	if err != nil {
		return t, err
	}
	t.partitions, t.replicas = int32(partitions), int16(replicas)
	if len(f) == 4 && f[3] != "" {
		policy := strings.ReplaceAll(f[3], "+", ",") // the comma is taken
		if err := config.ValidateTopic("cleanup.policy", policy); err != nil {
			return t, fmt.Errorf("the fourth part is a cleanup.policy (compact, delete or compact+delete): %w", err)
		}
		t.configs = append(t.configs, contentConfig{"cleanup.policy", policy})
	}
	return t, nil
}

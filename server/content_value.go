package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// contentPair is an entry of a mapping; at is its key's place.
type contentPair struct {
	at    *yaml.Node
	key   string
	value *yaml.Node // no alias
}

// pairs are the entries of a mapping, in their order; those that "<<" takes over from another one give way to its own. A key stands once.
func (p *contentParser) pairs(n *yaml.Node, depth int) ([]contentPair, error) {
	if depth == 0 {
		return nil, p.errorf(n, "is deeper than %d", maxDepth)
	}
	var own, merged []contentPair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := real(n.Content[i]), real(n.Content[i+1])
		if k.Kind != yaml.ScalarNode {
			return nil, p.errorf(n.Content[i], "a key must be a single value")
		}
		if k.ShortTag() == "!!merge" {
			more, err := p.merge(v, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if seen[k.Value] {
			return nil, p.errorf(n.Content[i], "%s is there twice", k.Value)
		}
		seen[k.Value] = true
		own = append(own, contentPair{n.Content[i], k.Value, v})
	}
	out := own
	for _, m := range merged { // of several, the first that has a key gives it
		if !seen[m.key] {
			seen[m.key] = true
			out = append(out, m)
		}
	}
	return out, nil
}

// maxMerges bounds what a small file can make of aliases in aliases.
const maxMerges = 1 << 20

// merge is what "<<: *name" or "<<: [*a, *b]" brings.
func (p *contentParser) merge(n *yaml.Node, depth int) (out []contentPair, _ error) {
	from := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		from = n.Content
	}
	for _, m := range from {
		if m = real(m); m.Kind != yaml.MappingNode {
			return nil, p.errorf(m, "<< takes keys and values, or a list of such")
		}
		if p.merges++; p.merges > maxMerges {
			return nil, p.errorf(n, "<< is used more than %d times, counted as often as what it stands in", maxMerges)
		}
		more, err := p.pairs(m, depth-1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// bytes is what a key, value or header is in a record: text as it stands, null, !!binary decoded, anything nested as JSON.
func (p *contentParser) bytes(n *yaml.Node) ([]byte, error) {
	switch {
	case isNull(n):
		return nil, nil
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!binary":
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			return nil, p.errorf(n, "is no base64: %v", err)
		}
		return append([]byte{}, b...), nil
	case n.Kind == yaml.ScalarNode:
		return []byte(n.Value), nil
	}
	return p.json(nil, n, maxDepth)
}

// maxJSON bounds a value: aliases can make a small file huge.
const maxJSON = 16 << 20

// maxDepth of a value: an alias may lead back to what it stands in.
const maxDepth = 100

// json keeps the order of keys, which a map would lose.
func (p *contentParser) json(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	if len(dst) > maxJSON || depth == 0 {
		return nil, p.errorf(n, "the value is larger than %d MiB or deeper than %d", maxJSON>>20, maxDepth)
	}
	var err error
	switch n = real(n); n.Kind {
	case yaml.MappingNode:
		pairs, err := p.pairs(n, depth)
		if err != nil {
			return nil, err
		}
		dst = append(dst, '{')
		for i, f := range pairs {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSON(dst, f.key); err != nil {
				return nil, p.errorf(f.at, "%v", err)
			}
			if dst, err = p.json(append(dst, ':'), f.value, depth-1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, e := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = p.json(dst, e, depth-1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	var v any = n.Value
	switch n.ShortTag() {
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) { // with all its digits
			return append(dst, n.Value...), nil
		}
		err = n.Decode(&v)
	case "!!bool", "!!null":
		err = n.Decode(&v)
	}
	if err != nil {
		return nil, p.errorf(n, "%v", err)
	}
	if dst, err = appendJSON(dst, v); err != nil {
		return nil, p.errorf(n, "%s cannot be written as JSON", n.Value)
	}
	return dst, nil
}

// appendJSON writes a single value as it is: encoding/json would make \u003c of "<" for the sake of HTML.
func appendJSON(dst []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...), nil
}

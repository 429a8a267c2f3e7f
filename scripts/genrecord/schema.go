package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// versions is an inclusive range; lo > hi is empty.
type versions struct{ lo, hi int }

func (v versions) empty() bool { return v.lo > v.hi }

func parseVersions(s string) (versions, error) {
	if s == "none" || s == "" {
		return versions{lo: 1, hi: 0}, nil
	}
	lo, hi, ranged := strings.Cut(s, "-")
	if strings.HasSuffix(lo, "+") {
		lo, hi, ranged = strings.TrimSuffix(lo, "+"), strconv.Itoa(math.MaxInt16), true
	}
	if !ranged {
		hi = lo
	}
	l, err1 := strconv.Atoi(lo)
	h, err2 := strconv.Atoi(hi)
	if err1 != nil || err2 != nil {
		return versions{}, fmt.Errorf("bad versions %q", s)
	}
	return versions{lo: l, hi: h}, nil
}

// field is one field of a record or struct.
type field struct {
	name, typ string // typ without the leading "[]"
	array     bool
	in        versions // where it exists
	null      versions
	tagged    versions
	tag       int
	def       string
	fields    []field // of a struct that is declared in place
}

// structDef is a Go struct to be: a record, or a struct inside one.
type structDef struct {
	name   string
	fields []field
}

// record is one record type.
type record struct {
	structDef
	family   string
	key      int
	valid    versions
	flexible versions
	structs  []structDef // shared and in-place structs, in the order in which they are met
}

// parseSchema reads schema.txt.
func parseSchema(text string) ([]record, error) {
	var records []record
	var lines []string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		lines = append(lines, strconv.Itoa(i+1)+"\t"+line)
	}
	for len(lines) > 0 {
		no, line, _ := strings.Cut(lines[0], "\t")
		words := strings.Fields(line)
		var err error
		var fields []field
		switch {
		case words[0] == "record" && len(words) == 6:
			r := record{}
			if err = r.parseHead(words[1:]); err == nil {
				r.fields, lines, err = parseFields(lines[1:], 2)
				records = append(records, r)
			}
		case words[0] == "struct" && len(words) == 2 && len(records) > 0:
			fields, lines, err = parseFields(lines[1:], 2)
			r := &records[len(records)-1]
			r.structs = append(r.structs, structDef{name: words[1], fields: fields})
		default:
			err = fmt.Errorf("expected record or struct: %s", line)
		}
		if err != nil {
			return nil, fmt.Errorf("near line %s: %w", no, err)
		}
	}
	for i := range records {
		records[i].collect(records[i].fields)
	}
	return records, nil
}

func (r *record) parseHead(words []string) (err error) {
	r.name = words[0]
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "family":
			r.family = v
		case "key":
			r.key, err = strconv.Atoi(v)
		case "versions":
			r.valid, err = parseVersions(v)
		case "flexible":
			r.flexible, err = parseVersions(v)
		default:
			err = fmt.Errorf("unknown word %q", w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseFields reads the lines indented by exactly depth, and their children.
func parseFields(lines []string, depth int) ([]field, []string, error) {
	var fields []field
	for len(lines) > 0 {
		_, line, _ := strings.Cut(lines[0], "\t")
		have := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case have < depth:
			return fields, lines, nil
		case have > depth:
			if len(fields) == 0 {
				return nil, nil, fmt.Errorf("child without parent: %s", line)
			}
			children, rest, err := parseFields(lines, have)
			if err != nil {
				return nil, nil, err
			}
			fields[len(fields)-1].fields, lines = children, rest
		default:
			f, err := parseField(strings.Fields(line))
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", line, err)
			}
			fields, lines = append(fields, f), lines[1:]
		}
	}
	return fields, nil, nil
}

func parseField(words []string) (f field, err error) {
	if len(words) < 3 {
		return f, fmt.Errorf("a field has a name, a type and versions")
	}
	f = field{name: words[0], typ: strings.TrimPrefix(words[1], "[]"), tag: -1, null: versions{1, 0}, tagged: versions{1, 0}}
	f.array = f.typ != words[1]
	if f.in, err = parseVersions(words[2]); err != nil {
		return f, err
	}
	for _, w := range words[3:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "null":
			f.null, err = parseVersions(v)
		case "tag":
			n, at, _ := strings.Cut(v, "@")
			if f.tag, err = strconv.Atoi(n); err == nil {
				f.tagged, err = parseVersions(at)
			}
		case "default":
			f.def = v
		default:
			err = fmt.Errorf("unknown word %q", w)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// collect lists the structs that are declared in place.
func (r *record) collect(fields []field) {
	for _, f := range fields {
		if len(f.fields) > 0 {
			r.structs = append(r.structs, structDef{name: f.typ, fields: f.fields})
			r.collect(f.fields)
		}
	}
}

package tool

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
)

// schemaText is scripts/genrecord's table of every record that Kafka keeps on disk, and of the consumer protocol.
//
//go:embed zz_schema.txt
var schemaText string

// fieldKind is the type of a field, or of the elements of an array.
type fieldKind uint8

const (
	kindBool fieldKind = iota
	kindInt8
	kindInt16
	kindUint16
	kindInt32
	kindInt64
	kindFloat64
	kindString
	kindBytes
	kindUUID
	kindStruct
)

// versionRange is inclusive; lo > hi is empty.
type versionRange struct{ lo, hi int16 }

func (v versionRange) has(version int16) bool { return v.lo <= version && version <= v.hi }

// schemaField is a field of a record or of a struct in one.
type schemaField struct {
	name     string // as in JSON
	kind     fieldKind
	array    bool
	in       versionRange
	null     versionRange
	tagged   versionRange
	tag      int
	typeName string // of a struct
	fields   []schemaField
}

// schema is a record type.
type schema struct {
	name     string
	family   string
	key      int16
	valid    versionRange
	flexible versionRange
	fields   []schemaField
	shared   map[string][]schemaField // structs that several fields share
}

// schemas are all record types.
type schemas struct {
	byName map[string]*schema
}

// loadSchemas reads the table; it takes a fraction of a millisecond.
func loadSchemas() *schemas {
	s := &schemas{byName: map[string]*schema{}}
	p := schemaParser{lines: strings.Split(schemaText, "\n")}
	var last *schema
	for p.next() {
		words := strings.Fields(p.line)
		switch words[0] {
		case "record":
			last = newSchema(words)
			last.fields = p.fields(2)
			s.byName[last.name] = last
		case "struct":
			last.shared[words[1]] = p.fields(2)
		}
	}
	for _, r := range s.byName {
		r.resolve(r.fields)
		for _, fields := range r.shared {
			r.resolve(fields)
		}
	}
	return s
}

// keyed finds a record of a family by its key's number; suffix tells key from value.
func (s *schemas) keyed(family string, key int16, suffix string) *schema {
	for _, r := range s.byName {
		if r.family == family && r.key == key && strings.HasSuffix(r.name, suffix) {
			return r
		}
	}
	return nil
}

func newSchema(words []string) *schema {
	r := &schema{name: words[1], shared: map[string][]schemaField{}}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "family":
			r.family = v
		case "key":
			n, _ := strconv.Atoi(v)
			r.key = int16(n)
		case "versions":
			r.valid = parseVersionRange(v)
		case "flexible":
			r.flexible = parseVersionRange(v)
		}
	}
	return r
}

// resolve gives fields of a shared struct its fields.
func (r *schema) resolve(fields []schemaField) {
	for i := range fields {
		f := &fields[i]
		if f.kind != kindStruct {
			continue
		}
		if f.fields == nil {
			f.fields = r.shared[f.typeName]
			continue
		}
		r.resolve(f.fields)
	}
}

func parseVersionRange(s string) versionRange {
	lo, hi, ranged := strings.Cut(s, "-")
	switch {
	case s == "none":
		return versionRange{1, 0}
	case strings.HasSuffix(s, "+"):
		lo, hi = strings.TrimSuffix(s, "+"), strconv.Itoa(math.MaxInt16)
	case !ranged:
		hi = lo
	}
	l, _ := strconv.Atoi(lo)
	h, _ := strconv.Atoi(hi)
	return versionRange{int16(l), int16(h)}
}

// schemaParser walks over the table's lines.
type schemaParser struct {
	lines []string
	at    int
	line  string
}

// next takes the next line that says something.
func (p *schemaParser) next() bool {
	for p.at < len(p.lines) {
		p.line = p.lines[p.at]
		p.at++
		if p.line != "" && p.line[0] != '#' {
			return true
		}
	}
	return false
}

// fields reads the lines that are indented by depth, with their children.
func (p *schemaParser) fields(depth int) []schemaField {
	var fields []schemaField
	for p.next() {
		indent := len(p.line) - len(strings.TrimLeft(p.line, " "))
		if indent < depth {
			p.at--
			break
		}
		if indent > depth {
			p.at--
			fields[len(fields)-1].fields = p.fields(indent)
			continue
		}
		fields = append(fields, newSchemaField(strings.Fields(p.line)))
	}
	return fields
}

func newSchemaField(words []string) schemaField {
	f := schemaField{name: strings.ToLower(words[0][:1]) + words[0][1:], tag: -1, null: versionRange{1, 0}, tagged: versionRange{1, 0}}
	typ := strings.TrimPrefix(words[1], "[]")
	f.array = typ != words[1]
	f.kind, f.typeName = kindOf(typ), typ
	f.in = parseVersionRange(words[2])
	for _, w := range words[3:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "null":
			f.null = parseVersionRange(v)
		case "tag":
			n, at, _ := strings.Cut(v, "@")
			f.tag, _ = strconv.Atoi(n)
			f.tagged = parseVersionRange(at)
		}
	}
	return f
}

func kindOf(typ string) fieldKind {
	switch typ {
	case "bool":
		return kindBool
	case "int8":
		return kindInt8
	case "int16":
		return kindInt16
	case "uint16":
		return kindUint16
	case "int32":
		return kindInt32
	case "int64":
		return kindInt64
	case "float64":
		return kindFloat64
	case "string":
		return kindString
	case "bytes":
		return kindBytes
	case "uuid":
		return kindUUID
	}
	return kindStruct
}

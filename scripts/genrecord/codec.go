package main

import (
	"fmt"
	"sort"
)

// appendTo writes the encoder of a struct.
func (g *generator) appendTo(name string, fields []field) {
	g.p("\n// AppendTo appends the body of the given version; fields that it lacks are left out.")
	g.p("func (m *%s) AppendTo(dst []byte, version int16) []byte {", name)
	g.flexVar()
	for _, f := range fields {
		if !f.tagged.empty() {
			continue
		}
		g.guarded(f.in, func() { g.appendField(f, "m."+goName(f.name)) })
	}
	g.appendTags(fields)
	g.p("\treturn dst\n}")
}

func (g *generator) flexVar() {
	if g.flex() == "flexible" {
		g.p("\tflexible := version >= %d", g.rec.flexible.lo)
	}
}

func (g *generator) tagged(fields []field) []field {
	var tags []field
	for _, f := range fields {
		if !f.tagged.empty() {
			tags = append(tags, f)
		}
	}
	sort.Slice(tags, func(i, j int) bool { return tags[i].tag < tags[j].tag })
	return tags
}

func and(a, b string) string {
	if a == "" {
		return b
	}
	return a + " && " + b
}

func (g *generator) appendTags(fields []field) {
	if !g.flexibleEver() {
		return
	}
	if g.flex() == "flexible" {
		g.p("\tif flexible {")
		defer g.p("\t}")
	}
	tags := g.tagged(fields)
	if len(tags) == 0 {
		g.p("\tdst = kbin.AppendUvarint(dst, uint32(len(m.UnknownTags)))")
		g.p("\tdst = appendUnknownTags(dst, m.UnknownTags, -1, maxTag)")
		return
	}
	g.p("\ttags := len(m.UnknownTags)")
	for _, f := range tags {
		g.p("\tif %s {\n\t\ttags++\n\t}", and(g.guard(f.tagged), g.notDefault(f)))
	}
	g.p("\tdst = kbin.AppendUvarint(dst, uint32(tags))")
	last := -1
	for _, f := range tags {
		g.p("\tif len(m.UnknownTags) > 0 {\n\t\tdst = appendUnknownTags(dst, m.UnknownTags, %d, %d)\n\t}", last, f.tag)
		g.p("\tif %s {", and(g.guard(f.tagged), g.notDefault(f)))
		g.p("\t\tdst = kbin.AppendUvarint(dst, %d)\n\t\tat := len(dst)", f.tag)
		g.appendField(f, "m."+goName(f.name))
		g.p("\t\tdst = insertLen(dst, at)\n\t}")
		last = f.tag
	}
	g.p("\tdst = appendUnknownTags(dst, m.UnknownTags, %d, maxTag)", last)
}

// notDefault is the Go condition for a tagged field to be written.
func (g *generator) notDefault(f field) string {
	x := "m." + goName(f.name)
	switch {
	case f.array && f.def == "null":
		return x + " != nil"
	case f.array && f.nullable():
		return fmt.Sprintf("(%s == nil || len(%s) > 0)", x, x)
	case f.array || f.typ == "bytes":
		return fmt.Sprintf("len(%s) > 0", x)
	case g.isStruct(f.typ) && f.nullable() && f.def != "null":
		return fmt.Sprintf("(%s == nil || !%s.isDefault())", x, x)
	case f.nullable():
		return x + " != nil"
	case f.typ == "string":
		return x + ` != ""`
	case f.typ == "bool":
		return x
	}
	return x + " != " + zeroOf(f)
}

// primitives are the types that kbin writes without looking at flexibility.
var primitives = map[string]string{"bool": "Bool", "int8": "Int8", "int16": "Int16", "uint16": "Uint16", "int32": "Int32", "int64": "Int64",
	"float64": "Float64", "uuid": "Uuid"}

func (g *generator) appendField(f field, x string) {
	flex := g.flex()
	switch {
	case f.array:
		isNil := "false"
		if f.nullable() {
			isNil = x + " == nil"
		}
		g.p("\tdst = appendArrayLen(dst, len(%s), %s, %s)", x, isNil, flex)
		loop := "v"
		if g.isStruct(f.typ) {
			g.p("\tfor i := range %s {", x)
			loop = x + "[i]"
		} else {
			g.p("\tfor _, v := range %s {", x)
		}
		f.array, f.null = false, versions{1, 0}
		g.appendField(f, loop)
		g.p("\t}")
	case primitives[f.typ] != "":
		g.p("\tdst = kbin.Append%s(dst, %s)", primitives[f.typ], x)
	case f.typ == "string" && f.nullable():
		g.p("\tdst = appendNullableString(dst, %s, %s)", x, flex)
	case f.typ == "string":
		g.p("\tdst = appendString(dst, %s, %s)", x, flex)
	case f.typ == "bytes":
		g.p("\tdst = appendBytes(dst, %s, %s)", x, flex)
	case g.isStruct(f.typ) && f.nullable():
		// KIP-893: a nullable struct has a byte in front, -1 for null. As a tagged field Kafka writes 0 for null, and reads any
		// other than 1 as null.
		null := "0xff"
		if !f.tagged.empty() {
			null = "0"
		}
		g.p("\tif %s == nil {\n\t\tdst = append(dst, %s)\n\t} else {\n\t\tdst = append(dst, 1)\n\t\tdst = %s.AppendTo(dst, version)\n\t}", x, null, x)
	case g.isStruct(f.typ):
		g.p("\tdst = %s.AppendTo(dst, version)", x)
	default:
		g.p("unknown type %s", f.typ)
	}
}

// readFrom writes the decoder of a struct.
func (g *generator) readFrom(name string, fields []field) {
	g.p("\nfunc (m *%s) readFrom(r *kbin.Reader, version int16) {", name)
	g.p("\t*m = *New%s()", name)
	g.flexVar()
	for _, f := range fields {
		if !f.tagged.empty() {
			continue
		}
		g.guarded(f.in, func() { g.readField(f, "m."+goName(f.name), "r") })
	}
	g.readTags(fields)
	g.p("}")
}

func (g *generator) readTags(fields []field) {
	if !g.flexibleEver() {
		return
	}
	if g.flex() == "flexible" {
		g.p("\tif flexible {")
		defer g.p("\t}")
	}
	tags := g.tagged(fields)
	if len(tags) == 0 {
		g.p("\tm.UnknownTags = readUnknownTags(r)")
		return
	}
	g.p("\tfor n := r.Uvarint(); n > 0 && r.Ok(); n-- {\n\t\ttag, t := readTag(r)\n\t\tswitch {")
	for _, f := range tags {
		g.p("\t\tcase %s:", and(g.guard(f.tagged), fmt.Sprintf("tag == %d", f.tag)))
		g.readField(f, "m."+goName(f.name), "t")
		g.p("\t\t\tfinishTag(r, t)")
		if g.guard(f.tagged) != "" { // Kafka refuses a known tag in a version that lacks it
			g.p("\t\tcase tag == %d:\n\t\t\tfail(r)", f.tag)
		}
	}
	g.p("\t\tdefault:\n\t\t\tm.UnknownTags = keepTag(r, m.UnknownTags, tag, t)\n\t\t}\n\t}")
}

func (g *generator) readField(f field, x, r string) {
	flex := g.flex()
	switch {
	case f.array:
		elem := f
		elem.array, elem.null = false, versions{1, 0}
		min := g.minSize(elem)
		if elem.typ == "string" && flex == "false" {
			min = 2
		}
		head := fmt.Sprintf("readArrayLen(%s, %s, %t, %d)", r, flex, f.nullable(), min)
		if f.nullable() {
			g.p("\tif n, ok := %s; !ok {\n\t\t%s = nil\n\t} else {", head, x)
		} else {
			g.p("\tif n, _ := %s; n > 0 {", head)
		}
		g.p("\t\ta := make(%s, n)\n\t\tfor i := range a {", g.goType(f))
		g.readField(elem, "a[i]", r)
		g.p("\t\t}\n\t\t%s = a\n\t}", x)
	case primitives[f.typ] != "":
		g.p("\t%s = %s.%s()", x, r, primitives[f.typ])
	case f.typ == "string" && f.nullable():
		g.p("\t%s = readNullableString(%s, %s)", x, r, flex)
	case f.typ == "string":
		g.p("\t%s = readString(%s, %s)", x, r, flex)
	case f.typ == "bytes":
		g.p("\t%s = readBytes(%s, %s)", x, r, flex)
	case g.isStruct(f.typ) && f.nullable():
		absent := fmt.Sprintf("%s.Int8() < 0", r)
		if !f.tagged.empty() {
			absent = fmt.Sprintf("%s.Uvarint() == 0", r)
		}
		g.p("\tif %s {\n\t\t%s = nil\n\t} else {\n\t\t%s = new(%s)\n\t\t%s.readFrom(%s, version)\n\t}", absent, x, x, g.structName(f.typ), x, r)
	case g.isStruct(f.typ):
		g.p("\t%s.readFrom(%s, version)", x, r)
	}
}

// helpers end every generated file.
const helpers = `
// Tag is a tagged field that this version does not know.
type Tag struct {
	Tag  uint32
	Data []byte
}

// maxTag is above every tag.
const maxTag = 1 << 32

func fail(r *kbin.Reader) { r.Span(-1) }

func appendArrayLen(dst []byte, n int, null, flexible bool) []byte {
	if flexible {
		return kbin.AppendCompactNullableArrayLen(dst, n, null)
	}
	return kbin.AppendNullableArrayLen(dst, n, null)
}

func appendString(dst []byte, s string, flexible bool) []byte {
	if flexible {
		return kbin.AppendCompactString(dst, s)
	}
	return kbin.AppendString(dst, s)
}

func appendNullableString(dst []byte, s *string, flexible bool) []byte {
	if flexible {
		return kbin.AppendCompactNullableString(dst, s)
	}
	return kbin.AppendNullableString(dst, s)
}

func appendBytes(dst, b []byte, flexible bool) []byte {
	if flexible {
		return kbin.AppendCompactBytes(dst, b)
	}
	return kbin.AppendBytes(dst, b)
}

// readArrayLen returns false for null. A count that the rest of the input cannot hold, by the least size of an element, is refused
// before anything is allocated for it.
func readArrayLen(r *kbin.Reader, flexible, nullable bool, least int) (int, bool) {
	var n int
	if flexible {
		n = int(r.CompactArrayLen())
	} else {
		n = int(r.ArrayLen())
	}
	switch {
	case n < 0 && nullable:
		return 0, false
	case n < 0 || n > len(r.Src)/least:
		fail(r)
		return 0, false
	}
	return n, true
}

func readString(r *kbin.Reader, flexible bool) string {
	if flexible {
		return r.CompactString()
	}
	return r.String()
}

func readNullableString(r *kbin.Reader, flexible bool) *string {
	if flexible {
		return r.CompactNullableString()
	}
	return r.NullableString()
}

// readBytes copies, so that a record never keeps the buffer that it was read from.
func readBytes(r *kbin.Reader, flexible bool) []byte {
	var b []byte
	if flexible {
		b = r.CompactNullableBytes()
	} else {
		b = r.NullableBytes()
	}
	if b == nil {
		fail(r)
		return nil
	}
	return append([]byte{}, b...)
}

// insertLen puts the length of dst[at:] in front of it, as a tagged field has it.
func insertLen(dst []byte, at int) []byte {
	n := uint32(len(dst) - at)
	shift := kbin.UvarintLen(n)
	for range shift {
		dst = append(dst, 0)
	}
	copy(dst[at+shift:], dst[at:])
	kbin.AppendUvarint(dst[:at], n)
	return dst
}

// appendUnknownTags appends those strictly between the two tags.
func appendUnknownTags(dst []byte, tags []Tag, above, below int64) []byte {
	for _, t := range tags {
		if int64(t.Tag) > above && int64(t.Tag) < below {
			dst = kbin.AppendUvarint(dst, t.Tag)
			dst = kbin.AppendUvarint(dst, uint32(len(t.Data)))
			dst = append(dst, t.Data...)
		}
	}
	return dst
}

// readTag reads a tag and returns a reader of its content alone.
func readTag(r *kbin.Reader) (uint32, *kbin.Reader) {
	tag := r.Uvarint()
	return tag, &kbin.Reader{Src: r.Span(int(r.Uvarint()))}
}

// finishTag spoils r unless the tag's content was read whole.
func finishTag(r, t *kbin.Reader) {
	if !t.Ok() || len(t.Src) > 0 {
		fail(r)
	}
}

func keepTag(r *kbin.Reader, tags []Tag, tag uint32, t *kbin.Reader) []Tag {
	if !r.Ok() {
		return tags
	}
	return append(tags, Tag{Tag: tag, Data: append([]byte{}, t.Src...)})
}

func readUnknownTags(r *kbin.Reader) []Tag {
	var tags []Tag
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		tag, t := readTag(r)
		tags = keepTag(r, tags, tag, t)
	}
	return tags
}
`

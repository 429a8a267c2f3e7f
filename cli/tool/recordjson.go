package tool

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// recordReader turns the bytes of a record into the JSON that Kafka's generated converters write for it: fields in the order of the
// schema, tagged ones only where they are set, bytes as base64.
type recordReader struct {
	data []byte
	err  error // what Kafka's exception says; nothing is read after it
	// embedded turns a bytes field into JSON of its own; nil or a false answer leaves it base64.
	embedded func(field string, value []byte) ([]byte, bool)
	// text replaces the JSON of a top-level field.
	text func(field string, json []byte) ([]byte, bool)
}

// errUnderflow is Java's BufferUnderflowException, which has no message.
var errUnderflow = fmt.Errorf("null")

func (r *recordReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.data = nil
}

func (r *recordReader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.data) {
		r.fail(errUnderflow)
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *recordReader) uint(n int) (v uint64) {
	for _, c := range r.take(n) {
		v = v<<8 | uint64(c)
	}
	return v
}

func (r *recordReader) uvarint() int {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || n > 5 {
		r.fail(errUnderflow)
		return 0
	}
	r.data = r.data[n:]
	return int(uint32(v))
}

// appendRecord appends a whole record of the schema in a version.
func (r *recordReader) appendRecord(dst []byte, s *schema, version int16) []byte {
	return r.appendStruct(dst, s.fields, version, s.flexible.has(version), true)
}

func (r *recordReader) appendStruct(dst []byte, fields []schemaField, version int16, flexible, top bool) []byte {
	var room [32]int
	marks := room[:0] // where each field ends, for weave
	dst = append(dst, '{')
	start := len(dst)
	for i := range fields {
		f := &fields[i]
		if f.tagged.has(version) || !f.in.has(version) {
			marks = append(marks, len(dst))
			continue
		}
		dst = appendName(dst, f.name, len(dst) > start)
		at := len(dst)
		dst = r.appendField(dst, f, version, flexible)
		if top && r.text != nil {
			if json, ok := r.text(f.name, dst[at:]); ok {
				dst = append(dst[:at], json...)
			}
		}
		marks = append(marks, len(dst))
	}
	if flexible {
		if spans := r.readTags(fields, version); spans != nil {
			return weave(dst, start, marks, fields, spans)
		}
	}
	return append(dst, '}')
}

func appendName(dst []byte, name string, comma bool) []byte {
	if comma {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// weave puts tagged fields, which came last, where the schema has them.
func weave(dst []byte, start int, marks []int, fields []schemaField, spans [][]byte) []byte {
	plain := append([]byte(nil), dst[start:]...)
	dst = dst[:start]
	from := 0
	for i := range fields {
		piece := plain[from : marks[i]-start]
		from = marks[i] - start
		if spans[i] != nil {
			dst = appendName(dst, fields[i].name, dst[len(dst)-1] != '{')
			dst = append(dst, spans[i]...)
			continue
		}
		if len(piece) == 0 {
			continue
		}
		if piece[0] == ',' {
			piece = piece[1:]
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, piece...)
	}
	return append(dst, '}')
}

// readTags gives the JSON of the tagged fields that are set, by the place in the schema; nil if none is.
func (r *recordReader) readTags(fields []schemaField, version int16) (spans [][]byte) {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		tag := r.uvarint()
		body := r.take(r.uvarint())
		for i := range fields {
			f := &fields[i]
			if f.tag == tag && f.tagged.has(version) && r.err == nil {
				if spans == nil {
					spans = make([][]byte, len(fields))
				}
				inner := recordReader{data: body, embedded: r.embedded}
				spans[i] = inner.appendField([]byte{}, f, version, true)
				r.err = inner.err
			}
		}
	}
	return spans
}

func (r *recordReader) appendField(dst []byte, f *schemaField, version int16, flexible bool) []byte {
	if !f.array {
		return r.appendValue(dst, f, version, flexible)
	}
	n := 0
	if flexible {
		n = r.uvarint() - 1
	} else {
		n = int(int32(r.uint(4)))
	}
	if r.err != nil {
		return dst
	}
	if n < 0 {
		if !f.null.has(version) {
			r.fail(thrown(classRuntime, "non-nullable field %s was serialized as null", f.name))
			return dst
		}
		return append(dst, "null"...)
	}
	if n > len(r.data) {
		r.fail(thrown(classRuntime, "Tried to allocate a collection of size %d, but there are only %d bytes remaining.", n, len(r.data)))
		return dst
	}
	dst = append(dst, '[')
	elem := *f
	elem.array, elem.null = false, versionRange{1, 0}
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = r.appendValue(dst, &elem, version, flexible); r.err != nil {
			return dst
		}
	}
	return append(dst, ']')
}

func (r *recordReader) appendValue(dst []byte, f *schemaField, version int16, flexible bool) []byte {
	switch f.kind {
	case kindBool:
		return strconv.AppendBool(dst, r.uint(1) != 0)
	case kindInt8:
		return strconv.AppendInt(dst, int64(int8(r.uint(1))), 10)
	case kindInt16:
		return strconv.AppendInt(dst, int64(int16(r.uint(2))), 10)
	case kindUint16:
		return strconv.AppendUint(dst, r.uint(2), 10)
	case kindInt32:
		return strconv.AppendInt(dst, int64(int32(r.uint(4))), 10)
	case kindInt64:
		return strconv.AppendInt(dst, int64(r.uint(8)), 10)
	case kindFloat64:
		return append(dst, javaDouble(math.Float64frombits(r.uint(8)))...)
	case kindUUID:
		return appendUUID(dst, r.take(16))
	case kindString:
		if s, ok := r.blob(f, version, flexible, 2); ok {
			return appendJSONString(dst, javaString(s))
		}
		return append(dst, "null"...)
	case kindBytes:
		return r.appendBytes(dst, f, version, flexible)
	}
	// KIP-893: a nullable struct has a byte in front.
	if f.null.has(version) && int8(r.uint(1)) < 1 {
		return append(dst, "null"...)
	}
	return r.appendStruct(dst, f.fields, version, flexible, false)
}

func (r *recordReader) appendBytes(dst []byte, f *schemaField, version int16, flexible bool) []byte {
	b, ok := r.blob(f, version, flexible, 4)
	if !ok {
		return append(dst, "null"...)
	}
	if r.embedded != nil {
		if json, ok := r.embedded(f.name, b); ok {
			return append(dst, json...)
		}
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// blob reads a string or bytes, whose length takes size bytes where it is not flexible; false for null.
func (r *recordReader) blob(f *schemaField, version int16, flexible bool, size int) ([]byte, bool) {
	var n int
	switch {
	case flexible:
		n = r.uvarint() - 1
	case size == 2:
		n = int(int16(r.uint(2)))
	default:
		n = int(int32(r.uint(4)))
	}
	if n < 0 {
		if !f.null.has(version) && r.err == nil {
			r.fail(thrown(classRuntime, "non-nullable field %s was serialized as null", f.name))
		}
		return nil, false
	}
	if n > len(r.data) && r.err == nil {
		r.fail(thrown(classRuntime, "Error reading byte array of %d byte(s): only %d byte(s) available", n, len(r.data)))
	}
	return r.take(n), true
}

// appendUUID is Uuid.toString as JSON.
func appendUUID(dst, id []byte) []byte {
	dst = append(dst, '"')
	dst = base64.RawURLEncoding.AppendEncode(dst, id)
	return append(dst, '"')
}

// appendJSONString escapes as Jackson does: quotes, backslashes and control characters, nothing else.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			dst = append(dst, '\\', "btn?fr"[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}

// javaString is new String(bytes, UTF_8): each longest part of a broken sequence becomes one U+FFFD.
func javaString(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			n = brokenPart(b)
		}
		s.WriteRune(c)
		b = b[n:]
	}
	return s.String()
}

// brokenPart is the length of the longest start of a UTF-8 sequence in b, which is none as a whole.
func brokenPart(b []byte) int {
	lo, hi, want := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		want = 1
	case c == 0xE0:
		lo, want = 0xA0, 2
	case c == 0xED:
		// Java takes a lone surrogate as one broken sequence of three bytes, as it reads the three before it looks.
		want = 2
	case c >= 0xE1 && c <= 0xEF:
		want = 2
	case c == 0xF0:
		lo, want = 0x90, 3
	case c == 0xF4:
		hi, want = 0x8F, 3
	case c >= 0xF1 && c <= 0xF3:
		want = 3
	}
	n := 1
	for n <= want && n < len(b) && b[n] >= lo && b[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return n
}

// javaDouble is Double.toString.
func javaDouble(v float64) string {
	switch {
	case math.IsNaN(v):
		return `"NaN"`
	case math.IsInf(v, 1):
		return `"Infinity"`
	case math.IsInf(v, -1):
		return `"-Infinity"`
	}
	if a := math.Abs(v); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(v, 'E', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}

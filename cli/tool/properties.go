package tool

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// javaProperties reads the text of a java.util.Properties file in ISO 8859-1: the last of several equal keys counts.
func javaProperties(data []byte) (clientProperties, error) {
	runes := make([]rune, 0, len(data))
	for _, b := range data {
		runes = append(runes, rune(b))
	}
	out := clientProperties{}
	for _, line := range logicalLines(string(runes)) {
		key, value := cutProperty(line)
		k, err := unescapeProperty(key)
		if err != nil {
			return nil, err
		}
		v, err := unescapeProperty(value)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

const propertyBlank = " \t\f"

// logicalLines joins the lines that end in an odd number of backslashes with the next and leaves out comments and empty lines.
func logicalLines(text string) []string {
	var out []string
	pending, continued := "", false
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimLeft(line, propertyBlank)
		if !continued && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		stripped := strings.TrimRight(line, `\`)
		if continued = (len(line)-len(stripped))%2 == 1; continued {
			pending += line[:len(line)-1]
			continue
		}
		out = append(out, pending+line)
		pending = ""
	}
	if pending != "" {
		out = append(out, pending)
	}
	return out
}

// cutProperty cuts a line at the first blank, = or : that is not escaped.
func cutProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte(propertyBlank+"=:", line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], propertyBlank)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], propertyBlank)
	}
	return line[:end], rest
}

// unescapeProperty resolves backslashes.
func unescapeProperty(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var units []uint16
	in := []rune(s)
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c == '\\' && i+1 < len(in) {
			i++
			switch c = in[i]; c {
			case 't':
				c = '\t'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 'f':
				c = '\f'
			case 'u':
				end := min(len(in), i+5)
				n, err := strconv.ParseUint(string(in[i+1:end]), 16, 16)
				if err != nil || end != i+5 {
					return "", thrown(classIllegalArgument, "Malformed \\uxxxx encoding.")
				}
				units = append(units, uint16(n))
				i += 4
				continue
			}
		}
		units = utf16.AppendRune(units, c)
	}
	return string(utf16.Decode(units)), nil
}

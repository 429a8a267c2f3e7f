package tool

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	rsyntax "regexp/syntax"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

const lineReaderClass = "org.apache.kafka.tools.LineMessageReader"

// lineReader makes records of the lines of standard input, as LineMessageReader does.
type lineReader struct {
	parseKey, parseHeaders, ignoreError bool

	keySeparator        string
	headersDelimiter    string // between headers and key
	headersSeparator    string // between headers; a regular expression when it splits
	headersKeySeparator string
	nullMarker          string
	hasNullMarker       bool
	splitHeadersAt      *regexp.Regexp
	line                int // number of the last line, from 1
}

// newLineReader takes the properties of --reader-property and --reader-config.
func newLineReader(props map[string]string) (*lineReader, error) {
	text := func(name, def string) string {
		if v, ok := props[name]; ok {
			return v
		}
		return def
	}
	r := &lineReader{
		parseKey:            javaTrue(props["parse.key"]),
		parseHeaders:        javaTrue(props["parse.headers"]),
		ignoreError:         javaTrue(props["ignore.error"]),
		keySeparator:        text("key.separator", "\t"),
		headersDelimiter:    text("headers.delimiter", "\t"),
		headersSeparator:    text("headers.separator", ","),
		headersKeySeparator: text("headers.key.separator", ":"),
	}
	r.nullMarker, r.hasNullMarker = props["null.marker"]
	var err error
	if r.splitHeadersAt, err = regexp.Compile(r.headersSeparator); err != nil {
		return nil, thrown("java.util.regex.PatternSyntaxException", "%s", javaPatternError(r.headersSeparator, err))
	}
	for _, pair := range []struct {
		equal bool
		names string
	}{
		{r.headersDelimiter == r.headersSeparator, "headers.delimiter and headers.separator"},
		{r.headersDelimiter == r.headersKeySeparator, "headers.delimiter and headers.key.separator"},
		{r.headersSeparator == r.headersKeySeparator, "headers.separator and headers.key.separator"},
		{r.isNull(r.keySeparator), "null.marker and key.separator"},
		{r.isNull(r.headersSeparator), "null.marker and headers.separator"},
		{r.isNull(r.headersDelimiter), "null.marker and headers.delimiter"},
		{r.isNull(r.headersKeySeparator), "null.marker and headers.key.separator"},
	} {
		if pair.equal {
			return nil, thrown(classKafka, "%s may not be equal", pair.names)
		}
	}
	return r, nil
}

// javaTrue is how Kafka's tools read a property that is true or anything else.
func javaTrue(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "true") }

func (r *lineReader) isNull(s string) bool { return r.hasNullMarker && s == r.nullMarker }

func (r *lineReader) bytes(s string) []byte {
	if r.isNull(s) {
		return nil
	}
	return []byte(s)
}

// record reads the next line.
func (r *lineReader) record(line string) (*kgo.Record, error) {
	r.line++
	rec := &kgo.Record{}
	headers, hasHeaders, rest, err := r.cut(r.parseHeaders, line, line, r.headersDelimiter, "headers delimiter")
	if err != nil {
		return nil, err
	}
	key, hasKey, rest, err := r.cut(r.parseKey, line, rest, r.keySeparator, "key separator")
	if err != nil {
		return nil, err
	}
	if hasKey {
		rec.Key = r.bytes(key)
	}
	rec.Value = r.bytes(rest)
	if hasHeaders && !r.isNull(headers) {
		rec.Headers, err = r.splitHeaders(headers)
	}
	return rec, err
}

// cut takes what stands before the separator off rest. Without one, nothing is taken where errors are ignored.
func (r *lineReader) cut(enabled bool, line, rest, separator, name string) (before string, found bool, after string, err error) {
	if !enabled {
		return "", false, rest, nil
	}
	before, after, found = strings.Cut(rest, separator)
	if found {
		return before, true, after, nil
	}
	if r.ignoreError {
		return "", false, rest, nil
	}
	return "", false, "", thrown(classKafka, "No %s found on line number %d: '%s'", name, r.line, line)
}

func (r *lineReader) splitHeaders(s string) ([]kgo.RecordHeader, error) {
	var headers []kgo.RecordHeader
	for _, pair := range javaSplitAt(r.splitHeadersAt, s) {
		key, value, found := strings.Cut(pair, r.headersKeySeparator)
		switch {
		case !found && r.ignoreError:
			headers = append(headers, kgo.RecordHeader{Key: pair})
		case !found:
			return nil, thrown(classKafka, "No header key separator found in pair '%s' on line number %d", pair, r.line)
		case r.isNull(key):
			return nil, thrown(classKafka, "Header keys should not be equal to the null marker '%s' as they can't be null", r.nullMarker)
		default:
			headers = append(headers, kgo.RecordHeader{Key: key, Value: r.bytes(value)})
		}
	}
	return headers, nil
}

// javaSplitAt is Java's Pattern.split: no empty strings at the end, and none at the start for a match of no width.
func javaSplitAt(re *regexp.Regexp, s string) []string {
	var parts []string
	from := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		if m[1] == 0 {
			continue
		}
		parts = append(parts, s[from:m[0]])
		from = m[1]
	}
	if from == 0 {
		return []string{s}
	}
	parts = append(parts, s[from:])
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// javaLines reads lines as Java's BufferedReader does: ended by \n, \r or \r\n, decoded as UTF-8.
type javaLines struct {
	r      *bufio.Reader
	skipLF bool // the last line ended with \r: a \n after it belongs to it
	buf    []byte
}

func newJavaLines(r io.Reader) *javaLines { return &javaLines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns io.EOF once nothing is left; a last line needs no end.
func (l *javaLines) next() (string, error) {
	l.buf = l.buf[:0]
	for {
		b, err := l.r.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) && len(l.buf) > 0 {
				return l.text(), nil
			}
			return "", err
		}
		skip := l.skipLF && b == '\n'
		l.skipLF = false
		switch {
		case skip:
		case b == '\n':
			return l.text(), nil
		case b == '\r':
			l.skipLF = true
			return l.text(), nil
		default:
			l.buf = append(l.buf, b)
		}
	}
}

func (l *javaLines) text() string { return javaString(l.buf) }

// buffered tells whether a part of the input waits in memory: no call of next would have to wait for it.
func (l *javaLines) buffered() bool { return l.r.Buffered() > 0 }

// javaPatternError is what Java says of a regular expression that does not compile, as far as Go knows where it breaks.
func javaPatternError(pattern string, err error) string {
	var syntax *rsyntax.Error
	if !errors.As(err, &syntax) {
		return err.Error()
	}
	text, at := "", strings.Index(pattern, syntax.Expr)
	switch syntax.Code {
	case rsyntax.ErrMissingRepeatArgument:
		text = fmt.Sprintf("Dangling meta character '%s'", syntax.Expr)
	case rsyntax.ErrMissingParen:
		text, at = "Unclosed group", len(pattern)
	case rsyntax.ErrMissingBracket:
		text, at = "Unclosed character class", len(pattern)-1
	case rsyntax.ErrUnexpectedParen:
		text, at = "Unmatched closing ')'", max(strings.LastIndex(pattern, ")")-1, 0)
	default:
		return string(syntax.Code) + ": " + syntax.Expr
	}
	msg := fmt.Sprintf("%s near index %d\n%s", text, at, pattern)
	if at < len(pattern) {
		msg += "\n" + strings.Repeat(" ", at) + "^"
	}
	return msg
}

package tool

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestLineReader(t *testing.T) {
	f := func(line, want string, props ...string) {
		t.Helper()
		m := make(map[string]string)
		for _, p := range props {
			k, v, _ := strings.Cut(p, "=")
			m[k] = v
		}
		got := ""
		r, err := newLineReader(m)
		if err == nil {
			rec, err2 := r.record(line)
			if err = err2; err == nil {
				show := func(b []byte) string {
					if b == nil {
						return "null"
					}
					return fmt.Sprintf("%q", b)
				}
				got = show(rec.Key) + " " + show(rec.Value)
				for _, h := range rec.Headers {
					got += " " + h.Key + "=" + show(h.Value)
				}
			}
		}
		if err != nil {
			got = javaToString(err)
		}
		if got != want {
			t.Errorf("%q with %v: got %s, want %s", line, props, got, want)
		}
	}
	const kafka = "org.apache.kafka.common.KafkaException: "
	f("a\tb", `null "a\tb"`)
	f("", `null ""`)
	f("k\tv", `"k" "v"`, "parse.key=true")
	f("k=v=w", `"k" "v=w"`, "parse.key= TRUE ", "key.separator==")
	f("nokey", kafka+"No key separator found on line number 1: 'nokey'", "parse.key=true")
	f("nokey", `null "nokey"`, "parse.key=true", "ignore.error=true")
	f("h1:v1,h2:v2\tk\tv", `"k" "v" h1="v1" h2="v2"`, "parse.key=true", "parse.headers=true")
	f("h1:N\tN\tN", `null null h1=null`, "parse.key=true", "parse.headers=true", "null.marker=N")
	f("N\tk\tv", `"k" "v"`, "parse.key=true", "parse.headers=true", "null.marker=N")
	f("h1\tx", kafka+"No header key separator found in pair 'h1' on line number 1", "parse.headers=true")
	f("h1\tx", `null "x" h1=null`, "parse.headers=true", "ignore.error=true")
	f("N:v\tx", kafka+"Header keys should not be equal to the null marker 'N' as they can't be null", "parse.headers=true", "null.marker=N")
	f("x", kafka+"No headers delimiter found on line number 1: 'x'", "parse.headers=true")
	f("x", kafka+"headers.separator and headers.key.separator may not be equal", "headers.separator=:")
	f("x", kafka+"null.marker and key.separator may not be equal", "null.marker=\t")
	f("x", "java.util.regex.PatternSyntaxException: Dangling meta character '*' near index 0\n*\n^", "headers.separator=*")
}

func TestJavaLines(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		l := newJavaLines(strings.NewReader(in))
		var got []string
		for {
			line, err := l.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line)
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%q: got %q, want %q", in, s, want)
		}
	}
	f("", "")
	f("a\nb", "a|b")
	f("a\r\nb\rc\n", "a|b|c")
	f("\n\r\n", "|")
	f("\xff\n", "\uFFFD")
}

func TestJavaSplitAt(t *testing.T) {
	f := func(s, separator, want string) {
		t.Helper()
		r, err := newLineReader(map[string]string{"headers.separator": separator})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(javaSplitAt(r.splitHeadersAt, s), "|"); got != want {
			t.Errorf("%q at %q: got %q, want %q", s, separator, got, want)
		}
	}
	f("a,b,,", ",", "a|b")
	f(",a", ",", "|a")
	f("ab", ",", "ab")
	f("a;b#c", "[;#]", "a|b|c")
}

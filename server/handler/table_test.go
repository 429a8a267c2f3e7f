package handler

import (
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/kaja-mq/kaja/protocol"
)

// Every row of the table names an API of Kafka 4.4.0, once and in order, and its handler stands in the file of its name.
func TestTableRows(t *testing.T) {
	last := int16(-1)
	for _, r := range rows() {
		a, ok := protocol.Lookup(r.key)
		if !ok || r.f == nil || r.key <= last {
			t.Errorf("bad row: key %d after %d", r.key, last)
		}
		last = r.key
		name := fileOf(a.Name)
		src, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%s (key %d) has no file of its own: %v", a.Name, a.Key, err)
			continue
		}
		if !strings.Contains(string(src), "func (h *Handler) ") || !strings.Contains(string(src), "// "+a.Name+" (key ") {
			t.Errorf("%s: the head comment must start with %q, followed by its handler", name, "// "+a.Name+" (key …), versions")
		}
	}
}

// fileOf is the file of an API: its name in snake case, InitProducerId as init_producer_id.go.
func fileOf(api string) string {
	var b strings.Builder
	for i, r := range api {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String() + ".go"
}

func TestServeRefusesWhatIsNotServed(t *testing.T) {
	h := testHandler()
	f := func(key, version int16, refused bool) {
		t.Helper()
		c := &testCall{header: protocol.RequestHeader{Key: key, Version: version}}
		h.Serve(c)
		if c.answered != 1 || (c.closed != "") != refused {
			t.Errorf("key %d version %d: answered %d times, closed %q", key, version, c.answered, c.closed)
		}
	}
	f(17, 2, true)
	f(17, -1, true)
	f(52, 0, true)
	f(-1, 0, true)
	f(95, 0, true)
	f(18, 0, false)
	f(18, 6, false)
	f(18, -1, false)
}

package config

import (
	"os"
	"strings"
	"testing"
)

var scopeNames = map[string]Scope{"broker": ScopeBroker, "topic": ScopeTopic, "group": ScopeGroup, "metrics": ScopeClientMetrics}

// TestParseAsKafka compares verdict, message and normal form with what Kafka's own ConfigDef said to the same values.
func TestParseAsKafka(t *testing.T) {
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
	data, err := os.ReadFile("testdata/validation.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n")[1:] {
		f := strings.Split(line, "\t")
		value, verdict, want := unescape.Replace(f[2]), f[3], unescape.Replace(f[4])
		p := Lookup(scopeNames[f[0]], f[1])
		if p == nil {
			t.Fatalf("no property %s %s", f[0], f[1])
		}
		norm, err := p.Parse(value)
		got, gotVerdict := norm, "ok"
		if err != nil {
			got, gotVerdict = err.Error(), "error"
		}
		if p.Sensitive() && verdict == "ok" {
			want = value // Kafka prints [hidden]
		}
		if got != want || gotVerdict != verdict {
			t.Errorf("%s %s=%q: got %s %q, want %s %q", f[0], f[1], value, gotVerdict, got, verdict, want)
		}
		n++
	}
	if n < 1000 {
		t.Errorf("only %d cases", n)
	}
}

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestUpToDate: what is committed is what the generator makes.
func TestUpToDate(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(path.Join(root, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date (%v); run go run ./scripts/genconfig", name, err)
		}
	}
}

// TestEffectiveIsRead: a property is called effective only if some code reads it: by its name, or a broker property through the property of
// a topic or group that it gives the default of.
func TestEffectiveIsRead(t *testing.T) {
	rows, err := readProperties(path.Join(root, "config/properties.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := classify(rows, path.Join(root, "config/effects.tsv")); err != nil {
		t.Fatal(err)
	}
	source := sources(t)
	through := map[string]bool{}
	for _, r := range rows {
		if r.scope != "broker" && strings.Contains(source, `"`+r.name+`"`) {
			for _, s := range strings.Split(r.synonyms, ",") {
				through[s] = true
			}
		}
	}
	for _, r := range rows {
		if r.effect == "effective" && !strings.Contains(source, `"`+r.name+`"`) && !through[r.name] {
			t.Errorf("%s property %s is called effective, but nothing reads it; correct config/effects.tsv", r.scope, r.name)
		}
	}
}

// sources is the text of all Go files of the program, without tests, tables and tools.
func sources(t *testing.T) string {
	var b strings.Builder
	for _, dir := range []string{"config", "controller", "coordinator", "replica", "security", "server", "storage", "cli"} {
		err := filepath.WalkDir(path.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || d.Name() == "tables.go" {
				return err
			}
			data, err := os.ReadFile(name)
			b.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

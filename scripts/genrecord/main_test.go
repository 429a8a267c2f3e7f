package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedIsCurrent: the packages are what the schema and the generator make of them.
func TestGeneratedIsCurrent(t *testing.T) {
	root := t.TempDir()
	files := []string{"metadata/record/zz_generated.go", "coordinator/record/zz_generated.go", "cli/tool/zz_schema.txt"}
	for _, name := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := generateAll("schema.txt", root); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		want, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is old: go run ./scripts/genrecord generate scripts/genrecord/schema.txt .", name)
		}
	}
}

func TestGoName(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := goName(in); got != want {
			t.Errorf("goName(%q) = %q, want %q", in, got, want)
		}
	}
	f("BrokerId", "BrokerID")
	f("PartitionIds", "PartitionIDs")
	f("Isr", "ISR")
	f("LastKnownElr", "LastKnownELR")
	f("topicId", "TopicID")
	f("Identity", "Identity")
	f("IdleIsrs", "IdleIsrs")
	f("KRaftVersion", "KRaftVersion")
}

func TestSchemaErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := parseSchema(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	const head = "record R family=metadata key=1 versions=0-1 flexible=0+\n"
	f("nonsense", "expected record or struct")
	f("record R family=metadata key=x versions=0 flexible=0+", "x")
	f("record R family=metadata key=1 versions=a flexible=0+", "bad versions")
	f("record R family=metadata key=1 versions=0 colour=0+", "unknown word")
	f(head+"  A int32", "a name, a type and versions")
	f(head+"  A int32 0+ null=b", "bad versions")
	f(head+"  A int32 0+ colour=1", "unknown word")
	f(head+"    A int32 0+", "child without parent")
}

// TestImport reads a schema out of a jar, with comments, a JSON null as default and versions that only the tag has.
func TestImport(t *testing.T) {
	dir := t.TempDir()
	for _, j := range jars {
		name := strings.Replace(j.glob, "[0-9]*", "4.4.0", 1)
		var buf bytes.Buffer
		z := zip.NewWriter(&buf)
		only := j.only
		if only == nil {
			only = []string{"One", "Two"}
		}
		for i, rec := range append(only, "notes.txt") {
			file := j.dir + rec + ".json"
			if rec == "notes.txt" {
				file = j.dir + rec
			}
			w, err := z.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			text := `// a licence
{ "name": "` + rec + `", "apiKey": ` + string(rune('9'-i)) + `, "validVersions": "0-1", "flexibleVersions": "1+", // why
  "fields": [
    { "name": "A", "type": "string", "versions": "0+", "nullableVersions": "0+", "default": "null" },
    { "name": "B", "type": "[]X", "taggedVersions": "1+", "tag": 2, "default": null, "fields": [ { "name": "C", "type": "int8", "versions": "0+", "default": -1 } ] } ],
  "commonStructs": [ { "name": "S", "fields": [ { "name": "D", "type": "uuid", "versions": "0+" } ] } ] }`
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := importJars(dir, &out); err != nil {
		t.Fatal(err)
	}
	want := `record Two family=metadata key=8 versions=0-1 flexible=1+
  A string 0+ null=0+ default=null
  B []X 1+ tag=2@1+
    C int8 0+ default=-1
struct S
  D uuid 0+

record One family=metadata key=9`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
	}
	if err := importJars(t.TempDir(), &out); err == nil {
		t.Error("a directory without jars gave no error")
	}
}

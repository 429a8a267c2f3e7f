package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The house rules of this repository as tests; each failure says what to do. They look at the root module only.

const modulePath = "github.com/kaja-mq/kaja"

// leaves may be imported by every package.
var leaves = []string{"internal/vfs", "internal/clock", "internal/exec", "internal/wheel", "internal/invariant", "internal/cache", "internal/metric", "internal/planted", "internal/naps"}

// mayImport is the import table: packages of ours, and the outside packages that only this package may use. What is not listed is
// forbidden. ARCHITECTURE.md draws it.
var mayImport = map[string]string{
	"":                   "cli",
	"cli":                "server config metadata storage console cli/tool",
	"cli/tool":           "protocol protocol/batch config metadata metadata/record coordinator/record storage",
	"kajatest":           "server config",
	"server":             "server/handler coordinator coordinator/group coordinator/txn coordinator/share coordinator/record controller replica replica/share storage security metadata metadata/record config protocol protocol/batch console",
	"server/handler":     "replica replica/share coordinator coordinator/group coordinator/txn coordinator/share controller security metadata config protocol protocol/batch",
	"controller":         "metadata metadata/record config protocol protocol/batch",
	"coordinator/group":  "coordinator coordinator/record metadata config protocol",
	"coordinator/txn":    "coordinator coordinator/record metadata config protocol",
	"coordinator/share":  "coordinator coordinator/record metadata config protocol",
	"coordinator":        "metadata config protocol protocol/batch coordinator/record",
	"security":           "metadata config protocol",
	"console":            "metadata config protocol",
	"replica":            "storage metadata config protocol protocol/batch replica/share",
	"replica/share":      "protocol",
	"storage":            "config protocol protocol/batch",
	"metadata":           "protocol protocol/batch metadata/record",
	"config":             "",
	"protocol":           "protocol/batch",
	"protocol/batch":     "",
	"metadata/record":    "protocol",
	"coordinator/record": "protocol",
	"internal/vfs":       "",
	"internal/clock":     "",
	"internal/exec":      "",
	"internal/wheel":     "",
	"internal/invariant": "",
	"internal/cache":     "",
	"internal/metric":    "",
	"internal/planted":   "",
	"internal/naps":      "",
	"internal/sim":       "*",
	"scripts/genrecord":  "*",
	"scripts/genconfig":  "*",
	"scripts/genman":     "*",
	"scripts/history":    "*",
	"scripts/killloop":   "*",
	"scripts/capacity":   "*",
	"scripts/fuzzlist":   "*",
	"scripts/load":       "*",
	"scripts/floor":      "*",
	"scripts/versus":     "*",
}

// reserved names the outside packages that only some of ours may import.
var reserved = map[string]string{
	"github.com/panjf2000/gnet":         "server",
	"go.etcd.io/raft":                   "controller",
	"github.com/dgraph-io/ristretto":    "internal/cache",
	"github.com/twmb/franz-go/pkg/kgo":  "cli/tool scripts",
	"github.com/twmb/franz-go/pkg/kadm": "cli/tool scripts",
	"github.com/spf13/cobra":            "cli cli/tool scripts",
	"github.com/magiconair/properties":  "config cli",
	"github.com/anishathalye/porcupine": "internal/sim",
}

// bannedCall is a function that is called in few places only.
type bannedCall struct {
	names   string // regular expression over the qualified name
	allowed string // folders, separated by spaces
	tests   bool   // whether test files may call it
	instead string
}

var bannedCalls = []bannedCall{
	{`^time\.(Now|Since|Until)$`, "internal/clock scripts", false, "take the time from the clock.Clock that was passed in"},
	{`^time\.Sleep$`, "scripts/load scripts/versus", false, "wait for a condition, move the manual clock, or park the call"},
	{`^time\.(AfterFunc|NewTimer|NewTicker|Tick|After)$`, "internal/clock scripts", false, "use clock.Clock.AfterFunc, internal/exec or internal/wheel"},
	{`^os\.(Open|OpenFile|Create|ReadFile|WriteFile|Remove|RemoveAll|Rename|Mkdir|MkdirAll|ReadDir|Stat|Lstat|Truncate|Link|Symlink|CreateTemp|MkdirTemp)$`, "internal/vfs scripts", true, "go through the vfs.FS that was passed in"},
	{`^(ioutil|filepath)\.(ReadFile|WriteFile|ReadDir|Walk|WalkDir|Glob)$`, "internal/vfs scripts", true, "go through the vfs.FS that was passed in"},
	{`^fmt\.Print(f|ln)?$`, "scripts", false, "write to the io.Writer or logger that was passed in"},
	{`^log\.(Print|Fatal|Panic|Default|SetOutput)`, "scripts", false, "use the zerolog.Logger that was passed in"},
	{`^rand\.(Int|Intn|IntN|Int31|Int31n|Int63|Int63n|Int64|Int64N|Uint32|Uint64|Float32|Float64|Perm|Shuffle|Seed|N)$`, "scripts", false, "take a seeded source as an argument, or crypto/rand for identities"},
	{`^panic$`, "internal/invariant", true, "answer an error for what a client or a disk can cause; invariant.Failf for a bug of ours"},
	{`^os\.Exit$`, "scripts cli", true, "return an error; only main and cli end the process"},
}

// sourceFile is a parsed Go file of the root module.
type sourceFile struct {
	name string // slash-separated, from the root
	dir  string // folder from the root, "" for the root
	test bool
	text []byte
	ast  *ast.File
}

func sources(t *testing.T) ([]*sourceFile, *token.FileSet) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*sourceFile
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "compat-tests" || d.Name() == "kaja-data") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		dir := path.Dir(slash)
		if dir == "." {
			dir = ""
		}
		files = append(files, &sourceFile{name: slash, dir: dir, test: strings.HasSuffix(name, "_test.go"), text: text, ast: f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, fset
}

// within tells whether dir is one of the folders or below one of them.
func within(dir, folders string) bool {
	for f := range strings.FieldsSeq(folders) {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return true
		}
	}
	return false
}

func TestTidyImports(t *testing.T) {
	files, _ := sources(t)
	for _, f := range files {
		if f.test {
			continue // tests may import everything
		}
		allowed, known := mayImport[f.dir]
		if !known {
			t.Errorf("%s: package %s is not in the import table: add it to mayImport in tidy_test.go and to ARCHITECTURE.md", f.name, f.dir)
			continue
		}
		for _, spec := range f.ast.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
			if ours, ok := strings.CutPrefix(imp, modulePath+"/"); ok {
				if allowed != "*" && !slices.Contains(strings.Fields(allowed), ours) && !slices.Contains(leaves, ours) {
					t.Errorf("%s imports %s, which %s may not: declare the small interface you need and let server wire it, or argue for a change of mayImport in tidy_test.go", f.name, ours, f.dir)
				}
				continue
			}
			for prefix, owners := range reserved {
				if strings.HasPrefix(imp, prefix) && !within(f.dir, owners) {
					t.Errorf("%s imports %s, which only %s may", f.name, imp, owners)
				}
			}
			if imp == "C" {
				t.Errorf("%s uses cgo: the binary is static", f.name)
			}
			if imp == "github.com/rs/zerolog/log" {
				t.Errorf("%s uses zerolog's global logger: take a zerolog.Logger as an argument", f.name)
			}
		}
	}
}

func TestTidyCalls(t *testing.T) {
	files, fset := sources(t)
	patterns := make([]*regexp.Regexp, len(bannedCalls))
	for i, b := range bannedCalls {
		patterns[i] = regexp.MustCompile(b.names)
	}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			var name string
			switch fun := call.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				pkg, ok := fun.X.(*ast.Ident)
				if !ok || pkg.Obj != nil || !importsAs(f.ast, pkg.Name) {
					return true
				}
				name = pkg.Name + "." + fun.Sel.Name
			default:
				return true
			}
			for i, b := range bannedCalls {
				if b.tests && f.test || within(f.dir, b.allowed) || f.name == "tidy_test.go" || f.name == "main.go" && name == "os.Exit" || name == "panic" && reraises(call) {
					continue
				}
				if patterns[i].MatchString(name) {
					t.Errorf("%s: %s: %s", fset.Position(call.Pos()), name, b.instead)
				}
			}
			return true
		})
	}
}

// reraises tells whether a panic passes on what was recovered.
func reraises(call *ast.CallExpr) bool {
	_, ok := call.Args[0].(*ast.Ident)
	return ok && len(call.Args) == 1
}

// version is the last part of an import path that names a major version, not a package.
var version = regexp.MustCompile(`^v\d+$`)

// importsAs tells whether name is a package in the file.
func importsAs(f *ast.File, name string) bool {
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
		local := path.Base(imp)
		if version.MatchString(local) {
			local = path.Base(path.Dir(imp))
		}
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == name {
			return true
		}
	}
	return false
}

func TestTidyDeclarations(t *testing.T) {
	files, fset := sources(t)
	for _, f := range files {
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s: init: make the value where it is needed, or in a constructor", fset.Position(d.Pos()))
				}
				if !f.test && d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
					t.Errorf("%s: %s has no comment: say what it does, units and ranges, who may call it, where the rule comes from", fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				if !f.test {
					documented(t, fset, d)
					constantVariables(t, fset, f, d)
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// documented demands a comment on exported types, constants and variables; one for a group of constants is enough.
func documented(t *testing.T, fset *token.FileSet, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
				t.Errorf("%s: type %s has no comment: say what it is, who owns it and what guards it", fset.Position(s.Pos()), s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					t.Errorf("%s: %s has no comment: say what it means and where the number comes from", fset.Position(n.Pos()), n.Name)
				}
			}
		}
	}
}

// sentinelOrTable matches names of package variables that are fine because nothing writes them: errors and interface checks. Tables and compiled
// patterns are recognised by their values.
var sentinelOrTable = regexp.MustCompile(`^(_|[eE]rr[A-Z].*)$`)

// embeds tells a variable that the compiler fills from a file.
func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// constantVariables refuses package variables that look mutable. Best effort: without types, it looks at the value.
func constantVariables(t *testing.T, fset *token.FileSet, f *sourceFile, d *ast.GenDecl) {
	if d.Tok != token.VAR || within(f.dir, "scripts") || embeds(d.Doc) {
		return
	}
	for _, spec := range d.Specs {
		s := spec.(*ast.ValueSpec)
		for i, n := range s.Names {
			if _, array := s.Type.(*ast.ArrayType); array && len(s.Values) == 0 {
				continue // a zero value to compare with
			}
			if sentinelOrTable.MatchString(n.Name) || i < len(s.Values) && constantValue(s.Values[i]) {
				continue
			}
			// main.version is set by the linker.
			if f.dir == "" && n.Name == "version" {
				continue
			}
			t.Errorf("%s: package variable %s may change: make it a field of what owns it (errors, compiled patterns and tables that are never written are fine)", fset.Position(n.Pos()), n.Name)
		}
	}
}

func constantValue(e ast.Expr) bool {
	switch v := e.(type) {
	case *ast.CompositeLit, *ast.BasicLit, *ast.FuncLit:
		return true
	case *ast.UnaryExpr:
		return constantValue(v.X)
	case *ast.CallExpr: // regexp.MustCompile, crc32.MakeTable, []byte("…"), a function that builds a table
		return true
	}
	return false
}

func TestTidyPackages(t *testing.T) {
	files, _ := sources(t)
	docs := map[string]bool{}
	names := map[string]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		names[f.dir] = f.ast.Name.Name
		if f.ast.Doc != nil {
			docs[f.dir] = true
		}
	}
	single := strings.Fields("internal/vfs internal/exec internal/clock internal/wheel internal/invariant")
	for dir, name := range names {
		if !docs[dir] {
			t.Errorf("package %s has no package comment: write doc.go with what it owns, its numbered invariants, who calls it, goroutines and locks, what it does not do", dir)
		}
		if name != "main" && !slices.Contains(single, dir) {
			if _, err := os.Stat(filepath.Join(dir, "doc.go")); err != nil {
				t.Errorf("package %s has no doc.go: move its package comment there", dir)
			}
		}
		if slices.Contains(strings.Fields("util utils common helper helpers types base misc"), name) {
			t.Errorf("package %s: the name says nothing; name it by what it owns", dir)
		}
	}
}

func TestTidyFormat(t *testing.T) {
	files, _ := sources(t)
	for _, f := range files {
		got, err := format.Source(f.text)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		} else if !bytes.Equal(got, f.text) {
			t.Errorf("%s is not formatted: gofmt -s -w %s", f.name, f.name)
		}
	}
}

// TestTidyWords looks at every text file that git tracks.
func TestTidyWords(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a git checkout: words are checked where the repository is")
	}
	// A marker of unfinished work needs a reference behind it: TODO(#12).
	unfinished := regexp.MustCompile(`\b(TODO|FIXME|XXX)\b(\(#\d+\))?`)
	secondHand := regexp.MustCompile(`(?i)\b(claude|codex|chatgpt|copilot|llm|ai-generated|this session's)\b|/work/`)
	contract := regexp.MustCompile(`/work/(kafka|run\.sh)\b`) // files of an image that ours takes the place of
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if !regexp.MustCompile(`\.(go|md|sh|tsv|txt|java|py|mjs|json|mod|yml)$|^Makefile$|^scripts/[a-z-]+$|^\.ci/run$`).MatchString(name) || strings.Contains(name, "testdata/fuzz/") || name == "tidy_test.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted but not committed yet
		}
		sc := bufio.NewScanner(bytes.NewReader(text))
		sc.Buffer(nil, 16<<20)
		for n := 1; sc.Scan(); n++ {
			at := fmt.Sprintf("%s:%d", name, n)
			if m := unfinished.FindSubmatch(sc.Bytes()); m != nil && len(m[2]) == 0 {
				t.Errorf("%s: %s without a reference: finish it, or write %s(#number)", at, m[1], m[1])
			}
			if m := secondHand.Find(contract.ReplaceAll(sc.Bytes(), nil)); m != nil {
				t.Errorf("%s: %q: code and documents speak of kaja alone", at, m)
			}
		}
	}
}

// TestTidyDocs holds the documents to the tree: a Go file, script or folder that one names is there.
func TestTidyDocs(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z", "*.md").Output()
	if err != nil {
		t.Skip("not a git checkout: documents are checked where the repository is")
	}
	named := regexp.MustCompile("`((?:[a-z][a-z-]*/)+[a-z_-]+(?:\\.[a-z]+)?|[a-z_]+\\.go)`")
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted but not committed yet
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			file := string(m[1])
			found := false
			for _, base := range []string{"", path.Dir(name), "server", "server/handler"} {
				if _, err := os.Stat(filepath.Join(base, file)); err == nil {
					found = true
				}
			}
			if !found {
				t.Errorf("%s names %s, which is not there", name, file)
			}
		}
	}
}

// TestTidyHandlers holds the handler table and the files of server/handler together: an API in the table has its file.
func TestTidyHandlers(t *testing.T) {
	const table = "server/handler/table.go"
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)\(\*Handler\)\.([a-z][A-Za-z]+)|\bh\.([a-z][A-Za-z]+)\b`).FindAllSubmatch(text, -1)
	if len(rows) == 0 {
		t.Fatalf("%s names no handler", table)
	}
	files, _ := sources(t)
	declared := map[string]string{}
	for _, f := range files {
		if f.dir != "server/handler" || f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Recv != nil {
				declared[fd.Name.Name] = path.Base(f.name)
			}
		}
	}
	for _, r := range rows {
		name := string(r[1]) + string(r[2])
		file, ok := declared[name]
		if !ok {
			continue // a field or a helper, not a handler
		}
		want := snake(name) + ".go"
		if file != want && file != "table.go" && file != "handler.go" {
			t.Errorf("%s: handler %s stands in %s: one file per API, named by it: %s", table, name, file, want)
		}
	}
}

// snake turns describeUserSCRAMCredentials into describe_user_scram_credentials.
func snake(name string) string {
	upper := func(i int) bool { return i >= 0 && i < len(name) && name[i] >= 'A' && name[i] <= 'Z' }
	var b strings.Builder
	for i := range len(name) {
		if upper(i) && i > 0 && (!upper(i-1) || i+1 < len(name) && !upper(i+1)) {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(name[i : i+1]))
	}
	return b.String()
}

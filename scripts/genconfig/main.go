// Command genconfig makes config/tables.go and docs/configuration.md from config/properties.tsv (Kafka's tables) and
// config/effects.tsv (what kaja does with each property). Run it from the repository's root: go run ./scripts/genconfig
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path"
	"strings"
)

type row struct {
	scope, name, typ, def, check, importance, visibility, mode, synonyms string
	effect, note, doc                                                    string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "genconfig:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := generate(".")
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate makes the files' contents by their path below root, where the inputs lie too.
func generate(root string) (map[string][]byte, error) {
	rows, err := readProperties(path.Join(root, "config/properties.tsv"))
	if err != nil {
		return nil, err
	}
	if err := classify(rows, path.Join(root, "config/effects.tsv")); err != nil {
		return nil, err
	}
	src, err := format.Source(tables(rows))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"config/tables.go": src, "docs/configuration.md": page(rows)}, nil
}

func lines(name string) ([][]string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out [][]string
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		if l := sc.Text(); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, strings.Split(l, "\t"))
		}
	}
	return out, sc.Err()
}

func readProperties(name string) ([]*row, error) {
	ls, err := lines(name)
	if err != nil {
		return nil, err
	}
	var rows []*row
	for _, f := range ls[1:] {
		if len(f) != 9 {
			return nil, fmt.Errorf("%s: %d fields instead of 9: %v", name, len(f), f)
		}
		rows = append(rows, &row{scope: f[0], name: f[1], typ: f[2], def: f[3], check: f[4], importance: f[5], visibility: f[6], mode: f[7], synonyms: f[8]})
	}
	return rows, nil
}

// classify gives each property its effect: the last line of the file whose scope and pattern match decides.
func classify(rows []*row, name string) error {
	ls, err := lines(name)
	if err != nil {
		return err
	}
	for _, f := range ls[1:] {
		if len(f) != 5 {
			return fmt.Errorf("%s: %d fields instead of 5: %v", name, len(f), f)
		}
		hits := 0
		for _, r := range rows {
			if ok, err := path.Match(f[1], r.name); err != nil {
				return fmt.Errorf("%s: %q: %w", name, f[1], err)
			} else if ok && r.scope == f[0] {
				r.effect, r.note, r.doc = f[2], f[3], f[4]
				hits++
			}
		}
		if hits == 0 {
			return fmt.Errorf("%s: %s %s matches no property", name, f[0], f[1])
		}
	}
	for _, r := range rows {
		if r.effect == "" {
			return fmt.Errorf("%s: %s property %s is not classified", name, r.scope, r.name)
		}
	}
	return nil
}

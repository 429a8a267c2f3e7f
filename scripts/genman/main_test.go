package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestPagesAreCurrent(t *testing.T) {
	pages, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 5 {
		t.Errorf("%d pages only", len(pages))
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join("../..", dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the command line says: go run ./scripts/genman (%v)", name, err)
		}
	}
	files, err := os.ReadDir(filepath.Join("../..", dir))
	if err != nil || len(files) != len(pages) {
		t.Errorf("%d files, %d pages: remove those of commands that are gone (%v)", len(files), len(pages), err)
	}
}

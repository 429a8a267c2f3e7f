package main

import (
	"bytes"
	"os"
	"path"
	"testing"
)

// TestUpToDate: what is committed is what the generator makes.
func TestUpToDate(t *testing.T) {
	const root = "../.."
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

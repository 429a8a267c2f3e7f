package vfs

import (
	"path/filepath"
	"testing"
)

// BenchmarkOpen opens and closes a file of the machine.
func BenchmarkOpen(b *testing.B) {
	fs, name := OS(), filepath.Join(b.TempDir(), "f")
	if err := fs.WriteFile(name, []byte("x")); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := fs.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// Package corpus is what all compatibility tests share: the broker's address, fresh topic names, and real input.
//
// Owns: nothing that lasts. The input lies in the folder that CORPUS names (scripts/compat fills it): text.txt with at least
// 100,000 lines, and binary files of 1 byte to 10 MB. Called by the tests of every Go client. No goroutines, no locks.
package corpus

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// MinTextLines is how many lines the text has at least.
const MinTextLines = 100_000

// MaxFileBytes is the size of the largest binary file.
const MaxFileBytes = 10_000_000

// MaxMessageBytes is the topic's max.message.bytes for the largest file.
const MaxMessageBytes = "12000000"

// Bootstrap is the address of the broker under test, host:port.
func Bootstrap(tb testing.TB) string {
	tb.Helper()
	addr := os.Getenv("BOOTSTRAP")
	if addr == "" {
		tb.Fatal("BOOTSTRAP is not set: run scripts/compat, or set it to the address of a broker")
	}
	return addr
}

// Topic returns a name that no other run uses.
func Topic(tb testing.TB, what string) string {
	tb.Helper()
	var b [5]byte
	if _, err := rand.Read(b[:]); err != nil {
		tb.Fatal(err)
	}
	return "compat-" + what + "-" + hex.EncodeToString(b[:])
}

// Lines returns the text line by line, without the newlines. The last line ends with one.
func Lines(tb testing.TB) [][]byte {
	tb.Helper()
	text := File(tb, "text.txt")
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(lines) < MinTextLines {
		tb.Fatalf("text.txt has %d lines, want at least %d", len(lines), MinTextLines)
	}
	return lines
}

// File reads one file of the corpus.
func File(tb testing.TB, name string) []byte {
	tb.Helper()
	dir := os.Getenv("CORPUS")
	if dir == "" {
		tb.Fatal("CORPUS is not set: run scripts/compat, or set it to a folder filled by scripts/corpus")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Binaries names the binary files, smallest first.
func Binaries() []string {
	return []string{"1B.bin", "100kB.bin", "1MB.bin", "5MB.bin", "10MB.bin"}
}

// Value is the i-th value of a series that compresses, but not to nothing.
func Value(series string, i int) []byte {
	n := i%97 + 1
	return []byte(series + "/" + hex.EncodeToString([]byte{byte(i >> 16), byte(i >> 8), byte(i)}) + "/" + strings.Repeat("kaja ", n))
}

// Diff describes the first difference of two byte strings, or returns "".
func Diff(got, want []byte) string {
	if bytes.Equal(got, want) {
		return ""
	}
	n := min(len(got), len(want))
	at := n
	for i := range n {
		if got[i] != want[i] {
			at = i
			break
		}
	}
	here := func(b []byte) []byte { return b[at:min(at+40, len(b))] }
	return fmt.Sprintf("differs at byte %d: got %d bytes, here %q; want %d bytes, here %q", at, len(got), here(got), len(want), here(want))
}

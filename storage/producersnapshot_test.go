package storage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// Files that Kafka 4.4.0 wrote are read, and written again byte for byte.
func TestKafkaSnapshots(t *testing.T) {
	files, err := filepath.Glob("testdata/kafka-4.4.0/*.snapshot")
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshots: %v", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := parseSnapshot(raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := appendSnapshot(nil, entries); !bytes.Equal(got, raw) {
			t.Errorf("%s: %d entries written again as\n%x\nwas\n%x", name, len(entries), got, raw)
		}
	}
}

func TestKafkaTxnIndex(t *testing.T) {
	files, err := filepath.Glob("testdata/kafka-4.4.0/*.txnindex")
	if err != nil || len(files) == 0 {
		t.Fatalf("no indexes: %v", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := parseTxnIndex(name, raw, 0)
		if err != nil || len(entries) == 0 {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
		var got []byte
		for _, e := range entries {
			got = appendTxnEntry(got, e)
		}
		if !bytes.Equal(got, raw) {
			t.Errorf("%s: written again as\n%x\nwas\n%x", name, got, raw)
		}
	}
}

func TestCorruptSnapshots(t *testing.T) {
	good := appendSnapshot(nil, []producerEntry{emptyProducerEntry(5)})
	if _, err := parseSnapshot(good); err != nil {
		t.Fatalf("good snapshot: %v", err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		if _, err := parseSnapshot(bad); !errors.Is(err, errCorruptSnapshot) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := parseSnapshot(good[:i]); !errors.Is(err, errCorruptSnapshot) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(appendSnapshot(nil, []producerEntry{emptyProducerEntry(5)}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := parseSnapshot(raw)
		if err != nil {
			return
		}
		again, err := parseSnapshot(appendSnapshot(nil, entries))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(entries) {
			t.Fatalf("%v: %v, was %v", err, again, entries)
		}
	})
}

func TestTxnIndex(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	const name = "d/00000000000000000010.txnindex"
	open := func() *txnIndex {
		t.Helper()
		x, err := openTxnIndex(fs, name, 10)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := open()
	if _, err := fs.Stat(name); !isNotExist(err) {
		t.Errorf("an index without entries has a file: %v", err)
	}
	all := []AbortedTxn{{1, 10, 20, 15}, {2, 15, 30, 25}, {3, 25, 40, 41}}
	for _, e := range all {
		if err := x.append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.append(AbortedTxn{4, 1, 40, 41}); err == nil {
		t.Error("last offsets may stand still")
	}
	if err := errors.Join(x.flush(), x.close()); err != nil {
		t.Fatal(err)
	}
	x = open()
	f := func(from, to int64, want string) {
		t.Helper()
		got, done := x.collect(nil, from, to)
		if s := fmt.Sprint(got, done); s != want {
			t.Errorf("collect [%d,%d): %s, want %s", from, to, s, want)
		}
	}
	f(0, 100, fmt.Sprint(all, false))
	f(21, 100, fmt.Sprint(all[1:], false))
	f(0, 15, fmt.Sprint(all[:1], true))
	f(0, 25, fmt.Sprint(all[:2], true))
	f(41, 100, "[] false")
	kept := x.entries
	if err := x.truncateTo(30); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(kept) != fmt.Sprint(all) {
		t.Error("truncation changed what a reader holds")
	}
	if err := x.append(AbortedTxn{9, 29, 31, 29}); err != nil {
		t.Fatal(err)
	}
	x = open()
	f(0, 100, "[{1 10 20 15} {9 29 31 29}] false")
	if err := x.reset(); err != nil {
		t.Fatal(err)
	}
	x = open()
	f(0, 100, "[] false")

	var corrupt *corruptTxnIndexError
	for _, raw := range [][]byte{make([]byte, 33), appendTxnEntry(nil, AbortedTxn{1, 1, 9, 1}), bytes.Repeat([]byte{1}, txnEntrySize)} {
		if err := fs.WriteFile(name, raw); err != nil {
			t.Fatal(err)
		}
		x, err := openTxnIndex(fs, name, 10)
		if !errors.As(err, &corrupt) {
			t.Errorf("%x: %v", raw, err)
			continue
		}
		if err := x.reset(); err != nil {
			t.Fatal(err)
		}
		open()
	}
}

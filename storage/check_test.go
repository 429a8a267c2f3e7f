package storage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// mustCheck demands that Check finds nothing wrong.
func mustCheck(t testing.TB, fs vfs.FS, dir string) {
	t.Helper()
	problems, err := Check(fs, dir)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	for _, p := range problems {
		t.Errorf("check: %s", p)
	}
	if len(problems) > 0 {
		t.FailNow()
	}
}

// TestCheckFinds plants damage of each kind and demands that Check names it.
func TestCheckFinds(t *testing.T) {
	f := func(name, file string, damage func([]byte) []byte) {
		t.Helper()
		d := newTestDisk(t)
		d.cfg.IndexIntervalBytes, d.cfg.SegmentBytes = 100, 5000
		m := d.open()
		l := mustCreate(t, m)
		for i := range 40 {
			mustAppend(t, l, makeBatch(3, 100, startTime().UnixMilli()+int64(i)))
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, d.fs, d.dir)
		path := filepath.Join(d.dir, file)
		data, err := d.fs.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.fs.WriteFile(path, damage(data)); err != nil {
			t.Fatal(err)
		}
		if problems, err := Check(d.fs, d.dir); err != nil || len(problems) == 0 {
			t.Errorf("%s: nothing found (%v)", name, err)
		}
	}
	flip := func(i int) func([]byte) []byte {
		return func(b []byte) []byte { b[i] ^= 1; return b }
	}
	first := "t-0/" + segmentName(0, "")
	f("crc", first+logSuffix, flip(100))
	f("offset", first+logSuffix, flip(7))
	f("length", first+logSuffix, flip(9))
	f("torn", first+logSuffix, func(b []byte) []byte { return b[:len(b)-1] })
	f("index order", first+indexSuffix, flip(8))
	f("index position", first+indexSuffix, flip(7))
	f("index size", first+indexSuffix, func(b []byte) []byte { return b[:len(b)-1] })
	f("time index", first+timeIndexSuffix, flip(0))
	f("time index end", first+timeIndexSuffix, func(b []byte) []byte { return b[:len(b)-timeIndexEntrySize] })
	f("epochs", "t-0/"+epochCheckpointFile, func([]byte) []byte { return []byte("0\n1\n7 0\n") })
	f("epochs text", "t-0/"+epochCheckpointFile, func([]byte) []byte { return []byte("0\n2\n7 0\n") })
	f("recovery point", recoveryPointFile, func([]byte) []byte { return []byte("0\n1\nt 0 100000\n") })
	f("snapshot", "t-0/"+segmentName(120, snapshotSuffix), flip(3))
}

// TestCheckKafka: Check finds nothing wrong in a directory that Apache Kafka wrote and closed.
func TestCheckKafka(t *testing.T) {
	dir := os.Getenv("KAJA_KAFKA_DIR") // a copy of a directory that Apache Kafka left; the acceptance run has one
	if dir == "" {
		t.Skip("KAJA_KAFKA_DIR names no directory of Apache Kafka")
	}
	mustCheck(t, vfs.OS(), dir)
}

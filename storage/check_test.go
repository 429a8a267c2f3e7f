package storage

import (
	"bytes"
	"fmt"
	"path"
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
		path := path.Join(d.dir, file)
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

// kafkaDisk is a copy of a directory that Apache Kafka 4.4.0 wrote and closed (testdata/kafka): aborted transactions and one left open,
// a compacted log, one whose start was moved, LogAppendTime.
func kafkaDisk(t *testing.T) *testDisk {
	t.Helper()
	d := newTestDisk(t)
	var copyDir func(from, to string)
	copyDir = func(from, to string) {
		if err := d.fs.MkdirAll(to); err != nil {
			t.Fatal(err)
		}
		entries, err := vfs.OS().ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				copyDir(path.Join(from, e.Name()), path.Join(to, e.Name()))
				continue
			}
			data, err := vfs.OS().ReadFile(path.Join(from, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.fs.WriteFile(path.Join(to, e.Name()), data); err != nil {
				t.Fatal(err)
			}
		}
	}
	copyDir("testdata/kafka", d.dir)
	return d
}

// TestKafkaDirectory: Check finds nothing wrong in Kafka's directory; a start takes it over with its ids and ends, after a clean stop and
// without; indexes made anew are byte for byte Kafka's; a stop hands it back.
func TestKafkaDirectory(t *testing.T) {
	for _, clean := range []bool{true, false} {
		d := kafkaDisk(t)
		d.cfg.RetentionMs, d.cfg.ProducerIDExpirationMs = -1, 1<<40
		mustCheck(t, d.fs, d.dir)
		if !clean {
			if err := d.fs.Remove(path.Join(d.dir, cleanShutdownFile)); err != nil {
				t.Fatal(err)
			}
			if err := d.fs.Remove(path.Join(d.dir, recoveryPointFile)); err != nil {
				t.Fatal(err)
			}
		}
		o := d.options()
		o.ClusterID = "m1AT_vSmR9qSFGFU5mkFWg"
		m, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		ends := map[string][2]int64{}
		for _, l := range m.Logs() {
			ends[l.name()] = [2]int64{l.LogStartOffset(), l.LogEndOffset()}
		}
		if got, want := fmt.Sprint(ends), "map[appendtime-0:[0 40] compacted-0:[0 2401] ledger-0:[0 98] trimmed-0:[17 40]]"; got != want {
			t.Fatalf("clean %v: offsets %s, want %s", clean, got, want)
		}
		for _, l := range m.Logs() {
			if l.key.ID == (TopicID{}) {
				t.Errorf("%s has no id", l.name())
			}
			n := len(readAll(t, l, 4096))
			if l.name() == "ledger-0" {
				checkLedger(t, l)
			}
			if int64(n) > l.Size() || n == 0 {
				t.Errorf("%s: read %d of %d bytes", l.name(), n, l.Size())
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		sameIndexes(t, d)
		mustCheck(t, d.fs, d.dir)
	}
}

func checkLedger(t *testing.T, l *Log) {
	t.Helper()
	first, ok := l.FirstUnstableOffset()
	aborted, err := l.AbortedTxns(0, l.LogEndOffset())
	if err != nil || !ok || first >= l.LogEndOffset() || len(aborted) == 0 {
		t.Fatalf("ledger: first unstable offset %d, %v; aborted %v, %v", first, ok, aborted, err)
	}
}

// sameIndexes compares index files with Kafka's.
func sameIndexes(t *testing.T, d *testDisk) {
	t.Helper()
	for _, dir := range []string{"appendtime-0", "compacted-0", "ledger-0", "trimmed-0"} {
		entries, err := vfs.OS().ReadDir("testdata/kafka/" + dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			switch path.Ext(e.Name()) {
			case indexSuffix, timeIndexSuffix, txnIndexSuffix, logSuffix:
				want, err1 := vfs.OS().ReadFile(path.Join("testdata/kafka", dir, e.Name()))
				got, err2 := d.fs.ReadFile(path.Join(d.dir, dir, e.Name()))
				if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
					t.Errorf("%s/%s is not as Kafka has it (%v, %v)", dir, e.Name(), err1, err2)
				}
			}
		}
	}
}

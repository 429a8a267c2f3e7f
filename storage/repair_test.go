package storage

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// filledDisk is a directory with a log of several segments, after a clean stop or a kill.
func filledDisk(t testing.TB, clean bool) (*testDisk, []byte) {
	t.Helper()
	d := newTestDisk(t)
	d.cfg.SegmentBytes, d.cfg.IndexIntervalBytes = 4000, 300
	m := d.open()
	l := mustCreate(t, m)
	var want []byte
	for i := range 60 {
		data := makeBatch(2, 100, startTime().UnixMilli()+int64(i)*10)
		mustAppend(t, l, data)
		want = append(want, data...)
	}
	if !clean {
		m.env.wg.Wait()
		return d.crash(), want
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return d, want
}

func (d *testDisk) edit(name string, change func([]byte) []byte) {
	d.t.Helper()
	p := path.Join(d.dir, "t-0", name)
	data, err := d.fs.ReadFile(p)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.fs.WriteFile(p, change(data)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *testDisk) remove(name string) {
	d.t.Helper()
	if err := d.fs.Remove(path.Join(d.dir, "t-0", name)); err != nil {
		d.t.Fatal(err)
	}
}

// files lists the names in the partition's directory that end so.
func (d *testDisk) files(suffix string) (names []string) {
	d.t.Helper()
	entries, err := d.fs.ReadDir(path.Join(d.dir, "t-0"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		if path.Ext(e.Name()) == suffix {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestRepair damages a directory and demands that a start repairs it, with all batches up to wantOffsets.
func TestRepair(t *testing.T) {
	f := func(name string, clean bool, wantOffsets int64, damage func(d *testDisk)) {
		t.Helper()
		d, want := filledDisk(t, clean)
		damage(d)
		m := d.open()
		l := mustCreate(t, m)
		if l.LogEndOffset() != wantOffsets {
			t.Fatalf("%s: log ends at %d, want %d", name, l.LogEndOffset(), wantOffsets)
		}
		got := readAll(t, l, 900)
		if !bytes.HasPrefix(want, got) {
			t.Fatalf("%s: other bytes", name)
		}
		for ts := range int64(60) { // the time index works, too
			at, err := l.OffsetForTimestamp(startTime().UnixMilli()+ts*10, math.MaxInt64)
			if err != nil || ts*2 < wantOffsets && at.Offset != ts*2 {
				t.Fatalf("%s: timestamp %d: %+v, %v", name, ts*10, at, err)
			}
		}
		mustAppend(t, l, makeBatch(1, 10, startTime().UnixMilli()+1000))
		if err := m.Close(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mustCheck(t, d.fs, d.dir)
	}
	for _, clean := range []bool{true, false} {
		f("nothing", clean, 120, func(*testDisk) {})
		f("missing index", clean, 120, func(d *testDisk) { d.remove(d.files(indexSuffix)[1]) })
		f("missing time index", clean, 120, func(d *testDisk) { d.remove(d.files(timeIndexSuffix)[0]) })
		f("all indexes missing", clean, 120, func(d *testDisk) {
			for _, n := range append(d.files(indexSuffix), d.files(timeIndexSuffix)...) {
				d.remove(n)
			}
		})
		f("index of odd size", clean, 120, func(d *testDisk) {
			d.edit(d.files(indexSuffix)[1], func(b []byte) []byte { return b[:len(b)-3] })
		})
		f("index of zeros", clean, 120, func(d *testDisk) {
			d.edit(d.files(indexSuffix)[1], func(b []byte) []byte { return make([]byte, 1000*indexEntrySize) })
		})
		f("time index of zeros", clean, 120, func(d *testDisk) {
			d.edit(d.files(timeIndexSuffix)[1], func(b []byte) []byte { return make([]byte, 1000*timeIndexEntrySize) })
		})
		f("orphaned index", clean, 120, func(d *testDisk) {
			if err := d.fs.WriteFile("/data/t-0/"+segmentName(7, indexSuffix), []byte("12345678")); err != nil {
				t.Fatal(err)
			}
		})
		f("left-over files", clean, 120, func(d *testDisk) {
			for _, n := range []string{segmentName(3, logSuffix+deletedSuffix), segmentName(3, logSuffix+cleanedSuffix), epochCheckpointFile + tmpSuffix} {
				if err := d.fs.WriteFile("/data/t-0/"+n, []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
		})
		f("broken epoch file", clean, 120, func(d *testDisk) {
			d.edit(epochCheckpointFile, func([]byte) []byte { return []byte("0\n5\n") })
		})
		f("broken snapshot", clean, 120, func(d *testDisk) {
			n := d.files(snapshotSuffix)
			d.edit(n[len(n)-1], func(b []byte) []byte { b[5] ^= 1; return b })
		})
		f("no checkpoints", clean, 120, func(d *testDisk) {
			for _, n := range []string{recoveryPointFile, logStartFile, highWatermarkFile} {
				if err := d.fs.Remove(path.Join(d.dir, n)); err != nil {
					t.Fatal(err)
				}
			}
		})
		f("broken checkpoint", clean, 120, func(d *testDisk) {
			if err := d.fs.WriteFile(path.Join(d.dir, recoveryPointFile), []byte("garbage")); err != nil {
				t.Fatal(err)
			}
		})
	}
	flip := func(suffix string, segment, entry int) {
		for bit := range entry * 8 {
			f("flipped bit in the last entry of "+suffix, true, 120, func(d *testDisk) {
				names := d.files(suffix)
				d.edit(names[(segment+len(names))%len(names)], func(b []byte) []byte { b[len(b)-entry+bit/8] ^= 1 << (bit % 8); return b })
			})
		}
	}
	for _, segment := range []int{1, -1} { // an ended segment, and the active one
		flip(indexSuffix, segment, indexEntrySize)
		flip(timeIndexSuffix, segment, timeIndexEntrySize)
	}
	last := func(d *testDisk) string { n := d.files(logSuffix); return n[len(n)-1] }
	f("torn tail", false, 118, func(d *testDisk) { d.edit(last(d), func(b []byte) []byte { return b[:len(b)-5] }) })
	f("garbage at the end", false, 120, func(d *testDisk) {
		d.edit(last(d), func(b []byte) []byte { return append(b, bytes.Repeat([]byte{7}, 100)...) })
	})
	f("zeros at the end", false, 120, func(d *testDisk) {
		d.edit(last(d), func(b []byte) []byte { return append(b, make([]byte, 5000)...) })
	})
	f("flipped bit in the last batch", false, 118, func(d *testDisk) {
		d.edit(last(d), func(b []byte) []byte { b[len(b)-1] ^= 4; return b })
	})
	f("empty last segment", false, 120, func(d *testDisk) {
		for _, s := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
			if err := d.fs.WriteFile("/data/t-0/"+segmentName(120, s), nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDamagedTail: a log whose last batch was damaged after a clean stop can be read up to it. The damage is named once
// in the process's log, and nothing is appended behind it.
func TestDamagedTail(t *testing.T) {
	d, want := filledDisk(t, true)
	names := d.files(logSuffix)
	one := len(makeBatch(2, 100, startTime().UnixMilli()))
	want = want[:len(want)-one]
	d.edit(names[len(names)-1], func(b []byte) []byte { return append(b[:len(b)-one], bytes.Repeat([]byte{0xd0}, one)...) })
	var out bytes.Buffer
	o := d.options()
	o.Log = zerolog.New(zerolog.SyncWriter(&out))
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	l := mustCreate(t, m)
	if got := readBelow(t, l, 118, 900); !bytes.Equal(got, want) {
		t.Fatalf("%d bytes can be read, %d are sound", len(got), len(want))
	}
	for range 2 {
		_, err := l.Append(makeBatch(1, 10, startTime().UnixMilli()+1000), AppendOptions{LeaderEpoch: 1, Version: 11})
		if !errors.Is(err, kerr.CorruptMessage) {
			t.Fatalf("append behind damaged bytes: %v", err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "damaged bytes"); n != 1 {
		t.Fatalf("named %d times:\n%s", n, out.String())
	}
}

// TestHalfCreated: a directory without segments, without partition.metadata or with an empty one is a log again.
func TestHalfCreated(t *testing.T) {
	for i, files := range [][]string{{}, {partitionMetadataFile}, {segmentName(0, logSuffix)}} {
		d := newTestDisk(t)
		if err := d.open().Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.fs.MkdirAll("/data/t-0"); err != nil {
			t.Fatal(err)
		}
		for _, n := range files {
			if err := d.fs.WriteFile("/data/t-0/"+n, nil); err != nil {
				t.Fatal(err)
			}
		}
		m := d.open()
		l := mustCreate(t, m)
		mustAppend(t, l, makeBatch(1, 10, 0))
		if m.Get(testKey().ID, 0) != l {
			t.Fatalf("case %d: not found by its id", i)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, d.fs, d.dir)
	}
}

// TestHalfDeleted: a -delete directory goes with the next start, also when it is full of things.
func TestHalfDeleted(t *testing.T) {
	d, _ := filledDisk(t, true)
	if err := d.fs.Rename("/data/t-0", "/data/t-0.0123456789abcdef0123456789abcdef-delete"); err != nil {
		t.Fatal(err)
	}
	m := d.open()
	if n := len(m.Logs()); n != 0 {
		t.Fatalf("%d logs", n)
	}
	m.DeleteFiles()
	if _, err := d.fs.Stat("/data/t-0.0123456789abcdef0123456789abcdef-delete"); !isNotExist(err) {
		t.Fatalf("still there: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSwap: cleaned segments that had been renamed to .swap take the place of the old ones.
func TestSwap(t *testing.T) {
	d, want := filledDisk(t, true)
	logs := d.files(logSuffix)
	base, _, _ := parseSegmentName(logs[1])
	data, err := d.fs.ReadFile("/data/t-0/" + logs[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := d.fs.WriteFile("/data/t-0/"+segmentName(base, logSuffix+swapSuffix), data); err != nil {
		t.Fatal(err)
	}
	m := d.open()
	if got := readAll(t, mustCreate(t, m), 5000); !bytes.Equal(got, want) {
		t.Fatal("other bytes")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, d.fs, d.dir)
}

// TestLostAfterCleanStop takes bytes from a log that was closed in good order: its end is what is there, and the loss is told.
func TestLostAfterCleanStop(t *testing.T) {
	f := func(name string, wantEnd int64, damage func(d *testDisk, last string)) {
		t.Helper()
		d, want := filledDisk(t, true)
		logs := d.files(logSuffix)
		damage(d, logs[len(logs)-1])
		var out bytes.Buffer
		o := d.options()
		o.Log = zerolog.New(&out)
		m, err := Open(o)
		must(t, err)
		l := mustCreate(t, m)
		if l.LogEndOffset() != wantEnd {
			t.Errorf("%s: log ends at %d, want %d", name, l.LogEndOffset(), wantEnd)
		}
		if told := strings.Contains(out.String(), "lost records"); told != (wantEnd < 120) {
			t.Errorf("%s: told %v: %s", name, told, out.String())
		}
		if got := readAll(t, l, 900); !bytes.Equal(got, want[:len(got)]) || (len(got) == 0) != (wantEnd == 0) {
			t.Errorf("%s: other bytes", name)
		}
		mustAppend(t, l, makeBatch(1, 10, startTime().UnixMilli()+1000))
		if l.LogEndOffset() != wantEnd+1 {
			t.Errorf("%s: appended up to %d", name, l.LogEndOffset())
		}
		must(t, m.Close())
		mustCheck(t, d.fs, d.dir)
	}
	f("nothing", 120, func(*testDisk, string) {})
	f("last segment deleted", 112, func(d *testDisk, last string) { d.remove(last) })
	f("last segment and indexes deleted", 112, func(d *testDisk, last string) {
		for _, s := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
			d.remove(segmentName(112, s))
		}
	})
	f("last segment emptied", 112, func(d *testDisk, last string) { d.edit(last, func([]byte) []byte { return nil }) })
	f("last batch cut", 118, func(d *testDisk, last string) { d.edit(last, func(b []byte) []byte { return b[:len(b)/4*3] }) })
	f("bytes added", 120, func(d *testDisk, last string) {
		d.edit(last, func(b []byte) []byte { return append(b, bytes.Repeat([]byte{0xd0}, 100)...) })
	})
	f("last batch torn", 118, func(d *testDisk, last string) { d.edit(last, func(b []byte) []byte { return b[:len(b)-1] }) })
	f("all deleted", 0, func(d *testDisk, _ string) {
		for _, n := range d.files(logSuffix) {
			d.remove(n)
		}
	})
}

// TestSwapOrphans: Kafka renames the .log of a cleaned segment first, so that a crash leaves its indexes with .swap, which are the segment's;
// beside an index that is there, they belong to a pass that had not begun its swap.
func TestSwapOrphans(t *testing.T) {
	f := func(begun bool) {
		t.Helper()
		d, want := filledDisk(t, true)
		base, _, _ := parseSegmentName(d.files(logSuffix)[1])
		name := func(suffix string) string { return "/data/t-0/" + segmentName(base, suffix) }
		txn := appendTxnEntry(nil, AbortedTxn{1, base, base + 1, base + 2})
		must(t, d.fs.WriteFile(name(txnIndexSuffix+swapSuffix), txn))
		for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
			data, err := d.fs.ReadFile(name(suffix))
			must(t, err)
			must(t, d.fs.WriteFile(name(suffix+swapSuffix), data))
			if begun {
				must(t, d.fs.Remove(name(suffix)))
			}
		}
		m := d.open()
		l := mustCreate(t, m)
		if got := readAll(t, l, 5000); !bytes.Equal(got, want) {
			t.Error("other bytes")
		}
		txns, err := l.AbortedTxns(0, l.LogEndOffset())
		if must(t, err); (len(txns) == 1) != begun {
			t.Errorf("begun %v: aborted transactions %v", begun, txns)
		}
		if left := d.files(swapSuffix); len(left) > 0 {
			t.Errorf("begun %v: %v is left", begun, left)
		}
		must(t, m.Close())
		mustCheck(t, d.fs, d.dir)
	}
	f(true)
	f(false)
}

// FuzzRecovery starts on any bytes as a segment: never a crash, only whole valid batches stay, and Check finds nothing after a clean stop.
func FuzzRecovery(f *testing.F) {
	one := makeBatch(2, 10, 1000)
	f.Add(one)
	f.Add(append(bytes.Clone(one), one...))
	f.Add(one[:70])
	f.Add(make([]byte, 200))
	marker := batch.AppendMarker(nil, 5, 0, batch.Marker{})
	f.Add(marker)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, fix := range []bool{false, true} {
			in := bytes.Clone(data)
			if fix && len(in) >= batch.HeaderSize { // deeper: a batch whose checksum is right
				b := batch.Batch(in)
				b.SetLength(int32(len(in) - batch.Overhead))
				b.SetMagic(batch.Magic)
				b.RenewCRC()
			}
			d := newTestDisk(t)
			if err := d.fs.MkdirAll("/data/t-0"); err != nil {
				t.Fatal(err)
			}
			if err := d.fs.WriteFile("/data/t-0/"+segmentName(0, logSuffix), in); err != nil {
				t.Fatal(err)
			}
			m := d.open()
			l := mustCreate(t, m)
			kept := readAll(t, l, 1000)
			if !bytes.HasPrefix(in, kept) {
				t.Fatal("kept what was not there")
			}
			epoch, _ := l.LatestEpoch()
			if _, err := l.Append(makeBatch(1, 1, 2000), AppendOptions{LeaderEpoch: max(epoch, 1)}); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			mustCheck(t, d.fs, d.dir)
		}
	})
}

// TestFileSystems runs append, roll, retention, restart on file systems of their own: ext4, tmpfs and overlayfs mounted by the test as
// root, else on what TempDir lies on.
func TestFileSystems(t *testing.T) {
	f := func(name, dir string) {
		t.Run(name, func(t *testing.T) {
			d := newTestDisk(t)
			d.fs, d.dir = vfs.OS(), path.Join(dir, "data")
			d.cfg.SegmentBytes, d.cfg.RetentionBytes = 20_000, 50_000
			m := d.open()
			l := mustCreate(t, m)
			for i := range 200 {
				mustAppend(t, l, makeBatch(3, 200, startTime().UnixMilli()+int64(i)))
				if i%50 == 0 {
					if err := l.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			probeNoWait(t, l)
			m.EnforceRetention()
			d.clk.Advance(2 * 60e9)
			m.DeleteFiles()
			want := readAll(t, l, 3000)
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			mustCheck(t, d.fs, d.dir)
			m = d.open()
			if got := readAll(t, mustCreate(t, m), 3000); !bytes.Equal(got, want) {
				t.Fatal("other bytes after a restart")
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
	f("here", t.TempDir())
	if os.Geteuid() != 0 {
		t.Log("not root: ext4, tmpfs and overlayfs are not mounted")
		return
	}
	for _, kind := range []string{"tmpfs", "ext4", "overlay"} {
		dir, err := mountForTest(t, kind)
		if err != nil {
			t.Logf("%s cannot be mounted here: %v", kind, err)
			continue
		}
		f(kind, dir)
	}
}

// probeNoWait: a read that must not wait gives the bytes, or says why not.
func probeNoWait(t *testing.T, l *Log) {
	t.Helper()
	res, err := l.Read(ReadOptions{Offset: l.LogEndOffset() - 1, MaxBytes: 1000, UpTo: math.MaxInt64, MinOne: true})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Range.Release()
	a, b := make([]byte, res.Range.Len()), make([]byte, res.Range.Len())
	if _, err := res.Range.ReadAt(a, 0); err != nil {
		t.Fatal(err)
	}
	n, err := res.Range.ReadNoWait(b, 0)
	switch {
	case errors.Is(err, vfs.ErrWouldBlock), errors.Is(err, vfs.ErrNoWaitUnsupported):
		t.Log(err)
	case err != nil || n != len(b) || !bytes.Equal(a, b):
		t.Fatalf("read without waiting: %d bytes, %v", n, err)
	}
	if _, _, ok := res.Range.Fd(); !ok || !res.Range.Hot() {
		t.Fatalf("descriptor %v, hot %v", ok, res.Range.Hot())
	}
}

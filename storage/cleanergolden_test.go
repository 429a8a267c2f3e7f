package storage

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// goldenRound is a pass that Apache Kafka 4.4.0 made: a log's files before and after it, and what decided about it.
type goldenRound struct {
	in, out                       map[string][]byte
	cleaned, next, retention, now int64
}

// goldenRounds reads a story from testdata/cleaner: N/in, N/out and N/pass for N from 1.
func goldenRounds(t *testing.T, name string) []*goldenRound {
	t.Helper()
	raw, err := vfs.OS().ReadFile("testdata/cleaner/" + name + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var rounds []*goldenRound
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		n := int(f.Name[0] - '0')
		for len(rounds) < n {
			rounds = append(rounds, &goldenRound{in: map[string][]byte{}, out: map[string][]byte{}})
		}
		g := rounds[n-1]
		switch dir, base := path.Split(f.Name[2:]); dir {
		case "in/":
			g.in[base] = data
		case "out/":
			g.out[base] = data
		default:
			if _, err := fmt.Sscanf(string(data), "cleaned %d\nnext %d\nretention %d\nnow %d", &g.cleaned, &g.next, &g.retention, &g.now); err != nil {
				t.Fatal(err)
			}
		}
	}
	return rounds
}

// describeLog renders a log's batches and records; bytes that compression decides are left out.
func describeLog(t testing.TB, data []byte) string {
	t.Helper()
	var w strings.Builder
	for b := range batch.All(data) {
		fmt.Fprintf(&w, "%d-%d epoch %d attributes %#x time %d max %d producer %d/%d/%d count %d crc %v\n", b.BaseOffset(), b.LastOffset(), b.LeaderEpoch(),
			b.Attributes(), b.BaseTimestamp(), b.MaxTimestamp(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.Count(), b.ValidCRC())
		var r batch.Reader
		if err := r.Reset(b, batch.NoLimit); err != nil {
			t.Fatal(err)
		}
		var rec batch.Record
		for r.Next(&rec) {
			fmt.Fprintf(&w, "  %d time %d %q=%q null %v headers %d %q\n", rec.Offset, rec.Timestamp, rec.Key, rec.Value, rec.Value == nil, rec.HeaderCount, rec.RawHeaders)
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		r.Close()
	}
	return w.String()
}

// goldenDisk is a disk with a round's input, left by a clean stop.
func goldenDisk(t *testing.T, g *goldenRound) (*testDisk, *Manager, *Log) {
	t.Helper()
	d := newTestDisk(t)
	d.cfg.CleanupDelete, d.cfg.CleanupCompact = false, true
	d.cfg.DeleteRetentionMs, d.cfg.IndexIntervalBytes, d.cfg.RetentionMs = g.retention, 300, -1
	d.cfg.MaxCompactionLagMs, d.cfg.ProducerIDExpirationMs = 1<<63-1, 1<<40
	d.clk.SetWall(time.UnixMilli(g.now))
	dir := path.Join(d.dir, "t-0")
	if err := d.fs.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, data := range g.in {
		if err := d.fs.WriteFile(path.Join(dir, name), data); err != nil {
			t.Fatal(err)
		}
	}
	if g.cleaned >= 0 {
		if err := d.fs.WriteFile(path.Join(d.dir, cleanerCheckpointFile), formatOffsetCheckpoint(map[topicPartition]int64{{"t", 0}: g.cleaned})); err != nil {
			t.Fatal(err)
		}
	}
	end := int64(0)
	for name, data := range g.in {
		for b := range batch.All(data) {
			if strings.HasSuffix(name, logSuffix) {
				end = max(end, b.NextOffset())
			}
		}
	}
	err := d.fs.WriteFile(path.Join(d.dir, recoveryPointFile), formatOffsetCheckpoint(map[topicPartition]int64{{"t", 0}: end}))
	if err == nil {
		err = writeCleanShutdown(d.fs, d.dir, cleanShutdown{BrokerEpoch: noBrokerEpoch}) // else recovery makes the index of aborted transactions anew
	}
	if err != nil {
		t.Fatal(err)
	}
	m := d.open()
	l := mustCreate(t, m)
	l.OnHighWatermark(l.LogEndOffset())
	return d, m, l
}

// TestCleanerGolden: a pass leaves what Apache Kafka 4.4.0 leaves of the same log: offsets, headers, delete horizons, indexes and
// aborted transactions, byte for byte where nothing is compressed.
func TestCleanerGolden(t *testing.T) {
	for _, name := range []string{"plain", "gzip", "lz4", "snappy", "zstd", "appendtime", "idem", "txn"} {
		for i, g := range goldenRounds(t, name) {
			t.Run(fmt.Sprintf("%s/%d", name, i+1), func(t *testing.T) {
				d, m, l := goldenDisk(t, g)
				stats, err := m.CleanNow(testKey(), CleanOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if next := max(l.cleanPoint.Load(), 0); next != g.next {
					t.Errorf("next dirty offset %d, Kafka's is %d (%+v)", next, g.next, stats)
				}
				compareGolden(t, d, g, name == "plain" || name == "appendtime" || name == "idem" || name == "txn")
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				mustCheck(t, d.fs, d.dir)
			})
		}
	}
}

func compareGolden(t *testing.T, d *testDisk, g *goldenRound, exact bool) {
	t.Helper()
	var names []string
	for name := range g.out {
		names = append(names, name)
	}
	entries, err := d.fs.ReadDir(path.Join(d.dir, "t-0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, suffix, ok := parseSegmentName(e.Name()); ok && suffix == logSuffix && g.out[e.Name()] == nil {
			t.Errorf("%s is there, in Kafka's directory it is not", e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range names {
		got, err := d.fs.ReadFile(path.Join(d.dir, "t-0", name))
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		want := g.out[name]
		if strings.HasSuffix(name, logSuffix) {
			if got, want := describeLog(t, got), describeLog(t, want); got != want {
				t.Errorf("%s:\n%s", name, firstDifference(got, want))
			}
		}
		if (exact || strings.HasSuffix(name, txnIndexSuffix)) && !bytes.Equal(got, want) {
			t.Errorf("%s differs: %d bytes, Kafka's has %d\n got %x\nwant %x", name, len(got), len(want), got, want)
		}
	}
}

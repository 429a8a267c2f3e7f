package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// plain builds a batch of n records k0=v0 … with ascending times.
func plain(t testing.TB, n int, change func(*Options)) Batch {
	t.Helper()
	o := PlainOptions(0, 0)
	if change != nil {
		change(&o)
	}
	b := NewBuilder(nil, o)
	for i := range n {
		b.Append(o.BaseOffset+int64(i), 1_700_000_000_000+int64(i), fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "v%d", i))
	}
	raw, err := b.Finish()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return raw
}

func TestHeaderFields(t *testing.T) {
	b := plain(t, 3, func(o *Options) {
		o.BaseOffset, o.LeaderEpoch = 100, 7
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 42, 3, 1<<31-2, true
	})
	got := fmt.Sprint(b.BaseOffset(), b.LastOffset(), b.NextOffset(), b.LeaderEpoch(), b.Magic(), b.Count(), b.Codec(),
		b.BaseTimestamp(), b.MaxTimestamp(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.LastSequence(),
		b.IsTransactional(), b.IsControl(), b.IsLogAppendTime(), b.HasProducerID(), b.Size() == len(b), b.ValidCRC())
	want := "100 102 103 7 2 3 uncompressed 1700000000000 1700000000002 42 3 2147483646 0 true false false true true true"
	if got != want {
		t.Errorf("fields\n got %s\nwant %s", got, want)
	}
	b.SetLastOffset(1000)
	b.SetLeaderEpoch(9)
	if b.BaseOffset() != 998 || b.LeaderEpoch() != 9 || !b.ValidCRC() {
		t.Errorf("base offset %d, epoch %d, valid %v: want 998 9 true", b.BaseOffset(), b.LeaderEpoch(), b.ValidCRC())
	}
	b.SetMaxTimestamp(true, 5)
	if !b.IsLogAppendTime() || b.MaxTimestamp() != 5 || !b.ValidCRC() {
		t.Errorf("log append time %v, max %d, valid %v", b.IsLogAppendTime(), b.MaxTimestamp(), b.ValidCRC())
	}
	b.SetMaxTimestamp(false, 6)
	if b.IsLogAppendTime() || b.MaxTimestamp() != 6 || !b.ValidCRC() {
		t.Errorf("log append time %v, max %d, valid %v", b.IsLogAppendTime(), b.MaxTimestamp(), b.ValidCRC())
	}
	b[HeaderSize]++
	if b.ValidCRC() {
		t.Error("a changed record goes unnoticed")
	}
}

func TestNextTellsEndTailAndCorruption(t *testing.T) {
	one := plain(t, 1, nil)
	f := func(name string, blob []byte, wantBatches int, wantErr string) {
		t.Helper()
		n := 0
		for {
			b, rest, err := Next(blob)
			if err != nil || b == nil {
				if got := fmt.Sprint(err); got != wantErr || n != wantBatches {
					t.Errorf("%s: %d batches, error %s; want %d, %s", name, n, got, wantBatches, wantErr)
				}
				return
			}
			blob = rest
			n++
		}
	}
	patched := func(at int, v uint32) []byte {
		c := bytes.Clone(one)
		binary.BigEndian.PutUint32(c[at:], v)
		return c
	}
	magic3 := bytes.Clone(one)
	magic3[offMagic] = 3
	f("nothing", nil, 0, "<nil>")
	f("one", one, 1, "<nil>")
	f("two", append(bytes.Clone(one), one...), 2, "<nil>")
	f("tail", append(bytes.Clone(one), one[:30]...), 1, ErrTruncated.Error())
	f("short tail", append(bytes.Clone(one), one[:5]...), 1, ErrTruncated.Error())
	f("length 3", patched(offLength, 3), 0, "Record size 3 is less than the minimum record overhead (14)")
	f("length below zero", patched(offLength, 1<<31)[:13], 0, "Record size -2147483648 is less than the minimum record overhead (14)")
	f("length 20", patched(offLength, 20), 0, "Record batch is corrupted (the size 32 is smaller than the minimum allowed overhead 61)")
	f("length huge", patched(offLength, 1<<31-1), 0, ErrTruncated.Error())
	f("magic 3", magic3, 0, "Invalid magic found in record: 3")
	if got := WholeSize(append(bytes.Clone(one), one[:30]...)); got != len(one) {
		t.Errorf("whole size %d, want %d", got, len(one))
	}
}

func TestAddSequenceWraps(t *testing.T) {
	f := func(seq, delta, want int32) {
		t.Helper()
		if got := AddSequence(seq, delta); got != want {
			t.Errorf("%d+%d = %d, want %d", seq, delta, got, want)
		}
	}
	f(0, 0, 0)
	f(5, 3, 8)
	f(1<<31-1, 0, 1<<31-1)
	f(1<<31-1, 1, 0)
	f(1<<31-2, 5, 3)
}

func TestMarkers(t *testing.T) {
	f := func(m Marker) {
		t.Helper()
		b := Batch(AppendMarker(nil, 12, 3, m))
		if !b.IsControl() || !b.IsTransactional() || !b.ValidCRC() || b.Count() != 1 || b.ProducerID() != 12 || b.ProducerEpoch() != 3 || b.BaseSequence() != -1 {
			t.Errorf("marker batch %x", []byte(b))
		}
		got, found, err := MarkerOf(b)
		if err != nil || !found || got != m {
			t.Errorf("marker %+v %v %v, want %+v", got, found, err, m)
		}
	}
	f(Marker{Commit: true, CoordinatorEpoch: 5, Timestamp: 77})
	f(Marker{CoordinatorEpoch: 0, Timestamp: 1})
	if _, found, err := MarkerOf(AppendEmpty(nil, AppendMarker(nil, 1, 1, Marker{}))); found || err != nil {
		t.Errorf("marker in an empty batch: %v %v", found, err)
	}
	leader := AppendControl(nil, ControlBatch{ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch}, AppendControlKey(nil, ControlLeaderChange), []byte{0, 0})
	if _, _, err := MarkerOf(leader); !errors.Is(err, ErrInvalidRecord) {
		t.Errorf("leader change read as marker: %v", err)
	}
	for _, c := range []struct {
		key  []byte
		want ControlType
		bad  bool
	}{
		{AppendControlKey(nil, ControlKRaftVoters), ControlKRaftVoters, false},
		{[]byte{0, 9, 0, 1}, ControlCommit, false}, // later key versions only add
		{[]byte{0, 0, 0, 99}, ControlUnknown, false},
		{[]byte{0, 0, 0}, ControlUnknown, true},
		{[]byte{0xff, 0xff, 0, 0}, ControlUnknown, true},
	} {
		if got, err := ParseControlKey(c.key); got != c.want || (err != nil) != c.bad {
			t.Errorf("key %x: %d %v", c.key, got, err)
		}
	}
}

func TestEmptyKeepsProducerAndOffsets(t *testing.T) {
	b := plain(t, 3, func(o *Options) { o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Codec = 8, 2, 10, Gzip })
	e := Batch(AppendEmpty(nil, b))
	got := fmt.Sprint(len(e), e.Count(), e.BaseOffset(), e.LastOffset(), e.ProducerID(), e.BaseSequence(), e.LastSequence(), e.Codec(), e.BaseTimestamp(), e.MaxTimestamp(), e.ValidCRC())
	if want := "61 0 0 2 8 10 12 uncompressed -1 1700000000002 true"; got != want {
		t.Errorf("empty batch %s, want %s", got, want)
	}
}

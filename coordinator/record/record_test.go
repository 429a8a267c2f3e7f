package record

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata")

// all returns one empty key and value of each type.
func all() []Message {
	var list []Message
	for _, topic := range []Topic{GroupTopic, TxnTopic, ShareTopic} {
		for typ := range int16(64) {
			if key := newKey(topic, typ); key != nil {
				list = append(list, key, newValue(topic, typ))
			}
		}
	}
	return list
}

// fill sets every field to something by chance, null and empty included.
func fill(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "UnknownTags" {
				if r.IntN(4) == 0 {
					v.Field(i).Set(reflect.ValueOf([]Tag{{Tag: 100, Data: []byte("later")}, {Tag: 300, Data: []byte{}}}))
				}
				continue
			}
			fill(v.Field(i), r)
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), r)
		}
	case reflect.Slice:
		n := r.IntN(4)
		if n > 0 || r.IntN(2) == 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(v.Index(i), r)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(r.IntN(256)))
		}
	case reflect.String:
		v.SetString(strings.Repeat("ä-b", r.IntN(3)) + fmt.Sprint(r.IntN(1000)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(float64(r.IntN(1000)) / 8)
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(uint64(r.IntN(256)))
	default:
		v.SetInt(int64(r.IntN(5) - 2))
	}
}

// TestRoundTrip: what was written reads back, and writes the same bytes again, for every type and version.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, m := range all() {
		lo, hi := m.VersionRange()
		for version := lo; version <= hi; version++ {
			for range 50 {
				fill(reflect.ValueOf(m).Elem(), r)
				b := m.AppendTo(nil, version)
				got := reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message)
				if err := readBody(b, got, version); err != nil {
					t.Fatalf("%s v%d: %v\n%+v\n%x", m.RecordName(), version, err, m, b)
				}
				if again := got.AppendTo(nil, version); !bytes.Equal(again, b) {
					t.Fatalf("%s v%d: %+v reads as %+v\n%x\n%x", m.RecordName(), version, m, got, b, again)
				}
				for cut := range len(b) {
					if err := readBody(b[:cut], got, version); err == nil {
						t.Fatalf("%s v%d: the first %d of %d bytes read without an error", m.RecordName(), version, cut, len(b))
					}
				}
			}
		}
	}
}

// TestKafkaBytes: testdata/records.txt has records that the classes of Apache Kafka 4.4.0 were seen to read and to write with the same
// bytes: one line each with name, version and body. The same seed must give the same bytes here.
func TestKafkaBytes(t *testing.T) {
	var b strings.Builder
	r := rand.New(rand.NewPCG(3, 4))
	for _, m := range all() {
		lo, hi := m.VersionRange()
		for version := lo; version <= hi; version++ {
			for range 4 {
				fill(reflect.ValueOf(m).Elem(), r)
				fmt.Fprintf(&b, "%s %d %x\n", m.RecordName(), version, m.AppendTo(nil, version))
			}
		}
	}
	golden(t, "testdata/records.txt", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is written now (run with -update to see the difference)", name)
	}
}

// TestKafkaTopics reads keys and values that Apache Kafka 4.4.0 wrote to its internal topics: topic, key and value in hex a line.
func TestKafkaTopics(t *testing.T) {
	f, err := os.Open("testdata/internal_topics.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]int16{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		topic := map[string]Topic{"group": GroupTopic, "txn": TxnTopic, "share": ShareTopic}[words[0]]
		b := unhex(t, words[1])
		key, err := ReadKey(topic, b)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendKey(nil, key); !bytes.Equal(got, b) {
			t.Errorf("%+v: %x writes as %x", key, b, got)
		}
		if words[2] == "-" {
			continue
		}
		b = unhex(t, words[2])
		value, version, err := ReadValue(topic, key.APIKey(), b)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendValue(nil, value, version); !bytes.Equal(got, b) {
			t.Errorf("%+v: %x writes as %x", value, b, got)
		}
		seen[value.RecordName()] = version
	}
	if len(seen) < 3 {
		t.Errorf("only these were seen: %v", seen)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadRefuses(t *testing.T) {
	f := func(topic Topic, key, value []byte, want error) {
		t.Helper()
		k, err := ReadKey(topic, key)
		if err == nil {
			_, _, err = ReadValue(topic, k.APIKey(), value)
		}
		if !errors.Is(err, want) {
			t.Errorf("key %x value %x: %v, want %v", key, value, err, want)
		}
	}
	f(GroupTopic, nil, nil, ErrMalformed)
	f(GroupTopic, []byte{0, 99, 1}, nil, ErrUnknownType)
	f(TxnTopic, []byte{0, 1, 0, 0}, nil, ErrUnknownType)
	f(ShareTopic, []byte{0, 2, 0, 0}, nil, ErrUnknownType)
	f(GroupTopic, []byte{0, 1, 0, 9, 'g'}, nil, ErrMalformed)
	f(GroupTopic, []byte{0, 2, 0, 1, 'g'}, nil, ErrMalformed)
	f(GroupTopic, []byte{0, 2, 0, 1, 'g'}, []byte{0, 9, 0}, ErrMalformed)
	f(GroupTopic, []byte{0, 2, 0, 1, 'g'}, []byte{0xff, 0xff, 0}, ErrMalformed)
	f(GroupTopic, []byte{0, 1, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 0}, []byte{0, 3, 0}, ErrMalformed)
	f(TxnTopic, []byte{0, 0, 0, 1, 'x'}, append([]byte{0, 0}, make([]byte, 4)...), ErrMalformed)
}

func TestDefaults(t *testing.T) {
	// Kafka's schemas have "default": null here, which its generator takes for an empty default; so null itself is always written.
	v := NewConsumerGroupMemberMetadataValue()
	if v.ClassicMemberMetadata == nil || v.RebalanceTimeoutMs != -1 {
		t.Errorf("a ConsumerGroupMemberMetadataValue starts as %+v", v)
	}
	plain := v.AppendTo(nil, 0)
	v.ClassicMemberMetadata = nil
	if got := v.AppendTo(nil, 0); len(got) != len(plain)+3 {
		t.Errorf("null is written as %x, the default as %x", got, plain)
	}
}

func FuzzRead(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, topic := range []Topic{GroupTopic, TxnTopic, ShareTopic} {
		for typ := range int16(64) {
			if key := newKey(topic, typ); key != nil {
				value := newValue(topic, typ)
				fill(reflect.ValueOf(key).Elem(), r)
				fill(reflect.ValueOf(value).Elem(), r)
				_, hi := value.VersionRange()
				f.Add(int8(topic), AppendKey(nil, key), AppendValue(nil, value, hi))
			}
		}
	}
	f.Fuzz(func(t *testing.T, topic int8, key, value []byte) {
		k, err := ReadKey(Topic(topic), key)
		if err != nil {
			return
		}
		if again, err := ReadKey(Topic(topic), AppendKey(nil, k)); err != nil || !reflect.DeepEqual(again, k) {
			t.Fatalf("key %x: %+v, again %+v, %v", key, k, again, err)
		}
		v, version, err := ReadValue(Topic(topic), k.APIKey(), value)
		if err != nil {
			return
		}
		out := AppendValue(nil, v, version)
		again, _, err := ReadValue(Topic(topic), k.APIKey(), out)
		if err != nil {
			t.Fatalf("%x reads as %+v, which writes as %x: %v", value, v, out, err)
		}
		if twice := AppendValue(nil, again, version); !bytes.Equal(twice, out) {
			t.Fatalf("%x and then %x", out, twice)
		}
	})
}

package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

const contentFile = `# what the shop starts with
topics:
  - name: orders
    partitions: 3
    replicas: 1
    configs:
      cleanup.policy: [compact, delete]
      retention.ms: 3600000
    records:
      - key: a
        value: {item: book, count: 2, price: 9.5, tags: [x, "1"], gone: null, ok: true}
        headers: {source: seed, trace: !!binary AQI=}
        timestamp: 2026-01-31T12:00:00Z
      - {key: b, value: plain, partition: 2, timestamp: 1234}
      - key: a
        value: null
  - name: events
    records: &some
      - value: one
      - value: 2
  - other
  - {name: copies, partitions: 2, records: *some}
`

func contentOf(t *testing.T, file, env string) *Content {
	t.Helper()
	c, err := ParseContent(nil, "c.yaml", []byte(file))
	if err == nil {
		c, err = ParseCreateTopics(c, env)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func startWith(t *testing.T, dir string, c *Content, overrides ...string) (*Broker, error) {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: append([]string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir, "num.partitions=1"}, overrides...)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(Options{Config: cfg, FS: vfs.OS(), Clock: clock.System(), Log: zerolog.Nop(), Content: c})
	if err == nil {
		t.Cleanup(func() { _ = b.Close() })
	}
	return b, err
}

// TestContent: topics, settings and records are there when the broker serves; a restart adds nothing, to topics that changed neither.
func TestContent(t *testing.T) {
	dir := t.TempDir()
	b, err := startWith(t, dir, contentOf(t, contentFile, "orders:9:1, extra:2:1:compact\nplain"))
	if err != nil {
		t.Fatal(err)
	}
	c := kgoClient(t, b)
	admin := kadm.NewClient(c)
	ctx := testContext(t)
	check := func() {
		t.Helper()
		topics, err := admin.ListTopics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range topics.Sorted() {
			got += fmt.Sprintf("%s %d;", d.Topic, len(d.Partitions))
		}
		if want := "copies 2;events 1;extra 2;orders 3;other 1;plain 1;"; got != want {
			t.Errorf("topics %s, want %s", got, want)
		}
		ends, err := admin.ListEndOffsets(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int64{}
		ends.Each(func(o kadm.ListedOffset) { n[o.Topic] += o.Offset })
		if n["orders"] != 3 || n["events"] != 2 || n["copies"] != 2 || n["other"] != 0 {
			t.Errorf("records %v", n)
		}
	}
	check()
	configs, err := admin.DescribeTopicConfigs(ctx, "orders", "extra")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, r := range configs {
		for _, c := range r.Configs {
			values[r.Name+" "+c.Key] = c.MaybeValue()
		}
	}
	if values["orders cleanup.policy"] != "compact,delete" || values["orders retention.ms"] != "3600000" || values["extra cleanup.policy"] != "compact" {
		t.Errorf("settings %q %q %q", values["orders cleanup.policy"], values["orders retention.ms"], values["extra cleanup.policy"])
	}
	var a *kgo.Record
	for _, r := range consume(t, b, "orders", keyPartition([]byte("a"), 3), 2) {
		if r.Value != nil {
			a = r
		}
	}
	if a == nil || string(a.Value) != `{"item":"book","count":2,"price":9.5,"tags":["x","1"],"gone":null,"ok":true}` || string(a.Key) != "a" ||
		!a.Timestamp.Equal(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)) || len(a.Headers) != 2 || string(a.Headers[0].Value) != "seed" || string(a.Headers[1].Value) != "\x01\x02" {
		t.Errorf("record %+v", a)
	}
	if r := consume(t, b, "orders", 2, 1)[0]; string(r.Value) != "plain" && string(r.Key) == "b" {
		t.Errorf("record %+v", r)
	}
	if r := consume(t, b, "events", 0, 2); string(r[0].Value) != "one" || string(r[1].Value) != "2" || r[0].Key != nil {
		t.Errorf("records %+v", r)
	}
	for p := range int32(2) { // without keys in turn
		consume(t, b, "copies", p, 1)
	}
	c.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = startWith(t, dir, contentOf(t, contentFile, "extra:2:1")); err != nil {
		t.Fatal(err)
	}
	admin = kadm.NewClient(kgoClient(t, b))
	check()
}

// TestContentIsAllOrNothing: a topic that cannot be made keeps the others from being made without their records.
func TestContentIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := startWith(t, dir, contentOf(t, "topics:\n  - {name: a, records: [{value: x}]}\n  - {name: b, replicas: 3}\n", ""))
	if err == nil || err.Error() != "c.yaml:3: topic b: 3 replicas are more than there are brokers (1); write 1" {
		t.Errorf("got %v", err)
	}
	_, err = startWith(t, dir, contentOf(t, "", "a,c:1:2"))
	if err == nil || err.Error() != "KAFKA_CREATE_TOPICS: entry 2 (c:1:2): topic c: 2 replicas are more than there are brokers (1); write 1" {
		t.Errorf("got %v", err)
	}
	b, err := startWith(t, dir, contentOf(t, "topics: [{name: a, records: [{value: x}]}]", ""))
	if err != nil {
		t.Fatal(err)
	}
	consume(t, b, "a", 0, 1)
	_, err = startWith(t, t.TempDir(), contentOf(t, "topics: [{name: a, configs: {max.message.bytes: 10},\n  records: [{value: xxxxxxxxxxxxxxxxxxxxxxxx}]}]", ""))
	if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:2: from here on records are refused: ") {
		t.Errorf("got %v", err)
	}
}

// TestContentRefused: records that are refused take their topics with them, so that the next start, with the mistake mended, makes both.
func TestContentRefused(t *testing.T) {
	dir := t.TempDir()
	f := func(record, want string) {
		t.Helper()
		text := "topics:\n  - {name: other, records: [{value: x}]}\n  - name: a\n    records: [{value: x}, " + record + "]\n"
		if _, err := startWith(t, dir, contentOf(t, text, "")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("%s: got %v, want %s", record, err, want)
		}
	}
	f("{value: y, timestamp: 2999-01-01}", "c.yaml:4: from here on records are refused: ")
	f("{value: y, partition: 1}", "c.yaml:4: topic a has 1 partitions, numbered from 0; there is no 1")
	f("{value: "+strings.Repeat("y", 2<<20)+"}", "c.yaml:4: from here on records are refused: ")
	b, err := startWith(t, dir, contentOf(t, "topics: [{name: other, records: [{value: z}]}, {name: a, records: [{value: x}]}]", ""))
	if err != nil {
		t.Fatal(err)
	}
	consume(t, b, "a", 0, 1)
	if r := consume(t, b, "other", 0, 1)[0]; string(r.Value) != "z" || r.Offset != 0 {
		t.Errorf("record %+v", r)
	}
}

// TestContentValues: what YAML says is what the record has.
func TestContentValues(t *testing.T) {
	f := func(value, want string) {
		t.Helper()
		c := contentOf(t, "topics:\n  - name: a\n    records:\n      - value: &all {x: 1, y: [2]}\n      - value: "+value+"\n", "")
		if got := string(c.topics[0].records[1].value); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
	f("007", "007")
	f("1.10", "1.10")
	f("yes", "yes")
	f("''", "")
	f(`{a: "<&>", b: yes, c: true, d: ~, e: 2026-01-31, f: !!binary aGk=}`, `{"a":"<&>","b":"yes","c":true,"d":null,"e":"2026-01-31","f":"aGk="}`)
	f("{a: 1.10, b: 1e3, c: 123456789012345678901234567, d: 0x10, e: -0}", `{"a":1.10,"b":1e3,"c":123456789012345678901234567,"d":16,"e":-0}`)
	f("{<<: *all, y: 3, z: 4}", `{"y":3,"z":4,"x":1}`)
	f("{<<: [*all, {z: 5, x: 2}]}", `{"x":1,"y":[2],"z":5}`)
	f("{a: *all}", `{"a":{"x":1,"y":[2]}}`)
	f(`{"<<": 1}`, `{"<<":1}`)
}

// TestManyRecords: more than fit into one batch.
func TestManyRecords(t *testing.T) {
	var s strings.Builder
	s.WriteString("topics:\n - name: a\n   records:\n")
	value := strings.Repeat("v", 1000)
	for i := range 2000 {
		fmt.Fprintf(&s, "    - {key: k%d, value: %s}\n", i, value)
	}
	b, err := startWith(t, t.TempDir(), contentOf(t, s.String(), ""))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range consume(t, b, "a", 0, 2000) {
		if string(r.Key) != fmt.Sprintf("k%d", i) || r.Offset != int64(i) {
			t.Fatalf("record %d is %s at %d", i, r.Key, r.Offset)
		}
	}
}

// TestContentDocument: the example of docs/content.md is what it says.
func TestContentDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/content.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	c := contentOf(t, example, "")
	if got := strings.Join(c.Topics(), " "); got != "orders events heartbeats" || string(c.topics[0].records[0].value) != `{"item":"book","count":2}` {
		t.Errorf("topics %s", got)
	}
	if _, err := startWith(t, t.TempDir(), c); err != nil {
		t.Error(err)
	}
}

// TestContentErrors: each mistake is told with its line.
func TestContentErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := ParseContent(nil, "c.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	f("topics:\n  - name: a\n   partitions: 3\n", "c.yaml:1: did not find expected")
	f("\ttopics: []", "c.yaml: found character that cannot start any token")
	f("[]", "c.yaml:1: the file must be made of keys and values")
	f("topic: []", "c.yaml:1: the file has no topic; known are topics")
	f("topics: a", "c.yaml:1: topics must be a list: each entry begins with a dash")
	f("topics:\n  a: {}", "c.yaml:2: topics must be a list")
	f("topics:\n  - partitions: 1", "c.yaml:2: a topic needs a name")
	f("topics:\n  - name: a\n    partition: 1", "c.yaml:3: a topic has no partition; known are name, partitions, replicas, configs, records")
	f("topics:\n  - name: a\n    partitions: 0", "c.yaml:3: partitions must be a number from 1")
	f("topics:\n  - name: a\n    partitions: many", "c.yaml:3: partitions must be a number from 1")
	f("topics:\n  - name: a\n    replicas: 40000", "c.yaml:3: replicas must be a number from 1 to 32767")
	f("topics:\n  - name: a\n    name: b", "c.yaml:3: name is there twice")
	f("topics:\n  - a\n\n  - name: a", "c.yaml:4: topic a is there twice; keep one of them")
	f("topics:\n  - a b", `c.yaml:2: "a b" cannot be the name of a topic`)
	f("topics:\n  - name: [a]", "c.yaml:2: name must be a single value")
	f("topics:\n  - name: a\n    configs:\n      no.such: 1", "c.yaml:4: Unknown topic config name: no.such")
	f("topics:\n  - name: a\n    configs:\n      retention.ms: soon", "c.yaml:4: Invalid value soon for configuration retention.ms: Not a number of type LONG")
	f("topics:\n  - name: a\n    configs: [x]", "c.yaml:3: configs must be made of keys and values")
	f("topics:\n  - name: a\n    configs:\n      retention.ms:\n        a: b", "c.yaml:5: retention.ms must be a value or a list of values")
	f("topics:\n  - name: a\n    records:\n      - key: k", "c.yaml:4: a record needs a value (null makes a tombstone)")
	f("topics:\n  - name: a\n    records:\n      - value: v\n        headers: x", "c.yaml:5: headers must be made of keys and values")
	f("topics:\n  - name: a\n    records:\n      - value: v\n        partition: x", "c.yaml:5: partition must be a number from 0")
	f("topics:\n  - name: a\n    partitions: 2\n    records:\n      - value: v\n        partition: 2", "c.yaml:5: topic a has 2 partitions, numbered from 0; there is no 2")
	f("topics:\n  - name: a\n    records:\n      - value: v\n        timestamp: later", "c.yaml:5: timestamp must be milliseconds or a time")
	f("topics:\n  - name: a\n    records:\n      - value: !!binary '*'", "c.yaml:4: is no base64")
	f("topics:\n  - name: a\n    configs: {cleanup.policy: compact}\n    records:\n      - value: v", "c.yaml:5: topic a is compacted: its records need a key")
	f("topics:\n  - name: a\n    records:\n      - value: {a: .nan}", "c.yaml:4: .nan cannot be written as JSON")
	f("topics:\n  - name: a\n    records:\n      - value: &x [*x]", "c.yaml:4: the value is larger than 16 MiB or deeper than 100")
	f("topics:\n  - name: a\n    records:\n      - value: {a: 1, a: 2}", "c.yaml:4: a is there twice")
	f("topics:\n  - name: a\n    records:\n      - value:\n          ? [x]\n          : 1", "c.yaml:5: a key must be a single value")
	f("topics:\n  - name: a\n    records:\n      - value: {<<: x}", "c.yaml:4: << takes keys and values, or a list of such")
	f("topics:\n  - name: a\n    records:\n      - value: &x {<<: *x}", "c.yaml:4: is deeper than 100")
	f("topics:\n  - name: a\n    configs:\n      retention.ms: 1\n      retention.ms: 2", "c.yaml:5: retention.ms is there twice")
	f("topics:\n  - null", "c.yaml:2: a topic needs a name")
	f("topics:\n  -", "c.yaml:2: a topic needs a name")
	f("topics: [a]\n---\ntopics: [b]", "c.yaml:2: a second document begins; put all topics into the first")
	f("topics: [a]\n--- [", "c.yaml:")
	f("topics: [__consumer_offsets]", "c.yaml:1: __consumer_offsets is a topic of the broker's own")
	f("topics: [{name: __cluster_metadata}]", "c.yaml:1: __cluster_metadata is a topic of the broker's own")
	f("topics:\n  - name: a\n    records:\n      - value: \xff", "c.yaml: invalid leading UTF-8 octet")
	f("topics:\n  - name: a\n    records:\n      - value: *b", "c.yaml: unknown anchor 'b' referenced")
}

func TestCreateTopics(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		c, err := ParseCreateTopics(nil, text)
		got := ""
		if err != nil {
			got = err.Error()
		} else if c != nil {
			for _, x := range c.topics {
				got += fmt.Sprintf("%s %d %d %v;", x.name, x.partitions, x.replicas, x.configs)
			}
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("", "")
	f(" ,\n", "")
	f("a", "a -1 -1 [];")
	f("a:3:1,b:1:1:compact", "a 3 1 [];b 1 1 [{cleanup.policy compact}];")
	f("a:3:1\n  b:1:1:compact+delete\r\n", "a 3 1 [];b 1 1 [{cleanup.policy compact,delete}];")
	f("a:::compact", "a -1 -1 [{cleanup.policy compact}];")
	f("a,a:5", "a -1 -1 [];")
	f("a:x:1", "KAFKA_CREATE_TOPICS: entry 1 (a:x:1): partitions must be a number from 1; the form is name:partitions:replicas:cleanup.policy")
	f("a,b:1:0", "KAFKA_CREATE_TOPICS: entry 2 (b:1:0): replicas must be a number from 1; the form is name:partitions:replicas:cleanup.policy")
	f("a:1:1:compact,delete", "KAFKA_CREATE_TOPICS: entry 2 (delete): for both policies write compact+delete; a comma begins the next topic")
	f("a:1:1:compact,b,delete", "a 1 1 [{cleanup.policy compact}];b -1 -1 [];delete -1 -1 [];")
	f("__transaction_state:3", "KAFKA_CREATE_TOPICS: entry 1 (__transaction_state:3): __transaction_state is a topic of the broker's own, "+
		"which makes it when it is needed; settings such as offsets.topic.num.partitions say how")
	f("a b:1", `KAFKA_CREATE_TOPICS: entry 1 (a b:1): "a b" cannot be the name of a topic`)
	if _, err := ParseCreateTopics(nil, "a:1:1:shred"); err == nil || !strings.Contains(err.Error(), "the fourth part is a cleanup.policy") {
		t.Errorf("got %v", err)
	}
}

// TestKeyPartition: keys go where Kafka's clients put them.
func TestKeyPartition(t *testing.T) {
	p := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for i := range 1000 {
		key := []byte(strings.Repeat("k", i%9) + fmt.Sprint(i*i))
		if got, want := keyPartition(key, 7), int32(p.Partition(&kgo.Record{Key: key}, 7)); got != want {
			t.Fatalf("%s goes to %d, want %d", key, got, want)
		}
	}
}

// FuzzParseContent: whatever the file says, it is content or one line.
func FuzzParseContent(f *testing.F) {
	f.Add(contentFile)
	f.Add("topics: [a, {name: b, records: [{key: !!binary AA==, value: &x {a: [1, .inf, ~, *x]}}]}]")
	f.Add("topics:\n- ? [a]\n  : b\n- *x")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseContent(nil, "c", []byte(text))
		if (c == nil) == (err == nil) || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, %v", c, err)
		}
	})
}

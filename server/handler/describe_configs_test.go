package handler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

func configRecord(resourceType int8, name, key, value string) record.Message {
	return &record.ConfigRecord{ResourceType: resourceType, ResourceName: name, Name: key, Value: &value}
}

// configHandler has two topics, and settings of every kind of resource.
func configHandler(t *testing.T, overrides ...string) *Handler {
	t.Helper()
	img := imageOf(t, brokerRecord(1, false),
		&record.TopicRecord{Name: "t", TopicID: [16]byte{1}}, &record.TopicRecord{Name: "u", TopicID: [16]byte{2}},
		configRecord(metadata.ResourceTopic, "t", "cleanup.policy", "compact,delete"),
		configRecord(metadata.ResourceTopic, "t", "retention.ms", " 5000 "),
		configRecord(metadata.ResourceBroker, "", "min.insync.replicas", "1"),
		configRecord(metadata.ResourceBroker, "1", "log.retention.ms", "7000"),
		configRecord(metadata.ResourceBroker, "1", "listener.name.x.ssl.keystore.password", "hunter2"),
		configRecord(metadata.ResourceBroker, "1", "some.plugin.key", "hunter2"),
		configRecord(metadata.ResourceGroup, "g", "consumer.session.timeout.ms", "50000"),
		configRecord(metadata.ResourceClientMetrics, "m", "interval.ms", "60000"))
	h, _ := imageHandler(t, img, overrides...)
	r := config.Broker(h.Config().Static(), img.Config(metadata.ResourceBroker, ""), img.Config(metadata.ResourceBroker, "1"))
	h.Config = func() *config.Resolver { return r }
	return h
}

func describe(t *testing.T, h *Handler, version int16, resourceType int8, name string, keys ...string) *kmsg.DescribeConfigsResponse {
	t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	q := kmsg.NewDescribeConfigsRequestResource()
	q.ResourceType, q.ResourceName, q.ConfigNames = kmsg.ConfigResourceType(resourceType), name, keys
	req.Version, req.IncludeSynonyms = version, true
	req.Resources = append(req.Resources, q)
	return wire(t, serve(t, h, req)).(*kmsg.DescribeConfigsResponse)
}

func or(s *string, null string) string {
	if s == nil {
		return null
	}
	return *s
}

// configText is a line per entry: name=value, then its source, type and marks, then its synonyms with their sources.
func configText(resp *kmsg.DescribeConfigsResponse) string {
	var b strings.Builder
	for _, r := range resp.Resources {
		if r.ErrorCode != 0 {
			fmt.Fprintf(&b, "error %d %s\n", r.ErrorCode, or(r.ErrorMessage, "null"))
		}
		for _, c := range r.Configs {
			fmt.Fprintf(&b, "%s=%s %d t%d", c.Name, or(c.Value, "null"), c.Source, c.ConfigType)
			if c.ReadOnly {
				b.WriteString(" ro")
			}
			if c.IsSensitive {
				b.WriteString(" secret")
			}
			for _, s := range c.ConfigSynonyms {
				fmt.Fprintf(&b, " [%s=%s %d]", s.Name, or(s.Value, "null"), s.Source)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestDescribeConfigs has what Kafka 4.4.0 answers to the same, but for the order of entries.
func TestDescribeConfigs(t *testing.T) {
	h := configHandler(t, "num.partitions=3", "log.dirs=/d")
	f := func(resourceType int8, name, want string, keys ...string) {
		t.Helper()
		if got := configText(describe(t, h, 4, resourceType, name, keys...)); got != want {
			t.Errorf("%d %s:\ngot\n%swant\n%s", resourceType, name, got, want)
		}
	}
	f(metadata.ResourceTopic, "t", "cleanup.policy=compact,delete 1 t7 [cleanup.policy=compact,delete 1] [log.cleanup.policy=delete 5]\n"+
		"min.insync.replicas=1 3 t3 [min.insync.replicas=1 3] [min.insync.replicas=1 5]\n"+
		"retention.ms=5000 1 t5 [retention.ms= 5000  1] [log.retention.ms=7000 2] [log.retention.hours=168 5]\n",
		"retention.ms", "cleanup.policy", "no.such.thing", "min.insync.replicas")
	f(metadata.ResourceTopic, "u", "retention.ms=7000 2 t5 [log.retention.ms=7000 2] [log.retention.hours=168 5]\n", "retention.ms")
	f(metadata.ResourceTopic, "nowhere", "error 3 \n")
	f(metadata.ResourceTopic, "bad name", "error 17 Topic name is invalid: 'bad name' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'\n")
	f(metadata.ResourceTopic, "", "error 17 Topic name is invalid: the empty string is not allowed\n")
	f(metadata.ResourceTopic, "..", "error 17 Topic name is invalid: '..' is not allowed\n")
	f(metadata.ResourceTopic, strings.Repeat("x", 250), "error 17 Topic name is invalid: the length of '"+strings.Repeat("x", 250)+"' is longer than the max allowed length 249\n")

	f(metadata.ResourceBroker, "1", "listener.name.x.ssl.keystore.password=null 2 t9 ro secret [listener.name.x.ssl.keystore.password=null 2]\n"+
		"log.dirs=/d 4 t7 ro [log.dirs=/d 4]\n"+
		"log.flush.interval.ms=null 5 t5\n"+
		"node.id=1 4 t3 ro [node.id=1 4]\n"+
		"num.partitions=3 4 t3 ro [num.partitions=3 4] [num.partitions=1 5]\n"+
		"some.plugin.key=null 2 t0 ro secret [some.plugin.key=null 2]\n"+
		"ssl.keystore.password=null 5 t9 secret\n",
		"num.partitions", "log.flush.interval.ms", "log.dirs", "ssl.keystore.password", "node.id", "listener.name.x.ssl.keystore.password", "some.plugin.key")
	f(metadata.ResourceBroker, "", "min.insync.replicas=1 3 t3 [min.insync.replicas=1 3]\n")
	f(metadata.ResourceBroker, "4711", "error 42 Unexpected broker id, expected 1 or empty string, but received 4711\n")
	f(metadata.ResourceBroker, "x", "error 42 Broker id must be an integer, but it is: x\n")
	f(metadata.ResourceBrokerLogger, "1", "root=INFO 6 t0\n", "root")
	f(metadata.ResourceBrokerLogger, "1", "kaja.network=INFO 6 t0\n", "kaja.network", "kafka.server.KafkaApis")
	f(metadata.ResourceBrokerLogger, "4711", "error 42 Unexpected broker id, expected 1 but received 4711\n")
	f(metadata.ResourceBrokerLogger, "", "error 42 Broker id must not be empty\n")
	f(metadata.ResourceGroup, "g", "consumer.session.timeout.ms=50000 8 t3 [consumer.session.timeout.ms=50000 8] [group.consumer.session.timeout.ms=45000 5]\n"+
		"streams.assignor.name=sticky 5 t2 [group.streams.assignors=sticky 5]\n", "consumer.session.timeout.ms", "streams.assignor.name")
	f(metadata.ResourceGroup, "", "error 42 Group name must not be empty\n")
	f(metadata.ResourceClientMetrics, "m", "interval.ms=60000 7 t3 [interval.ms=60000 7]\nmatch= 5 t7\nmetrics= 5 t7\n")
	f(metadata.ResourceClientMetrics, "", "error 42 Client metrics subscription name must not be empty\n")
	f(99, "x", "error 42 "+malformedRequest+"\n")
}

// TestDescribeAllConfigs: everything public and nothing internal, in order of name, in every version, with documentation where asked for.
func TestDescribeAllConfigs(t *testing.T) {
	h := configHandler(t)
	for version := int16(1); version <= 4; version++ {
		for _, c := range []struct {
			resourceType int8
			name         string
			want         int
		}{{metadata.ResourceTopic, "u", 37}, {metadata.ResourceBroker, "1", 352}, {metadata.ResourceGroup, "other", 21}, {metadata.ResourceClientMetrics, "other", 3}} {
			r := describe(t, h, version, c.resourceType, c.name).Resources[0]
			if len(r.Configs) != c.want || or(r.ErrorMessage, "null") != "" {
				t.Errorf("v%d %d: %d entries, want %d; message %s", version, c.resourceType, len(r.Configs), c.want, or(r.ErrorMessage, "null"))
			}
			for i := 1; i < len(r.Configs); i++ {
				if r.Configs[i-1].Name >= r.Configs[i].Name {
					t.Errorf("%s before %s", r.Configs[i-1].Name, r.Configs[i].Name)
				}
			}
			for _, e := range r.Configs {
				if e.Documentation != nil || e.Value != nil && strings.Contains(*e.Value, "hunter2") {
					t.Errorf("%s: documentation %s, value %s", e.Name, or(e.Documentation, "null"), or(e.Value, "null"))
				}
			}
		}
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	q := kmsg.NewDescribeConfigsRequestResource()
	q.ResourceType, q.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
	req.Version, req.IncludeDocumentation, req.Resources = 4, true, append(req.Resources, q, q)
	resp := wire(t, serve(t, h, req)).(*kmsg.DescribeConfigsResponse)
	if len(resp.Resources) != 2 {
		t.Fatalf("%d resources, want the same one twice", len(resp.Resources))
	}
	for _, e := range resp.Resources[1].Configs {
		if known := config.Lookup(config.ScopeBroker, e.Name) != nil; known != (e.Documentation != nil) || len(e.ConfigSynonyms) != 0 {
			t.Errorf("%s: documentation %s, %d synonyms", e.Name, or(e.Documentation, "null"), len(e.ConfigSynonyms))
		}
	}
}

// TestDescribeConfigsMalformed: one resource of an unknown type fails all.
func TestDescribeConfigsMalformed(t *testing.T) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, rt := range []int8{metadata.ResourceBroker, 99} {
		q := kmsg.NewDescribeConfigsRequestResource()
		q.ResourceType, q.ResourceName = kmsg.ConfigResourceType(rt), "1"
		req.Resources = append(req.Resources, q)
	}
	req.Version = 4
	if got := configText(wire(t, serve(t, configHandler(t), req)).(*kmsg.DescribeConfigsResponse)); got != strings.Repeat("error 42 "+malformedRequest+"\n", 2) {
		t.Errorf("got %s", got)
	}
}

func TestListConfigResources(t *testing.T) {
	h := configHandler(t)
	f := func(version int16, want string, types ...int8) {
		t.Helper()
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = version, types
		resp := wire(t, serve(t, h, req)).(*kmsg.ListConfigResourcesResponse)
		got := fmt.Sprint(resp.ErrorCode)
		for _, r := range resp.ConfigResources {
			got += fmt.Sprintf(" %s/%d", r.Name, r.Type)
		}
		if got != want {
			t.Errorf("v%d %v: got %s, want %s", version, types, got, want)
		}
	}
	f(0, "0 m/16") // v0 has no types on the wire: 16 is the default
	f(1, "0 m/16 g/32 t/2 u/2 1/4 1/8")
	f(1, "0 m/16", 16)
	f(1, "0 g/32", 32)
	f(1, "0 t/2 u/2", 2)
	f(1, "0 1/4 1/8", 4, 8)
	f(1, "35", 99)
	f(1, "35", 2, 64)
}

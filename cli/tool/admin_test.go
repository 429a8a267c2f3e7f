package tool

import (
	"fmt"
	"strings"
	"testing"
)

func outcome[T any](v T, err error) string {
	if err != nil {
		return javaToString(err)
	}
	return fmt.Sprint(v)
}

func TestParseAssignment(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := outcome(parseAssignment(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("", "[]")
	f("1:2, 2:3", "[[1 2] [2 3]]")
	f("1,1:1", "org.apache.kafka.tools.AdminCommandFailedException: Partition replica lists may not contain duplicate entries: 1")
	f("1,1:2", "org.apache.kafka.tools.AdminOperationException: Partition 1 has different replication factor: [1, 2]")
	f("1,a", `java.lang.NumberFormatException: For input string: "a"`)
}

func TestTopicConfigs(t *testing.T) {
	f := func(pair, want string) {
		t.Helper()
		if got := outcome(topicConfigs([]string{pair})); got != want {
			t.Errorf("%q: got %s, want %s", pair, got, want)
		}
	}
	f("retention.ms = 5", "map[retention.ms:5]")
	f("retention.ms", `java.lang.IllegalArgumentException: requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".`)
	f("foo=1", "org.apache.kafka.common.errors.InvalidConfigurationException: Unknown topic config name: foo")
	f("retention.ms=q", "org.apache.kafka.common.config.ConfigException: Invalid value q for configuration retention.ms: Not a number of type LONG")
}

func TestIncludeList(t *testing.T) {
	f := func(raw, topic string, want bool) {
		t.Helper()
		allowed, err := includeList(raw)
		if err != nil || allowed(topic) != want {
			t.Errorf("%q on %q: %v", raw, topic, err)
		}
	}
	f("a.*,b", "abc", true)
	f("a.*,b", "bc", false)
	f(`"a"`, "a", true)
	f("a| b", "b", true)
	if _, err := includeList("a("); err == nil || err.Error() != "a( is an invalid regex." {
		t.Errorf("a(: %v", err)
	}
}

func TestParseUUID(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		id, err := parseUUID(text)
		if got := outcome(uuidText(id), err); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("V9kh909hSgm4D0kSmRVWJw", "V9kh909hSgm4D0kSmRVWJw")
	f("abc", "java.lang.IllegalArgumentException: Input string `abc` decoded as 2 bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID")
	f("a?b", "java.lang.IllegalArgumentException: Illegal base64 character 3f")
	f(strings.Repeat("A", 25), "java.lang.IllegalArgumentException: Input string with prefix `AAAAAAAAAAAAAAAAAAAAAAAA` is too long to be decoded as a base64 UUID")
}

func TestPartitionRule(t *testing.T) {
	f := func(spec, topic, want string) {
		t.Helper()
		rule, err := parseRule(spec)
		var allowed []string
		for p := range int32(5) {
			if err == nil && rule.topic(topic) && rule.partition(p) {
				allowed = append(allowed, fmt.Sprint(p))
			}
		}
		if got := outcome(strings.Join(allowed, ""), err); got != want {
			t.Errorf("%q on %s: got %s, want %s", spec, topic, got, want)
		}
	}
	f("a", "a", "01234")
	f("a:1", "a", "1")
	f("a:1-3", "a", "12")
	f("a:3-", "a", "34")
	f("a:-2", "a", "01")
	f(":2", "x", "2")
	f("a:1", "b", "")
	f("a:b:c", "a", "java.lang.RuntimeException: org.apache.kafka.tools.TerseException: Invalid rule specification: a:b:c")
}

func TestParseConfigs(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		to := map[string]string{}
		if got := outcome(to, parseConfigs(text, to)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("a=1,b=[x,y],c=", "map[a:1 b:x,y c:]")
	f("SCRAM-SHA-256=[iterations=8192,password=x]", "map[SCRAM-SHA-256:iterations=8192,password=x]")
	const wrong = "java.lang.IllegalArgumentException: Invalid entity config: all configs to be added must be in the format \"key=val\" or  \"key=[val1,val2]\" to group values " +
		"which contain commas."
	f("a", wrong)
	f("a=b=c", wrong)
}

func TestParseSCRAM(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		n, password, err := parseSCRAM("SCRAM-SHA-256", text)
		if got := outcome(fmt.Sprint(n, " ", password), err); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("password=x", "4096 x")
	f("iterations=8192,password=a=b", "8192 a=b")
	f("iterations=-1,password=x", "4096 x")
	f("iterations=1,password=x", "java.lang.IllegalArgumentException: Iterations 1 is less than the minimum 4096 required for SCRAM-SHA-256")
	f("x", "java.lang.IllegalArgumentException: Invalid credential property SCRAM_SHA_256=x")
}

func TestParseDeleteOffsets(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		order, offsets, err := parseDeleteOffsets([]byte(text))
		if got := outcome(fmt.Sprint(order, offsets), err); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	f(`{"partitions":[{"topic":"a","partition":1,"offset":5}],"version":1}`, "[a-1] map[a-1:5]")
	f(`{"partitions":[{"topic":"a","partition":0,"offset":0},{"topic":"a","partition":0,"offset":1}]}`,
		"org.apache.kafka.tools.AdminCommandFailedException: Offset json file contains duplicate topic partitions: a-0")
	f(`{"version":2}`, "org.apache.kafka.tools.AdminOperationException: Not supported version field value 2")
	f(`{`, "org.apache.kafka.tools.AdminOperationException: The input string is not a valid JSON")
	f(`{}`, "org.apache.kafka.tools.AdminOperationException: Missing partitions field")
	f(`{"partitions":[{"topic":"a"}]}`, "com.fasterxml.jackson.databind.JsonMappingException: No such field exists: `partition`")
}

func TestJavaProperties(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := outcome(javaProperties([]byte(text))); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("# c\n! d\n\n a = 1 \nb:2\nc 3\nd", "map[a:1  b:2 c:3 d:]")
	f("a=x\\\n   y\\\\\nb=\\u0041\\t.", "map[a:xy\\ b:A\t.]")
	f(`a\=b=c`, "map[a=b:c]")
	f(`a=\u00`, `java.lang.IllegalArgumentException: Malformed \uxxxx encoding.`)
}

func TestArgParse(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		p := newClusterParser()
		v, err := p.parse(strings.Fields(line))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = v.text("command") + " " + v.text("bootstrap_server") + v.text("bootstrap_controller") + " " + v.text("id")
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", line, got, want)
		}
	}
	f("unregister -b x:1 --id 7", "unregister x:1 7")
	f("unregister -bx:1 --id=-7", "unregister x:1 -7")
	f("cluster-id --bootstrap-c x:1", "cluster-id x:1 ")
	f("cl -b x", "cluster-id x ")
	f("unreg -b x", "ambiguous command: unreg could match unregister, unregister-controller")
	f("", "too few arguments")
	f("cluster-id", "one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required")
	f("cluster-id -b x -C y", "argument --bootstrap-controller/-C: not allowed with argument --bootstrap-server/-b")
	f("cluster-id -b", "argument --bootstrap-server/-b: expected one argument")
	f("cluster-id --bootstrap x", "ambiguous option: --bootstrap could match --bootstrap-controller, --bootstrap-server")
	f("cluster-id -b x more", "unrecognized arguments: 'more'")
	f("unregister -b x --id y", `argument --id/-i: could not convert 'y' to Integer (For input string: "y")`)
}

func TestQuorumStatus(t *testing.T) {
	q := quorum{}
	q.LeaderID, q.LeaderEpoch, q.HighWatermark = 1, 3, 90
	q.CurrentVoters = append(q.CurrentVoters, q.leader(), q.leader())
	q.CurrentVoters[0].ReplicaID, q.CurrentVoters[0].LogEndOffset, q.CurrentVoters[0].LastCaughtUpTimestamp = 1, 100, 50
	q.CurrentVoters[1].ReplicaID, q.CurrentVoters[1].LogEndOffset, q.CurrentVoters[1].LastCaughtUpTimestamp = 2, 95, 40
	want := `ClusterId:              c
LeaderId:               1
LeaderEpoch:            3
HighWatermark:          90
MaxFollowerLag:         5
MaxFollowerLagTimeMs:   10
CurrentVoters:          [{"id": 1}, {"id": 2}]
CurrentObservers:       []
`
	if got := q.status("c"); got != want {
		t.Errorf("got\n%s", got)
	}
}

package tool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseResetPlan(t *testing.T) {
	f := func(csv string, groups []string, want string) {
		t.Helper()
		plan, err := parseResetPlan(csv, groups)
		var got []string
		for _, os := range plan {
			for _, o := range os {
				got = append(got, fmt.Sprintf("%s/%s-%d@%d", o.Group, o.Topic, o.Partition, o.Offset))
			}
		}
		slices.Sort(got)
		s := strings.Join(got, " ")
		if err != nil {
			s = "error: " + err.Error()
		}
		if s != want {
			t.Errorf("plan %q for %v: got %s, want %s", csv, groups, s, want)
		}
	}
	one, two := []string{"g"}, []string{"g", "h"}
	f("t,0,5\nt,1,6\n", one, "g/t-0@5 g/t-1@6")
	f("t,0,5\r\nt,1,6", one, "g/t-0@5 g/t-1@6")
	f("g,t,0,5\nh,t,1,6\n", two, "g/t-0@5 h/t-1@6")
	f("g,t,0,5\nh,t,1,6\n", one, "g/t-0@5 h/t-1@6") // of several groups, read for one
	f("bad\n", one, "g/bad-0@0")                    // what is missing is 0
	f(`"a ""b"", c",1,2`, one, `g/a "b", c-1@2`)
	f("g,t,x,5", two, "error: Cannot deserialize value of type `int` from String \"x\": not a valid `int` value")
	f("a,b,c,d,e", two, "error: Too many entries: expected at most 4 (value #4 (1 chars) \"e\")")
}

func TestFormatPlanLine(t *testing.T) {
	f := func(o groupOffset, withGroup bool, want string) {
		t.Helper()
		if got := formatPlanLine(o, withGroup); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	o := groupOffset{"g", topicPartition{"t", 3}, 9}
	f(o, false, "t,3,9\n")
	f(o, true, "g,t,3,9\n")
	f(groupOffset{`a "b"`, topicPartition{"t", 0}, 0}, true, "\"a \"\"b\"\"\",t,0,0\n")
}

func TestParseTopicArg(t *testing.T) {
	f := func(arg, want string) {
		t.Helper()
		tps, err := parseTopicArg(arg)
		got := fmt.Sprint(tps)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", arg, got, want)
		}
	}
	f("t:0,2", "[t-0 t-2]")
	f("t:a", "Invalid partition 'a' specified in topic arg 't:a''")
	f("t:", "Invalid topic arg 't:', expected topic name and partitions")
	f("t:1:2", "Invalid topic arg 't:1:2', expected topic name and partitions")
}

func TestParseDateTime(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		at, err := parseDateTime(s)
		got := at.UTC().Format(time.RFC3339Nano)
		if err != nil {
			got = javaToString(err)
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
	f("2020-01-02T03:04:05.006", "2020-01-02T03:04:05.006Z")
	f("2020-01-02T03:04:05.006Z", "2020-01-02T03:04:05.006Z")
	f("2020-01-02T03:04:05.006+02:00", "2020-01-02T01:04:05.006Z")
	f("2020-01-02T03:04:05.006-01", "2020-01-02T04:04:05.006Z")
	f("foo", "java.text.ParseException: Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
	f("2020-01-01T00:00:00Z", `java.text.ParseException: Unparseable date: "2020-01-01T00:00:00Z"`)
	f("2020-02-30T00:00:00.000", `java.text.ParseException: Unparseable date: "2020-02-30T00:00:00.000Z"`)
}

func TestParseDuration(t *testing.T) {
	f := func(s string, want time.Duration, ok bool) {
		t.Helper()
		got, err := parseDuration(s)
		if (err == nil) != ok || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
	}
	f("PT1H", time.Hour, true)
	f("P1DT2H3M4.5S", 26*time.Hour+3*time.Minute+4500*time.Millisecond, true)
	f("p2d", 48*time.Hour, true)
	f("-PT10S", -10*time.Second, true)
	f("PT-0.5S", -500*time.Millisecond, true)
	f("PT", 0, false)
	f("P", 0, false)
	f("foo", 0, false)
	f("P1Y", 0, false)
}

func TestClampOffset(t *testing.T) {
	f := func(want, start, end, offset int64, warning string) {
		t.Helper()
		got, warn := clampOffset(topicPartition{"t", 1}, want, start, end)
		if got != offset || warn != warning {
			t.Errorf("%d in %d..%d: got %d, %q, want %d, %q", want, start, end, got, warn, offset, warning)
		}
	}
	f(5, 0, 9, 5, "")
	f(9, 0, 9, 9, "")
	f(10, 0, 9, 9, "New offset (10) is higher than latest offset for topic partition t-1. Value will be set to 9.")
	f(1, 2, 9, 2, "New offset (1) is lower than earliest offset for topic partition t-1. Value will be set to 2.")
}

package tool

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

func joptExample() (p *joptParser, name, count, quiet, list *joptSpec) {
	p, _, _ = newJopt(false)
	name = p.option("name,n", "The name, which is long enough to be wrapped by the rules of Java's line break iterator: here--and there.").
		withRequiredArg().describedAs("who to greet")
	count = p.option("count", "How often.").withRequiredArg().ofType(joptInteger).defaultsTo("1")
	quiet = p.option("quiet", "Say nothing.")
	list = p.option("list", "Words.").withOptionalArg().separatedBy(",")
	return p, name, count, quiet, list
}

func TestJoptParse(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		p, name, count, quiet, list := joptExample()
		set, err := p.parse(strings.Fields(line))
		got := ""
		if err == nil {
			var n, c string
			if n, err = set.value(name); err == nil {
				c, err = set.value(count)
			}
			l, _ := set.list(list)
			got = n + "|" + c + "|" + strings.Join(l, ",") + "|" + strings.Join(set.rest, ",")
			if set.has(quiet) {
				got += "|quiet"
			}
		}
		if err != nil {
			got = javaToString(err)
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", line, got, want)
		}
	}
	f("--name a", "a|1||")
	f("--name=a --count 2 --quiet rest", "a|2||rest|quiet")
	f("-n a", "a|1||")
	f("-na", "a|1||")
	f("-quiet", "|1|||quiet")
	f("--quiet=1", "|1|||quiet")
	f("--list a,b --", "|1|a,b|")
	f("--list --quiet", "|1|||quiet")
	f("-- --quiet", "|1||--quiet")
	f("--nam a", "joptsimple.UnrecognizedOptionException: nam is not a recognized option")
	f("-x", "joptsimple.UnrecognizedOptionException: x is not a recognized option")
	f("--name", "joptsimple.OptionMissingRequiredArgumentException: Option n/name requires an argument")
	f("--name a --name b", "joptsimple.MultipleArgumentsForOptionException: Found multiple arguments for option n/name, but you asked for only one")
	f("--count x", "joptsimple.OptionArgumentConversionException: Cannot parse argument 'x' of option count")
	f("--count 3000000000", "joptsimple.OptionArgumentConversionException: Cannot parse argument '3000000000' of option count")
}

func TestJoptAbbreviations(t *testing.T) {
	p, _, _, quiet, _ := joptExample()
	p.abbreviate = true
	if set, err := p.parse([]string{"--qu"}); err != nil || !set.has(quiet) {
		t.Errorf("--qu: %v", err)
	}
	if _, err := p.parse([]string{"--z"}); err == nil {
		t.Error("--z is no beginning of an option")
	}
}

func TestBreakLine(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := strings.Join(breakLine(text), "¦"); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
	// What Java's BreakIterator.getLineInstance answers.
	f("a-b --c (x)", "a-¦b ¦--¦c ¦(x)")
	f("1.2.3-4,5 a1b2.c3", "1.2.3-¦4,5 ¦a1b2.¦c3")
	f("a=b,c=[d,e]", "a=b,¦c=¦[d,¦e]")
	f("1a a1 -1 --1 a-1 1-a", "1a ¦a1 ¦-1 ¦--1 ¦a-¦1 ¦1-¦a")
	f(`x"y"z ("a)"b`, `x"¦y"¦z ¦("a)"¦b`)
	f("server(s) topic's $5", "server¦(s) ¦topic's ¦$5")
	f("-2b 22,1#", "-2¦b ¦22,1¦#")
	f("call() it", "call() ¦it")
}

// helpOf is what a tool prints for its help.
func helpOf(t *testing.T, name string, args ...string) string {
	t.Helper()
	tool, ok := Find(name)
	if !ok {
		t.Fatalf("%s is no tool", name)
	}
	var out bytes.Buffer
	tool.Run(t.Context(), &Env{Name: name, Args: args, Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		FS: vfs.OS(), Clock: clock.System()})
	return out.String()
}

// TestHelp compares the help of tools with what 4.4.0's print.
func TestHelp(t *testing.T) {
	fs := vfs.OS()
	f := func(name string, args ...string) {
		t.Helper()
		file := "testdata/help/" + strings.Join(append([]string{name}, args...), "_") + ".txt"
		want, err := fs.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := helpOf(t, name, args...); got != string(want) {
			t.Errorf("%s is not as in %s:\n%s", name, file, got)
		}
	}
	for _, name := range []string{"kafka-topics", "kafka-configs", "kafka-get-offsets", "kafka-broker-api-versions", "kafka-log-dirs", "kafka-delete-records",
		"kafka-leader-election", "kafka-acls", "kafka-cluster", "kafka-features", "kafka-metadata-quorum"} {
		f(name, "--help")
	}
	f("kafka-topics")
	f("kafka-cluster", "clster-id")
	f("kafka-cluster", "unregister", "--id", "x")
	f("kafka-metadata-quorum", "remove-controller", "--help")
	f("kafka-features", "upgrade", "--help")
}

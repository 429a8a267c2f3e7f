package tool

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// TestDumpLog compares what is printed of files that Apache Kafka 4.4.0 wrote with what its kafka-dump-log prints.
func TestDumpLog(t *testing.T) {
	fs := vfs.OS()
	t.Chdir("testdata/dumplog")
	cases, err := fs.ReadFile("cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(cases)), "\n") {
		words := strings.Fields(line)
		want, err := fs.ReadFile(words[0] + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		code := runDumpLog(context.Background(), &Env{Args: words[1:], Stdout: &out, Stderr: &errs, FS: fs, Clock: clock.System()})
		if code != 0 || out.String() != string(want) {
			t.Errorf("%s: exit code %d, stderr %q; got\n%s\nwant\n%s", line, code, errs.String(), out.String(), want)
		}
	}
}

func TestDumpLogErrors(t *testing.T) {
	mem := vfs.NewMem()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.ToSlash(dir)
	if err := mem.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	put := func(name, data string) {
		t.Helper()
		if err := mem.WriteFile(dir+"/"+name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	put("00000000000000000000.log", strings.Repeat("\x00", 30))
	put("00000000000000000007.log", "")
	put("00000000000000000007.index", "")
	put("00000000000000000007.timeindex", "\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x01"+"\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x02")
	put("00000000000000000007.snapshot", "\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")
	f := func(args, want string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := runDumpLog(context.Background(), &Env{Args: strings.Fields(args), Stdout: &out, Stderr: &errs, FS: mem, Clock: clock.System()})
		if got := errs.String() + out.String(); !strings.Contains(got, want) {
			t.Errorf("%s: exit code %d, got %q, want %q", args, code, got, want)
		}
	}
	f("--files x", "Ignoring unknown file x")
	f("--files x.log", `java.lang.NumberFormatException: For input string: "x"`)
	f("--files 00000000000000000001.log", "java.nio.file.NoSuchFileException: 00000000000000000001.log")
	f("--files 00000000000000000000.log", "Found record size 0 smaller than minimum record overhead (14) in file ")
	f("--files 00000000000000000007.index", "00000000000000000007.index is empty.")
	f("--files 00000000000000000007.timeindex --index-sanity-check", "has non-zero size but the last timestamp is 8 which is less than the first timestamp 9")
	f("--files 00000000000000000007.timeindex", "Indexed offset: 8, found log offset: -1")
	f("--files 00000000000000000007.snapshot", "Snapshot is corrupt (CRC is no longer valid). Stored crc: 0. Computed crc: ")
	f("--files x.checkpoint", "java.lang.StringIndexOutOfBoundsException: begin 0, end 20, length 12")
	f("--files 0.log --value-decoder-class no.such.Class", "Failed to load decoder class")
	f("--deep-iteration", `Missing required argument "[files]"`)
	f("--nosuch", "joptsimple.UnrecognizedOptionException: nosuch is not a recognized option")
}

func TestRecordJSON(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := javaDouble(in); got != want {
			t.Errorf("javaDouble(%v) = %q, want %q", in, got, want)
		}
	}
	f(0, "0.0")
	f(1048576, "1048576.0")
	f(1e7, "1.0E7")
	f(12345678.5, "1.23456785E7")
	f(0.001, "0.001")
	f(0.0001, "1.0E-4")
	if got := string(appendJSONString(nil, "a\"\\\n\x01é")); got != `"a\"\\\n\u0001é"` {
		t.Errorf("got %s", got)
	}
	if got := javaString([]byte("a\xe2\x82b\xffc")); got != "a\ufffdb\ufffdc" {
		t.Errorf("got %q", got)
	}
	if got := snakeUpper("NoOpRecord"); got != "NO_OP_RECORD" {
		t.Errorf("got %s", got)
	}
}

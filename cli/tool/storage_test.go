package tool

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

func TestStorage(t *testing.T) {
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("/c"), mem.WriteFile("/c/p", []byte("process.roles=broker,controller\nnode.id=3\nlog.dirs=/a,/b\n"))); err != nil {
		t.Fatal(err)
	}
	f := func(code int, want string, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		e := &Env{Args: args, Stdout: &out, Stderr: &errs, FS: mem, Clock: clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
		got := runStorage(context.Background(), e)
		if both := out.String() + errs.String(); got != code || !strings.Contains(both, want) {
			t.Errorf("%v: exit code %d, want %d; got %q, want %q", args, got, code, both, want)
		}
		return out.String()
	}
	id := strings.TrimSpace(f(0, "", "random-uuid"))
	if len(id) != 22 || id[0] == '-' {
		t.Errorf("random-uuid %q", id)
	}
	f(1, "error: too few arguments")
	f(1, "error: argument --cluster-id/-t is required", "format", "-c", "/c/p")
	f(1, "Found problems:\n  /a does not exist\n  /b does not exist\n", "info", "-c", "/c/p")
	f(1, "Failed to find equals sign in SCRAM argument 'x'", "format", "-t", id, "-c", "/c/p", "--add-scram", "x")
	f(0, "Formatting metadata directory /a with metadata.version 4.4-IV2.\n", "format", "-t", id, "-c", "/c/p")
	f(1, "is already formatted. Use --ignore-formatted", "format", "--cluster-id", id, "--config", "/c/p")
	f(0, "All of the log directories are already formatted.", "format", "-g", "-t", id, "-c", "/c/p")
	f(1, "Invalid cluster.id in: /a/meta.properties. Expected other, but read "+id, "format", "-g", "-t", "other", "-c", "/c/p")
	f(0, "Found metadata: {cluster.id="+id, "info", "-c", "/c/p")
	for _, dir := range []string{"/a", "/b"} {
		data, err := mem.ReadFile(dir + "/meta.properties")
		if err != nil || !strings.Contains(string(data), "\nnode.id=3\ndirectory.id=") || !strings.Contains(string(data), "\nversion=1\ncluster.id="+id+"\n") {
			t.Errorf("%s: %q, %v", dir, data, err)
		}
	}
	if _, err := mem.Stat("/a/__cluster_metadata-0"); err == nil {
		t.Error("a format without wishes wrote metadata")
	}
}

// TestStorageSnapshot: what a cluster is to begin with is written as Kafka's formatter writes it.
func TestStorageSnapshot(t *testing.T) {
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("/c"), mem.WriteFile("/c/p", []byte("process.roles=broker,controller\nnode.id=3\nlog.dirs=/a\n"))); err != nil {
		t.Fatal(err)
	}
	run := func(tool func(context.Context, *Env) int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		e := &Env{Args: args, Stdout: &out, Stderr: &out, FS: mem, Clock: clock.NewManual(time.UnixMilli(1000))}
		if code := tool(context.Background(), e); code != 0 {
			t.Fatalf("%v: exit code %d, %s", args, code, out.String())
		}
		return out.String()
	}
	run(runStorage, "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", "/c/p", "-r", "4.0", "-f", "transaction.version=1",
		"-S", `SCRAM-SHA-256=[name=alice,salt="N3E=",password=secret]`)
	got := run(runDumpLog, "--cluster-metadata-decoder", "--skip-record-metadata", "--files", "/a/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint")
	for _, want := range []string{
		"Snapshot end offset: 0, epoch: 0\n",
		`{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":25}}`,
		`"data":{"name":"group.version","featureLevel":1}}`,
		`"data":{"name":"transaction.version","featureLevel":1}}`,
		`{"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"alice","mechanism":1,"salt":"N3E="`,
		`"iterations":4096}}`,
		"isvalid: true",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

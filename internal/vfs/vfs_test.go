package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"syscall"
	"testing"
)

// disks are all implementations with an empty directory on each.
func disks(t *testing.T) map[string]struct {
	fs  FS
	dir string
} {
	t.Helper()
	return map[string]struct {
		fs  FS
		dir string
	}{
		"os":  {OS(), t.TempDir()},
		"mem": {NewMem(), "/"},
		"err": {NewErr(NewMem(), -1), "/"},
	}
}

// TestContract holds every disk to what FS and File promise.
func TestContract(t *testing.T) {
	for name, d := range disks(t) {
		t.Run(name, func(t *testing.T) { contract(t, d.fs, d.dir) })
	}
}

func contract(t *testing.T, disk FS, dir string) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p := func(name string) string { return path.Join(dir, name) }
	_, err := disk.Open(p("none"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("open of a missing file: %v", err)
	}
	must(disk.MkdirAll(p("a/b")))
	must(disk.MkdirAll(p("a/b")))
	f, err := disk.Create(p("a/b/file"))
	must(err)
	n, err := f.WriteVAt([][]byte{[]byte("hello "), []byte("wor"), []byte("ld")}, 3)
	if n != 11 || err != nil {
		t.Fatalf("writev: %d, %v", n, err)
	}
	_, err = f.WriteAt([]byte("abc"), 0)
	must(err)
	buf := make([]byte, 20)
	n, err = f.ReadAt(buf, 0)
	if n != 14 || err != io.EOF || string(buf[:n]) != "abchello world" {
		t.Fatalf("read: %q, %v", buf[:n], err)
	}
	n, err = f.ReadNoWait(buf, 3)
	if !errors.Is(err, ErrNoWaitUnsupported) && !errors.Is(err, ErrWouldBlock) && (err != nil || string(buf[:n]) != "hello world") {
		t.Fatalf("read without waiting: %q, %v", buf[:n], err)
	}
	must(f.Truncate(8))
	size, err := f.Size()
	if size != 8 || err != nil {
		t.Fatalf("size %d, %v", size, err)
	}
	must(f.Truncate(10))
	n, _ = f.ReadAt(buf, 0)
	if !bytes.Equal(buf[:n], []byte("abchello\x00\x00")) {
		t.Fatalf("after growing: %q", buf[:n])
	}
	must(f.Sync())
	must(disk.SyncDir(p("a/b")))
	must(disk.Rename(p("a/b/file"), p("a/moved")))
	n, _ = f.ReadAt(buf, 0) // an open file follows its name
	if n != 10 {
		t.Fatalf("read of a renamed file: %d", n)
	}
	must(disk.Remove(p("a/moved")))
	if n, _ = f.ReadAt(buf, 0); n != 10 {
		t.Fatalf("read of a removed file: %d", n)
	}
	must(f.Close())
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("write to a closed file")
	}
	must(disk.WriteFile(p("a/small"), []byte("long content")))
	must(disk.WriteFile(p("a/small"), []byte("short")))
	data, err := disk.ReadFile(p("a/small"))
	if string(data) != "short" || err != nil {
		t.Fatalf("read file: %q, %v", data, err)
	}
	r, err := disk.OpenRead(p("a/small"))
	must(err)
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("write to a file opened for reading")
	}
	must(r.Close())
	st, err := disk.Stat(p("a/small"))
	if err != nil || st.Size() != 5 || st.IsDir() {
		t.Fatalf("stat: %v, %v", st, err)
	}
	entries, err := disk.ReadDir(p("a"))
	if err != nil || len(entries) != 2 || entries[0].Name() != "b" || !entries[0].IsDir() || entries[1].Name() != "small" {
		t.Fatalf("entries: %v, %v", entries, err)
	}
	if err := disk.Remove(p("a")); err == nil {
		t.Fatal("a full directory was removed")
	}
	lock, err := disk.Lock(p("a/.lock"))
	must(err)
	if _, err := disk.Lock(p("a/.lock")); !errors.Is(err, ErrLocked) {
		t.Fatalf("second lock: %v", err)
	}
	must(lock.Close())
	lock, err = disk.Lock(p("a/.lock"))
	must(err)
	must(lock.Close())
	total, usable, err := disk.Space(p("a"))
	if err != nil || total < usable || usable == 0 {
		t.Fatalf("space %d, %d, %v", total, usable, err)
	}
	must(disk.(VolumeSyncer).SyncVolume(p("a")))
	must(disk.RemoveAll(p("a")))
	must(disk.RemoveAll(p("a")))
	if _, err := disk.Stat(p("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("stat of a removed directory: %v", err)
	}
}

// TestManyBuffers writes more buffers than one system call takes.
func TestManyBuffers(t *testing.T) {
	f, err := OS().Create(path.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	var bufs [][]byte
	var want []byte
	for i := range 2500 {
		b := bytes.Repeat([]byte{byte(i)}, i%7)
		bufs, want = append(bufs, b), append(want, b...)
	}
	n, err := f.WriteVAt(bufs, 0)
	got := make([]byte, len(want))
	_, rerr := f.ReadAt(got, 0)
	if n != len(want) || err != nil || rerr != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d of %d bytes, %v, %v", n, len(want), err, rerr)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCrashClone: what was not synced, content or name, is gone; what was is there.
func TestCrashClone(t *testing.T) {
	m := NewMem()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.MkdirAll("/d"))
	must(m.SyncDir("/"))
	f, err := m.Create("/d/synced")
	must(err)
	_, err = f.WriteAt(bytes.Repeat([]byte("a"), 10_000), 0)
	must(err)
	must(f.Sync())
	must(m.SyncDir("/d"))
	_, err = f.WriteAt([]byte("XX"), 5000) // not synced
	must(err)
	_, err = f.WriteAt([]byte("YY"), 10_000)
	must(err)
	must(m.WriteFile("/d/new", []byte("new")))
	content := func(c *Mem, name string) string {
		data, err := c.ReadFile(name)
		if err != nil {
			return "missing"
		}
		return string(data)
	}
	c := m.CrashClone()
	if got := content(c, "/d/synced"); got != string(bytes.Repeat([]byte("a"), 10_000)) {
		t.Fatalf("synced file of %d bytes has changed", len(got))
	}
	if got := content(c, "/d/new"); got != "missing" {
		t.Fatalf("unsynced name: %q", got)
	}
	must(m.Rename("/d/synced", "/d/renamed"))
	c = m.CrashClone()
	if content(c, "/d/synced") == "missing" || content(c, "/d/renamed") != "missing" {
		t.Fatal("an unsynced rename survived")
	}
	must(f.Truncate(100))
	must(m.SyncDir("/d"))
	c = m.CrashClone()
	if got := content(c, "/d/renamed"); len(got) != 10_000 || content(c, "/d/new") != "" {
		t.Fatalf("after syncing the directory: %d bytes, new %q", len(got), content(c, "/d/new"))
	}
	if got := content(m.Clone(), "/d/renamed"); len(got) != 100 {
		t.Fatalf("a plain clone has %d bytes", len(got))
	}
	rng, sizes := rand.New(rand.NewPCG(1, 1)), map[bool]int{}
	for range 50 {
		sizes[len(content(m.CrashCloneKeeping(rng), "/d/renamed")) == 10_000]++
	}
	if sizes[false] == 0 {
		t.Fatalf("nothing unsynced was ever kept: %v", sizes)
	}
}

func TestMemSpace(t *testing.T) {
	m := NewMem()
	m.SetSpace(100)
	f, err := m.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt(make([]byte, 150), 0); n != 100 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if err := f.Truncate(10); err != nil {
		t.Fatal(err)
	}
	if _, usable, _ := m.Space("/"); usable != 90 {
		t.Fatalf("%d bytes usable", usable)
	}
	if err := m.Remove("f"); err != nil {
		t.Fatal(err)
	}
	if _, usable, _ := m.Space("/"); usable != 100 {
		t.Fatalf("%d bytes usable", usable)
	}
}

// TestErrCounts: the n-th operation fails, once or from then on; reads do not count among writes; a torn write leaves half.
func TestErrCounts(t *testing.T) {
	mem := NewMem()
	e := NewErrOptions(mem, 1, ErrOptions{Mode: ModeWrites, Torn: true})
	f, err := e.Create("f") // 0
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); err != io.EOF {
		t.Fatal(err)
	}
	if n, err := f.WriteAt([]byte("abcd"), 0); n != 2 || !errors.Is(err, ErrInjected) || !e.Failed() {
		t.Fatalf("torn write: %d, %v", n, err)
	}
	if _, err := f.WriteAt([]byte("abcd"), 0); err != nil {
		t.Fatalf("after the failure: %v", err)
	}
	e = NewErrOptions(mem, 0, ErrOptions{Sticky: true, Error: syscall.EIO})
	for range 3 {
		if _, err := e.Stat("f"); !errors.Is(err, syscall.EIO) {
			t.Fatalf("sticky failure: %v", err)
		}
	}
	if e.Count() != 3 {
		t.Fatalf("%d operations", e.Count())
	}
}

package vfs

import (
	"errors"
	"io"
	"testing"
)

// TestReadNoWaitOnTmpfs: a file that lives in memory can be read without waiting although the kernel refuses to promise it.
func TestReadNoWaitOnTmpfs(t *testing.T) {
	fs := OS()
	name := "/dev/shm/" + t.Name()
	if err := fs.WriteFile(name, []byte("hello")); err != nil {
		t.Skip("no tmpfs here: ", err)
	}
	defer fs.Remove(name)
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		b := make([]byte, 3)
		n, err := f.ReadNoWait(b, 1)
		if errors.Is(err, ErrNoWaitUnsupported) {
			t.Skip("/dev/shm is no tmpfs")
		}
		if err != nil || string(b[:n]) != "ell" {
			t.Errorf("ReadNoWait = %q, %v", b[:n], err)
		}
	}
	if _, err := f.ReadNoWait(make([]byte, 1), 5); err != io.EOF {
		t.Errorf("at the end: %v, want EOF", err)
	}
}

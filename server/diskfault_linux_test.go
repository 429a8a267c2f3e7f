package server

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// The same on a real file system that is full: a tmpfs of 2 MiB that grows (root only).
func TestRealDiskIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a tmpfs cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // gone with the test's namespace otherwise
	fillDisk(t, vfs.OS(), dir+"/data", func() {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
			t.Fatal(err)
		}
	})
}

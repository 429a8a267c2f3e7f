package storage

import (
	"fmt"
	"os/exec"
	"path"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// mountForTest mounts a file system of that kind for the time of the test.
func mountForTest(t *testing.T, kind string) (dir string, err error) {
	t.Helper()
	fs, root := vfs.OS(), t.TempDir()
	dir = path.Join(root, "mnt")
	for _, n := range []string{"mnt", "lower", "upper", "work"} {
		if err := fs.MkdirAll(path.Join(root, n)); err != nil {
			return "", err
		}
	}
	switch kind {
	case "tmpfs":
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m")
	case "overlay":
		upper := path.Join(root, "upper")
		if err := unix.Mount("tmpfs", upper, "tmpfs", 0, "size=64m"); err != nil { // an overlay's upper cannot lie on an overlay
			return "", err
		}
		t.Cleanup(func() { _ = unix.Unmount(upper, unix.MNT_DETACH) }) // gone with the test's namespace otherwise
		base := upper
		for _, n := range []string{"u", "w"} {
			if err := fs.MkdirAll(path.Join(base, n)); err != nil {
				return "", err
			}
		}
		err = unix.Mount("overlay", dir, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s/u,workdir=%s/w", path.Join(root, "lower"), base, base))
	case "ext4":
		image := path.Join(root, "image")
		f, ferr := fs.Create(image)
		if ferr != nil {
			return "", ferr
		}
		if err := f.Truncate(64 << 20); err != nil {
			return "", err
		}
		if err := f.Close(); err != nil {
			return "", err
		}
		if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
			return "", fmt.Errorf("mkfs.ext4: %w: %s", err, out)
		}
		if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
			return "", fmt.Errorf("mount: %w: %s", err, out)
		}
	}
	if err != nil {
		return "", err
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, nil
}

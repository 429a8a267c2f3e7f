//go:build !linux

package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// OpenFileLimit is how many files this process may have open, 0 if that is not known.
func OpenFileLimit() int { return 0 }

func openFile(name string, flags int) (File, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), flags, filePerm)
	if err != nil {
		return nil, err
	}
	return &osFile{f: f, fd: f.Fd()}, nil
}

func (o *osFile) ReadNoWait([]byte, int64) (int, error) { return 0, ErrNoWaitUnsupported }

func (o *osFile) WriteVAt(bufs [][]byte, off int64) (int, error) { return writeAll(o.f, bufs, off) }

func syncFile(o *osFile) error { return o.f.Sync() }

func (osFS) SyncDir(name string) error {
	if runtime.GOOS == "windows" { // no such thing there
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lockFile takes no lock where neither kind is known: the only user there is a developer's machine.
func lockFile(*os.File) error { return nil }

// Space is unknown here: zero means that, as in DescribeLogDirs' UNKNOWN_VOLUME_BYTES.
func (osFS) Space(string) (total, usable int64, err error) { return -1, -1, nil }

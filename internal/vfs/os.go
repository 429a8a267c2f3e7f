package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

const (
	filePerm = 0o644 // what Kafka's JVM makes with the usual umask
	dirPerm  = 0o755
)

// OS is the file system of the machine.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Open(name string) (File, error) { return openFile(name, os.O_RDWR) }

func (osFS) OpenRead(name string) (File, error) { return openFile(name, os.O_RDONLY) }

func (osFS) Create(name string) (File, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) RemoveAll(name string) error { return os.RemoveAll(name) }

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) MkdirAll(name string) error { return os.MkdirAll(name, dirPerm) }

func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (osFS) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

func (osFS) WriteFile(name string, data []byte) error {
	f, err := openFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// SetModTime implements ModTimeSetter.
func (osFS) SetModTime(name string, t time.Time) error { return os.Chtimes(name, time.Time{}, t) }

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, filePerm)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
	return f, nil
}

// osFile adds to os.File what Go has no method for. The descriptor is taken once: os.File.Fd costs a lock on each call.
type osFile struct {
	f        *os.File
	fd       uintptr
	inMemory atomic.Bool // reading never waits: ReadNoWait has found out
}

func (o *osFile) Close() error { return o.f.Close() }

func (o *osFile) ReadAt(p []byte, off int64) (int, error) { return o.f.ReadAt(p, off) }

func (o *osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }

func (o *osFile) Truncate(size int64) error { return o.f.Truncate(size) }

func (o *osFile) Sync() error { return syncFile(o) }

func (o *osFile) Name() string { return o.f.Name() }

func (o *osFile) Fd() (uintptr, bool) { return o.fd, true }

func (o *osFile) Size() (int64, error) {
	st, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// writeAll is WriteVAt where there is no pwritev.
func writeAll(f io.WriterAt, bufs [][]byte, off int64) (int, error) {
	total := 0
	for _, b := range bufs {
		n, err := f.WriteAt(b, off+int64(total))
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

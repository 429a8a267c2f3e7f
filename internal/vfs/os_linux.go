package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// rwfNoWait is RWF_NOWAIT of preadv2(2), from Linux 4.14: fail with EAGAIN where the page cache lacks the data.
const rwfNoWait = 0x8

// iovMax is the number of buffers that one pwritev takes (UIO_MAXIOV).
const iovMax = 1024

// OpenFileLimit is how many files this process may have open, 0 if that is not known.
func OpenFileLimit() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(l.Cur, 1<<30))
}

// openFile opens without os.OpenFile, which tries to watch each file by epoll and sets it to non-blocking and back: five system calls more
// for something that regular files cannot do. A broker with 10,000 partitions opens 100,000 files.
func openFile(name string, flags int) (File, error) {
	for {
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, filePerm)
		switch err {
		case nil:
			return &osFile{f: os.NewFile(uintptr(fd), name), fd: uintptr(fd)}, nil
		case unix.EINTR:
		default:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

func (o *osFile) ReadNoWait(p []byte, off int64) (int, error) {
	if o.inMemory.Load() {
		return o.readMemory(p, off)
	}
	bufs := [1][]byte{p}
	for {
		n, err := unix.Preadv2(int(o.fd), bufs[:], off, rwfNoWait)
		switch {
		case err == nil && n == 0 && len(p) > 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return 0, ErrWouldBlock
		case err == unix.EOPNOTSUPP, err == unix.ENOSYS, err == unix.EINVAL:
			if !o.livesInMemory() {
				return 0, ErrNoWaitUnsupported
			}
			o.inMemory.Store(true)
			return o.readMemory(p, off)
		default:
			return 0, &fs.PathError{Op: "preadv2", Path: o.f.Name(), Err: err}
		}
	}
}

// livesInMemory tells whether the file's system has no disk to wait for: tmpfs refuses RWF_NOWAIT (--ephemeral and containers use it).
func (o *osFile) livesInMemory() bool {
	var st unix.Statfs_t
	err := unix.Fstatfs(int(o.fd), &st)
	return err == nil && (st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC)
}

// readMemory is ReadNoWait of a file that lives in memory.
func (o *osFile) readMemory(p []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(int(o.fd), p, off)
		switch {
		case err == nil && n == 0 && len(p) > 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		case err != unix.EINTR:
			return 0, &fs.PathError{Op: "pread", Path: o.f.Name(), Err: err}
		}
	}
}

func (o *osFile) WriteVAt(bufs [][]byte, off int64) (int, error) {
	if len(bufs) == 1 {
		return o.f.WriteAt(bufs[0], off)
	}
	total := 0
	for len(bufs) > 0 {
		part := bufs[:min(len(bufs), iovMax)]
		n, err := unix.Pwritev(int(o.fd), part, off+int64(total))
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return total, &fs.PathError{Op: "pwritev", Path: o.f.Name(), Err: err}
		}
		total += n
		for len(bufs) > 0 && n >= len(bufs[0]) {
			n -= len(bufs[0])
			bufs = bufs[1:]
		}
		if n > 0 { // a partial write, as on a nearly full disk: the rest of this buffer alone, then go on
			m, err := o.f.WriteAt(bufs[0][n:], off+int64(total))
			total += m
			if err != nil {
				return total, err
			}
			bufs = bufs[1:]
		}
	}
	return total, nil
}

// syncFile is fsync; size changes are part of what must survive, so fdatasync would do as well, but Kafka's force(true) is fsync.
func syncFile(o *osFile) error { return o.f.Sync() }

func (osFS) SyncDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lockFile takes an open-file-description lock: it conflicts with another open of the same file in this process and with the
// POSIX lock that a Java process (Apache Kafka on the same directory) takes. Where it isn't known, flock.
func lockFile(f *os.File) error {
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lk)
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == unix.EAGAIN || err == unix.EACCES {
		return ErrLocked
	}
	return err
}

func (osFS) Space(name string) (total, usable int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), nil
}

// SyncVolume implements VolumeSyncer by syncfs(2).
func (osFS) SyncVolume(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return errors.Join(&fs.PathError{Op: "syncfs", Path: name, Err: err}, f.Close())
	}
	return f.Close()
}

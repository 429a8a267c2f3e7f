// Package vfs is the only way to files: the operating system's, a memory disk that can crash, and one that fails the n-th operation.
//
// Owns: open files and what of the memory disk survives a crash. Invariants: I1 on the memory disk only synced data and synced
// directory entries survive CrashClone. I2 errors name the path.
// Called by storage, controller (through controller.Log), config, cli. Any goroutine; a File may be used by several, with one writer.
// Not here: formats, directories' meaning.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// ErrWouldBlock is what ReadNoWait returns when the data is not in the page cache.
var ErrWouldBlock = errors.New("read would block")

// ErrNoWaitUnsupported is what ReadNoWait returns where the file system has no such read (overlayfs, tmpfs).
var ErrNoWaitUnsupported = errors.New("file system has no non-blocking read")

// ErrLocked is what Lock returns when another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// FS is a file system. Names are slash-separated paths. Errors wrap io/fs sentinels where they apply.
type FS interface {
	// Open opens for reading and writing an existing file.
	Open(name string) (File, error)
	// OpenRead opens an existing file for reading.
	OpenRead(name string) (File, error)
	// Create makes the file, or opens and empties the one that is there.
	Create(name string) (File, error)
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error
	MkdirAll(name string) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// ReadFile and WriteFile are for small files; WriteFile makes or replaces without syncing.
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, data []byte) error
	// SyncDir makes creations, renames and removals in the directory durable.
	SyncDir(name string) error
	// Lock takes an exclusive lock on the file (made if missing) until the closer is closed: ErrLocked.
	Lock(name string) (io.Closer, error)
	// Space tells the size of the volume and what of it can be used, in bytes.
	Space(name string) (total, usable int64, err error)
}

// File is an open file.
type File interface {
	io.Closer
	io.ReaderAt
	io.WriterAt
	// WriteVAt writes the buffers one after the other at off, in one system call where possible.
	WriteVAt(bufs [][]byte, off int64) (int, error)
	// ReadNoWait reads only what needs no disk: ErrWouldBlock, ErrNoWaitUnsupported. A short read is not an error.
	ReadNoWait(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Size() (int64, error)
	Name() string
	// Fd is the raw descriptor for sendfile, if there is one.
	Fd() (fd uintptr, ok bool)
}

// VolumeSyncer is an FS that can make everything written to a volume durable at once: many files for the price of one sync.
type VolumeSyncer interface {
	SyncVolume(name string) error
}

// ModTimeSetter is an FS that can say when a file was last modified.
type ModTimeSetter interface {
	SetModTime(name string, t time.Time) error
}

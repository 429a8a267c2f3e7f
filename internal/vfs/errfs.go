package vfs

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"time"
)

// ErrInjected is what an Err disk fails with, unless told otherwise.
var ErrInjected = errors.New("injected failure")

// Mode says which operations an Err disk counts and fails.
type Mode uint8

// Modes of an Err disk.
const (
	ModeAny    Mode = iota // every operation
	ModeWrites             // only what changes the disk or makes changes durable
)

// Err is a disk that fails the n-th operation. Operations are counted from 0 in the order in which they happen; closing and asking
// for a name are none. A failing write may leave half of its bytes, as a full disk does.
type Err struct {
	inner FS
	fail  atomic.Int64 // number of the operation that fails; negative: none
	count atomic.Int64
	opts  ErrOptions
}

// ErrOptions refine an Err disk.
type ErrOptions struct {
	Mode Mode
	// Sticky makes all operations from the n-th on fail, like a disk that died; else only the n-th does.
	Sticky bool
	// Torn makes a failing write leave half of its bytes.
	Torn bool
	// Error is what fails; nil is ErrInjected.
	Error error
	// Hook, if any, is called before each counted operation with its number; it may take a CrashClone.
	Hook func(i int64, op, name string)
}

// NewErr wraps a disk so that operation n (from 0) fails once; negative: none does, and operations are only counted.
func NewErr(inner FS, n int64) *Err { return NewErrOptions(inner, n, ErrOptions{}) }

// NewErrOptions is NewErr with options.
func NewErrOptions(inner FS, n int64, o ErrOptions) *Err {
	e := &Err{inner: inner, opts: o}
	if e.opts.Error == nil {
		e.opts.Error = ErrInjected
	}
	e.fail.Store(n)
	return e
}

// Count is the number of operations so far.
func (e *Err) Count() int64 { return e.count.Load() }

// FailNext makes the operation that comes after n more ones fail; negative: none.
func (e *Err) FailNext(n int64) {
	if n >= 0 {
		n += e.count.Load()
	}
	e.fail.Store(n)
}

// Failed tells whether the failure has happened.
func (e *Err) Failed() bool { n := e.fail.Load(); return n >= 0 && e.count.Load() > n }

func (e *Err) op(op, name string, writes bool) error {
	if e.opts.Mode == ModeWrites && !writes {
		return nil
	}
	i := e.count.Add(1) - 1
	if e.opts.Hook != nil {
		e.opts.Hook(i, op, name)
	}
	n := e.fail.Load()
	if n < 0 || i < n || (i > n && !e.opts.Sticky) {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: e.opts.Error}
}

func (e *Err) file(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return &errFile{e: e, File: f}, nil
}

// Open implements FS.
func (e *Err) Open(name string) (File, error) {
	if err := e.op("open", name, false); err != nil {
		return nil, err
	}
	return e.file(e.inner.Open(name))
}

// OpenRead implements FS.
func (e *Err) OpenRead(name string) (File, error) {
	if err := e.op("open", name, false); err != nil {
		return nil, err
	}
	return e.file(e.inner.OpenRead(name))
}

// Create implements FS.
func (e *Err) Create(name string) (File, error) {
	if err := e.op("create", name, true); err != nil {
		return nil, err
	}
	return e.file(e.inner.Create(name))
}

// Remove implements FS.
func (e *Err) Remove(name string) error {
	if err := e.op("remove", name, true); err != nil {
		return err
	}
	return e.inner.Remove(name)
}

// RemoveAll implements FS.
func (e *Err) RemoveAll(name string) error {
	if err := e.op("removeall", name, true); err != nil {
		return err
	}
	return e.inner.RemoveAll(name)
}

// Rename implements FS.
func (e *Err) Rename(from, to string) error {
	if err := e.op("rename", from, true); err != nil {
		return err
	}
	return e.inner.Rename(from, to)
}

// MkdirAll implements FS.
func (e *Err) MkdirAll(name string) error {
	if err := e.op("mkdir", name, true); err != nil {
		return err
	}
	return e.inner.MkdirAll(name)
}

// ReadDir implements FS.
func (e *Err) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := e.op("readdir", name, false); err != nil {
		return nil, err
	}
	return e.inner.ReadDir(name)
}

// Stat implements FS.
func (e *Err) Stat(name string) (fs.FileInfo, error) {
	if err := e.op("stat", name, false); err != nil {
		return nil, err
	}
	return e.inner.Stat(name)
}

// ReadFile implements FS.
func (e *Err) ReadFile(name string) ([]byte, error) {
	if err := e.op("readfile", name, false); err != nil {
		return nil, err
	}
	return e.inner.ReadFile(name)
}

// WriteFile implements FS.
func (e *Err) WriteFile(name string, data []byte) error {
	if err := e.op("writefile", name, true); err != nil {
		if e.opts.Torn {
			err = errors.Join(err, e.inner.WriteFile(name, data[:len(data)/2]))
		}
		return err
	}
	return e.inner.WriteFile(name, data)
}

// SyncDir implements FS.
func (e *Err) SyncDir(name string) error {
	if err := e.op("syncdir", name, true); err != nil {
		return err
	}
	return e.inner.SyncDir(name)
}

// SyncVolume implements VolumeSyncer, if the inner disk does.
func (e *Err) SyncVolume(name string) error {
	if err := e.op("syncvolume", name, true); err != nil {
		return err
	}
	if v, ok := e.inner.(VolumeSyncer); ok {
		return v.SyncVolume(name)
	}
	return errors.ErrUnsupported
}

// SetModTime implements ModTimeSetter, if the inner disk does.
func (e *Err) SetModTime(name string, t time.Time) error {
	if err := e.op("chtimes", name, true); err != nil {
		return err
	}
	if s, ok := e.inner.(ModTimeSetter); ok {
		return s.SetModTime(name, t)
	}
	return nil
}

// Lock implements FS.
func (e *Err) Lock(name string) (io.Closer, error) {
	if err := e.op("lock", name, true); err != nil {
		return nil, err
	}
	return e.inner.Lock(name)
}

// Space implements FS.
func (e *Err) Space(name string) (total, usable int64, err error) {
	if err := e.op("space", name, false); err != nil {
		return 0, 0, err
	}
	return e.inner.Space(name)
}

type errFile struct {
	e *Err
	File
}

func (f *errFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.e.op("read", f.Name(), false); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *errFile) ReadNoWait(p []byte, off int64) (int, error) {
	if err := f.e.op("readnowait", f.Name(), false); err != nil {
		return 0, err
	}
	return f.File.ReadNoWait(p, off)
}

func (f *errFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.e.op("write", f.Name(), true); err != nil {
		if f.e.opts.Torn {
			n, werr := f.File.WriteAt(p[:len(p)/2], off)
			return n, errors.Join(err, werr)
		}
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *errFile) WriteVAt(bufs [][]byte, off int64) (int, error) {
	if err := f.e.op("writev", f.Name(), true); err != nil {
		if f.e.opts.Torn {
			n, werr := f.File.WriteVAt(bufs[:len(bufs)/2], off)
			return n, errors.Join(err, werr)
		}
		return 0, err
	}
	return f.File.WriteVAt(bufs, off)
}

func (f *errFile) Truncate(size int64) error {
	if err := f.e.op("truncate", f.Name(), true); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *errFile) Sync() error {
	if err := f.e.op("sync", f.Name(), true); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *errFile) Size() (int64, error) {
	if err := f.e.op("size", f.Name(), false); err != nil {
		return 0, err
	}
	return f.File.Size()
}

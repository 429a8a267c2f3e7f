package vfs

import (
	"io"
	"io/fs"
	"math"
	"path"
	"sort"
	"strings"
	"sync"
	"time"
)

// memPage is the unit in which unsynced data of the memory disk is lost or kept.
const memPage = 4096

// Mem is a disk in memory. CrashClone tells what would be found after a power cut: synced data under synced names.
type Mem struct {
	mu   sync.Mutex // guards the whole tree
	root *memNode
	// space limits the bytes of all files; 0 is unlimited. guarded by mu
	space, used int64
}

// memNode is a file or a directory. undo holds, for each page changed since the last sync, what it was then (nil: did not exist).
type memNode struct {
	dir      bool
	children map[string]*memNode
	durable  map[string]*memNode // the children as of the last SyncDir
	renamed  map[string]string   // since then, in this directory: each name leads to an older one; a rename survives whole or not at all

	data       []byte
	undo       map[int64][]byte
	syncedSize int64
	locked     bool
	modTime    time.Time
}

// NewMem makes an empty memory disk.
func NewMem() *Mem { return &Mem{root: newMemDir()} }

func newMemDir() *memNode {
	return &memNode{dir: true, children: map[string]*memNode{}, durable: map[string]*memNode{}}
}

// SetSpace limits the bytes that all files together may hold: writes beyond fail with ENOSPC. Zero lifts the limit.
func (m *Mem) SetSpace(limit int64) { m.mu.Lock(); m.space = limit; m.mu.Unlock() }

func splitPath(name string) []string {
	name = strings.Trim(path.Clean("/"+name), "/")
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

func (m *Mem) find(op, name string) (*memNode, error) {
	n := m.root
	for _, p := range splitPath(name) {
		if !n.dir {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		c := n.children[p]
		if c == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		n = c
	}
	return n, nil
}

func (m *Mem) parent(op, name string) (*memNode, string, error) {
	parts := splitPath(name)
	if len(parts) == 0 {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	d, err := m.find(op, strings.Join(parts[:len(parts)-1], "/"))
	if err != nil {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	if !d.dir {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return d, parts[len(parts)-1], nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open(name, false) }

// OpenRead implements FS.
func (m *Mem) OpenRead(name string) (File, error) { return m.open(name, true) }

func (m *Mem) open(name string, readOnly bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return &memFile{m: m, n: n, name: name, readOnly: readOnly}, nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.createLocked(name)
	if err != nil {
		return nil, err
	}
	return &memFile{m: m, n: n, name: name}, nil
}

func (m *Mem) createLocked(name string) (*memNode, error) {
	d, base, err := m.parent("create", name)
	if err != nil {
		return nil, err
	}
	n := d.children[base]
	if n == nil {
		n = &memNode{}
		d.children[base] = n
		return n, nil
	}
	if n.dir {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrInvalid}
	}
	m.truncateLocked(n, 0)
	return n, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent("remove", name)
	if err != nil {
		return err
	}
	n := d.children[base]
	if n == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	if n.dir && len(n.children) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrExist}
	}
	m.used -= int64(len(n.data))
	delete(d.children, base)
	return nil
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent("remove", name)
	if err != nil {
		return nil // what isn't there is removed
	}
	if n := d.children[base]; n != nil {
		m.used -= n.bytes()
		delete(d.children, base)
	}
	return nil
}

func (n *memNode) bytes() int64 {
	sum := int64(len(n.data))
	for _, c := range n.children {
		sum += c.bytes()
	}
	return sum
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fd, fbase, err := m.parent("rename", from)
	if err != nil {
		return err
	}
	n := fd.children[fbase]
	if n == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	td, tbase, err := m.parent("rename", to)
	if err != nil {
		return err
	}
	if old := td.children[tbase]; old != nil && old != n {
		if old.dir && len(old.children) > 0 {
			return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
		}
		m.used -= int64(len(old.data))
	}
	delete(fd.children, fbase)
	td.children[tbase] = n
	if fd == td {
		fd.join(fbase, tbase)
	}
	return nil
}

// join notes that two names change together.
func (n *memNode) join(from, to string) {
	if n.renamed == nil {
		n.renamed = map[string]string{}
	}
	if a, b := n.together(from), n.together(to); a != b {
		n.renamed[b] = a
	}
}

// together is the same for all names that change together.
func (n *memNode) together(name string) string {
	for n.renamed[name] != "" {
		name = n.renamed[name]
	}
	return name
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, p := range splitPath(name) {
		c := n.children[p]
		if c == nil {
			c = newMemDir()
			n.children[p] = c
		}
		if !c.dir {
			return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
		}
		n = c
	}
	return nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	out := make([]fs.DirEntry, 0, len(n.children))
	for k, c := range n.children {
		out = append(out, fs.FileInfoToDirEntry(c.info(k)))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name() < out[j].Name() })
	return out, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n.info(path.Base(name)), nil
}

// ReadFile implements FS.
func (m *Mem) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("read", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return append([]byte(nil), n.data...), nil
}

// WriteFile implements FS.
func (m *Mem) WriteFile(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.createLocked(name)
	if err != nil {
		return err
	}
	if _, err := m.writeLocked(n, data, 0); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// SetModTime implements ModTimeSetter; of itself a file of the memory disk has no time.
func (m *Mem) SetModTime(name string, t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("chtimes", name)
	if err != nil {
		return err
	}
	n.modTime = t
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("sync", name)
	if err != nil {
		return err
	}
	n.renamed = nil
	n.durable = make(map[string]*memNode, len(n.children))
	for k, c := range n.children {
		n.durable[k] = c
	}
	return nil
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("lock", name)
	if err != nil {
		if n, err = m.createLocked(name); err != nil {
			return nil, err
		}
	}
	if n.locked {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrLocked}
	}
	n.locked = true
	return &memLock{m: m, n: n}, nil
}

type memLock struct {
	m *Mem
	n *memNode
}

func (l *memLock) Close() error { l.m.mu.Lock(); l.n.locked = false; l.m.mu.Unlock(); return nil }

// Space implements FS; an unlimited disk is huge.
func (m *Mem) Space(string) (total, usable int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.space == 0 {
		return math.MaxInt64, math.MaxInt64, nil
	}
	return m.space, max(m.space-m.used, 0), nil
}

func (n *memNode) info(name string) fs.FileInfo {
	return memInfo{name: name, size: int64(len(n.data)), dir: n.dir, mod: n.modTime}
}

type memInfo struct {
	name string
	size int64
	dir  bool
	mod  time.Time
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.mod }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | dirPerm
	}
	return filePerm
}

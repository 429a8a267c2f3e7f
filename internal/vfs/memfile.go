package vfs

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
)

// memFile is an open file of the memory disk; like a descriptor it stays good when the name is removed.
type memFile struct {
	m        *Mem
	n        *memNode
	name     string
	readOnly bool
	closed   bool // guarded by m.mu
}

func (f *memFile) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// Close implements File.
func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return f.fail("close", fs.ErrClosed)
	}
	f.closed = true
	return nil
}

// ReadAt implements File.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, f.fail("read", fs.ErrClosed)
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// ReadNoWait implements File: memory is always at hand.
func (f *memFile) ReadNoWait(p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// WriteAt implements File.
func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, f.fail("write", fs.ErrClosed)
	}
	if f.readOnly {
		return 0, f.fail("write", fs.ErrPermission)
	}
	n, err := f.m.writeLocked(f.n, p, off)
	if err != nil {
		return n, f.fail("write", err)
	}
	return n, nil
}

// WriteVAt implements File.
func (f *memFile) WriteVAt(bufs [][]byte, off int64) (int, error) { return writeAll(f, bufs, off) }

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return f.fail("truncate", fs.ErrClosed)
	}
	f.m.truncateLocked(f.n, size)
	return nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return f.fail("sync", fs.ErrClosed)
	}
	f.n.undo = nil
	f.n.syncedSize = int64(len(f.n.data))
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, f.fail("stat", fs.ErrClosed)
	}
	return int64(len(f.n.data)), nil
}

// Name implements File.
func (f *memFile) Name() string { return f.name }

// Fd implements File: there is none.
func (f *memFile) Fd() (uintptr, bool) { return 0, false }

// writeLocked writes what fits into the space, as a real disk does, and says ENOSPC when that is not all.
func (m *Mem) writeLocked(n *memNode, p []byte, off int64) (int, error) {
	var full error
	if grow := off + int64(len(p)) - int64(len(n.data)); m.space > 0 && grow > m.space-m.used {
		cut := min(grow-max(m.space-m.used, 0), int64(len(p)))
		p, full = p[:int64(len(p))-cut], syscall.ENOSPC
		if len(p) == 0 {
			return 0, full
		}
	}
	end := off + int64(len(p))
	n.remember(off, end)
	if end > int64(len(n.data)) {
		m.used += end - int64(len(n.data))
		n.data = append(n.data, make([]byte, end-int64(len(n.data)))...)
	}
	copy(n.data[off:], p)
	return len(p), full
}

func (m *Mem) truncateLocked(n *memNode, size int64) {
	old := int64(len(n.data))
	n.remember(min(size, old), max(size, old))
	m.used += size - old
	if size <= old {
		clear(n.data[size:])
		n.data = n.data[:size]
		return
	}
	n.data = append(n.data, make([]byte, size-old)...)
}

// remember keeps the synced content of the pages that touch [from, to) before they change.
func (n *memNode) remember(from, to int64) {
	if n.undo == nil {
		n.undo = map[int64][]byte{}
	}
	for p := from / memPage; p*memPage < to; p++ {
		if _, ok := n.undo[p]; ok {
			continue
		}
		var was []byte
		if start := p * memPage; start < n.syncedSize {
			was = append(was, n.data[min(start, int64(len(n.data))):min(start+memPage, int64(len(n.data)))]...)
		}
		n.undo[p] = was
	}
}

// CrashClone is the disk after a power cut now: data as of each file's last Sync, names as of each directory's last SyncDir.
func (m *Mem) CrashClone() *Mem { return m.crash(nil) }

// CrashCloneKeeping is CrashClone where, by the dice of rng, some of what was not synced has reached the disk too: any of the
// changed pages, any length between the synced and the current one, any of the changed names; a rename within a directory is there or
// is not.
func (m *Mem) CrashCloneKeeping(rng *rand.Rand) *Mem { return m.crash(rng) }

// Clone is the disk as it is now, as after a kill -9: nothing is lost, locks are free.
func (m *Mem) Clone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Mem{space: m.space, used: m.used, root: m.root.clone(map[*memNode]*memNode{}, func(n *memNode) (map[string]*memNode, []byte) {
		return n.children, slices.Clone(n.data)
	})}
	return c
}

func (m *Mem) crash(rng *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Mem{space: m.space}
	c.root = m.root.clone(map[*memNode]*memNode{}, func(n *memNode) (map[string]*memNode, []byte) {
		if n.dir {
			return n.survivingNames(rng), nil
		}
		return nil, n.survivingData(rng)
	})
	c.used = c.root.bytes()
	return c
}

// clone copies the tree that see shows; everything in the copy counts as synced.
func (n *memNode) clone(done map[*memNode]*memNode, see func(*memNode) (map[string]*memNode, []byte)) *memNode {
	if c := done[n]; c != nil {
		return c
	}
	c := &memNode{dir: n.dir, modTime: n.modTime}
	done[n] = c
	children, data := see(n)
	if n.dir {
		c.children = map[string]*memNode{}
		for _, k := range slices.Sorted(maps.Keys(children)) {
			c.children[k] = children[k].clone(done, see)
		}
		c.durable = maps.Clone(c.children)
		return c
	}
	c.data, c.syncedSize = data, int64(len(data))
	return c
}

func (n *memNode) survivingNames(rng *rand.Rand) map[string]*memNode {
	if rng == nil {
		return n.durable
	}
	out := maps.Clone(n.durable)
	names := maps.Clone(n.durable)
	maps.Copy(names, n.children)
	lost := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if n.children[k] == n.durable[k] {
			continue
		}
		group := n.together(k)
		if _, decided := lost[group]; !decided {
			lost[group] = rng.IntN(2) == 0
		}
		if lost[group] {
			continue
		}
		if c := n.children[k]; c != nil {
			out[k] = c
		} else {
			delete(out, k)
		}
	}
	return out
}

func (n *memNode) survivingData(rng *rand.Rand) []byte {
	size := n.syncedSize
	if rng != nil && size != int64(len(n.data)) {
		lo, hi := min(size, int64(len(n.data))), max(size, int64(len(n.data)))
		size = lo + rng.Int64N(hi-lo+1)
	}
	out := make([]byte, size)
	copy(out, n.data)
	for _, p := range slices.Sorted(maps.Keys(n.undo)) {
		if rng != nil && rng.IntN(2) == 0 {
			continue
		}
		page := out[min(p*memPage, size):min((p+1)*memPage, size)]
		clear(page)
		copy(page, n.undo[p])
	}
	return out
}

// SyncVolume implements VolumeSyncer.
func (m *Mem) SyncVolume(string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.root.syncAll()
	return nil
}

func (n *memNode) syncAll() {
	if !n.dir {
		n.undo, n.syncedSize = nil, int64(len(n.data))
		return
	}
	n.durable, n.renamed = maps.Clone(n.children), nil
	for _, c := range n.children {
		c.syncAll()
	}
}

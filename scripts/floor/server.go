package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// serve accepts for ever. All connections append to one file, as those of a partition do.
func serve(dir string) error {
	runtime.GOMAXPROCS(64) // a thread per connection sits in system calls that the scheduler does not see
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 16); err != nil {
		return err
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	a := &appender{file: file}
	fmt.Printf("127.0.0.1:%d\n", at.(*unix.SockaddrInet4).Port)
	for {
		c, _, err := unix.Accept(fd)
		if err != nil {
			return err
		}
		if err := unix.SetsockoptInt(c, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return err
		}
		go func() {
			runtime.LockOSThread()
			if err := a.connection(c); err != nil {
				fmt.Fprintln(os.Stderr, "floor: server:", err)
			}
			_ = unix.Close(c) // the peer has gone
			runtime.UnlockOSThread()
		}()
	}
}

type appender struct {
	file *os.File
	mu   sync.Mutex
	size int64 // guarded by mu
}

// segmentBytes is where the file starts again from its beginning: nothing grows without bound, and every page is new at first.
const segmentBytes = 1 << 30

func (a *appender) connection(c int) error {
	buf := make([]byte, 2<<20)
	table := crc32.MakeTable(crc32.Castagnoli)
	answer := make([]byte, 64)
	have := 0
	for {
		need := 4
		if have >= 4 {
			need = 4 + int(binary.BigEndian.Uint32(buf))
		}
		if have < need {
			n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(c), uintptr(unsafe.Pointer(&buf[have])), uintptr(min(len(buf)-have, max(need-have, 64<<10))))
			if e != 0 || n == 0 {
				return ended(e)
			}
			have += int(n)
			continue
		}
		body := buf[4:need]
		if body[0] == 0 {
			if crc32.Checksum(body, table) == 0 {
				answer[0]++ // the sum is used
			}
			if err := a.append(body); err != nil {
				return err
			}
			if _, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(c), uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer))); e != 0 {
				return ended(e)
			}
		} else if err := a.send(c, int(binary.BigEndian.Uint32(body[4:]))); err != nil {
			return err
		}
		have = copy(buf, buf[need:have])
	}
}

func ended(e unix.Errno) error {
	if e == 0 || errors.Is(e, unix.ECONNRESET) || errors.Is(e, unix.EPIPE) {
		return nil
	}
	return e
}

func (a *appender) append(b []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.size+int64(len(b)) > segmentBytes {
		a.size = 0
		if err := a.file.Truncate(0); err != nil {
			return err
		}
	}
	n, _, e := unix.RawSyscall6(unix.SYS_PWRITE64, a.file.Fd(), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(a.size), 0, 0)
	if e != 0 {
		return e
	}
	a.size += int64(n)
	return nil
}

// send gives the first n bytes of the file.
func (a *appender) send(c, n int) error {
	var off int64
	for off < int64(n) {
		got, err := unix.Sendfile(c, int(a.file.Fd()), &off, n-int(off))
		if err != nil {
			return err
		}
		if got == 0 {
			return errors.New("the file is too short")
		}
	}
	return nil
}

package tool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

const (
	dumpWindow   = 1 << 20 // bytes read at once
	sizeToMagic  = 17      // offset, size, leader epoch or CRC, magic: what must be there to know a batch
	legacyHeader = 14      // the smallest record of any format, without offset and size
)

// batchFile reads the batches of a log file one after the other. Memory: the largest batch.
type batchFile struct {
	file     vfs.File
	name     string // for errors, absolute
	size     int64  // where to stop
	position int64  // of the next batch
	window   []byte // what was read, from position on
}

// openBatches opens a log file; limit > 0 ends it there.
func openBatches(fs vfs.FS, name string, limit int64) (*batchFile, error) {
	f, err := fs.OpenRead(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if limit > 0 {
		size = min(size, limit)
	}
	return &batchFile{file: f, name: name, size: size}, nil
}

func (b *batchFile) close() error { return b.file.Close() }

// seek moves to a batch.
func (b *batchFile) seek(position int64) {
	b.position, b.window = position, nil
}

// fill sees to it that n bytes from position on are in the window.
func (b *batchFile) fill(n int) error {
	if len(b.window) >= n {
		return nil
	}
	buf := make([]byte, min(int64(max(n, dumpWindow)), b.size-b.position))
	copied := copy(buf, b.window)
	m, err := b.file.ReadAt(buf[copied:], b.position+int64(copied))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	b.window = buf[:copied+m]
	if len(b.window) < n {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// next gives the next whole batch, nil at the end or in front of a torn one. It is valid until the next call. What cannot be a batch is a
// *exception.
func (b *batchFile) next() (batch.Batch, error) {
	if b.position >= b.size-sizeToMagic {
		return nil, nil
	}
	if err := b.fill(sizeToMagic); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(b.window[8:]))
	if size < legacyHeader {
		return nil, &exception{"org.apache.kafka.common.errors.CorruptRecordException",
			fmt.Sprintf("Found record size %d smaller than minimum record overhead (%d) in file %s.", size, legacyHeader, b.name)}
	}
	whole := int(size) + batch.Overhead
	if b.position > b.size-int64(whole) {
		return nil, nil
	}
	if err := b.fill(whole); err != nil {
		return nil, err
	}
	got := batch.Batch(b.window[:whole:whole])
	b.window = b.window[whole:]
	b.position += int64(whole)
	return got, nil
}

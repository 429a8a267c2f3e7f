package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is how a batch's records are compressed.
type Codec int8

// The codecs by their attribute value.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String is the codec's name in compression.type.
func (c Codec) String() string {
	switch c {
	case None:
		return "uncompressed"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return "unknown codec " + strconv.Itoa(int(c))
}

// CodecOf is the codec that compression.type names; producer (keep what comes) and unknown names give false.
func CodecOf(name string) (Codec, bool) {
	switch name {
	case "uncompressed", "none":
		return None, true
	case "gzip":
		return Gzip, true
	case "snappy":
		return Snappy, true
	case "lz4":
		return LZ4, true
	case "zstd":
		return Zstd, true
	}
	return None, false
}

// Default levels of Kafka's compression.{gzip,lz4,zstd}.level.
const (
	DefaultGzipLevel = -1
	DefaultLZ4Level  = 9 // by which Kafka means lz4's fast compressor; every other level is high compression
	DefaultZstdLevel = 3
)

// Level is the default level of a codec.
func (c Codec) Level() int32 {
	switch c {
	case Gzip:
		return DefaultGzipLevel
	case LZ4:
		return DefaultLZ4Level
	case Zstd:
		return DefaultZstdLevel
	}
	return 0
}

// decoder is a pooled stream of decompressed bytes.
type decoder interface {
	io.Reader
	// release gives the decoder back; once.
	release()
}

func newDecoder(c Codec, src []byte) (decoder, error) {
	switch c {
	case Gzip:
		d := pools.gzip.Get().(*gzipDecoder)
		d.src.Reset(src)
		if err := d.z.Reset(&d.src); err != nil {
			d.release()
			return nil, err
		}
		return d, nil
	case Snappy:
		d := pools.snappy.Get().(*snappyDecoder)
		d.reset(src)
		return d, nil
	case LZ4:
		d := pools.lz4.Get().(*lz4Decoder)
		d.src.Reset(src)
		d.z.Reset(&d.src)
		return d, nil
	case Zstd:
		d := pools.zstd.Get().(*zstdDecoder)
		if err := d.reset(src); err != nil {
			d.release()
			return nil, err
		}
		return d, nil
	}
	return nil, fmt.Errorf("unknown compression type id: %d", c)
}

type gzipDecoder struct {
	src bytes.Reader
	z   gzip.Reader
}

func (d *gzipDecoder) Read(p []byte) (int, error) { return d.z.Read(p) }
func (d *gzipDecoder) release()                   { d.src.Reset(nil); pools.gzip.Put(d) }

type lz4Decoder struct {
	src bytes.Reader
	z   *lz4.Reader
}

func (d *lz4Decoder) Read(p []byte) (int, error) { return d.z.Read(p) }
func (d *lz4Decoder) release()                   { d.src.Reset(nil); pools.lz4.Put(d) }

// Windows that a zstd frame may ask for: the pooled decoders keep at most the first (levels up to 19); a frame of an ultra level
// gets a decoder of its own, up to what zstd itself accepts by default.
const (
	zstdPooledWindow = 8 << 20
	zstdMaxWindow    = 128 << 20
)

type zstdDecoder struct {
	src bytes.Reader
	raw []byte
	z   *zstd.Decoder
	big *zstd.Decoder // nil but for a frame with a large window
	got bool          // something was read: no second try
}

func (d *zstdDecoder) reset(src []byte) error {
	d.raw, d.got = src, false
	d.src.Reset(src)
	return d.z.Reset(&d.src)
}

func (d *zstdDecoder) Read(p []byte) (int, error) {
	if d.big != nil {
		return d.big.Read(p)
	}
	n, err := d.z.Read(p)
	if !d.got && n == 0 && (errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)) {
		d.src.Reset(d.raw)
		big, err := zstd.NewReader(&d.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdMaxWindow))
		if err != nil {
			return 0, err
		}
		d.big = big
		return big.Read(p)
	}
	d.got = d.got || n > 0
	return n, err
}

func (d *zstdDecoder) release() {
	if d.big != nil {
		d.big.Close()
		d.big = nil
	}
	d.raw = nil
	d.src.Reset(nil)
	pools.zstd.Put(d)
}

// Decompress appends the decompressed src to dst, which may grow by limit bytes at most.
func Decompress(dst, src []byte, c Codec, limit int) ([]byte, error) {
	if c == None {
		return append(dst, src...), nil
	}
	d, err := newDecoder(c, src)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrDecompress, err)
	}
	defer d.release()
	start := len(dst)
	for {
		if len(dst)-start > limit {
			return dst[:start], fmt.Errorf("%w: more than %d bytes", ErrDecompress, limit)
		}
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := d.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			if len(dst)-start > limit {
				return dst[:start], fmt.Errorf("%w: more than %d bytes", ErrDecompress, limit)
			}
			return dst, nil
		}
		if err != nil {
			return dst[:start], fmt.Errorf("%w: %w", ErrDecompress, err)
		}
	}
}

// Compress appends the compressed src to dst, as Kafka's own classes frame it. Levels as in the properties of that name; they
// are ignored where the codec has none.
func Compress(dst, src []byte, c Codec, level int32) ([]byte, error) {
	switch c {
	case None:
		return append(dst, src...), nil
	case Snappy:
		return compressSnappy(dst, src), nil
	case Gzip, LZ4, Zstd:
		e, err := pools.encoder(c, level)
		if err != nil {
			return dst, fmt.Errorf("%v level %d: %w", c, level, err)
		}
		defer e.release()
		return e.compress(dst, src)
	}
	return dst, fmt.Errorf("unknown compression type id: %d", c)
}

// Snappy comes in two forms: xerial's (what Java writes): a header of magic, version and lowest compatible version, then blocks,
// each a big endian int32 length and that many bytes of one snappy block; or one bare snappy block (what some clients write).
var xerialHeader = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

const (
	xerialMagicSize  = 8
	xerialHeaderSize = 16
	xerialBlockSize  = 32 << 10
	// snappyMaxRatio bounds what a block can hold: its best element, a copy of 64 bytes, takes three.
	snappyMaxRatio = 32
)

func compressSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialHeader...)
	var block []byte
	for len(src) > 0 {
		n := min(len(src), xerialBlockSize)
		block = snappy.Encode(block[:cap(block)], src[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))
		dst = append(dst, block...)
		src = src[n:]
	}
	return dst
}

type snappyDecoder struct {
	src   []byte
	raw   bool   // one bare block
	store []byte // the block's bytes
	out   []byte // of them, not read yet
}

var errSnappy = errors.New("corrupt snappy stream")

func (d *snappyDecoder) reset(src []byte) {
	d.out = nil
	d.raw = len(src) < xerialHeaderSize || !bytes.HasPrefix(src, xerialHeader[:xerialMagicSize])
	if !d.raw {
		src = src[xerialHeaderSize:]
	}
	d.src = src
}

func (d *snappyDecoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if len(d.src) == 0 {
			return 0, io.EOF
		}
		if err := d.nextBlock(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

func (d *snappyDecoder) nextBlock() error {
	block := d.src
	if d.raw {
		d.src = nil
	} else {
		// A further header may follow where streams were put one after the other.
		if len(d.src) >= xerialHeaderSize && bytes.Equal(d.src[:xerialMagicSize], xerialHeader[:xerialMagicSize]) {
			d.src = d.src[xerialHeaderSize:]
			return nil
		}
		if len(d.src) < 4 {
			d.src = nil // Java takes a cut length for the end of the stream
			return nil
		}
		l := binary.BigEndian.Uint32(d.src)
		if uint64(l) > uint64(len(d.src)-4) {
			return errSnappy
		}
		block, d.src = d.src[4:4+l], d.src[4+l:]
	}
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	if n > snappyMaxRatio*len(block)+64 {
		return errSnappy
	}
	if cap(d.store) < n {
		d.store = make([]byte, n)
	}
	d.out, err = snappy.Decode(d.store[:cap(d.store)], block)
	return err
}

func (d *snappyDecoder) release() {
	d.src, d.out = nil, nil
	if cap(d.store) > maxPooledBuffer {
		d.store = nil
	}
	pools.snappy.Put(d)
}

// maxPooledBuffer is the largest buffer that goes back to a pool; larger ones are garbage.
const maxPooledBuffer = 1 << 20

// pools of decoders and buffers; safe for concurrent use, emptied by the garbage collector.
var pools = newCodecPools()

type codecPools struct {
	gzip, snappy, lz4, zstd, buffers sync.Pool    // decoders, and their readers' buffers
	encoders                         [3]sync.Pool // *encoder by codec: gzip, lz4, zstd
}

func newCodecPools() *codecPools {
	return &codecPools{
		gzip:   sync.Pool{New: func() any { return &gzipDecoder{} }},
		snappy: sync.Pool{New: func() any { return &snappyDecoder{} }},
		lz4:    sync.Pool{New: func() any { return &lz4Decoder{z: lz4.NewReader(nil)} }},
		zstd: sync.Pool{New: func() any {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdPooledWindow))
			if err != nil {
				return &zstdDecoder{} // options are constants: cannot happen
			}
			return &zstdDecoder{z: z}
		}},
		buffers: sync.Pool{New: func() any { return &readBuffer{b: make([]byte, readerChunk)} }},
	}
}

// readBuffer is what a Reader decompresses into; probe looks for bytes after the last record, whose slices b holds.
type readBuffer struct {
	b     []byte
	probe [1]byte
}

func (p *codecPools) buffer() *readBuffer { return p.buffers.Get().(*readBuffer) }

func (p *codecPools) putBuffer(b *readBuffer) {
	if len(b.b) <= maxPooledBuffer {
		p.buffers.Put(b)
	}
}

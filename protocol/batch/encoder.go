package batch

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// encoder is a pooled compressor of one codec and level: making one costs more than a batch.
type encoder struct {
	codec Codec
	level int32
	out   []byte
	gzip  *gzip.Writer  // one of the three
	lz4   *lz4.Writer   //
	zstd  *zstd.Encoder //
}

func encoderIndex(c Codec) int {
	switch c {
	case Gzip:
		return 0
	case LZ4:
		return 1
	}
	return 2
}

// encoder takes one of the pool; one of another level is dropped, as a broker's topics hardly differ in it.
func (p *codecPools) encoder(c Codec, level int32) (*encoder, error) {
	if e, ok := p.encoders[encoderIndex(c)].Get().(*encoder); ok && e.level == level {
		return e, nil
	}
	return newEncoder(c, level)
}

func newEncoder(c Codec, level int32) (*encoder, error) {
	e := &encoder{codec: c, level: level}
	var err error
	switch c {
	case Gzip:
		e.gzip, err = gzip.NewWriterLevel(nil, int(level))
	case LZ4:
		// As Kafka frames it: independent blocks of 64 KiB, no checksums but the header's, no size.
		e.lz4 = lz4.NewWriter(nil)
		err = e.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.CompressionLevelOption(lz4Level(level)))
	default:
		e.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(int(level))))
	}
	return e, err
}

// Write collects what the compressors put out.
func (e *encoder) Write(p []byte) (int, error) { e.out = append(e.out, p...); return len(p), nil }

func (e *encoder) compress(dst, src []byte) ([]byte, error) {
	if e.zstd != nil {
		return e.zstd.EncodeAll(src, dst), nil
	}
	e.out = dst
	var w io.WriteCloser = e.gzip
	if e.lz4 != nil {
		e.lz4.Reset(e)
		w = e.lz4
	} else {
		e.gzip.Reset(e)
	}
	if _, err := w.Write(src); err != nil {
		return dst, fmt.Errorf("%v: %w", e.codec, err)
	}
	if err := w.Close(); err != nil {
		return dst, fmt.Errorf("%v: %w", e.codec, err)
	}
	return e.out, nil
}

func (e *encoder) release() {
	e.out = nil
	pools.encoders[encoderIndex(e.codec)].Put(e)
}

// lz4Level turns compression.lz4.level (1 to 17, 9 the default) into the encoder's, whose high compression knows nine.
func lz4Level(level int32) lz4.CompressionLevel {
	if level == DefaultLZ4Level || level < 1 {
		return lz4.Fast
	}
	return 1 << (8 + min(level, 9)) // lz4.Level1 to lz4.Level9
}

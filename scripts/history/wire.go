package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// callLimit bounds one request: longer than any wait that one asks for.
const callLimit = 10 * time.Second

// conn is a connection with one request in flight, made anew after an error.
type conn struct {
	addr string
	c    net.Conn
	corr int32
}

// errGone is in every error of a connection: the broker was killed.
var errGone = errors.New("connection lost")

// do sends a request in the version it has.
func (c *conn) do(req kmsg.Request) (kmsg.Response, error) {
	resp, err := c.try(req)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return resp, nil
}

func (c *conn) close() {
	if c.c != nil {
		_ = c.c.Close() // nothing is expected of it any more
		c.c = nil
	}
}

func (c *conn) try(req kmsg.Request) (kmsg.Response, error) {
	if c.c == nil {
		nc, err := net.DialTimeout("tcp", c.addr, time.Second)
		if err != nil {
			return nil, err
		}
		c.c = nc
	}
	c.corr++
	b := kmsg.NewRequestFormatter(kmsg.FormatterClientID("history")).AppendRequest(nil, req, c.corr)
	if err := c.c.SetDeadline(time.Now().Add(callLimit)); err != nil {
		return nil, err
	}
	if _, err := c.c.Write(b); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.c, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.c, body); err != nil {
		return nil, err
	}
	if got := int32(binary.BigEndian.Uint32(body)); got != c.corr {
		return nil, fmt.Errorf("answer to %d, asked was %d", got, c.corr)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	body = body[4:]
	if resp.IsFlexible() {
		body = body[1:] // no tags in the header
	}
	return resp, resp.ReadFrom(body)
}

// producer is what goes into a batch's header.
type producer struct {
	id            int64
	epoch         int16
	seq           int32
	transactional bool
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode makes a batch of values.
func encode(p producer, values []string, now int64) []byte {
	var recs []byte
	for i, v := range values {
		var r []byte
		r = append(r, 0) // attributes
		r = kbin.AppendVarlong(r, 0)
		r = kbin.AppendVarint(r, int32(i))
		r = kbin.AppendVarint(r, -1) // key
		r = kbin.AppendVarint(r, int32(len(v)))
		r = append(r, v...)
		r = kbin.AppendVarint(r, 0) // headers
		recs = append(kbin.AppendVarint(recs, int32(len(r))), r...)
	}
	attributes := int16(0)
	if p.transactional {
		attributes = 1 << 4
	}
	rest := kbin.AppendInt16(nil, attributes)
	rest = kbin.AppendInt32(rest, int32(len(values)-1))
	rest = kbin.AppendInt64(rest, now)
	rest = kbin.AppendInt64(rest, now)
	rest = kbin.AppendInt64(rest, p.id)
	rest = kbin.AppendInt16(rest, p.epoch)
	rest = kbin.AppendInt32(rest, p.seq)
	rest = kbin.AppendInt32(rest, int32(len(values)))
	rest = append(rest, recs...)
	b := kbin.AppendInt64(nil, 0)
	b = kbin.AppendInt32(b, int32(len(rest)+9))
	b = kbin.AppendInt32(b, -1)
	b = append(b, 2)
	b = kbin.AppendUint32(b, crc32.Checksum(rest, castagnoli))
	return append(b, rest...)
}

// read is a batch as it was read.
type read struct {
	producer
	base, last int64
	control    bool
	commit     bool // of a control batch
	values     []string
}

// decode takes whole batches; a torn last one is left out.
func decode(b []byte) (list []read, err error) {
	for len(b) >= 12 {
		size := int(binary.BigEndian.Uint32(b[8:])) + 12
		if size > len(b) {
			break
		}
		r, err := decodeOne(b[:size])
		if err != nil {
			return nil, err
		}
		list, b = append(list, r), b[size:]
	}
	return list, nil
}

func decodeOne(b []byte) (read, error) {
	if sum := binary.BigEndian.Uint32(b[17:]); sum != crc32.Checksum(b[21:], castagnoli) {
		return read{}, errors.New("a batch with a wrong CRC was served")
	}
	r := kbin.Reader{Src: b}
	out := read{base: r.Int64()}
	r.Span(4 + 4 + 1 + 4)
	attributes := r.Int16()
	out.transactional, out.control = attributes&(1<<4) != 0, attributes&(1<<5) != 0
	out.last = out.base + int64(r.Int32())
	r.Span(16)
	out.id, out.epoch, out.seq = r.Int64(), r.Int16(), r.Int32()
	for range r.Int32() {
		rec := kbin.Reader{Src: r.Span(int(r.Varint()))}
		rec.Int8()
		rec.Varlong()
		rec.Varint()
		key := rec.VarintBytes()
		value := rec.VarintBytes()
		if out.control {
			out.commit = len(key) == 4 && key[3] == 1
			continue
		}
		out.values = append(out.values, string(value))
	}
	return out, r.Complete()
}

package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/clock"
)

// kafkaConn is one plain connection to exactly one address. Client libraries hide what doctor wants to know: which address did what.
type kafkaConn struct {
	net.Conn
	clock    clock.Clock
	form     *kmsg.RequestFormatter
	next     int32
	versions map[int16]int16 // highest of each API
}

// errNoKafka is a port that does not answer as a Kafka does.
var errNoKafka = errors.New("it does not answer as a Kafka listener without TLS does")

// maxAnswer bounds an answer: the metadata of very many partitions.
const maxAnswer = 256 << 20

// connect dials and learns which versions are spoken.
func (d *doctor) connect(ctx context.Context, addr string) (*kafkaConn, error) {
	c, err := d.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	k := &kafkaConn{Conn: c, clock: d.p.Clock, form: kmsg.NewRequestFormatter(kmsg.FormatterClientID("kaja-doctor")), versions: map[int16]int16{}}
	resp, err := k.ask(kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		_ = c.Close() // what went wrong before is what matters
		return nil, fmt.Errorf("%w (%w)", errNoKafka, err)
	}
	for _, v := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		k.versions[v.ApiKey] = v.MaxVersion
	}
	if len(k.versions) == 0 {
		_ = c.Close() // as above
		return nil, errNoKafka
	}
	return k, nil
}

// ask sends a request in the newest version that both know.
func (k *kafkaConn) ask(req kmsg.Request) (kmsg.Response, error) {
	req.SetVersion(min(req.MaxVersion(), k.versions[req.Key()])) // ApiVersions in version 0, which everybody answers
	k.next++
	if err := k.SetDeadline(k.clock.Wall().Add(requestTimeout)); err != nil {
		return nil, err
	}
	if _, err := k.Write(k.form.AppendRequest(nil, req, k.next)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(k, head[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 || size > maxAnswer || int32(binary.BigEndian.Uint32(head[4:])) != k.next {
		return nil, errors.New("its answer is none of Kafka's")
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(k, body); err != nil {
		return nil, err
	}
	if req.IsFlexible() && req.Key() != 18 {
		var ok bool
		if body, ok = skipTags(body); !ok {
			return nil, errors.New("its answer has a malformed header")
		}
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("its answer to %s is malformed: %w", kmsg.NameForKey(req.Key()), err)
	}
	return resp, nil
}

// skipTags passes over the tagged fields of a response header.
func skipTags(b []byte) ([]byte, bool) {
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, false
	}
	b = b[n:]
	for range count {
		for part := range 2 { // tag, size
			v, n := binary.Uvarint(b)
			if n <= 0 || part == 1 && v > uint64(len(b)-n) {
				return nil, false
			}
			b = b[n:]
			if part == 1 {
				b = b[v:]
			}
		}
	}
	return b, true
}

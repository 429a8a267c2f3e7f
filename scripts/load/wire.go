package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire is one raw connection: prepared frames go out, frames come in.
type wire struct {
	net.Conn
	r   *bufio.Reader
	buf []byte // the last frame
}

// readBytes is the reader's buffer: large answers take few system calls.
const readBytes = 256 << 10

func dial(addr string) (*wire, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c, r: bufio.NewReaderSize(c, readBytes)}, nil
}

func dialAll(addr string, n int) ([]*wire, error) {
	all := make([]*wire, n)
	for i := range all {
		var err error
		if all[i], err = dial(addr); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// encode makes the frame of a request.
func encode(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("load")).AppendRequest(nil, req, 1)
}

// next reads a frame; it is valid until the next one is read.
func (w *wire) next() ([]byte, error) {
	n, err := w.size()
	if err != nil {
		return nil, err
	}
	if n > len(w.buf) {
		w.buf = make([]byte, n)
	}
	_, err = io.ReadFull(w.r, w.buf[:n])
	return w.buf[:n], err
}

func (w *wire) size() (int, error) {
	head, err := w.r.Peek(4)
	if err != nil {
		return 0, err
	}
	n := int(binary.BigEndian.Uint32(head))
	_, err = w.r.Discard(4)
	return n, err
}

// send writes a frame and reads the answer's.
func (w *wire) send(frame []byte) ([]byte, error) {
	if _, err := w.Write(frame); err != nil {
		return nil, err
	}
	return w.next()
}

// ask sends one request and decodes its answer.
func ask[R kmsg.Response](w *wire, req kmsg.Request, version int16) (R, error) {
	var none R
	b, err := w.send(encode(req, version))
	if err != nil {
		return none, err
	}
	resp := req.ResponseKind()
	body := b[4:]
	if resp.IsFlexible() && req.Key() != 18 {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return none, err
	}
	return resp.(R), nil
}

func coded(what string, code int16) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", what, kerr.ErrorForCode(code))
}

// topic makes the topic if it is missing, waits until every partition has a leader, and returns its id.
func (w *wire) topic(name string, partitions int, configs map[string]string) (id [16]byte, err error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 60_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
	for k, v := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, &v
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.CreateTopicsResponse](w, req, 7)
	if err != nil {
		return id, err
	}
	if code := resp.Topics[0].ErrorCode; code != kerr.TopicAlreadyExists.Code {
		if err := coded("create "+name, code); err != nil {
			return id, err
		}
	}
	for range 600 {
		id, ready, err := w.ready(name)
		if err != nil || ready >= partitions {
			return id, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return id, errors.New("the topic has not got leaders in 30 s")
}

// ready counts the partitions that have leaders.
func (w *wire) ready(name string) (id [16]byte, n int, err error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &name
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.MetadataResponse](w, req, 12)
	if err != nil || len(resp.Topics) == 0 || resp.Topics[0].ErrorCode != 0 {
		return id, 0, err
	}
	for _, p := range resp.Topics[0].Partitions {
		if p.ErrorCode == 0 && p.Leader >= 0 {
			n++
		}
	}
	return resp.Topics[0].TopicID, n, nil
}

// prepare makes the topic on a connection of its own.
func (o *options) prepare(configs map[string]string) (id [16]byte, err error) {
	w, err := dial(o.addr)
	if err != nil {
		return id, err
	}
	defer w.Close()
	return w.topic(o.topic, o.partitions, configs)
}

// together runs f for every connection and waits for all; the first error counts.
func together(ws []*wire, f func(i int, w *wire) error) error {
	errs := make(chan error, len(ws))
	for i, w := range ws {
		go func() { errs <- f(i, w) }()
	}
	var first error
	for range ws {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// uvarint cuts one off b; 0 and nothing if b ends in it, which the caller's bounds find out.
func uvarint(b []byte) (uint64, []byte) {
	v, n := binary.Uvarint(b)
	return v, b[max(n, 0):]
}

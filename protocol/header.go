package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// RequestHeader is the decoded header of a request (v1 or v2; v0 only for ControlledShutdown, which is not served).
//
//	0        2          4                8           10
//	+--------+----------+----------------+-----------+-----------+----------------------+
//	| key i16| version  | correlation i32| length i16| client id | v2: tagged fields    |
//	+--------+----------+----------------+-----------+-----------+----------------------+
//
// The client id has a two-byte length in v2 too, and a negative length is null.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      *string // nil is null; aliases nothing
	Flexible      bool    // header v2: tagged fields follow
}

// ErrShortHeader is a frame that ends within its request header.
var ErrShortHeader = errors.New("request ends within its header")

// UnknownKeyError is a request of an API key that Kafka 4.4.0 does not have on a broker's listener.
type UnknownKeyError struct {
	Key, Version int16
}

// Error implements error.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("unknown API key %d (version %d)", e.Key, e.Version)
}

// Read decodes the header at the start of frame and returns the body after it. h is used again and again for one connection: the
// client id is allocated only when it differs from the previous request's. Whether the version is served is for the caller to decide.
func (h *RequestHeader) Read(frame []byte) (body []byte, err error) {
	if len(frame) < 8 {
		return nil, ErrShortHeader
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	api, ok := Lookup(h.Key)
	if !ok {
		return nil, &UnknownKeyError{Key: h.Key, Version: h.Version}
	}
	h.Flexible = api.Flexible(h.Version)
	if body, err = h.readClientID(frame[8:]); err != nil {
		return nil, err
	}
	if h.Flexible {
		return skipTags(body)
	}
	return body, nil
}

func (h *RequestHeader) readClientID(b []byte) (rest []byte, err error) {
	if len(b) < 2 {
		return nil, ErrShortHeader
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	b = b[2:]
	if n < 0 {
		h.ClientID = nil
		return b, nil
	}
	if n > len(b) {
		return nil, ErrShortHeader
	}
	if h.ClientID == nil || *h.ClientID != string(b[:n]) {
		id := string(b[:n])
		h.ClientID = &id
	}
	return b[n:], nil
}

// skipTags passes over tagged fields; none of a request header is known to Kafka 4.4.0.
func skipTags(b []byte) (rest []byte, err error) {
	count, b, ok := uvarint(b)
	if !ok {
		return nil, ErrShortHeader
	}
	for ; count > 0; count-- {
		var size uint32
		if _, b, ok = uvarint(b); !ok {
			return nil, ErrShortHeader
		}
		if size, b, ok = uvarint(b); !ok || uint64(size) > uint64(len(b)) {
			return nil, ErrShortHeader
		}
		b = b[size:]
	}
	return b, nil
}

// uvarint reads an unsigned varint of at most five bytes.
func uvarint(b []byte) (v uint32, rest []byte, ok bool) {
	for i := 0; i < 5 && i < len(b); i++ {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

// ResponseHeaderLen is how many bytes AppendResponseHeader adds for the request's answer.
func (h *RequestHeader) ResponseHeaderLen() int {
	if h.responseTags() {
		return 5
	}
	return 4
}

// AppendResponseHeader appends the header of the answer to h: the correlation id and, in v1, no tagged fields.
func (h *RequestHeader) AppendResponseHeader(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.CorrelationID))
	if h.responseTags() {
		dst = append(dst, 0)
	}
	return dst
}

// responseTags: KIP-511: a client that asks for versions does not know yet whether the broker speaks flexible headers.
func (h *RequestHeader) responseTags() bool { return h.Flexible && h.Key != ApiVersionsKey }

package handler

import (
	"bytes"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// codeOf is the one place where an error becomes a code of the protocol. Domain packages speak kerr, possibly wrapped; an error
// that nobody foresaw becomes UNKNOWN_SERVER_ERROR: use (*Handler).code where such a one should be logged.
func codeOf(err error) int16 {
	var k *kerr.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &k):
		return k.Code
	default:
		return kerr.UnknownServerError.Code
	}
}

// code is codeOf, and logs an error that has no code of its own.
func (h *Handler) code(err error, c Call) int16 {
	code := codeOf(err)
	if code == kerr.UnknownServerError.Code {
		hd := c.Header()
		h.Log.Error().Err(err).Stack().Int16("api", hd.Key).Int16("version", hd.Version).Uint64("conn", c.Conn().ID()).Msg("unexpected error in a request")
	}
	return code
}

// decode reads the call's body into req, copying strings and aliasing byte fields (records). Bytes after the body are ignored, as Kafka
// does. If the body can't be decoded it closes the connection, as Kafka does, and reports false: the handler returns. That goes for null in
// the place of an array that must be there, too.
func decode(c Call, req kmsg.Request) bool {
	req.SetVersion(c.Header().Version)
	body := c.Body()
	if err := req.ReadFrom(body); err != nil {
		c.Close("undecodable request: " + err.Error())
		return false
	}
	if sentNull(req, body) {
		c.Close("undecodable request: null where the protocol has none")
		return false
	}
	return true
}

// decodeUnsafe is decode whose strings alias the frame too: whatever is kept must be cloned, and nothing may be used after Park. For the sake
// of speed a null array counts as an empty one.
func decodeUnsafe(c Call, req interface {
	kmsg.Request
	UnsafeReadFrom([]byte) error
}) bool {
	req.SetVersion(c.Header().Version)
	if err := req.UnsafeReadFrom(c.Body()); err != nil {
		c.Close("undecodable request: " + err.Error())
		return false
	}
	return true
}

// sentNull tells whether body had null for an array that may not be null: kmsg reads it as an empty one, and writes it as such (where null is
// allowed, it writes null). So the request is encoded again: if that gives as many bytes, and all that differ are a null length on the
// one side and an empty one on the other, there was one. Any other difference (tags in another order, say) is none of our business.
func sentNull(req kmsg.Request, body []byte) bool {
	again := req.AppendTo(make([]byte, 0, len(body)))
	if len(again) != len(body) || bytes.Equal(again, body) {
		return false
	}
	null, empty := []byte{0xff, 0xff, 0xff, 0xff}, []byte{0, 0, 0, 0}
	if req.IsFlexible() {
		null, empty = []byte{0}, []byte{1}
	}
	for i := 0; i < len(body); i++ {
		if body[i] == again[i] {
			continue
		}
		if !bytes.HasPrefix(body[i:], null) || !bytes.HasPrefix(again[i:], empty) {
			return false
		}
		i += len(null) - 1
	}
	return true
}

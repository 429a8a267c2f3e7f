package handler

import (
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
// does. If the body can't be decoded it closes the connection, as Kafka does, and reports false: the handler returns.
func decode(c Call, req kmsg.Request) bool {
	req.SetVersion(c.Header().Version)
	if err := req.ReadFrom(c.Body()); err != nil {
		c.Close("undecodable request: " + err.Error())
		return false
	}
	return true
}

// decodeUnsafe is decode whose strings alias the frame too: whatever is kept must be cloned, and nothing may be used after Park.
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

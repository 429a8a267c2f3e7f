package protocol

import (
	"encoding/binary"
	"fmt"
)

// SizeLen is the length of the size in front of each frame: a signed 32-bit number of the bytes that follow.
const SizeLen = 4

// FrameSizeError is a frame whose announced size is negative or above socket.request.max.bytes. Kafka closes the connection.
type FrameSizeError struct {
	Size int32
	Max  int
}

// Error implements error.
func (e *FrameSizeError) Error() string {
	return fmt.Sprintf("frame of %d bytes, allowed are 0 to %d (socket.request.max.bytes)", e.Size, e.Max)
}

// FrameSize reads the size at the start of b, which has at least SizeLen bytes, and checks it against max.
func FrameSize(b []byte, max int) (int, error) {
	size := int32(binary.BigEndian.Uint32(b))
	if size < 0 || int(size) > max {
		return 0, &FrameSizeError{Size: size, Max: max}
	}
	return int(size), nil
}

// BeginFrame appends room for a size that EndFrame fills in.
func BeginFrame(dst []byte) []byte { return append(dst, 0, 0, 0, 0) }

// EndFrame writes the size of the frame that BeginFrame began at start and that reaches to the end of b plus extra bytes that
// are sent from elsewhere.
func EndFrame(b []byte, start, extra int) {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-SizeLen+extra))
}

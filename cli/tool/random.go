package tool

import (
	"crypto/rand"
	"encoding/binary"
)

// randomBelow is a number from 0 to n-1 for a name that should be its own.
func randomBelow(n uint64) uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.BigEndian.Uint64(b[:]) % n
}

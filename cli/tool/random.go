package tool

import (
	"crypto/rand"
	"encoding/base64"
	"math/big"
)

// newUUID is a random id in Kafka's form.
func newUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// randomBelow is a number from 0 to n-1 for a name that should be its own.
func randomBelow(n int64) int64 {
	r, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		return 0 // it never fails
	}
	return r.Int64()
}

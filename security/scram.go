package security

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
)

// SCRAM mechanisms as numbered by AlterUserScramCredentials.
const (
	ScramSHA256 int8 = 1
	ScramSHA512 int8 = 2
)

// scramHash is a mechanism's hash, nil for an unknown one.
func scramHash(mechanism int8) func() hash.Hash {
	switch mechanism {
	case ScramSHA256:
		return sha256.New
	case ScramSHA512:
		return sha512.New
	}
	return nil
}

// ScramKeys computes what a server keeps of a salted password (RFC 5802, section 3): StoredKey = H(HMAC(SaltedPassword, "Client Key")) and
// ServerKey = HMAC(SaltedPassword, "Server Key"). Both are nil for an unknown mechanism.
func ScramKeys(mechanism int8, saltedPassword []byte) (storedKey, serverKey []byte) {
	h := scramHash(mechanism)
	if h == nil {
		return nil, nil
	}
	clientKey := scramMAC(h, saltedPassword, "Client Key")
	sum := h()
	sum.Write(clientKey)
	return sum.Sum(nil), scramMAC(h, saltedPassword, "Server Key")
}

func scramMAC(h func() hash.Hash, key []byte, text string) []byte {
	mac := hmac.New(h, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

package security

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"testing"
)

// The example of RFC 7677, section 3: user "user", password "pencil".
func TestScramKeysOfRFC7677(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	salted, err := pbkdf2.Key(sha256.New, "pencil", salt, 4096, 32)
	if err != nil {
		t.Fatal(err)
	}
	stored, server := ScramKeys(ScramSHA256, salted)
	f := func(name string, got []byte, want string) {
		t.Helper()
		if g := base64.StdEncoding.EncodeToString(got); g != want {
			t.Errorf("%s is %s, want %s", name, g, want)
		}
	}
	f("stored key", stored, "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=")
	f("server key", server, "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")
}

func TestScramKeysOfOtherMechanisms(t *testing.T) {
	if stored, server := ScramKeys(ScramSHA512, []byte("x")); len(stored) != 64 || len(server) != 64 {
		t.Errorf("SHA-512 gives keys of %d and %d bytes, want 64", len(stored), len(server))
	}
	if stored, server := ScramKeys(9, []byte("x")); stored != nil || server != nil {
		t.Errorf("an unknown mechanism gives %x and %x, want none", stored, server)
	}
}

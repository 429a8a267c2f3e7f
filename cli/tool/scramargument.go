package tool

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/metadata/record"
)

// scramMechanism is a kind of SCRAM credentials; iterations that Kafka takes.
type scramMechanism struct {
	name        string
	number      int8
	new         func() hash.Hash
	least, most int32
}

const (
	scramDefaultIterations = 4096
	scramMaxIterations     = 16384
	scramSaltBytes         = 25
)

func scramMechanisms() []scramMechanism {
	return []scramMechanism{
		{"SCRAM-SHA-256", 1, sha256.New, scramDefaultIterations, scramMaxIterations},
		{"SCRAM-SHA-512", 2, sha512.New, scramDefaultIterations, scramMaxIterations},
	}
}

// parseScram reads an argument of --add-scram, such as SCRAM-SHA-256=[name=alice,password=secret], and makes the credential.
func parseScram(text string) (*record.UserScramCredentialRecord, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return nil, &terseError{fmt.Sprintf("Failed to find equals sign in SCRAM argument '%s'", text)}
	}
	i := slices.IndexFunc(scramMechanisms(), func(m scramMechanism) bool { return m.name == name })
	if i < 0 {
		return nil, &terseError{fmt.Sprintf("The add-scram mechanism %s is not supported.", name)}
	}
	m := scramMechanisms()[i]
	switch {
	case !strings.HasPrefix(value, "["):
		return nil, &terseError{"Expected configuration string to start with ["}
	case !strings.HasSuffix(value, "]"):
		return nil, &terseError{"Expected configuration string to end with ]"}
	}
	parts := map[string]string{}
	for _, part := range strings.Split(value[1:len(value)-1], ",") {
		k, v, ok := strings.Cut(part, "=")
		if !ok {
			return nil, &terseError{"No equals sign found in SCRAM component: " + part}
		}
		parts[strings.TrimSpace(k)] = strings.Trim(strings.TrimSpace(v), `"`)
	}
	return m.credential(parts)
}

func (m scramMechanism) credential(parts map[string]string) (*record.UserScramCredentialRecord, error) {
	take := func(key string) (string, bool) {
		v, ok := parts[key]
		delete(parts, key)
		return v, ok
	}
	r := record.NewUserScramCredentialRecord()
	r.Mechanism, r.Iterations = m.number, scramDefaultIterations
	var ok bool
	if r.Name, ok = take("name"); !ok {
		return nil, &terseError{"You must supply 'name' to add-scram"}
	}
	salt, salted := take("salt")
	if err := m.iterations(r, take); err != nil {
		return nil, err
	}
	var err error
	if salted {
		if r.Salt, err = base64.StdEncoding.DecodeString(salt); err != nil {
			return nil, &terseError{"Failed to decode given salt: " + salt}
		}
	}
	password, plain := take("password")
	saltedText, hashed := take("saltedpassword")
	switch {
	case plain == hashed:
		return nil, &terseError{"You must supply one of 'password' or 'saltedpassword' to add-scram"}
	case hashed && !salted:
		return nil, &terseError{"You must supply 'salt' with 'saltedpassword' to add-scram"}
	case len(parts) > 0:
		unknown := make([]string, 0, len(parts))
		for k := range parts {
			unknown = append(unknown, k)
		}
		slices.Sort(unknown)
		return nil, &terseError{"Unknown SCRAM configurations: " + strings.Join(unknown, ", ")}
	}
	if !salted {
		r.Salt = make([]byte, scramSaltBytes)
		_, _ = rand.Read(r.Salt) // never fails (crypto/rand)
	}
	var key []byte
	if hashed {
		key, err = base64.StdEncoding.DecodeString(saltedText)
	} else {
		key, err = pbkdf2.Key(m.new, password, r.Salt, int(r.Iterations), m.new().Size())
	}
	if err != nil {
		return nil, &terseError{"Failed to decode given saltedPassword: " + saltedText}
	}
	r.StoredKey, r.ServerKey = m.keys(key)
	return r, nil
}

func (m scramMechanism) iterations(r *record.UserScramCredentialRecord, take func(string) (string, bool)) error {
	text, given := take("iterations")
	if !given {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	switch r.Iterations = int32(n); {
	case err != nil:
		return &terseError{"Failed to parse iterations count: " + text}
	case r.Iterations < m.least:
		return &terseError{fmt.Sprintf("The 'iterations' value must be >= %d for add-scram using %s", m.least, strings.ReplaceAll(m.name, "-", "_"))}
	case r.Iterations > m.most:
		return &terseError{fmt.Sprintf("The 'iterations' value must be <= %d for add-scram using %s", m.most, strings.ReplaceAll(m.name, "-", "_"))}
	}
	return nil
}

// keys are what a broker keeps of a salted password (RFC 5802): stored key and server key.
func (m scramMechanism) keys(salted []byte) (stored, server []byte) {
	mac := func(text string) []byte {
		h := hmac.New(m.new, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	h := m.new()
	h.Write(mac("Client Key"))
	return h.Sum(nil), mac("Server Key")
}

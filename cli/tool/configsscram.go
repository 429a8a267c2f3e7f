package tool

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// scramMinIterations is what both mechanisms need at least.
const (
	scramMinIterations = 4096
)

var scramPattern = regexp.MustCompile(`^(?:iterations=(-?[0-9]*),)?password=(.*)$`)

// scramNumber is the number of a mechanism on the wire.
func scramNumber(name string) int8 {
	if name == "SCRAM-SHA-512" {
		return 2
	}
	return 1
}

// parseSCRAM reads iterations and password of a credential.
func parseSCRAM(mechanism, text string) (iterations int, password string, err error) {
	m := scramPattern.FindStringSubmatch(text)
	if m == nil {
		return 0, "", illegal("Invalid credential property %s=%s", strings.ReplaceAll(mechanism, "-", "_"), text)
	}
	iterations = scramDefaultIterations
	if m[1] != "" && m[1] != "-1" {
		if iterations, err = strconv.Atoi(m[1]); err != nil {
			return 0, "", thrown(classNumberFormat, "%s", javaNumberError(m[1]))
		}
	}
	if iterations < scramMinIterations {
		return 0, "", illegal("Iterations %d is less than the minimum %d required for %s", iterations, scramMinIterations, mechanism)
	}
	return iterations, m[2], nil
}

// saltedPassword is what the broker keeps its keys of.
func saltedPassword(mechanism, password string, salt []byte, iterations int) ([]byte, error) {
	if scramNumber(mechanism) == 2 {
		return pbkdf2.Key(sha512.New, password, salt, iterations, sha512.Size)
	}
	return pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
}

func (o *configs) alterSCRAM(ctx context.Context, ch change) error {
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, key := range ch.delete {
		d := kmsg.NewAlterUserSCRAMCredentialsRequestDeletion()
		d.Name, d.Mechanism = o.names[0], scramNumber(key)
		req.Deletions = append(req.Deletions, d)
	}
	for _, key := range sortedKeys(ch.set) {
		iterations, password, err := parseSCRAM(key, ch.set[key])
		if err != nil {
			return err
		}
		salt := make([]byte, scramSaltBytes)
		_, _ = rand.Read(salt) // never fails (crypto/rand)
		salted, err := saltedPassword(key, password, salt, iterations)
		if err != nil {
			return fmt.Errorf("salt a password: %w", err)
		}
		u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
		u.Name, u.Mechanism, u.Iterations, u.Salt, u.SaltedPassword = o.names[0], scramNumber(key), int32(iterations), salt, salted
		req.Upsertions = append(req.Upsertions, u)
	}
	resp, err := o.c.call(ctx, "alterUserScramCredentials", req)
	if err == nil {
		for _, each := range resp.(*kmsg.AlterUserSCRAMCredentialsResponse).Results {
			err = first(err, exceptionOf(each.ErrorCode, each.ErrorMessage))
		}
	}
	return asExecution(err)
}

func (o *configs) describeSCRAM(ctx context.Context) error {
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range o.names {
		u := kmsg.NewDescribeUserSCRAMCredentialsRequestUser()
		u.Name = name
		req.Users = append(req.Users, u)
	}
	resp, err := o.c.call(ctx, "describeUserScramCredentials", req)
	if err != nil {
		return asExecution(err)
	}
	r := resp.(*kmsg.DescribeUserSCRAMCredentialsResponse)
	if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
		return asExecution(err)
	}
	const notFound = 91 // RESOURCE_NOT_FOUND
	for _, u := range r.Results {
		if u.ErrorCode == notFound {
			continue
		}
		if err := exceptionOf(u.ErrorCode, u.ErrorMessage); err != nil {
			o.e.printf("Error retrieving SCRAM credential configs for user-principal '%s': ExecutionException: %s\n", u.User, javaToString(err))
			continue
		}
		var parts []string
		for _, c := range u.CredentialInfos {
			name := scramConfigs[0]
			if c.Mechanism == 2 {
				name = scramConfigs[1]
			}
			parts = append(parts, fmt.Sprintf("%s=iterations=%d", name, c.Iterations))
		}
		o.e.printf("SCRAM credential configs for user-principal '%s' are %s\n", u.User, strings.Join(parts, ", "))
	}
	return nil
}

package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// Bounds on iterations: 4096 is the minimum of both mechanisms, the maximum is ScramControlManager.MAX_ITERATIONS.
const (
	minScramIterations = 4096
	maxScramIterations = 16384
)

// scramVersion is the metadata.version with SCRAM, 3.5-IV2.
const scramVersion = 11

// alterUserScramCredentials decides an AlterUserScramCredentials request. Each user has one answer: what is wrong with any of
// its changes refuses them all.
func (m *machine) alterUserScramCredentials(req *kmsg.AlterUserSCRAMCredentialsRequest) ([]versioned, *kmsg.AlterUserSCRAMCredentialsResponse) {
	if m.img.MetadataVersion() < scramVersion {
		return nil, refuseScram(req, fail(kerr.UnsupportedVersion, "The current metadata.version does not support SCRAM"))
	}
	errs := map[string]apiError{}
	seen := map[metadata.ScramKey]bool{}
	check := func(user string, mechanism int8, problem func() apiError) {
		if errs[user].failed() {
			return
		}
		key := metadata.ScramKey{User: user, Mechanism: mechanism}
		err := checkScramName(user, mechanism)
		if !err.failed() {
			err = problem()
		}
		if !err.failed() && seen[key] {
			err = fail(kerr.DuplicateResource, "A user credential cannot be altered twice in the same request")
		}
		seen[key] = true
		if err.failed() {
			errs[user] = err
		}
	}
	for _, d := range req.Deletions {
		check(d.Name, d.Mechanism, func() apiError {
			if m.img.Scram(d.Name, d.Mechanism) == nil {
				return fail(kerr.ResourceNotFound, "Attempt to delete a user credential that does not exist")
			}
			return apiError{}
		})
	}
	for _, u := range req.Upsertions {
		check(u.Name, u.Mechanism, func() apiError {
			switch {
			case u.Iterations < minScramIterations:
				return fail(kerr.UnacceptableCredential, "Too few iterations")
			case u.Iterations > maxScramIterations:
				return fail(kerr.UnacceptableCredential, "Too many iterations")
			}
			return apiError{}
		})
	}
	return m.scramRecords(req, errs), scramResponse(req, func(user string) apiError { return errs[user] })
}

func checkScramName(user string, mechanism int8) apiError {
	switch {
	case user == "":
		return fail(kerr.UnacceptableCredential, "Username must not be empty")
	case mechanism != 1 && mechanism != 2: // SCRAM-SHA-256, SCRAM-SHA-512
		return fail(kerr.UnsupportedSaslMechanism, "Unknown SCRAM mechanism")
	}
	return apiError{}
}

func (m *machine) scramRecords(req *kmsg.AlterUserSCRAMCredentialsRequest, errs map[string]apiError) []versioned {
	var records []versioned
	for _, d := range req.Deletions {
		if !errs[d.Name].failed() {
			records = append(records, m.at(&record.RemoveUserScramCredentialRecord{Name: d.Name, Mechanism: d.Mechanism}))
		}
	}
	for _, u := range req.Upsertions {
		if errs[u.Name].failed() {
			continue
		}
		stored, server := m.self.ScramKeys(u.Mechanism, u.SaltedPassword)
		records = append(records, m.at(&record.UserScramCredentialRecord{Name: u.Name, Mechanism: u.Mechanism, Salt: u.Salt,
			StoredKey: stored, ServerKey: server, Iterations: u.Iterations}))
	}
	return records
}

// scramResponse has one result for each user, in order of first mention.
func scramResponse(req *kmsg.AlterUserSCRAMCredentialsRequest, errOf func(user string) apiError) *kmsg.AlterUserSCRAMCredentialsResponse {
	resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
	answered := map[string]bool{}
	answer := func(user string) {
		if answered[user] {
			return
		}
		answered[user] = true
		err := errOf(user)
		out := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		out.User, out.ErrorCode, out.ErrorMessage = user, err.code, err.text()
		resp.Results = append(resp.Results, out)
	}
	for _, d := range req.Deletions {
		answer(d.Name)
	}
	for _, u := range req.Upsertions {
		answer(u.Name)
	}
	return resp
}

func refuseScram(req *kmsg.AlterUserSCRAMCredentialsRequest, err apiError) *kmsg.AlterUserSCRAMCredentialsResponse {
	return scramResponse(req, func(string) apiError { return err })
}

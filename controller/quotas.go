package controller

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// Entity types of client quotas.
const (
	quotaUser     = "user"
	quotaClientID = "client-id"
	quotaIP       = "ip"
)

// quotaRule bounds a quota's value.
type quotaRule struct {
	whole bool    // no fractions
	max   float64 // of the type that Kafka keeps it in
}

// quotaRules are QuotaConfig's keys: of users and client ids, and of addresses.
func quotaRuleOf(key string, ip bool) (quotaRule, bool) {
	if ip {
		if key == "connection_creation_rate" {
			return quotaRule{whole: true, max: math.MaxInt32}, true
		}
		return quotaRule{}, false
	}
	switch key {
	case "producer_byte_rate", "consumer_byte_rate":
		return quotaRule{whole: true, max: math.MaxInt64}, true
	case "request_percentage", "controller_mutation_rate":
		return quotaRule{max: math.MaxFloat64}, true
	}
	return quotaRule{}, false
}

// alterClientQuotas decides an AlterClientQuotas request. resolvable tells whether the name of an ip entity that is no address is a
// host that resolves.
func (m *machine) alterClientQuotas(req *kmsg.AlterClientQuotasRequest, resolvable func(string) bool) ([]versioned, *kmsg.AlterClientQuotasResponse) {
	resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
	var records []versioned
	answers := map[string]int{} // entity → index of its answer
	for i := range req.Entries {
		e := &req.Entries[i]
		recs, err := m.alterQuota(e, resolvable)
		id := entityText(e.Entity)
		if at, again := answers[id]; again {
			err = fail(kerr.InvalidRequest, "Ignoring duplicate entity "+id)
			resp.Entries[at].ErrorCode, resp.Entries[at].ErrorMessage = err.code, err.text()
			continue
		}
		if !err.failed() {
			records = append(records, recs...)
		}
		answers[id] = len(resp.Entries)
		resp.Entries = append(resp.Entries, quotaAnswer(e, err))
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return records, resp
}

func quotaAnswer(e *kmsg.AlterClientQuotasRequestEntry, err apiError) kmsg.AlterClientQuotasResponseEntry {
	out := kmsg.NewAlterClientQuotasResponseEntry()
	out.ErrorCode, out.ErrorMessage = err.code, err.text()
	for _, p := range e.Entity {
		oe := kmsg.NewAlterClientQuotasResponseEntryEntity()
		oe.Type, oe.Name = p.Type, p.Name
		out.Entity = append(out.Entity, oe)
	}
	return out
}

// entityText names an entity whatever the order of its parts.
func entityText(entity []kmsg.AlterClientQuotasRequestEntryEntity) string {
	parts := make([]string, 0, len(entity))
	for _, p := range entity {
		name := "<default>"
		if p.Name != nil {
			name = fmt.Sprintf("%q", *p.Name)
		}
		parts = append(parts, p.Type+"="+name)
	}
	slices.Sort(parts)
	return "ClientQuotaEntity(" + strings.Join(parts, ", ") + ")"
}

func (m *machine) alterQuota(e *kmsg.AlterClientQuotasRequestEntry, resolvable func(string) bool) ([]versioned, apiError) {
	seen := map[string]bool{}
	for _, op := range e.Ops {
		if seen[op.Key] {
			return nil, fail(kerr.InvalidRequest, "Duplicate quota key "+op.Key+" not updating quota for this entity "+entityText(e.Entity))
		}
		seen[op.Key] = true
	}
	ip, err := checkQuotaEntity(e.Entity, resolvable)
	if err.failed() {
		return nil, err
	}
	entity := make([]record.EntityData, 0, len(e.Entity))
	parts := make([]metadata.EntityPart, 0, len(e.Entity))
	for _, p := range e.Entity {
		entity = append(entity, record.EntityData{EntityType: p.Type, EntityName: p.Name})
		parts = append(parts, metadata.EntityPart{Type: p.Type, Name: p.Name})
	}
	slices.SortFunc(entity, func(a, b record.EntityData) int { return cmp.Compare(a.EntityType, b.EntityType) })
	var current map[string]float64
	if q := m.img.Quota(parts...); q != nil {
		current = q.Values
	}
	var records []versioned
	for _, op := range e.Ops {
		rule, known := quotaRuleOf(op.Key, ip)
		if !known {
			return nil, fail(kerr.InvalidRequest, "Invalid configuration key "+op.Key)
		}
		old, had := current[op.Key]
		if op.Remove {
			if had {
				records = append(records, m.at(&record.ClientQuotaRecord{Entity: entity, Key: op.Key, Remove: true}))
			}
			continue
		}
		if err := rule.check(op.Key, op.Value); err.failed() {
			return nil, err
		}
		if !had || old != op.Value {
			records = append(records, m.at(&record.ClientQuotaRecord{Entity: entity, Key: op.Key, Value: op.Value}))
		}
	}
	return records, apiError{}
}

// checkQuotaEntity tells whether it is an address.
func checkQuotaEntity(entity []kmsg.AlterClientQuotasRequestEntryEntity, resolvable func(string) bool) (ip bool, err apiError) {
	bad := func(message string) (bool, apiError) { return false, fail(kerr.InvalidRequest, message) }
	if len(entity) == 0 {
		return bad("Invalid empty client quota entity")
	}
	var address *string
	types := map[string]bool{}
	for _, p := range entity {
		if types[p.Type] {
			return bad("Invalid client quota entity, duplicate entity entry " + p.Type)
		}
		types[p.Type] = true
		switch p.Type {
		case quotaUser, quotaClientID:
		case quotaIP:
			address = p.Name
		default:
			return bad("Unhandled client quota entity type: " + p.Type)
		}
		if p.Name != nil && *p.Name == "" {
			return bad("Empty " + p.Type + " not supported")
		}
	}
	ip = types[quotaIP]
	switch {
	case ip && len(types) > 1:
		return bad("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
	case address != nil && !isAddress(*address) && !resolvable(*address):
		return bad(*address + " is not a valid IP or resolvable host.")
	}
	return ip, apiError{}
}

// QuotaHosts are the names of ip entities that are no addresses, so that somebody has to look whether they resolve.
func QuotaHosts(req *kmsg.AlterClientQuotasRequest) []string {
	var hosts []string
	for _, e := range req.Entries {
		for _, p := range e.Entity {
			if p.Type == quotaIP && p.Name != nil && *p.Name != "" && !isAddress(*p.Name) {
				hosts = append(hosts, *p.Name)
			}
		}
	}
	return hosts
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return err == nil
}

// check is ClientQuotaControlManager.validateQuotaKeyValue; a fraction below a millionth is taken for a rounding error.
func (r quotaRule) check(key string, v float64) apiError {
	const epsilon = 1e-6
	bad := func(message string) apiError { return fail(kerr.InvalidRequest, message) }
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return bad("Quota " + key + " must be a finite number")
	case v <= 0:
		return bad("Quota " + key + " must be greater than 0")
	case r.whole && v > r.max:
		kind := "a LONG."
		if r.max == math.MaxInt32 {
			kind = "an INT."
		}
		return bad("Proposed value for " + key + " is too large for " + kind)
	case r.whole && math.Abs(v-math.Trunc(v+epsilon)) > epsilon:
		return bad(key + " cannot be a fractional value.")
	}
	return apiError{}
}

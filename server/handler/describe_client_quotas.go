package handler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
)

// Match types of DescribeClientQuotas.
const (
	matchExact   = 0
	matchDefault = 1
	matchAny     = 2
)

// Entity types of quotas.
const (
	quotaUser     = "user"
	quotaClientID = "client-id"
	quotaIP       = "ip"
)

// DescribeClientQuotas (key 48), versions 0 to 1 (KIP-546).
//
//	v1 flexible
//
// Seen on Apache 4.4.0: an entity is described if it has every type of the filter with a fitting name, and with strict no other type; so an
// empty filter gives everything, and with strict nothing. The message is "" on success. An error comes with null entries: an empty
// or repeated type, a match that does not go with its match type and a mix of ip with user or client-id are INVALID_REQUEST, an
// unknown type UNSUPPORTED_VERSION. Names are not looked at. Deviations: entities and values come sorted, not in a hash map's order.
func (h *Handler) describeClientQuotas(c Call) {
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
	if err, message := checkQuotaFilter(req.Components); err != nil {
		resp.ErrorCode, resp.ErrorMessage = err.Code, &message
		c.Reply(resp)
		return
	}
	resp.ErrorMessage = new(string)
	resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	for q := range h.Images().Quotas() {
		if quotaMatches(q, req.Components, req.Strict) {
			resp.Entries = append(resp.Entries, describedQuota(q))
		}
	}
	c.Reply(resp)
}

// checkQuotaFilter has the order of checks and the words of org.apache.kafka.image.ClientQuotasImage.describe.
func checkQuotaFilter(components []kmsg.DescribeClientQuotasRequestComponent) (err *kerr.Error, message string) {
	seen := map[string]bool{}
	for i := range components {
		f := &components[i]
		switch {
		case f.EntityType == "":
			return kerr.InvalidRequest, "Invalid empty entity type."
		case seen[f.EntityType]:
			return kerr.InvalidRequest, fmt.Sprintf("Entity type %s cannot appear more than once in the filter.", f.EntityType)
		case f.EntityType != quotaUser && f.EntityType != quotaClientID && f.EntityType != quotaIP:
			return kerr.UnsupportedVersion, fmt.Sprintf("Unsupported entity type %s", f.EntityType)
		}
		seen[f.EntityType] = true
		switch {
		case f.MatchType == matchExact && f.Match == nil:
			return kerr.InvalidRequest, "Request specified MATCH_TYPE_EXACT, but set match string to null."
		case f.MatchType == matchDefault && f.Match != nil:
			return kerr.InvalidRequest, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."
		case f.MatchType == matchAny && f.Match != nil:
			return kerr.InvalidRequest, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."
		case f.MatchType < matchExact || f.MatchType > matchAny:
			return kerr.InvalidRequest, fmt.Sprintf("Unknown match type %d", int8(f.MatchType))
		}
	}
	if seen[quotaIP] && len(seen) > 1 {
		return kerr.InvalidRequest, "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component."
	}
	return nil, ""
}

func quotaMatches(q *metadata.Quota, components []kmsg.DescribeClientQuotasRequestComponent, strict bool) bool {
	for i := range components {
		f := &components[i]
		at := slices.IndexFunc(q.Entity, func(p metadata.EntityPart) bool { return p.Type == f.EntityType })
		if at < 0 {
			return false
		}
		name := q.Entity[at].Name
		switch f.MatchType {
		case matchExact:
			if name == nil || *name != *f.Match {
				return false
			}
		case matchDefault:
			if name != nil {
				return false
			}
		}
	}
	return !strict || len(q.Entity) == len(components)
}

func describedQuota(q *metadata.Quota) kmsg.DescribeClientQuotasResponseEntry {
	e := kmsg.NewDescribeClientQuotasResponseEntry()
	for _, p := range q.Entity {
		part := kmsg.NewDescribeClientQuotasResponseEntryEntity()
		part.Type, part.Name = p.Type, p.Name
		e.Entity = append(e.Entity, part)
	}
	for _, key := range slices.Sorted(maps.Keys(q.Values)) {
		v := kmsg.NewDescribeClientQuotasResponseEntryValue()
		v.Key, v.Value = key, q.Values[key]
		e.Values = append(e.Values, v)
	}
	return e
}

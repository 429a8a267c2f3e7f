package metadata

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// EntityPart is one part of a quota's entity, e.g. user=alice. A nil name is the default of the type.
type EntityPart struct {
	Type string
	Name *string
}

// Quota is what is set for one entity.
type Quota struct {
	Entity []EntityPart // by type
	Values map[string]float64
}

// entityKey is the canonical form of an entity: its parts by type, each name marked as given or default.
func entityKey(entity []EntityPart) string {
	var b strings.Builder
	for _, p := range entity {
		b.WriteString(p.Type)
		if p.Name == nil {
			b.WriteString("\x00-")
		} else {
			b.WriteString("\x00=")
			b.WriteString(*p.Name)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// sortEntity returns the parts by type; of two parts of one type the later stands, as in Kafka's map.
func sortEntity(parts []EntityPart) []EntityPart {
	byType := map[string]EntityPart{}
	for _, p := range parts {
		byType[p.Type] = p
	}
	return slices.SortedFunc(maps.Values(byType), func(a, b EntityPart) int { return cmp.Compare(a.Type, b.Type) })
}

// Quotas iterates everything that is set, in a stable order.
func (img *Image) Quotas() iter.Seq[*Quota] { return values(img.quotas.all()) }

// Quota returns what is set for exactly this entity, nil when nothing is.
func (img *Image) Quota(entity ...EntityPart) *Quota {
	q, _ := img.quotas.get(strings.Compare, entityKey(sortEntity(entity)))
	return q
}

// ScramKey names a credential: org.apache.kafka.clients.admin.ScramMechanism 1 SHA-256, 2 SHA-512.
type ScramKey struct {
	User      string
	Mechanism int8
}

func compareScramKeys(a, b ScramKey) int {
	return cmp.Or(strings.Compare(a.User, b.User), cmp.Compare(a.Mechanism, b.Mechanism))
}

// ScramCredential is what the server keeps of a password. It is never logged.
type ScramCredential struct {
	Salt, StoredKey, ServerKey []byte
	Iterations                 int32
}

// Scram returns a user's credential, nil when there is none.
func (img *Image) Scram(user string, mechanism int8) *ScramCredential {
	c, _ := img.scram.get(compareScramKeys, ScramKey{User: user, Mechanism: mechanism})
	return c
}

// Scrams iterates the credentials by user and mechanism.
func (img *Image) Scrams() iter.Seq2[ScramKey, *ScramCredential] { return img.scram.all() }

// ACL is one access control entry; the numbers are those of the protocol.
type ACL struct {
	ResourceType   int8
	ResourceName   string
	PatternType    int8
	Principal      string
	Host           string
	Operation      int8
	PermissionType int8
}

func compareIDs(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }

// ACLs iterates the entries by id.
func (img *Image) ACLs() iter.Seq2[[16]byte, *ACL] { return img.acls.all() }

// ACL returns the entry of an id, nil when there is none.
func (img *Image) ACL(id [16]byte) *ACL {
	a, _ := img.acls.get(compareIDs, id)
	return a
}

// DelegationToken is a token without its secret, which every broker derives from delegation.token.secret.key. Times are milliseconds.
type DelegationToken struct {
	ID                                                string
	Owner, Requester                                  string // principals, "User:name"
	Renewers                                          []string
	IssueTimestamp, MaxTimestamp, ExpirationTimestamp int64
}

// DelegationToken returns the token of an id, nil when there is none.
func (img *Image) DelegationToken(id string) *DelegationToken {
	t, _ := img.tokens.get(strings.Compare, id)
	return t
}

// DelegationTokens iterates the tokens by id.
func (img *Image) DelegationTokens() iter.Seq[*DelegationToken] { return values(img.tokens.all()) }

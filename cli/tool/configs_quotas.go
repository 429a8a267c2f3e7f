package tool

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterUser changes quotas of users and clients, or credentials of a user.
func (o *configs) alterUser(ctx context.Context, ch change) error {
	quota := func(key string) bool { return slices.Contains(quotaConfigs, key) || slices.Contains(ipConfigs, key) }
	scram := func(key string) bool { return slices.Contains(scramConfigs, key) }
	added := javaStringOrder(sortedKeys(ch.set))
	unknown := func(keys []string, known ...func(string) bool) []string {
		return slices.DeleteFunc(slices.Clone(keys), func(k string) bool {
			return slices.ContainsFunc(known, func(f func(string) bool) bool { return f(k) })
		})
	}
	list := func(keys []string) string { return strings.Join(keys, ",") }
	if slices.Contains(o.types, entityClients) {
		if u := unknown(added, quota); len(u) > 0 {
			return illegal("Only quota configs can be added for 'clients' using --bootstrap-server. Unexpected config names: %s", list(u))
		}
		if u := unknown(ch.delete, quota); len(u) > 0 {
			return illegal("Only quota configs can be deleted for 'clients' using --bootstrap-server. Unexpected config names: %s", list(u))
		}
		return o.alterQuotas(ctx, ch)
	}
	if u := unknown(added, quota, scram); len(u) > 0 {
		return illegal("Only quota and SCRAM credential configs can be added for 'users' using --bootstrap-server. Unexpected config names: %s", list(u))
	}
	if u := unknown(ch.delete, quota, scram); len(u) > 0 {
		return illegal("Only quota and SCRAM credential configs can be deleted for 'users' using --bootstrap-server. Unexpected config names: %s", list(u))
	}
	keys := slices.Concat(added, ch.delete)
	quotas := slices.ContainsFunc(keys, quota)
	if slices.ContainsFunc(keys, scram) {
		if slices.Contains(o.names, "") {
			return illegal("The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using --bootstrap-server.")
		}
		if quotas {
			return illegal("Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server.")
		}
		return o.alterSCRAM(ctx, ch)
	}
	return o.alterQuotas(ctx, ch)
}

// quotaEntities are Kafka's names of the types of entities that have quotas.
var quotaEntities = map[string]string{entityUsers: "user", entityClients: "client-id", entityIPs: "ip"}

// quotas are the entities that the options name with their quotas.
func (o *configs) quotas(ctx context.Context) ([]kmsg.DescribeClientQuotasResponseEntry, error) {
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Strict = true
	if len(o.names) > len(o.types) {
		return nil, illegal("More entity names specified than entity types")
	}
	for i, t := range o.types {
		c := kmsg.NewDescribeClientQuotasRequestComponent()
		c.EntityType = quotaEntities[t]
		switch {
		case i >= len(o.names):
			c.MatchType = 2 // any name
		case o.names[i] == "":
			c.MatchType = 1 // the default entity
		default:
			c.Match = kmsg.StringPtr(o.names[i])
		}
		req.Components = append(req.Components, c)
	}
	resp, err := o.c.call(ctx, "describeClientQuotas", req)
	if err != nil {
		return nil, asExecution(err)
	}
	r := resp.(*kmsg.DescribeClientQuotasResponse)
	return r.Entries, asExecution(exceptionOf(r.ErrorCode, r.ErrorMessage))
}

func (o *configs) describeQuotas(ctx context.Context) error {
	entries, err := o.quotas(ctx)
	if err != nil {
		return err
	}
	titles := map[string]string{"user": "user-principal", "client-id": "client-id", "ip": "ip"}
	for _, entry := range entries {
		var who []string
		for _, kind := range []string{"user", "client-id", "ip"} {
			for _, e := range entry.Entity {
				switch {
				case e.Type != kind:
				case e.Name == nil:
					who = append(who, "the default "+titles[kind])
				default:
					who = append(who, titles[kind]+" '"+*e.Name+"'")
				}
			}
		}
		values := map[string]string{}
		var keys []string
		for _, v := range entry.Values {
			values[v.Key] = javaDouble(v.Value)
			keys = append(keys, v.Key)
		}
		var parts []string
		for _, key := range javaSizedOrder(keys) {
			parts = append(parts, key+"="+values[key])
		}
		o.e.printf("Quota configs for %s are %s\n", strings.Join(who, ", "), strings.Join(parts, ", "))
	}
	return nil
}

func (o *configs) alterQuotas(ctx context.Context, ch change) error {
	entries, err := o.quotas(ctx)
	if err != nil {
		return err
	}
	var missing []string
	for _, key := range ch.delete {
		if len(entries) == 0 || !slices.ContainsFunc(entries[0].Values, func(v kmsg.DescribeClientQuotasResponseEntryValue) bool { return v.Key == key }) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return thrown(classInvalidConfig, "Invalid config(s): %s", strings.Join(missing, ","))
	}
	req := kmsg.NewPtrAlterClientQuotasRequest()
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	for i, t := range o.types {
		e := kmsg.NewAlterClientQuotasRequestEntryEntity()
		e.Type = quotaEntities[t]
		if o.names[i] != "" {
			e.Name = kmsg.StringPtr(o.names[i])
		}
		entry.Entity = append(entry.Entity, e)
	}
	for _, key := range javaStringOrder(sortedKeys(ch.set)) {
		v, err := strconv.ParseFloat(ch.set[key], 64)
		if err != nil {
			return illegal("Cannot parse quota configuration value for %s: %s", key, ch.set[key])
		}
		op := kmsg.NewAlterClientQuotasRequestEntryOp()
		op.Key, op.Value = key, v
		entry.Ops = append(entry.Ops, op)
	}
	for _, key := range ch.delete {
		op := kmsg.NewAlterClientQuotasRequestEntryOp()
		op.Key, op.Remove = key, true
		entry.Ops = append(entry.Ops, op)
	}
	req.Entries = append(req.Entries, entry)
	resp, err := o.c.call(ctx, "alterClientQuotas", req)
	if err == nil {
		for _, each := range resp.(*kmsg.AlterClientQuotasResponse).Entries {
			err = first(err, exceptionOf(each.ErrorCode, each.ErrorMessage))
		}
	}
	return asExecution(err)
}

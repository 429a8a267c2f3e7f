package tool

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/config"
)

// Types of entities whose settings kafka-configs changes.
const (
	entityTopics        = "topics"
	entityClients       = "clients"
	entityUsers         = "users"
	entityBrokers       = "brokers"
	entityIPs           = "ips"
	entityLoggers       = "broker-loggers"
	entityClientMetrics = "client-metrics"
	entityGroups        = "groups"
)

// configsOptions are the options of kafka-configs.
type configsOptions struct {
	joptCommand
	bootstrap, controller, commandConfig, alter, describe, all *joptSpec
	entityType, entityName, entityDefault                      *joptSpec
	add, addFile, delete                                       *joptSpec
	topic, client, clientDefaults, user, userDefaults          *joptSpec
	broker, brokerDefaults, brokerLogger, ipDefaults, ip       *joptSpec
	group, clientMetrics                                       *joptSpec

	order []*joptSpec // --entity-name and --entity-default as they came
}

func newConfigsOptions() *configsOptions {
	o := &configsOptions{joptCommand: newJoptCommand()}
	p := o.parser
	o.bootstrap = p.option("bootstrap-server", "The Kafka servers to connect to.").withRequiredArg().describedAs("server to connect to")
	o.controller = p.option("bootstrap-controller", "The Kafka controllers to connect to.").withRequiredArg().describedAs("controller to connect to")
	o.commandConfig = p.option("command-config", "Property file containing configs to be passed to Admin Client. This is used only with --bootstrap-server option "+
		"for describing and altering broker configs.").withRequiredArg().describedAs("command config property file")
	o.alter = p.option("alter", "Alter the configuration for the entity.")
	o.describe = p.option("describe", "List configs for the given entity.")
	o.all = p.option("all", "List all configs for the given entity, including static configs if available.")
	o.entityType = p.option("entity-type", "Type of entity (topics/clients/users/brokers/broker-loggers/ips/client-metrics/groups)").withRequiredArg()
	o.entityName = p.option("entity-name", "Name of entity (topic name/client id/user principal name/broker id/ip/client metrics/group id)").withRequiredArg()
	o.entityDefault = p.option("entity-default", "Default entity name for clients/users/brokers/ips (applies to corresponding entity type)")
	o.add = p.option("add-config", addConfigHelp()).withRequiredArg()
	o.addFile = p.option("add-config-file", "Path to a properties file with configs to add. See add-config for a list of valid configurations.").withRequiredArg()
	o.delete = p.option("delete-config", "config keys to remove 'k1,k2'").withRequiredArg().separatedBy(",")
	o.topic = p.option("topic", "The topic's name.").withRequiredArg()
	o.client = p.option("client", "The client's ID.").withRequiredArg()
	o.clientDefaults = p.option("client-defaults", "The config defaults for all clients.")
	o.user = p.option("user", "The user's principal name.").withRequiredArg()
	o.userDefaults = p.option("user-defaults", "The config defaults for all users.")
	o.broker = p.option("broker", "The broker's ID.").withRequiredArg()
	o.brokerDefaults = p.option("broker-defaults", "The config defaults for all brokers.")
	o.brokerLogger = p.option("broker-logger", "The broker's ID for its logger config.").withRequiredArg()
	o.ipDefaults = p.option("ip-defaults", "The config defaults for all IPs.")
	o.ip = p.option("ip", "The IP address.").withRequiredArg()
	o.group = p.option("group", "The group's ID.").withRequiredArg()
	o.clientMetrics = p.option("client-metrics", "The client metrics config resource name.").withRequiredArg()
	return o
}

// Settings of quotas.
var (
	quotaConfigs = []string{"consumer_byte_rate", "controller_mutation_rate", "producer_byte_rate", "request_percentage"}
	scramConfigs = []string{"SCRAM-SHA-256", "SCRAM-SHA-512"}
	ipConfigs    = []string{"connection_creation_rate"}
)

// brokerThrottles are settings of brokers that server.properties does not have.
var brokerThrottles = []string{"follower.replication.throttled.rate", "leader.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second"}

// dynamicBrokerConfigs are the settings of brokers that can be changed while they run.
func dynamicBrokerConfigs() string {
	names := slices.Clone(brokerThrottles)
	for _, p := range config.Properties(config.ScopeBroker) {
		if p.Mode != config.ReadOnly && !config.IsOwn(p.Name) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return "\t" + strings.Join(slices.Compact(names), "\n\t")
}

func addConfigHelp() string {
	var b strings.Builder
	b.WriteString("Key Value pairs of configs to add. Square brackets can be used to group values which contain commas: 'k1=v1,k2=[v1,v2,v2],k3=v3'. The following is a " +
		"list of valid configurations: ")
	section := func(kind, names string) { fmt.Fprintf(&b, "For entity-type '%s': \n%s\n", kind, names) }
	lines := func(names []string) string { return "\t" + strings.Join(names, "\n\t") }
	section(entityTopics, validConfigs(config.ScopeTopic))
	section(entityBrokers, dynamicBrokerConfigs())
	section(entityUsers, lines(slices.Concat(scramConfigs, quotaConfigs)))
	section(entityClients, lines(quotaConfigs))
	section(entityIPs, lines(ipConfigs))
	section(entityClientMetrics, validConfigs(config.ScopeClientMetrics))
	section(entityGroups, validConfigs(config.ScopeGroup))
	b.WriteString("Entity types 'users' and 'clients' may be specified together to update config for clients of a specific user.")
	return b.String()
}

// entityFlag is an option for one type of entities.
type entityFlag struct {
	spec *joptSpec
	kind string
}

func (o *configsOptions) flags() []entityFlag {
	return []entityFlag{{o.topic, entityTopics}, {o.client, entityClients}, {o.user, entityUsers}, {o.broker, entityBrokers}, {o.brokerLogger, entityLoggers}, {o.ip, entityIPs},
		{o.clientMetrics, entityClientMetrics}, {o.group, entityGroups}}
}

func (o *configsOptions) defaultFlags() []entityFlag {
	return []entityFlag{{o.clientDefaults, entityClients}, {o.userDefaults, entityUsers}, {o.brokerDefaults, entityBrokers}, {o.ipDefaults, entityIPs}}
}

// types are the types of the entities that the options name.
func (o *configsOptions) types() []string {
	types := slices.Clone(o.values[o.entityType])
	for _, f := range slices.Concat(o.flags(), o.defaultFlags()) {
		if o.has(f.spec) {
			types = append(types, f.kind)
		}
	}
	return types
}

// names are the names of the entities; the default entity has none.
func (o *configsOptions) names() ([]string, error) {
	var names []string
	given := o.values[o.entityName]
	for _, s := range o.order {
		name := ""
		if s == o.entityName && len(given) > 0 {
			name, given = given[0], given[1:]
		}
		names = append(names, name)
	}
	for _, f := range o.flags() {
		if o.has(f.spec) {
			name, err := o.value(f.spec)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	for _, f := range o.defaultFlags() {
		if o.has(f.spec) {
			names = append(names, "")
		}
	}
	return names, nil
}

// noteOrder remembers in which order --entity-name and --entity-default came.
func (o *configsOptions) noteOrder(args []string) {
	for _, a := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case !strings.HasPrefix(a, "-"):
		case name == "entity-name":
			o.order = append(o.order, o.entityName)
		case name == "entity-default":
			o.order = append(o.order, o.entityDefault)
		}
	}
}

func illegal(format string, args ...any) error { return thrown(classIllegalArgument, format, args...) }

// check is ConfigCommandOptions.checkArgs.
func (o *configsOptions) check() error {
	if o.has(o.alter) == o.has(o.describe) {
		return wrongUse{"Command must include exactly one action: --describe, --alter"}
	}
	if err := o.forbid(o.describe, o.alter, o.add, o.delete); err != nil {
		return err
	}
	types := o.types()
	var twice []string
	for i, t := range types {
		if slices.Contains(types[:i], t) && !slices.Contains(twice, t) {
			twice = append(twice, t)
		}
	}
	if len(twice) > 0 {
		return illegal("Duplicate entity type(s) specified: %s", strings.Join(twice, ","))
	}
	if !o.hasAny(o.bootstrap, o.controller) {
		return illegal("Either --bootstrap-server or --bootstrap-controller must be specified.")
	}
	for _, t := range types {
		if !slices.Contains(allowedTypes(), t) {
			return illegal("Invalid entity type %s, the entity type must be one of %s with a --bootstrap-server or --bootstrap-controller argument", t,
				strings.Join(allowedTypes(), ", "))
		}
	}
	switch {
	case len(types) == 0:
		return illegal("At least one entity type must be specified")
	case len(types) > 1 && !(len(types) == 2 && slices.Contains(types, entityUsers) && slices.Contains(types, entityClients)):
		return illegal("Only 'users' and 'clients' entity types may be specified together")
	case o.hasAny(o.entityName, o.entityType, o.entityDefault) &&
		slices.ContainsFunc(slices.Concat(o.flags(), o.defaultFlags()), func(f entityFlag) bool { return o.has(f.spec) }):
		return illegal("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
	}
	return o.checkNames(types)
}

func allowedTypes() []string {
	return []string{entityLoggers, entityTopics, entityClients, entityUsers, entityBrokers, entityIPs, entityClientMetrics, entityGroups}
}

func (o *configsOptions) checkNames(types []string) error {
	names, err := o.names()
	if err != nil {
		return err
	}
	hasName := slices.ContainsFunc(names, func(n string) bool { return n != "" })
	hasDefault := slices.Contains(names, "")
	is := func(kinds ...string) bool {
		return slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(types, k) })
	}
	if o.has(o.bootstrap) && o.has(o.controller) {
		return illegal("Only one of --bootstrap-server or --bootstrap-controller can be specified")
	}
	if hasName {
		if err := o.checkEntities(types, is); err != nil {
			return err
		}
	}
	joined := strings.Join(types, ",")
	if o.has(o.describe) {
		if !is(entityUsers, entityClients, entityBrokers, entityIPs) && o.has(o.entityDefault) {
			return illegal("--entity-default must not be specified with --describe of %s", joined)
		}
		if is(entityLoggers) && !hasName {
			return illegal("An entity name must be specified with --describe of %s", joined)
		}
		return nil
	}
	if is(entityUsers, entityClients, entityBrokers, entityIPs) {
		if !hasName && !hasDefault {
			return illegal("An entity-name or default entity must be specified with --alter of users, clients, brokers or ips")
		}
	} else if !hasName {
		return illegal("An entity name must be specified with --alter of %s", joined)
	}
	switch {
	case o.has(o.add) && o.has(o.addFile):
		return illegal("Only one of --add-config or --add-config-file must be specified")
	case !o.hasAny(o.add, o.addFile, o.delete):
		return illegal("At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter")
	}
	return nil
}

// checkEntities checks names of brokers and addresses.
func (o *configsOptions) checkEntities(types []string, is func(...string) bool) error {
	check := func(specs []*joptSpec, wrong func(string) error) error {
		for _, s := range specs {
			if !o.has(s) {
				continue
			}
			name, err := o.value(s)
			if err == nil {
				err = wrong(name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if is(entityBrokers, entityLoggers) {
		if err := check([]*joptSpec{o.entityName, o.broker, o.brokerLogger}, func(name string) error {
			if _, err := strconv.ParseInt(name, 10, 32); err != nil {
				return illegal("The entity name for %s must be a valid integer broker id, but it is: %s", types[0], name)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if !is(entityIPs) {
		return nil
	}
	return check([]*joptSpec{o.entityName, o.ip}, func(name string) error {
		if net.ParseIP(name) == nil {
			if _, err := net.LookupHost(name); err != nil {
				return illegal("The entity name for %s must be a valid IP or resolvable host, but it is: %s", types[0], name)
			}
		}
		return nil
	})
}

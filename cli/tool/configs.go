package tool

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func configsTool() Tool {
	return Tool{"kafka-configs", "show and change settings of topics, brokers, clients, users, groups", runConfigs}
}

// configs is one call of kafka-configs.
type configs struct {
	*configsOptions
	e            *Env
	c            *cluster
	types, names []string
}

func runConfigs(ctx context.Context, e *Env) int {
	o := configs{configsOptions: newConfigsOptions(), e: e}
	err := o.read(e.Args)
	if err == nil {
		o.noteOrder(e.Args)
		err = o.helpOrVersion(e.Args, "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, client-metrics or group")
	}
	if err == nil {
		err = o.check()
	}
	if err == nil {
		err = o.run(ctx)
	}
	if code, yes := o.ended(e, err); yes {
		return code
	}
	var x *exception
	switch {
	case err == nil:
		return 0
	case errors.As(err, &x) && (x.class == classIllegalArgument || x.class == classInvalidConfig || strings.HasPrefix(x.class, joptPackage)):
		e.errorf("%s\n", javaMessage(err))
	default:
		e.errorf("Error while executing config command with args '%s'\n%s\n", strings.Join(e.Args, " "), javaToString(err))
	}
	return 1
}

func (o *configs) run(ctx context.Context) error {
	file, err := o.value(o.commandConfig)
	if err != nil {
		return err
	}
	props, err := o.e.loadProperties(file)
	if err != nil {
		return err
	}
	servers, err := o.value(o.bootstrap)
	if err != nil {
		return err
	}
	controllers, err := o.value(o.configsOptions.controller)
	if err != nil {
		return err
	}
	if err := bootstrapProperties(props, servers, controllers); err != nil {
		return err
	}
	if o.c, err = o.e.connectAdmin(props); err != nil {
		return err
	}
	defer o.c.Close()
	o.types = o.configsOptions.types()
	if o.names, err = o.configsOptions.names(); err != nil {
		return err
	}
	if o.has(o.describe) {
		return o.runDescribe(ctx)
	}
	if len(o.types) != len(o.names) {
		return illegal("An entity name must be specified for every entity type")
	}
	return o.runAlter(ctx)
}

// resourceKind is the kind of resource of a type of entities, and where its own settings come from; -1 is from anywhere.
func resourceKind(entityType, name string) (kmsg.ConfigResourceType, kmsg.ConfigSource) {
	switch entityType {
	case entityTopics:
		return kmsg.ConfigResourceTypeTopic, kmsg.ConfigSourceDynamicTopicConfig
	case entityBrokers:
		if name == "" {
			return kmsg.ConfigResourceTypeBroker, kmsg.ConfigSourceDynamicDefaultBrokerConfig
		}
		return kmsg.ConfigResourceTypeBroker, kmsg.ConfigSourceDynamicBrokerConfig
	case entityLoggers:
		return kmsg.ConfigResourceTypeBrokerLogger, -1
	case entityClientMetrics:
		return configResourceClientMetrics, configSourceClientMetrics
	}
	return configResourceGroup, configSourceGroup
}

// Kinds of resources and sources of settings as they are on the wire.
const (
	configResourceClientMetrics kmsg.ConfigResourceType = 16
	configResourceGroup         kmsg.ConfigResourceType = 32
	configSourceClientMetrics   kmsg.ConfigSource       = 7
	configSourceGroup           kmsg.ConfigSource       = 8
)

var configSources = []string{"UNKNOWN", "DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG", "DEFAULT_CONFIG",
	"DYNAMIC_BROKER_LOGGER_CONFIG", "DYNAMIC_CLIENT_METRICS_CONFIG", "DYNAMIC_GROUP_CONFIG"}

func sourceName(s kmsg.ConfigSource) string {
	if s < 0 || int(s) >= len(configSources) {
		return configSources[0]
	}
	return configSources[s]
}

// entries are the settings of one resource, by name: its own or all.
func (o *configs) entries(ctx context.Context, name string, all bool) ([]configValue, error) {
	kind, source := resourceKind(o.types[0], name)
	values, err := o.c.describeConfigs(ctx, kind, []string{name}, true)
	if err != nil {
		return nil, wrapped(classExecution, err)
	}
	var out []configValue
	for _, v := range values[name] {
		if all || source < 0 || v.source == source {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b configValue) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func (o *configs) runDescribe(ctx context.Context) error {
	switch o.types[0] {
	case entityUsers, entityClients:
		if err := o.describeQuotas(ctx); err != nil {
			return err
		}
		if slices.Contains(o.types, entityClients) || slices.Contains(o.names, "") {
			return nil
		}
		return o.describeSCRAM(ctx)
	case entityIPs:
		return o.describeQuotas(ctx)
	}
	all := o.has(o.all)
	names := o.names[:min(1, len(o.names))]
	singular := o.types[0][:len(o.types[0])-1]
	if len(names) == 1 && names[0] != "" && !all {
		known, err := o.entities(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(known, names[0]) {
			o.e.printf("The %s '%s' doesn't exist and doesn't have dynamic config.\n", singular, names[0])
			return nil
		}
	}
	if len(names) == 0 {
		var err error
		if names, err = o.entities(ctx); err != nil {
			return err
		}
		if o.types[0] == entityBrokers {
			names = append(names, "")
		}
	}
	for _, name := range names {
		switch {
		case name == "":
			o.e.printf("Default configs for %s in the cluster are:\n", o.types[0])
		case all:
			o.e.printf("All configs for %s %s are:\n", singular, name)
		default:
			o.e.printf("Dynamic configs for %s %s are:\n", singular, name)
		}
		entries, err := o.entries(ctx, name, all)
		if err != nil {
			return err
		}
		for _, v := range entries {
			var synonyms []string
			for _, s := range v.synonyms {
				value := "null"
				if s.Value != nil {
					value = *s.Value
				}
				synonyms = append(synonyms, sourceName(s.Source)+":"+s.Name+"="+value)
			}
			o.e.printf("  %s=%s sensitive=%t synonyms={%s}\n", v.name, v.text(), v.sensitive, strings.Join(synonyms, ", "))
		}
	}
	return nil
}

// entities are those of the type that there are.
func (o *configs) entities(ctx context.Context) ([]string, error) {
	var names []string
	switch o.types[0] {
	case entityTopics:
		if len(o.names) > 0 {
			if err := validTopicName(o.names[0]); err != nil {
				return nil, err
			}
		}
		all, err := o.c.listTopics(ctx)
		for _, l := range all {
			names = append(names, l.name)
		}
		return javaStringOrder(names), asExecution(err)
	case entityBrokers, entityLoggers:
		d, err := o.c.nodesOf(ctx, false)
		if err != nil {
			return nil, asExecution(err)
		}
		for _, b := range d.Brokers {
			names = append(names, strconv.Itoa(int(b.NodeID)))
		}
		slices.Sort(names)
		return names, nil
	}
	kind, _ := resourceKind(o.types[0], "")
	names, err := o.c.listResources(ctx, kind)
	if o.types[0] != entityGroups {
		return names, asExecution(err)
	}
	if unsupported(err) {
		err = nil
	}
	if err != nil {
		return nil, asExecution(err)
	}
	groups, err := o.c.admin.ListGroups(ctx)
	if err != nil {
		return nil, asExecution(callError(err, "listGroups"))
	}
	for _, g := range groups.Groups() {
		if !slices.Contains(names, g) {
			names = append(names, g)
		}
	}
	return names, nil
}

func asExecution(err error) error {
	if err == nil {
		return nil
	}
	return wrapped(classExecution, err)
}

var topicPattern = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// maxTopicName is the length of a topic's name at most.
const maxTopicName = 249

// validTopicName is Kafka's Topic.validate.
func validTopicName(name string) error {
	bad := func(format string, args ...any) error {
		return thrown(errorsPackage+"InvalidTopicException", "Topic name is invalid: "+format, args...)
	}
	switch {
	case name == "":
		return bad("the empty string is not allowed")
	case name == "." || name == "..":
		return bad("'.' or '..' is not allowed")
	case len(name) > maxTopicName:
		return bad("the length of '%s' is longer than the max allowed length %d", name, maxTopicName)
	case !topicPattern.MatchString(name):
		return bad("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	}
	return nil
}

// listResources are the resources of a kind that have settings of their own.
func (c *cluster) listResources(ctx context.Context, kind kmsg.ConfigResourceType) ([]string, error) {
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = []int8{int8(kind)}
	resp, err := c.call(ctx, "listConfigResources", req)
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.ListConfigResourcesResponse)
	var names []string
	for _, each := range r.ConfigResources {
		names = append(names, each.Name)
	}
	return names, exceptionOf(r.ErrorCode, nil)
}

// change is what --add-config, --add-config-file and --delete-config ask for.
type change struct {
	set    map[string]string
	delete []string
}

var configKey = regexp.MustCompile(`^[$a-zA-Z0-9._-]*$`)

func (o *configs) change() (ch change, err error) {
	ch.set = map[string]string{}
	if o.has(o.addFile) {
		file, err := o.value(o.addFile)
		if err != nil {
			return ch, err
		}
		props, err := o.e.loadProperties(file)
		if err != nil {
			return ch, err
		}
		ch.set = props
	}
	if o.has(o.add) {
		text, err := o.value(o.add)
		if err != nil {
			return ch, err
		}
		if err := parseConfigs(text, ch.set); err != nil {
			return ch, err
		}
	}
	for _, key := range sortedKeys(ch.set) {
		if !configKey.MatchString(key) {
			return ch, illegal("Invalid character found for config key: %s", key)
		}
	}
	names, err := o.joptSet.list(o.delete)
	for _, n := range names {
		ch.delete = append(ch.delete, strings.TrimSpace(n))
	}
	return ch, err
}

// parseConfigs reads key=value pairs; brackets keep commas and equal signs together.
func parseConfigs(text string, to map[string]string) error {
	parts := splitOutside(text, ',')
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	var pairs [][]string
	for _, part := range parts {
		kv := splitOutside(part, '=')
		if len(kv) != 2 {
			return illegal("Invalid entity config: all configs to be added must be in the format \"key=val\" or  \"key=[val1,val2]\" to group values which contain commas.")
		}
		pairs = append(pairs, kv)
	}
	for _, kv := range pairs {
		value := strings.NewReplacer("[", "", "]", "").Replace(kv[1])
		to[strings.TrimSpace(kv[0])] = strings.TrimSpace(value)
	}
	return nil
}

// splitOutside splits at a character that is not within brackets: what follows has an opening bracket, or the end, before a closing one.
func splitOutside(text string, at byte) []string {
	var parts []string
	start := 0
	for i := range len(text) {
		if text[i] != at {
			continue
		}
		rest := text[i+1:]
		if end := strings.IndexAny(rest, "[]"); end >= 0 && rest[end] == ']' {
			continue
		}
		parts = append(parts, text[start:i])
		start = i + 1
	}
	return append(parts, text[start:])
}

func (o *configs) runAlter(ctx context.Context) error {
	ch, err := o.change()
	if err != nil {
		return err
	}
	kind, name := o.types[0], o.names[0]
	switch kind {
	case entityUsers, entityClients:
		err = o.alterUser(ctx, ch)
	case entityIPs:
		var unknown []string
		for _, key := range slices.Concat(sortedKeys(ch.set), ch.delete) {
			if !slices.Contains(ipConfigs, key) {
				unknown = append(unknown, key)
			}
		}
		if len(unknown) > 0 {
			return illegal("Only connection quota configs can be added for 'ips' using --bootstrap-server. Unexpected config names: %s", strings.Join(unknown, ","))
		}
		err = o.alterQuotas(ctx, ch)
	default:
		err = o.alterResource(ctx, ch)
	}
	if err != nil {
		return err
	}
	if name != "" {
		o.e.printf("Completed updating config for %s %s.\n", kind[:len(kind)-1], name)
	} else {
		o.e.printf("Completed updating default config for %s in the cluster.\n", kind)
	}
	return nil
}

func (o *configs) alterResource(ctx context.Context, ch change) error {
	kind, name := o.types[0], o.names[0]
	if kind == entityTopics {
		if err := validTopicName(name); err != nil {
			return err
		}
	}
	if kind == entityLoggers {
		if err := o.checkLoggers(ctx, ch); err != nil {
			return err
		}
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, _ = resourceKind(kind, name)
	r.ResourceName = name
	for _, key := range javaStringOrder(sortedKeys(ch.set)) {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = key, kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(ch.set[key])
		r.Configs = append(r.Configs, c)
	}
	for _, key := range ch.delete {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = key, kmsg.IncrementalAlterConfigOpDelete, kmsg.StringPtr("")
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	resp, err := o.c.call(ctx, "incrementalAlterConfigs", req)
	if err == nil {
		for _, each := range resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
			err = first(err, exceptionOf(each.ErrorCode, each.ErrorMessage))
		}
	}
	return asExecution(err)
}

// checkLoggers refuses loggers that the broker does not have.
func (o *configs) checkLoggers(ctx context.Context, ch change) error {
	known, err := o.entries(ctx, o.names[0], false)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Concat(ch.delete, javaStringOrder(sortedKeys(ch.set))), func(key string) bool {
		return slices.ContainsFunc(known, func(v configValue) bool { return v.name == key })
	})
	if len(missing) > 0 {
		return thrown(classInvalidConfig, "Invalid broker logger(s): %s", strings.Join(missing, ","))
	}
	return nil
}

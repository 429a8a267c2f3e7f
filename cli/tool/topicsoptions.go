package tool

import (
	"slices"
	"strings"

	"github.com/kaja-mq/kaja/config"
)

// topicsOptions are the options of kafka-topics.
type topicsOptions struct {
	joptCommand
	bootstrap, commandConfig                      *joptSpec
	list, create, delete, alter, describe         *joptSpec
	topic, topicID, config, deleteConfig          *joptSpec
	partitions, replicationFactor, assignment     *joptSpec
	underReplicated, unavailable, underMin, atMin *joptSpec
	overrides, ifExists, ifNotExists, noInternal  *joptSpec
	responseLimit                                 *joptSpec
}

const alterElsewhere = " (To alter topic configurations, the kafka-configs tool can be used.)"

func newTopicsOptions() *topicsOptions {
	o := &topicsOptions{joptCommand: newJoptCommand()}
	p := o.parser
	o.bootstrap = p.option("bootstrap-server", "REQUIRED: The Kafka server to connect to.").withRequiredArg().describedAs("server to connect to")
	o.commandConfig = p.option("command-config", "Property file containing configs to be passed to Admin Client.").withRequiredArg().
		describedAs("command config property file")
	o.list = p.option("list", "List all available topics.")
	o.create = p.option("create", "Create a new topic.")
	o.delete = p.option("delete", "Delete a topic.")
	o.alter = p.option("alter", "Alter the number of partitions and replica assignment."+alterElsewhere)
	o.describe = p.option("describe", "List details for the given topics.")
	o.topic = p.option("topic", "The topic to create, alter, describe or delete. It also accepts a regular expression, except for --create option.").
		withRequiredArg().describedAs("topic")
	o.topicID = p.option("topic-id", "The topic-id to describe.").withRequiredArg().describedAs("topic-id")
	o.config = p.option("config", "A topic configuration override for the topic being created. The following is a list of valid configurations: \n"+
		validConfigs(config.ScopeTopic)+"\nSee the Kafka documentation for full details on the topic configs. "+
		"It is supported only in combination with --create."+alterElsewhere).withRequiredArg().describedAs("name=value")
	o.deleteConfig = p.option("delete-config", "This option is no longer supported and has been deprecated since 4.0").withRequiredArg().describedAs("name")
	o.partitions = p.option("partitions", "The number of partitions for the topic being created or altered. If not supplied with --create, the topic "+
		"uses the cluster default. (WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages "+
		"will be affected).").withRequiredArg().describedAs("# of partitions").ofType(joptInteger)
	o.replicationFactor = p.option("replication-factor", "The replication factor for each partition in the topic being created. If not supplied, the "+
		"topic uses the cluster default.").withRequiredArg().describedAs("replication factor").ofType(joptInteger)
	o.assignment = p.option("replica-assignment", "A list of manual partition-to-broker assignments for the topic being created or altered.").
		withRequiredArg().describedAs("broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , " +
		"broker_id_for_part2_replica1 : broker_id_for_part2_replica2 , ...")
	o.underReplicated = p.option("under-replicated-partitions", "If set when describing topics, only show under-replicated partitions.")
	o.unavailable = p.option("unavailable-partitions", "If set when describing topics, only show partitions whose leader is not available.")
	o.underMin = p.option("under-min-isr-partitions", "If set when describing topics, only show partitions whose isr count is less than the configured minimum.")
	o.atMin = p.option("at-min-isr-partitions", "If set when describing topics, only show partitions whose isr count is equal to the configured minimum.")
	o.overrides = p.option("topics-with-overrides", "If set when describing topics, only show topics that have overridden configs.")
	o.ifExists = p.option("if-exists", "If set when altering or deleting or describing topics, the action will only execute if the topic exists.")
	o.ifNotExists = p.option("if-not-exists", "If set when creating topics, the create request will not fail if the topic already exists, but the request "+
		"will still be sent.")
	o.noInternal = p.option("exclude-internal", "Exclude internal topics when listing or describing topics. By default, the internal topics are included.")
	o.responseLimit = p.option("partition-size-limit-per-response", "The maximum partition size to be included in one DescribeTopicPartitions response.").
		withRequiredArg().describedAs("maximum number of partitions per response").ofType(joptInteger)
	return o
}

// validConfigs lists Kafka's settings of a scope as the help does.
func validConfigs(scope config.Scope) string {
	var names []string
	for _, p := range config.Properties(scope) {
		if !config.IsOwn(p.Name) && !strings.HasPrefix(p.Name, "internal.") {
			names = append(names, "\t"+p.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// check is TopicCommandOptions.checkArgs.
func (o *topicsOptions) check(e *Env) error {
	if len(e.Args) == 0 {
		return wrongUse{"Create, delete, describe, or change a topic."}
	}
	if err := o.helpOrVersion(e.Args, "This tool helps to create, delete, describe, or change a topic."); err != nil {
		return err
	}
	actions := 0
	for _, s := range []*joptSpec{o.create, o.list, o.alter, o.describe, o.delete} {
		if o.has(s) {
			actions++
		}
	}
	if actions != 1 {
		return wrongUse{"Command must include exactly one action: --list, --describe, --create, --alter or --delete"}
	}
	if o.has(o.deleteConfig) {
		e.errorf("delete-config option is no longer supported and deprecated since version 4.0. The config will be fully removed in future releases.\n")
	}
	if err := o.checkRequired(e); err != nil {
		return err
	}
	return o.checkInvalid()
}

func (o *topicsOptions) checkRequired(e *Env) error {
	if !o.has(o.bootstrap) {
		return thrown(classIllegalArgument, "--bootstrap-server must be specified")
	}
	if o.has(o.describe) && o.has(o.ifExists) {
		if !o.hasAny(o.topic, o.topicID) {
			return wrongUse{"--topic or --topic-id is required to describe a topic"}
		}
		if o.has(o.topic) && o.has(o.topicID) {
			e.println("Only topic id will be used when both --topic and --topic-id are specified and topicId is not Uuid.ZERO_UUID")
		}
	}
	if !o.hasAny(o.list, o.describe) {
		if err := o.require(o.topic); err != nil {
			return err
		}
	}
	if !o.has(o.alter) {
		return nil
	}
	if o.has(o.config) {
		used := javaMapOrder([]*joptSpec{o.bootstrap, o.config}, (*joptSpec).javaHash)
		return wrongUse{"Option combination \"[" + used[0].String() + ", " + used[1].String() + "]\" can't be used with option \"" + o.alter.String() + "\"" +
			alterElsewhere}
	}
	return o.require(o.partitions)
}

func (o *topicsOptions) checkInvalid() error {
	all := javaMapOrder([]*joptSpec{o.alter, o.create, o.describe, o.list, o.delete}, (*joptSpec).javaHash)
	reports := javaMapOrder([]*joptSpec{o.underReplicated, o.underMin, o.atMin, o.unavailable}, (*joptSpec).javaHash)
	except := func(allowed ...*joptSpec) []*joptSpec {
		return slices.DeleteFunc(slices.Clone(all), func(s *joptSpec) bool { return slices.Contains(allowed, s) })
	}
	noOverrides := append(except(o.describe), o.overrides)
	checks := []error{
		o.forbid(o.config, except(o.alter, o.create)...),
		o.forbid(o.partitions, except(o.alter, o.create)...),
		o.forbid(o.replicationFactor, except(o.create)...),
		o.forbid(o.assignment, except(o.alter, o.create)...),
	}
	if o.has(o.create) {
		checks = append(checks, o.forbid(o.assignment, o.partitions, o.replicationFactor))
	}
	return first(append(checks,
		o.forbid(o.underReplicated, noOverrides...),
		o.forbid(o.underMin, noOverrides...),
		o.forbid(o.atMin, noOverrides...),
		o.forbid(o.unavailable, noOverrides...),
		o.forbid(o.overrides, append(except(o.describe), reports...)...),
		o.forbid(o.ifExists, except(o.alter, o.delete, o.describe)...),
		o.forbid(o.ifNotExists, except(o.create)...),
		o.forbid(o.noInternal, except(o.list, o.describe)...),
	)...)
}

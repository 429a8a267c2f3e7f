package tool

import (
	"fmt"
	"strings"
)

// consumerGroupOptions are those of kafka-consumer-groups.
type consumerGroupOptions struct {
	parser *joptParser
	set    *joptSet

	help, version, bootstrap, group, topic, allTopics, list, describe, allGroups, delete, timeout, config    *joptSpec
	reset, deleteOffsets, validateRegex, dryRun, execute, export, toOffset, fromFile, toDatetime, byDuration *joptSpec
	toEarliest, toLatest, toCurrent, shiftBy, members, verbose, offsets, state, typ                          *joptSpec
}

func newConsumerGroupOptions() *consumerGroupOptions {
	o := &consumerGroupOptions{}
	p, help, version := newJopt(false)
	o.parser, o.help, o.version = p, help, version
	text := func(name, argument, description string) *joptSpec {
		return p.option(name, description).withRequiredArg().describedAs(argument).ofType(joptString)
	}
	example := "Example: --bootstrap-server localhost:9092 "
	o.bootstrap = text("bootstrap-server", "server to connect to", "The server(s) to connect to. REQUIRED for all options except for --validate-regex.")
	o.group = text("group", "group id", "The consumer group id.")
	o.topic = text("topic", "topic", "The topic whose offset information should be deleted or reset. In `reset-offsets` case, partitions can be specified using this "+
		"format: `topic:0,1,2`, where 0,1,2 are the partitions to be included. Reset-offsets also supports multiple topics.")
	o.allTopics = p.option("all-topics", "Apply to all topics.")
	o.list = p.option("list", "List all consumer groups.")
	o.describe = p.option("describe", "Describe consumer group and list offset lag (number of messages not yet processed) related to given group.")
	o.allGroups = p.option("all-groups", "Apply to all consumer groups.")
	o.delete = p.option("delete", "Delete topic partition offsets and ownership information for one or more consumer groups.")
	o.timeout = p.option("timeout", "The timeout that can be set for some use cases. For example, it can be used when describing the group to specify the maximum "+
		"amount of time in milliseconds to wait before the group stabilizes (when the group is just created, or is going through some changes).").
		withRequiredArg().describedAs("timeout (ms)").ofType(joptLong).defaultsTo("30000")
	o.config = text("command-config", "command config property file", "Property file containing configs to be passed to Admin Client and Consumer.")
	o.reset = p.option("reset-offsets", "Reset offsets of consumer group. Supports one consumer group at a time, and instances should be inactive\n"+
		"Has 2 execution options: --dry-run (the default) to plan which offsets to reset, and --execute to update the offsets. \n"+
		"Additionally, the --export option can be used to generate the offsets in CSV format for export to a file.\n"+
		"You must choose one of the following reset specifications: --to-datetime, --by-duration, --to-earliest, --to-latest, --shift-by, --from-file, "+
		"--to-current, --to-offset.\nTo define the scope, use --all-topics or --topic. The scope must be specified unless you use --from-file.")
	o.deleteOffsets = p.option("delete-offsets", "Delete offsets of consumer group. Supports one consumer group at a time, and multiple topics.")
	o.validateRegex = text("validate-regex", "regex", "Validate the syntax of the regular expression according to the RE2 format.")
	o.dryRun = p.option("dry-run", "Output offset reset information without executing the operation. Supported operation: reset-offsets.")
	o.execute = p.option("execute", "Execute the offset reset operation. Supported operation: reset-offsets.")
	o.export = p.option("export", "Generate offset reset information in CSV format for export to a file. Supported operation: reset-offsets.")
	o.toOffset = p.option("to-offset", "Reset offsets to a specific offset.").withRequiredArg().describedAs("offset").ofType(joptLong)
	o.fromFile = text("from-file", "path to CSV file", "Reset offsets to values defined in CSV file.")
	o.toDatetime = text("to-datetime", "datetime", "Reset offsets to offset from datetime. Format: 'YYYY-MM-DDThh:mm:ss.sss'")
	o.byDuration = text("by-duration", "duration", "Reset offsets by duration from current timestamp. Format: 'PnDTnHnMnS'")
	o.toEarliest = p.option("to-earliest", "Reset offsets to earliest offset.")
	o.toLatest = p.option("to-latest", "Reset offsets to latest offset.")
	o.toCurrent = p.option("to-current", "Reset offsets to current offset.")
	o.shiftBy = p.option("shift-by", "Reset offsets shifting current offset by 'n', where 'n' can be positive or negative.").
		withRequiredArg().describedAs("number-of-offsets").ofType(joptLong)
	o.members = p.option("members", "Describe members of the group. This option may be used with the --describe option only.\n"+example+"--describe --group group1 --members")
	o.verbose = p.option("verbose", "Provide additional information, if any, when describing the group. This option may be used with the --describe option only.")
	o.offsets = p.option("offsets", "Describe the group and list all topic partitions in the group along with their offset lag. This is the default sub-action of "+
		"and may be used with the --describe option only.\n"+example+"--describe --group group1 --offsets")
	o.state = p.option("state", "When specified with --describe, it displays the state of the group.\n"+example+"--describe --group group1 --state\n"+
		"When specified with --list, it displays the states of the groups. It can also be used to list groups with specific states.\n"+example+
		"--list --state stable,empty\nThis option may be used with --describe and --list options only.").withOptionalArg().ofType(joptString)
	o.typ = p.option("type", "When specified with --list, it displays the types of the groups. It can also be used to list groups with specific types.\n"+example+
		"--list --type classic,consumer\nThis option may be used with the --list option only.").withOptionalArg().ofType(joptString)
	return o
}

// has tells whether the command line has the option.
func (o *consumerGroupOptions) has(s *joptSpec) bool { return o.set.has(s) }

// scenarios are the ways to find new offsets.
func (o *consumerGroupOptions) scenarios() []*joptSpec {
	return []*joptSpec{o.toOffset, o.shiftBy, o.toDatetime, o.byDuration, o.toEarliest, o.toLatest, o.toCurrent, o.fromFile}
}

// parse reads the command line; unavailable options are an exception that Kafka does not catch.
func (o *consumerGroupOptions) parse(args []string) (err error) {
	if o.set, err = o.parser.parse(args); err != nil || o.set.hasAny(o.help, o.version) {
		return err
	}
	var unavailable []string
	for _, s := range []struct {
		spec *joptSpec
		with []*joptSpec
	}{
		{o.members, []*joptSpec{o.describe}}, {o.offsets, []*joptSpec{o.describe}}, {o.state, []*joptSpec{o.describe, o.list}},
		{o.typ, []*joptSpec{o.list}}, {o.verbose, []*joptSpec{o.describe}},
	} {
		if o.has(s.spec) && !o.set.hasAny(s.with...) {
			unavailable = append(unavailable, s.spec.slashed())
		}
	}
	if unavailable != nil {
		return thrown(joptPackage+"UnavailableOptionException", "Option(s) [%s] are unavailable given other options on the command line", strings.Join(unavailable, ", "))
	}
	return nil
}

// check is what is wrong with options that were read well, in Kafka's order; empty for nothing.
func (o *consumerGroupOptions) check(e *Env) string {
	if !o.has(o.validateRegex) && !o.has(o.bootstrap) {
		return missingArgument(o.bootstrap)
	}
	if o.has(o.describe) {
		if !o.set.hasAny(o.group, o.allGroups) {
			return fmt.Sprintf("Option %v takes one of these options: %v, %v", o.describe, o.allGroups, o.group)
		}
		if countOptions(o.set, o.members, o.offsets, o.state) > 1 {
			return fmt.Sprintf("Option %v takes at most one of these options: %v, %v, %v", o.describe, o.members, o.offsets, o.state)
		}
		if len(o.set.values[o.state]) > 0 {
			return fmt.Sprintf("Option %v does not take a value for %v", o.describe, o.state)
		}
	}
	if o.has(o.delete) {
		if !o.set.hasAny(o.group, o.allGroups) {
			return fmt.Sprintf("Option %v takes one of these options: %v, %v", o.delete, o.allGroups, o.group)
		}
		if o.has(o.topic) {
			return "The consumer does not support topic-specific offset deletion from a consumer group."
		}
	}
	if o.has(o.deleteOffsets) && !(o.has(o.group) && o.has(o.topic)) {
		return fmt.Sprintf("Option %v takes the following options: %v, %v", o.deleteOffsets, o.group, o.topic)
	}
	if o.has(o.reset) {
		if message := o.checkReset(e); message != "" {
			return message
		}
	}
	for _, c := range []struct {
		used    *joptSpec
		against []*joptSpec
	}{{o.group, []*joptSpec{o.allGroups}}, {o.group, []*joptSpec{o.list}}, {o.topic, []*joptSpec{o.list, o.describe}}} {
		if message := clashing(o.set, c.used, c.against...); message != "" {
			return message
		}
	}
	if actions := []*joptSpec{o.list, o.describe, o.delete, o.reset, o.deleteOffsets, o.validateRegex}; countOptions(o.set, actions...) != 1 {
		var names []string
		for _, a := range actions {
			names = append(names, "--"+a.names[0])
		}
		return "Command must include exactly one action: " + strings.Join(names, ", ")
	}
	return ""
}

func (o *consumerGroupOptions) checkReset(e *Env) string {
	if o.has(o.dryRun) && o.has(o.execute) {
		return fmt.Sprintf("Option %v only accepts one of %v and %v", o.reset, o.execute, o.dryRun)
	}
	if !o.set.hasAny(o.dryRun, o.execute) {
		e.errorf("WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require either --dry-run or " +
			"--execute to be specified. You should add the --dry-run option explicitly if you are scripting this command and want to keep the current " +
			"default behavior without prompting.\n")
	}
	if !o.set.hasAny(o.group, o.allGroups) {
		return fmt.Sprintf("Option %v takes one of these options: %v, %v", o.reset, o.allGroups, o.group)
	}
	for _, used := range []*joptSpec{o.toOffset, o.toDatetime, o.byDuration, o.toEarliest, o.toLatest, o.toCurrent, o.shiftBy, o.fromFile} {
		if message := clashing(o.set, used, o.scenarios()...); message != "" {
			return message
		}
	}
	return ""
}

// missingArgument is what Kafka's tools say of an option that must be there.
func missingArgument(s *joptSpec) string { return fmt.Sprintf("Missing required argument \"%v\"", s) }

// clashing is what they say when an option that was used may not stand beside one of the others; empty if it does not.
func clashing(set *joptSet, used *joptSpec, against ...*joptSpec) string {
	if !set.has(used) {
		return ""
	}
	// They are in a hash set, by the hash code of their list of names.
	for _, s := range javaMapOrder(against, func(s *joptSpec) int32 { return 31 + javaStringHash(s.names[0]) }) {
		if s != used && set.has(s) {
			return fmt.Sprintf("Option \"%v\" can't be used with option \"%v\"", used, s)
		}
	}
	return ""
}

func countOptions(set *joptSet, specs ...*joptSpec) (n int) {
	for _, s := range specs {
		if set.has(s) {
			n++
		}
	}
	return n
}

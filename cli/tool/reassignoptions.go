package tool

import (
	"context"
	"fmt"
	"slices"
	"time"
)

func reassignTool() Tool {
	return Tool{"kafka-reassign-partitions", "Move partitions between brokers and directories", runReassign}
}

const reassignHelp = "This tool helps to move topic partitions between replicas."

// reassignOptions are the options of kafka-reassign-partitions.
type reassignOptions struct {
	parser        *joptParser
	help, version *joptSpec
	set           *joptSet

	verify, generate, execute, cancel, list                  *joptSpec
	server, controller, config                               *joptSpec
	plan, topics, brokers, noRacks                           *joptSpec
	throttle, dirThrottle, timeout                           *joptSpec
	additional, preserveThrottles, disallowReplicationFactor *joptSpec
}

func newReassignOptions() *reassignOptions {
	o := &reassignOptions{}
	o.parser, o.help, o.version = newJopt(true)
	p := o.parser
	text := func(name, description, argument string) *joptSpec {
		return p.option(name, description).withRequiredArg().describedAs(argument).ofType(joptString)
	}
	number := func(name, description, argument, standard string) *joptSpec {
		return p.option(name, description).withRequiredArg().describedAs(argument).ofType(joptLong).defaultsTo(standard)
	}
	const resubmit = "This option can be included with --execute when a reassignment is started, and it can be altered by resubmitting the current reassignment " +
		"along with the --additional flag. The throttle rate should be at least 1 KB/s."
	o.verify = p.option("verify", "Verify if the reassignment completed as specified by the --reassignment-json-file option. "+
		"If there is a throttle engaged for the replicas specified, and the rebalance has completed, the throttle will be removed")
	o.generate = p.option("generate", "Generate a candidate partition reassignment configuration. Note that this only generates a candidate assignment, it does not execute it.")
	o.execute = p.option("execute", "Kick off the reassignment as specified by the --reassignment-json-file option.")
	o.cancel = p.option("cancel", "Cancel an active reassignment.")
	o.list = p.option("list", "List all active partition reassignments.")
	o.server = p.option("bootstrap-server", "the server(s) to use for bootstrapping.").withOptionalArg().describedAs("Server(s) to use for bootstrapping").ofType(joptString)
	o.config = text("command-config", "Property file containing configs to be passed to Admin Client.", "Admin client property file")
	o.plan = text("reassignment-json-file", "The JSON file with the partition reassignment configurationThe format to use is - \n"+
		"{\"partitions\":\n\t[{\"topic\": \"foo\",\n\t  \"partition\": 1,\n\t  \"replicas\": [1,2,3],\n\t  \"log_dirs\": [\"dir1\",\"dir2\",\"dir3\"] }],\n\"version\":1\n}\n"+
		"Note that \"log_dirs\" is optional. When it is specified, its length must equal the length of the replicas list. "+
		"The value in this list can be either \"any\" or the absolution path of the log directory on the broker. "+
		"If absolute log directory path is specified, the replica will be moved to the specified log directory on the broker.",
		"manual assignment json file path")
	o.topics = text("topics-to-move-json-file", "Generate a reassignment configuration to move the partitions of the specified topics to the list of brokers "+
		"specified by the --broker-list option. The format to use is - \n{\"topics\":\n\t[{\"topic\": \"foo\"},{\"topic\": \"foo1\"}],\n\"version\":1\n}",
		"topics to reassign json file path")
	o.brokers = text("broker-list", "The list of brokers to which the partitions need to be reassigned in the form \"0,1,2\". "+
		"This is required if --topics-to-move-json-file is used to generate reassignment configuration", "brokerlist")
	o.controller = p.option("bootstrap-controller", "The controller to use for reassignment. By default, the tool will get the quorum controller. "+
		"This option supports the actions --cancel and --list.").withOptionalArg().describedAs("bootstrap controller to connect to").ofType(joptString)
	o.noRacks = p.option("disable-rack-aware", "Disable rack aware replica assignment")
	o.throttle = number("throttle", "The movement of partitions between brokers will be throttled to this value (bytes/sec). "+resubmit, "throttle", "-1")
	o.dirThrottle = number("replica-alter-log-dirs-throttle",
		"The movement of replicas between log directories on the same broker will be throttled to this value (bytes/sec). "+resubmit, "replicaAlterLogDirsThrottle", "-1")
	o.timeout = number("timeout", "The maximum time in ms to wait for log directory replica assignment to begin.", "timeout", "10000")
	o.additional = p.option("additional", "Execute this reassignment in addition to any other ongoing ones. This option can also be used to change the throttle of an ongoing reassignment.")
	o.preserveThrottles = p.option("preserve-throttles", "Do not modify broker or topic throttles.")
	o.disallowReplicationFactor = p.option("disallow-replication-factor-change",
		"Denies the ability to change a partition's replication factor as part of this reassignment through adding validation against it.")
	return o
}

// check finds the one action and what it needs; a message says what is wrong.
func (o *reassignOptions) check() (action *joptSpec, message string) {
	actions := []*joptSpec{o.generate, o.execute, o.verify, o.cancel, o.list}
	for _, a := range actions {
		if o.set.has(a) {
			if action != nil {
				action = nil
				break
			}
			action = a
		}
	}
	server, controller := o.set.has(o.server), o.set.has(o.controller)
	switch {
	case action == nil:
		return nil, "Command must include exactly one action: " + joined(actions, ", ", func(s *joptSpec) string { return "--" + s.names[0] })
	case server && controller:
		return nil, "Please don't specify both --bootstrap-server and --bootstrap-controller"
	case !server && !controller:
		return nil, "Please specify either --bootstrap-server or --bootstrap-controller"
	}
	needed := map[*joptSpec][]*joptSpec{o.verify: {o.plan}, o.generate: {o.topics, o.brokers}, o.execute: {o.plan}, o.cancel: {o.plan}}[action]
	for _, s := range needed {
		if !o.set.has(s) {
			return nil, fmt.Sprintf("Missing required argument \"%s\"", s)
		}
	}
	allowed := slices.Concat(needed, []*joptSpec{action, o.config}, map[*joptSpec][]*joptSpec{
		o.verify:   {o.server, o.preserveThrottles},
		o.generate: {o.server, o.noRacks},
		o.execute:  {o.server, o.additional, o.throttle, o.dirThrottle, o.timeout, o.disallowReplicationFactor},
		o.cancel:   {o.server, o.controller, o.preserveThrottles, o.timeout},
		o.list:     {o.server, o.controller},
	}[action])
	for _, s := range o.parser.specs {
		if o.set.has(s) && !slices.Contains(allowed, s) {
			return nil, fmt.Sprintf("Option \"%s\" can't be used with action \"%s\"", s, action)
		}
	}
	return action, ""
}

func runReassign(ctx context.Context, e *Env) int {
	o := newReassignOptions()
	var err error
	o.set, err = o.parser.parse(e.Args)
	switch {
	case err != nil:
		return e.uncaught(err)
	case len(e.Args) == 0 || o.set.has(o.help):
		return o.parser.usage(e, reassignHelp)
	case o.set.has(o.version):
		return e.printVersion()
	}
	action, message := o.check()
	if action == nil {
		return o.parser.usage(e, message)
	}
	r := &reassigner{e: e}
	return r.tell(r.run(ctx, o, action))
}

func (r *reassigner) run(ctx context.Context, o *reassignOptions, action *joptSpec) error {
	value := func(s *joptSpec) string {
		v, _ := o.set.value(s) // a wrong one is told where it is used
		return v
	}
	props, err := r.e.loadProperties(value(o.config))
	if err != nil {
		return err
	}
	if o.set.has(o.controller) {
		props[propControllers] = value(o.controller)
	} else {
		props[propBootstrap] = value(o.server)
	}
	if props[propClientID] == "" {
		props[propClientID] = "reassign-partitions-tool"
	}
	c, err := r.e.connectAdmin(props)
	if err != nil {
		return err
	}
	defer c.Close()
	r.adm = reassignAdmin{c}
	if action == o.list {
		return r.list(ctx)
	}
	name := value(o.plan)
	if action == o.generate {
		name = value(o.topics)
	}
	data, err := r.e.FS.ReadFile(name)
	if err != nil {
		return thrown(classIO, "Unable to read file %s", name)
	}
	switch action {
	case o.generate:
		return r.generate(ctx, data, value(o.brokers), !o.set.has(o.noRacks))
	case o.verify:
		return r.verify(ctx, data, o.set.has(o.preserveThrottles))
	}
	timeout, err := o.set.number(o.timeout)
	if action == o.cancel {
		if err != nil {
			return err
		}
		return r.cancel(ctx, data, o.set.has(o.preserveThrottles), time.Duration(timeout)*time.Millisecond)
	}
	x := executeOptions{additional: o.set.has(o.additional), keepFactor: o.set.has(o.disallowReplicationFactor), timeout: time.Duration(timeout) * time.Millisecond}
	var err1, err2 error
	x.interBroker, err1 = o.set.number(o.throttle)
	x.logDirs, err2 = o.set.number(o.dirThrottle)
	for _, err := range []error{err1, err2, err} {
		if err != nil {
			return err
		}
	}
	return r.execute(ctx, data, x)
}

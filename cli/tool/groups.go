package tool

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

func groupsTool() Tool {
	return Tool{"kafka-groups", "list groups of all types", runGroups}
}

// groupsOptions are those of kafka-groups.
type groupsOptions struct {
	parser *joptParser
	set    *joptSet

	help, version, bootstrap, config, list, typ, protocol, consumer, share, streams *joptSpec
}

func newGroupsOptions() *groupsOptions {
	o := &groupsOptions{}
	p, help, version := newJopt(false)
	o.parser, o.help, o.version = p, help, version
	text := func(name, argument, description string) *joptSpec {
		return p.option(name, description).withRequiredArg().describedAs(argument).ofType(joptString)
	}
	o.bootstrap = text("bootstrap-server", "server to connect to", "REQUIRED: The Kafka server to connect to.").isRequired()
	o.config = text("command-config", "command config property file", "Property file containing configs to be passed to Admin Client.")
	o.list = p.option("list", "List the groups.")
	o.typ = text("group-type", "type", "Filter the groups based on group type. Valid types are: 'classic', 'consumer', 'share' and 'streams'.")
	o.protocol = text("protocol", "protocol", "Filter the groups based on protocol type.")
	o.consumer = p.option("consumer", "Filter the groups to show all kinds of consumer groups, including classic and simple consumer groups. This matches group type "+
		"'consumer', and group type 'classic' where the protocol type is 'consumer' or empty.")
	o.share = p.option("share", "Filter the groups to show share groups.")
	o.streams = p.option("streams", "Filter the groups to show streams groups.")
	return o
}

// groupsFilter is which groups are shown.
type groupsFilter struct {
	typ, protocol            string // empty for all
	consumer, share, streams bool
}

// shows takes one filter only: the type with the protocol, or the first of the others that is there.
func (f groupsFilter) shows(g groupListing) bool {
	switch {
	case f.typ != "":
		return g.Type == f.typ && (f.protocol == "" || g.Protocol == f.protocol)
	case f.protocol != "":
		return g.Protocol == f.protocol
	case f.consumer:
		return g.Protocol == "consumer" || g.Protocol == "" || g.Type == "Consumer"
	case f.share:
		return g.Type == "Share"
	case f.streams:
		return g.Type == "Streams"
	}
	return true
}

func runGroups(ctx context.Context, e *Env) int {
	o := newGroupsOptions()
	var err error
	if o.set, err = o.parser.parse(e.Args); err != nil {
		return o.parser.usage(e, err.Error())
	}
	switch {
	case len(e.Args) == 0 || o.set.has(o.help):
		return o.parser.usage(e, "This tool helps to list groups of all types.")
	case o.set.has(o.version):
		return e.printVersion()
	case !o.set.has(o.list):
		return o.parser.usage(e, "Command must include exactly one action: --list.")
	}
	filter, message, err := o.filter()
	if message != "" {
		return o.parser.usage(e, message)
	}
	var props clientProperties
	if err == nil {
		props, err = o.props(e)
	}
	if err != nil {
		e.errorf("%s\n%s\n\n", err.Error(), javaToString(err))
		return 1
	}
	if err := listAllGroups(ctx, e, props, filter); err != nil {
		e.printf("Error while executing groups command : %s\n", err.Error())
		e.logError("org.apache.kafka.tools.GroupsCommand", javaToString(err), nil)
		e.errorf("\n") // the end of a stack trace
		return 1
	}
	return 0
}

// filter reads the filters; message is what is wrong with their combination.
func (o *groupsOptions) filter() (f groupsFilter, message string, err error) {
	if o.set.has(o.typ) {
		text, err := o.set.value(o.typ)
		if err != nil {
			return f, "", err
		}
		if f.typ = groupTypeName(text); f.typ == unknownName {
			return f, "", thrown(classIllegalArgument, "--group-type must be a valid group type.")
		}
	}
	for _, c := range [][]*joptSpec{{o.consumer, o.typ, o.protocol, o.share, o.streams}, {o.share, o.consumer, o.typ, o.protocol, o.streams},
		{o.streams, o.consumer, o.typ, o.protocol, o.share}} {
		for _, other := range c[1:] {
			if o.set.has(c[0]) && o.set.has(other) {
				return f, fmt.Sprintf("Option \"%v\" can't be used with option \"%v\"", c[0], other), nil
			}
		}
	}
	f.protocol, err = o.set.value(o.protocol)
	f.consumer, f.share, f.streams = o.set.has(o.consumer), o.set.has(o.share), o.set.has(o.streams)
	return f, "", err
}

func (o *groupsOptions) props(e *Env) (clientProperties, error) {
	config, err := o.set.value(o.config)
	if err != nil {
		return nil, err
	}
	props, err := e.loadProperties(config)
	if err != nil {
		return nil, err
	}
	props[propBootstrap], err = o.set.value(o.bootstrap)
	return props, err
}

// groupsTimeout is how long kafka-groups waits, whatever the client's settings.
const groupsTimeout = 30 * time.Second

func listAllGroups(ctx context.Context, e *Env, props clientProperties, filter groupsFilter) error {
	client, err := e.connectAdmin(props)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, min(groupsTimeout, client.timeout))
	defer cancel()
	groups, err := groupAdmin{client.Client}.list(ctx, nil, nil)
	if err != nil {
		return err
	}
	printGroups(e.Stdout, groups, filter)
	return nil
}

// printGroups prints three columns of one width.
func printGroups(out io.Writer, groups []groupListing, filter groupsFilter) {
	width := 20
	var lines [][3]string
	for _, g := range groups {
		if filter.shows(g) {
			line := [3]string{g.ID, g.Type, g.Protocol}
			lines = append(lines, line)
			width = widest(width, line[:]...)
		}
	}
	fmt.Fprintf(out, "%-*s %-*s %-*s\n", width, "GROUP", width, "TYPE", width, "PROTOCOL")
	for _, line := range lines {
		var b strings.Builder
		for _, text := range line {
			fmt.Fprintf(&b, "%-*s ", width, text)
		}
		fmt.Fprintln(out, b.String())
	}
}

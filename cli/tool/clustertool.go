package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func clusterTool() Tool {
	return Tool{"kafka-cluster", "show a cluster's id, endpoints and versions, or forget a node", runCluster}
}

func newClusterParser() *argParser {
	p := newArgParser("kafka-cluster", "The Kafka cluster tool.")
	p.defaultHelp = true
	commands := map[string]*argParser{}
	for _, c := range [][2]string{
		{"cluster-id", "Get information about the ID of a cluster."},
		{"unregister", "Unregister a broker."},
		{"unregister-controller", "Unregister a controller."},
		{"list-endpoints", "List endpoints"},
		{"api-versions", "Get information about the api versions of the brokers or controllers."},
	} {
		sub := p.addCommand("command", c[0], c[1])
		commands[c[0]] = sub
		to := sub.exclusive(true)
		to.arg("--bootstrap-server", "-b").withHelp("A list of host/port pairs to use for establishing the connection to the Kafka cluster.")
		to.arg("--bootstrap-controller", "-C").withHelp("A list of host/port pairs to use for establishing the connection to the KRaft controllers.")
		sub.arg("--config").withHelp("(DEPRECATED) A property file containing configurations for the Admin client. This option will be removed in a future version. " +
			"Use --command-config instead.")
		sub.arg("--command-config", "-c").withHelp("Config properties file for the Admin client.")
	}
	commands["unregister"].arg("--id", "-i").ofType("Integer").isRequired().withHelp("The ID of the broker to unregister.")
	commands["unregister-controller"].arg("--id", "-i").ofType("Integer").isRequired().withHelp("The ID of the controller to unregister.")
	commands["list-endpoints"].arg("--include-fenced-brokers").does(argStoreTrue).withHelp("Whether to include fenced brokers when listing broker endpoints")
	return p
}

func runCluster(ctx context.Context, e *Env) int {
	p := newClusterParser()
	v, err := p.parse(e.Args)
	if err != nil {
		p.fail(e, err)
		return 1 // also after help
	}
	return e.tersely(runClusterCommand(ctx, e, v))
}

func runClusterCommand(ctx context.Context, e *Env, v *argValues) error {
	file := v.text("command_config")
	if v.has("config") {
		if v.has("command_config") {
			return &exception{"net.sourceforge.argparse4j.inf.ArgumentParserException", "--config and --command-config cannot be specified together."}
		}
		e.println("Option --config has been deprecated and will be removed in a future version. Use --command-config instead.")
		file = v.text("config")
	}
	props, err := e.loadProperties(file)
	if err != nil {
		return err
	}
	if err := bootstrapProperties(props, v.text("bootstrap_server"), v.text("bootstrap_controller")); err != nil {
		return err
	}
	fenced := v.has("include_fenced_brokers")
	if fenced && props[propControllers] != "" {
		return thrown(classIllegalArgument, "The option --include-fenced-brokers is only supported with --bootstrap-server option")
	}
	c, err := e.connectAdmin(props)
	if err != nil {
		return err
	}
	defer c.Close()
	switch v.text("command") {
	case "unregister":
		return unregisterBroker(ctx, e, c, int32(v.number("id")))
	case "unregister-controller":
		return unregisterController(ctx, e, c, int32(v.number("id")))
	}
	d, err := c.nodesOf(ctx, fenced)
	if err != nil {
		return wrapped(classExecution, err)
	}
	slices.SortFunc(d.Brokers, func(a, b kmsg.DescribeClusterResponseBroker) int { return cmp.Compare(a.NodeID, b.NodeID) })
	switch v.text("command") {
	case "list-endpoints":
		listEndpoints(e, c, d)
	case "api-versions":
		for _, b := range d.Brokers {
			n := node{b.NodeID, b.Host, b.Port, b.Rack}
			resp, err := e.askNode(ctx, c.props, n.address(), apiVersionsRequest())
			printVersions(e, n, resp, callError(err, "apiVersions"))
		}
	default:
		e.println("Cluster ID: " + d.ClusterID)
	}
	return nil
}

// Widths of columns of list-endpoints at least.
const endpointColumn = 10

func listEndpoints(e *Env, c *cluster, d *kmsg.DescribeClusterResponse) {
	host, rack := endpointColumn-1, endpointColumn
	if len(d.Brokers) > 0 {
		host, rack = 0, 0
	}
	rows := make([][]string, 0, len(d.Brokers))
	for _, b := range d.Brokers {
		r, state := "null", "unfenced"
		if b.Rack != nil {
			r = *b.Rack
		}
		if b.IsFenced {
			state = "fenced"
		}
		host, rack = max(host, len(b.Host)), max(rack, len(r))
		rows = append(rows, []string{strconv.Itoa(int(b.NodeID)), b.Host, strconv.Itoa(int(b.Port)), r, state})
	}
	rack = max(rack, endpointColumn)
	var b strings.Builder
	line := func(row []string, kind string) {
		fmt.Fprintf(&b, "%-10s %-*s %-10s %-*s ", row[0], host, row[1], row[2], rack, row[3])
		if !c.controllers {
			fmt.Fprintf(&b, "%-10s ", row[4])
		}
		fmt.Fprintf(&b, "%-15s\n", kind)
	}
	line([]string{"ID", "HOST", "PORT", "RACK", "STATE"}, "ENDPOINT_TYPE")
	kind := "broker"
	if c.controllers {
		kind = "controller"
	}
	for _, row := range rows {
		line(row, kind)
	}
	e.printf("%s", b.String())
}

func unregisterBroker(ctx context.Context, e *Env, c *cluster, id int32) error {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = id
	resp, err := c.callLeader(ctx, e, "unregisterBroker", req)
	if err == nil {
		r := resp.(*kmsg.UnregisterBrokerResponse)
		err = exceptionOf(r.ErrorCode, r.ErrorMessage)
	}
	return toldUnregistered(e, err, "Broker", id)
}

func unregisterController(ctx context.Context, e *Env, c *cluster, id int32) error {
	req := kmsg.NewPtrUnregisterControllerRequest()
	req.ControllerID = id
	resp, err := c.callLeader(ctx, e, "unregisterController", req)
	if err == nil {
		r := resp.(*kmsg.UnregisterControllerResponse)
		err = exceptionOf(r.ErrorCode, r.ErrorMessage)
	}
	return toldUnregistered(e, err, "Controller", id)
}

func toldUnregistered(e *Env, err error, kind string, id int32) error {
	switch {
	case unsupported(err):
		e.println("The target cluster does not support the " + strings.ToLower(kind) + " unregistration API.")
	case err != nil:
		return wrapped(classExecution, err)
	default:
		e.printf("%s %d is no longer registered.\n", kind, id)
	}
	return nil
}

// isWrongUse tells whether an error is one of the options.
func isWrongUse(err error) bool {
	var w wrongUse
	return errors.As(err, &w)
}

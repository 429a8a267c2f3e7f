package tool

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/protocol"
)

func brokerVersionsTool() Tool {
	return Tool{"kafka-broker-api-versions", "show which requests the brokers understand", runBrokerVersions}
}

// brokerVersionsTimeout is the request timeout that this tool has unless it is told another, in milliseconds.
const brokerVersionsTimeout = "5000"

func runBrokerVersions(ctx context.Context, e *Env) int {
	o := newJoptCommand()
	commandConfig := o.parser.option("command-config", "A property file containing configs to be passed to Admin Client.").withRequiredArg().
		describedAs("command config property file")
	bootstrap := o.parser.option("bootstrap-server", "REQUIRED: The server to connect to.").withRequiredArg().describedAs("server(s) to use for bootstrapping")
	err := o.read(e.Args)
	if err == nil {
		err = first(o.helpOrVersion(e.Args, "This tool helps to retrieve broker version information."), o.require(bootstrap))
	}
	if err == nil {
		err = e.printAllVersions(ctx, &o, bootstrap, commandConfig)
	}
	if code, yes := o.ended(e, err); yes {
		return code
	}
	if err != nil {
		return e.failed(err)
	}
	return 0
}

// must is a value that was read before without an error.
func must(v string, _ error) string { return v }

// connectTo connects as the options say: the settings of a file, which go before the standard ones, and the bootstrap servers.
func (e *Env) connectTo(o *joptCommand, bootstrap, commandConfig *joptSpec, standard clientProperties) (*cluster, error) {
	file, err := o.value(commandConfig)
	if err != nil {
		return nil, err
	}
	props, err := e.loadProperties(file)
	if err != nil {
		return nil, err
	}
	for k, v := range standard {
		if _, ok := props[k]; !ok {
			props[k] = v
		}
	}
	if props[propBootstrap], err = o.value(bootstrap); err != nil {
		return nil, err
	}
	c, err := e.connectAdmin(props)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// node is a broker or controller of the cluster.
type node struct {
	id   int32
	host string
	port int32
	rack *string
}

func (n node) String() string {
	rack := "null"
	if n.rack != nil {
		rack = *n.rack
	}
	return fmt.Sprintf("%s:%d (id: %d rack: %s isFenced: false)", n.host, n.port, n.id, rack)
}

func (n node) address() string { return net.JoinHostPort(n.host, strconv.Itoa(int(n.port))) }

// metadataNodes are the brokers as Metadata tells them; it asks until there are some.
func (c *cluster) metadataNodes(ctx context.Context) ([]node, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := c.call(ctx, "listNodes", req)
	if err != nil {
		return nil, err
	}
	var nodes []node
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		nodes = append(nodes, node{b.NodeID, b.Host, b.Port, b.Rack})
	}
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.id, b.id) })
	return nodes, nil
}

// printAllVersions asks the bootstrap servers once for the brokers, unlike Kafka's admin client, and then each.
func (e *Env) printAllVersions(ctx context.Context, o *joptCommand, bootstrap, commandConfig *joptSpec) error {
	file, err := o.value(commandConfig)
	if err != nil {
		return err
	}
	props, err := e.loadProperties(file)
	if err != nil {
		return err
	}
	if props[propBootstrap], err = o.value(bootstrap); err != nil {
		return err
	}
	if _, ok := props[propRequestTimeout]; !ok {
		props[propRequestTimeout] = brokerVersionsTimeout
	}
	if strings.TrimSpace(props[propBootstrap]) == "" {
		return emptyBootstrap()
	}
	if _, err := checkSettings(props, adminRules()); err != nil {
		return err
	}
	c, err := e.connect(props)
	if err != nil {
		return err
	}
	defer c.Close()
	nodes, err := c.metadataNodes(ctx)
	if isClass(err, classTimeout) {
		return thrown(classRuntime, "Request METADATA failed on brokers [%s]", strings.Join(seedNodes(props[propBootstrap]), ", "))
	}
	if err != nil {
		return err
	}
	for _, n := range nodes {
		resp, err := c.callTo(ctx, n.id, "apiVersions", apiVersionsRequest())
		printVersions(e, n, resp, err)
	}
	return nil
}

// emptyBootstrap is what clients that must have bootstrap servers say when there are none.
func emptyBootstrap() error {
	return thrown(classConfig, "Configuration '%s' must not be empty. Valid values include: any non-empty value", propBootstrap)
}

// seedNodes are the bootstrap servers as nodes that are not known yet.
func seedNodes(bootstrap string) []string {
	var out []string
	addresses, _ := seeds(bootstrap, propBootstrap) // it was read before
	for i, a := range addresses {
		host, port, _ := net.SplitHostPort(a)
		out = append(out, node{id: int32(-1 - i), host: host, port: int32(mustParseLong(port))}.String())
	}
	return out
}

// apiVersionsRequest names these tools as the software that asks.
func apiVersionsRequest() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kaja-tools", Version
	return req
}

func printVersions(e *Env, n node, resp kmsg.Response, err error) {
	if err == nil {
		err = exceptionOf(resp.(*kmsg.ApiVersionsResponse).ErrorCode, nil)
	}
	if err != nil {
		e.printf("%s -> ERROR: %s\n", n, err)
		return
	}
	e.printf("%s -> %s\n", n, versionsText(resp.(*kmsg.ApiVersionsResponse).ApiKeys))
}

// controllerAPIs are those of Kafka's requests that only controllers answer, or only brokers send, with their highest versions.
var controllerAPIs = []protocol.API{
	{Key: 52, Name: "Vote", Max: 2}, {Key: 53, Name: "BeginQuorumEpoch", Max: 1}, {Key: 54, Name: "EndQuorumEpoch", Max: 1},
	{Key: 56, Name: "AlterPartition", Min: 2, Max: 3}, {Key: 58, Name: "Envelope"}, {Key: 59, Name: "FetchSnapshot", Max: 1},
	{Key: 62, Name: "BrokerRegistration", Max: 4}, {Key: 63, Name: "BrokerHeartbeat", Max: 2}, {Key: 67, Name: "AllocateProducerIds"},
	{Key: 70, Name: "ControllerRegistration"}, {Key: 73, Name: "AssignReplicasToDirs"}, {Key: 82, Name: "UpdateRaftVoter"},
}

// versionsText lists the requests a node understands, each with the version that 4.4.0's client would use.
func versionsText(keys []kmsg.ApiVersionsResponseApiKey) string {
	lines := map[int16]string{}
	for _, a := range protocol.APIs() {
		lines[a.Key] = fmt.Sprintf("%s(%d): UNSUPPORTED", a.Name, a.Key)
	}
	for _, telemetry := range []protocol.API{{Key: 71, Name: "GetTelemetrySubscriptions"}, {Key: 72, Name: "PushTelemetry"}} {
		lines[telemetry.Key] = fmt.Sprintf("%s(%d): UNSUPPORTED", telemetry.Name, telemetry.Key)
	}
	for _, k := range keys {
		span := strconv.Itoa(int(k.MinVersion))
		if k.MaxVersion != k.MinVersion {
			span += " to " + strconv.Itoa(int(k.MaxVersion))
		}
		known, ok := knownAPI(k.ApiKey)
		if !ok {
			lines[k.ApiKey] = fmt.Sprintf("UNKNOWN(%d): %s", k.ApiKey, span)
			continue
		}
		use := fmt.Sprintf("[usable: %d]", min(known.Max, k.MaxVersion))
		if known.Max < k.MinVersion {
			use = "[unusable: node too new]"
		} else if k.MaxVersion < known.Oldest {
			use = "[unusable: node too old]"
		}
		lines[k.ApiKey] = fmt.Sprintf("%s(%d): %s %s", known.Name, k.ApiKey, span, use)
	}
	order := make([]int16, 0, len(lines))
	for key := range lines {
		order = append(order, key)
	}
	slices.Sort(order)
	parts := make([]string, len(order))
	for i, key := range order {
		parts[i] = lines[key]
	}
	return "(\n\t" + strings.Join(parts, ",\n\t") + "\n)"
}

func knownAPI(key int16) (protocol.API, bool) {
	if a, ok := protocol.Lookup(key); ok {
		return a, true
	}
	i := slices.IndexFunc(controllerAPIs, func(a protocol.API) bool { return a.Key == key })
	if i < 0 {
		return protocol.API{}, false
	}
	return controllerAPIs[i], true
}

// askNode sends a request to an address rather than to a broker that Metadata told.
func (e *Env) askNode(ctx context.Context, p clientProperties, address string, req kmsg.Request) (kmsg.Response, error) {
	props := clientProperties{}
	for k, v := range p {
		props[k] = v
	}
	delete(props, propControllers)
	props[propBootstrap] = address
	c, err := e.connect(props)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.askSeed(ctx, req)
}

// askSeed sends a request to the first bootstrap server that answers.
func (c *cluster) askSeed(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	var err error
	for _, b := range c.SeedBrokers() {
		var resp kmsg.Response
		if resp, err = retried(ctx, b, req); err == nil {
			return resp, nil
		}
	}
	return nil, err
}

func retried(ctx context.Context, b *kgo.Broker, req kmsg.Request) (kmsg.Response, error) {
	return b.RetriableRequest(ctx, req)
}

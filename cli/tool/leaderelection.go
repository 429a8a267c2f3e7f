package tool

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func leaderElectionTool() Tool {
	return Tool{"kafka-leader-election", "elect leaders of partitions anew", runLeaderElection}
}

// leaderElectionOptions are the options of kafka-leader-election.
type leaderElectionOptions struct {
	joptCommand
	bootstrap, adminConfig, commandConfig, file, topic, partition, all, electionType *joptSpec
}

func newLeaderElectionOptions() *leaderElectionOptions {
	o := &leaderElectionOptions{joptCommand: newJoptCommand()}
	p := o.parser
	o.bootstrap = p.option("bootstrap-server", "A hostname and port for the broker to connect to, in the form host:port. Multiple comma separated URLs can be given. "+
		"REQUIRED.").withRequiredArg().describedAs("host:port")
	o.adminConfig = p.option("admin.config", "(DEPRECATED) Configuration properties files to pass to the admin client. This option will be removed in a future "+
		"version. Use --command-config instead.").withRequiredArg().describedAs("config file")
	o.commandConfig = p.option("command-config", "Config properties file to pass to the admin client.").withRequiredArg().describedAs("Config file")
	o.file = p.option("path-to-json-file", "The JSON file with the list  of partition for which leader elections should be performed. This is an example format. \n"+
		"{\"partitions\":\n\t[{\"topic\": \"foo\", \"partition\": 1},\n\t {\"topic\": \"foobar\", \"partition\": 2}]\n}\n"+
		"Not allowed if --all-topic-partitions or --topic flags are specified.").withRequiredArg().describedAs("Path to JSON file")
	o.topic = p.option("topic", "Name of topic for which to perform an election. Not allowed if --path-to-json-file or --all-topic-partitions is specified.").
		withRequiredArg().describedAs("topic name")
	o.partition = p.option("partition", "Partition id for which to perform an election. REQUIRED if --topic is specified.").withRequiredArg().
		describedAs("partition id").ofType(joptInteger)
	o.all = p.option("all-topic-partitions", "Perform election on all of the eligible topic partitions based on the type of election (see the --election-type flag). "+
		"Not allowed if --topic or --path-to-json-file is specified.")
	o.electionType = p.option("election-type", "Type of election to attempt. Possible values are \"preferred\" for preferred leader election or \"unclean\" for "+
		"unclean leader election. If preferred election is selection, the election is only performed if the current leader is not the preferred leader for the "+
		"topic partition. If unclean election is selected, the election is only performed if there are no leader for the topic partition. REQUIRED.").
		withRequiredArg().describedAs("election type").oneOf("PREFERRED", "UNCLEAN")
	return o
}

func (o *leaderElectionOptions) validate() error {
	failed := func(format string, args ...any) error { return thrown(classAdminFailed, format, args...) }
	var missing []string
	for _, s := range []*joptSpec{o.bootstrap, o.electionType} {
		if !o.has(s) {
			missing = append(missing, s.names[0])
		}
	}
	if len(missing) > 0 {
		return failed("Missing required option(s): %s", strings.Join(missing, ", "))
	}
	n := 0
	for _, s := range []*joptSpec{o.topic, o.all, o.file} {
		if o.has(s) {
			n++
		}
	}
	switch {
	case n != 1:
		return failed("One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file")
	case o.has(o.topic) && !o.has(o.partition):
		return failed("Missing required option(s): partition")
	case !o.has(o.topic) && o.has(o.partition):
		return failed("Option partition is only allowed if topic is used")
	}
	return nil
}

// Timeouts of this tool unless it is told others, in milliseconds.
const (
	electionAPITimeout     = "30000"
	electionRequestTimeout = "15000"
)

func runLeaderElection(ctx context.Context, e *Env) int {
	o := newLeaderElectionOptions()
	err := o.read(e.Args)
	if err == nil {
		err = first(o.helpOrVersion(e.Args, "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported are preferred "+
			"replicas and unclean replicas."), nil)
	}
	if err == nil {
		err = o.validate()
	}
	if err == nil {
		err = o.run(ctx, e)
	}
	if code, yes := o.ended(e, err); yes {
		return code
	}
	if err != nil {
		return e.failed(err)
	}
	return 0
}

func (o *leaderElectionOptions) run(ctx context.Context, e *Env) error {
	kind, err := o.value(o.electionType)
	if err != nil {
		return err
	}
	kind = strings.ToUpper(kind)
	partitions, err := o.partitionsToElect(e)
	if err != nil {
		return err
	}
	from := o.commandConfig
	if o.has(o.adminConfig) {
		if err := o.forbid(o.adminConfig, o.commandConfig); err != nil {
			return err
		}
		e.println("Option --admin.config has been deprecated and will be removed in a future version. Use --command-config instead.")
		from = o.adminConfig
	}
	c, err := e.connectTo(&o.joptCommand, o.bootstrap, from, clientProperties{propAPITimeout: electionAPITimeout, propRequestTimeout: electionRequestTimeout})
	if err != nil {
		return err
	}
	defer c.Close()
	return elect(ctx, e, c, kind, partitions)
}

// partitionsToElect are the partitions that the options name, nil for all.
func (o *leaderElectionOptions) partitionsToElect(e *Env) ([]topicPartition, error) {
	switch {
	case o.has(o.file):
		name, err := o.value(o.file)
		if err != nil {
			return nil, err
		}
		data, err := e.readText(name)
		if err != nil {
			return nil, wrapped(classRuntime, err)
		}
		return parseElection(data)
	case o.has(o.topic):
		topic, err := o.value(o.topic)
		if err != nil {
			return nil, err
		}
		n, err := o.number(o.partition)
		return []topicPartition{{topic, int32(n)}}, err
	}
	return nil, nil
}

// parseElection reads the file of partitions; one may be there once only.
func parseElection(data []byte) ([]topicPartition, error) {
	o, err := parseObject(data)
	switch {
	case isClass(err, classAdminOperation):
		err = thrown(classAdminOperation, "Replica election data is empty")
	case isClass(err, classJSONMapping):
		err = wrapped(classRuntime, err)
	}
	if err != nil {
		return nil, err
	}
	if _, ok := o["partitions"]; !ok {
		return nil, thrown(classAdminOperation, "Replica election data is missing \"partitions\" field")
	}
	list, err := o.objects("partitions")
	if err != nil {
		return nil, wrapped(classRuntime, err)
	}
	var out, twice []topicPartition
	seen := map[topicPartition]bool{}
	for _, each := range list {
		tp, err := each.topicPartition()
		if err != nil {
			return nil, wrapped(classRuntime, err)
		}
		if seen[tp] {
			twice = append(twice, tp)
		}
		seen[tp] = true
		out = append(out, tp)
	}
	if len(twice) > 0 {
		return nil, thrown(classAdminOperation, "Replica election data contains duplicate partitions: [%s]", joinPartitions(javaPartitionOrder(twice), ", "))
	}
	return out, nil
}

func elect(ctx context.Context, e *Env, c *cluster, kind string, partitions []topicPartition) error {
	results, err := c.electLeaders(ctx, kind, partitions)
	switch {
	case isClass(err, classTimeout):
		e.println("Timeout waiting for election results")
		return thrown(classAdminFailed, "Timeout waiting for election results")
	case isClass(err, errorsPackage+"ClusterAuthorizationException"):
		e.println("Not authorized to perform leader election")
		return thrown(classAdminFailed, "Not authorized to perform leader election")
	case err != nil:
		return wrapped(classRuntime, wrapped(classExecution, err))
	}
	var order, done, not, failed []topicPartition
	for tp := range results {
		order = append(order, tp)
	}
	for _, tp := range javaPartitionOrder(sortedPartitions(order)) {
		switch err := results[tp]; {
		case err == nil:
			done = append(done, tp)
		case isClass(err, errorsPackage+"ElectionNotNeededException"):
			not = append(not, tp)
		default:
			failed = append(failed, tp)
		}
	}
	if len(done) > 0 {
		e.printf("Successfully completed leader election (%s) for partitions %s\n", kind, joinPartitions(done, ", "))
	}
	if len(not) > 0 {
		e.printf("Valid replica already elected for partitions %s\n", joinPartitions(not, ", "))
	}
	if len(failed) == 0 {
		return nil
	}
	var suppressed strings.Builder
	for _, tp := range failed {
		e.printf("Error completing leader election (%s) for partition: %s: %s\n", kind, tp, javaToString(results[tp]))
		fmt.Fprintf(&suppressed, "\n\tSuppressed: %s", javaToString(results[tp]))
	}
	message := strconv.Itoa(len(failed)) + " replica(s) could not be elected"
	return &severalFailed{exception{classAdminFailed, message}, suppressed.String()}
}

// severalFailed is an exception whose stack trace lists others.
type severalFailed struct {
	exception
	suppressed string
}

// Unwrap is the exception that is told.
func (s *severalFailed) Unwrap() error { return &exception{s.class, s.message} }

func (c *cluster) electLeaders(ctx context.Context, kind string, partitions []topicPartition) (map[topicPartition]error, error) {
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	if kind == "UNCLEAN" {
		req.ElectionType = 1
	}
	byTopic := map[string][]int32{}
	for _, tp := range partitions {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	for _, name := range sortedKeys(byTopic) {
		topic := kmsg.NewElectLeadersRequestTopic()
		topic.Topic, topic.Partitions = name, byTopic[name]
		req.Topics = append(req.Topics, topic)
	}
	resp, err := c.call(ctx, "electLeaders", req)
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.ElectLeadersResponse)
	if err := exceptionOf(r.ErrorCode, nil); err != nil {
		return nil, err
	}
	results := map[topicPartition]error{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			results[topicPartition{t.Topic, p.Partition}] = exceptionOf(p.ErrorCode, p.ErrorMessage)
		}
	}
	return results, nil
}

package tool

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func logDirsTool() Tool {
	return Tool{"kafka-log-dirs", "show the log directories of brokers and what is in them", runLogDirs}
}

func runLogDirs(ctx context.Context, e *Env) int {
	o := newJoptCommand()
	p := o.parser
	bootstrap := p.option("bootstrap-server", "REQUIRED: the server(s) to use for bootstrapping").withRequiredArg().describedAs("The server(s) to use for bootstrapping")
	commandConfig := p.option("command-config", "Property file containing configs to be passed to Admin Client.").withRequiredArg().
		describedAs("Admin client property file")
	describe := p.option("describe", "Describe the specified log directories on the specified brokers.")
	topicList := p.option("topic-list", `The list of topics to be queried in the form "topic1,topic2,topic3". All topics will be queried if no topic list is specified`).
		withRequiredArg().describedAs("Topic list").defaultsTo("")
	brokerList := p.option("broker-list", `The list of brokers to be queried in the form "0,1,2". All brokers in the cluster will be queried if no broker list is specified`).
		withRequiredArg().describedAs("Broker list").defaultsTo("")
	err := o.read(e.Args)
	if err == nil {
		err = first(o.helpOrVersion(e.Args, "This tool helps to query log directory usage on the specified brokers."), o.require(bootstrap, describe))
	}
	var c *cluster
	if err == nil {
		c, err = e.connectTo(&o, bootstrap, commandConfig, clientProperties{propClientID: "log-dirs-tool"})
	}
	if err == nil {
		defer c.Close()
		var topics, brokers string
		if topics, err = o.value(topicList); err == nil {
			if brokers, err = o.value(brokerList); err == nil {
				err = printLogDirs(ctx, e, c, topics, brokers)
			}
		}
	}
	if code, yes := o.ended(e, err); yes {
		return code
	}
	return e.tersely(err)
}

// nonEmpty splits at commas.
func nonEmpty(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// javaIntOrder is the order of a HashSet of numbers.
func javaIntOrder(ids []int32) []int32 {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	return javaMapOrder(sorted, func(n int32) int32 { return n })
}

func printLogDirs(ctx context.Context, e *Env, c *cluster, topicList, brokerList string) error {
	topics := nonEmpty(topicList)
	live, err := c.liveBrokers(ctx)
	if err != nil {
		return wrapped(classExecution, err)
	}
	var wanted, missing []int32
	for _, text := range nonEmpty(brokerList) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return thrown(classNumberFormat, "%s", javaNumberError(text))
		}
		wanted = append(wanted, int32(n))
		if !slices.Contains(live, int32(n)) {
			missing = append(missing, int32(n))
		}
	}
	if len(missing) > 0 {
		return terse("ERROR: The given brokers do not exist from --broker-list: %s. Current existent brokers: %s",
			joinInts(javaIntOrder(missing), ","), joinInts(javaIntOrder(live), ","))
	}
	if len(wanted) == 0 {
		wanted = live
	}
	wanted = javaIntOrder(wanted)
	e.println("Querying brokers for log directories information")
	var brokers []string
	for _, id := range wanted {
		resp, err := c.callTo(ctx, id, "describeLogDirs", kmsg.NewPtrDescribeLogDirsRequest())
		if err != nil {
			return wrapped(classExecution, err)
		}
		brokers = append(brokers, `{"broker":`+strconv.Itoa(int(id))+`,"logDirs":[`+strings.Join(logDirsJSON(resp.(*kmsg.DescribeLogDirsResponse), topics), ",")+`]}`)
	}
	e.printf("Received log directory information from brokers %s\n", joinInts(wanted, ","))
	e.println(`{"brokers":[` + strings.Join(brokers, ",") + `],"version":1}`)
	return nil
}

// logDirsJSON are the directories of a broker with the replicas of some topics, all if none are named.
func logDirsJSON(resp *kmsg.DescribeLogDirsResponse, topics []string) []string {
	dirs := map[string]kmsg.DescribeLogDirsResponseDir{}
	var names []string
	for _, d := range resp.Dirs {
		dirs[d.Dir] = d
		names = append(names, d.Dir)
	}
	var out []string
	for _, name := range javaStringOrder(names) {
		d := dirs[name]
		var partitions []topicPartition
		replicas := map[topicPartition]kmsg.DescribeLogDirsResponseDirTopicPartition{}
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				if len(topics) == 0 || slices.Contains(topics, t.Topic) {
					tp := topicPartition{t.Topic, p.Partition}
					partitions = append(partitions, tp)
					replicas[tp] = p
				}
			}
		}
		var parts []string
		for _, tp := range javaPartitionOrder(partitions) {
			r := replicas[tp]
			parts = append(parts, `{"partition":`+strconv.Quote(tp.String())+`,"size":`+strconv.FormatInt(r.Size, 10)+`,"offsetLag":`+strconv.FormatInt(r.OffsetLag, 10)+
				`,"isFuture":`+strconv.FormatBool(r.IsFuture)+`}`)
		}
		failure := "null"
		if err := exceptionOf(d.ErrorCode, nil); err != nil {
			class, _ := lookUpError(d.ErrorCode)
			failure = strconv.Quote(class)
		}
		out = append(out, `{"partitions":[`+strings.Join(parts, ",")+`],"error":`+failure+`,"logDir":`+strconv.Quote(d.Dir)+`}`)
	}
	return out
}

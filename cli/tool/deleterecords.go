package tool

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func deleteRecordsTool() Tool {
	return Tool{"kafka-delete-records", "delete records before an offset", runDeleteRecords}
}

func runDeleteRecords(ctx context.Context, e *Env) int {
	o := newJoptCommand()
	p := o.parser
	bootstrap := p.option("bootstrap-server", "REQUIRED: The server to connect to.").withRequiredArg().describedAs("server(s) to use for bootstrapping")
	file := p.option("offset-json-file", "REQUIRED: The JSON file with offset per partition. The format to use is:\n{\"partitions\":\n"+
		"  [{\"topic\": \"foo\", \"partition\": 1, \"offset\": 1}],\n \"version\":1\n}").withRequiredArg().describedAs("Offset json file path")
	commandConfig := p.option("command-config", "A property file containing configs to be passed to Admin Client.").withRequiredArg().
		describedAs("command config property file path")
	err := o.read(e.Args)
	if err == nil {
		err = first(o.helpOrVersion(e.Args, "This tool helps to delete records of the given partitions down to the specified offset."), o.require(bootstrap, file))
	}
	var c *cluster
	if err == nil {
		c, err = e.connectTo(&o, bootstrap, commandConfig, nil)
	}
	if err == nil {
		defer c.Close()
		var name string
		if name, err = o.value(file); err == nil {
			err = deleteRecords(ctx, e, c, name)
		}
	}
	if code, yes := o.ended(e, err); yes {
		return code
	}
	if err != nil {
		return e.failed(err)
	}
	return 0
}

// readText reads a file as Kafka's Utils.readFileAsString.
func (e *Env) readText(name string) ([]byte, error) {
	data, err := e.FS.ReadFile(name)
	if err != nil {
		return nil, thrown(classIO, "Unable to read file %s", name)
	}
	return data, nil
}

// parseDeleteOffsets reads the offsets before which records shall go; a partition may be there once only.
func parseDeleteOffsets(data []byte) ([]topicPartition, map[topicPartition]int64, error) {
	o, err := parseObject(data)
	if isClass(err, classAdminOperation) {
		err = thrown(classAdminOperation, "The input string is not a valid JSON")
	}
	if err == nil {
		err = o.version()
	}
	if err != nil {
		return nil, nil, err
	}
	if _, ok := o["partitions"]; !ok {
		return nil, nil, thrown(classAdminOperation, "Missing partitions field")
	}
	list, err := o.objects("partitions")
	if err != nil {
		return nil, nil, err
	}
	offsets := map[topicPartition]int64{}
	var order, twice []topicPartition
	for _, each := range list {
		tp, err := each.topicPartition()
		if err != nil {
			return nil, nil, err
		}
		offset, err := field(each, "offset", "Long", readAs[int64])
		if err != nil {
			return nil, nil, err
		}
		if _, ok := offsets[tp]; ok {
			twice = append(twice, tp)
		}
		offsets[tp] = offset
		order = append(order, tp)
	}
	if len(twice) > 0 {
		return nil, nil, thrown(classAdminFailed, "Offset json file contains duplicate topic partitions: %s", joinPartitions(javaPartitionOrder(twice), ","))
	}
	return javaPartitionOrder(order), offsets, nil
}

func joinPartitions(partitions []topicPartition, separator string) string {
	parts := make([]string, len(partitions))
	for i, tp := range partitions {
		parts[i] = tp.String()
	}
	return strings.Join(parts, separator)
}

// topicPartition reads the fields topic and partition.
func (o jsonObject) topicPartition() (tp topicPartition, err error) {
	if tp.Topic, err = field(o, "topic", "String", readAs[string]); err == nil {
		tp.Partition, err = field(o, "partition", "Integer", readAs[int32])
	}
	return tp, err
}

func deleteRecords(ctx context.Context, e *Env, c *cluster, name string) error {
	data, err := e.readText(name)
	if err != nil {
		return err
	}
	order, offsets, err := parseDeleteOffsets(data)
	if err != nil {
		return err
	}
	e.println("Executing records delete operation")
	low, failed := c.deleteKnown(ctx, e, order, offsets)
	e.println("Records delete operation completed:")
	for _, tp := range order {
		if err := failed[tp]; err != nil {
			e.println("partition: " + tp.String() + "\terror: " + javaToString(err))
		} else {
			e.println("partition: " + tp.String() + "\tlow_watermark: " + strconv.FormatInt(low[tp], 10))
		}
	}
	return nil
}

// deleteKnown deletes and asks again for partitions that nobody knows until the call's time is up, as Kafka's admin client does.
func (c *cluster) deleteKnown(ctx context.Context, e *Env, order []topicPartition, offsets map[topicPartition]int64) (map[topicPartition]int64, map[topicPartition]error) {
	deadline := e.Clock.Wall().Add(c.timeout)
	within, cancel := c.deadline(ctx)
	defer cancel()
	low, failed := map[topicPartition]int64{}, map[topicPartition]error{}
	for tries := 1; len(order) > 0; tries++ {
		done, errs := c.deleteBefore(within, order, offsets)
		var again []topicPartition
		for _, tp := range order {
			switch err := errs[tp]; {
			case isClass(err, errorsPackage+"UnknownTopicOrPartitionException"):
				again = append(again, tp)
			case err != nil:
				failed[tp] = err
			default:
				low[tp] = done[tp]
			}
		}
		order = again
		if len(order) > 0 && e.pause(within, defaultRetryBackoff) != nil {
			now := e.Clock.Wall().UnixMilli()
			for _, tp := range order {
				failed[tp] = thrown(classTimeout, "Call(callName=deleteRecords(api=METADATA), deadlineMs=%d, tries=%d, nextAllowedTryMs=%d) timed out at %d after %d attempt(s)",
					deadline.UnixMilli(), tries, now, now, tries)
			}
			break
		}
	}
	return low, failed
}

// deleteBefore asks the leaders to delete; it returns where partitions begin now.
func (c *cluster) deleteBefore(ctx context.Context, order []topicPartition, offsets map[topicPartition]int64) (map[topicPartition]int64, map[topicPartition]error) {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	byTopic := map[string][]int32{}
	for _, tp := range order {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	for _, name := range sortedKeys(byTopic) {
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = name
		for _, p := range byTopic[name] {
			part := kmsg.NewDeleteRecordsRequestTopicPartition()
			part.Partition, part.Offset = p, offsets[topicPartition{name, p}]
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
	}
	low, failed := map[topicPartition]int64{}, map[topicPartition]error{}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	for _, shard := range c.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, t := range shard.Req.(*kmsg.DeleteRecordsRequest).Topics {
				for _, p := range t.Partitions {
					failed[topicPartition{t.Topic, p.Partition}] = callError(shard.Err, "deleteRecords(api=METADATA)")
				}
			}
			continue
		}
		for _, t := range shard.Resp.(*kmsg.DeleteRecordsResponse).Topics {
			for _, p := range t.Partitions {
				tp := topicPartition{t.Topic, p.Partition}
				low[tp] = p.LowWatermark
				if err := exceptionOf(p.ErrorCode, nil); err != nil {
					failed[tp] = err
				}
			}
		}
	}
	return low, failed
}

func sortedPartitions(partitions []topicPartition) []topicPartition {
	return slices.SortedFunc(slices.Values(partitions), compareTopicPartitions)
}

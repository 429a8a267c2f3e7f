package handler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestListOffsetsOfRepeated: a partition that a request names twice is refused in one answer, its neighbours are served, and a topic
// without partitions is left out.
func TestListOffsetsOfRepeated(t *testing.T) {
	n := newDataNode(t)
	n.mustProduce("a", 1, plainBatch(t, 3))
	topic := func(name string, partitions ...int32) kmsg.ListOffsetsRequestTopic {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = name
		for _, p := range partitions {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = p, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		return rt
	}
	f := func(isolation int8, want string, topics ...kmsg.ListOffsetsRequestTopic) {
		t.Helper()
		req := kmsg.NewPtrListOffsetsRequest()
		req.IsolationLevel, req.Topics = isolation, topics
		var got []string
		for _, rt := range answerOf[*kmsg.ListOffsetsResponse](t, n.send(req, 11), req).Topics {
			got = append(got, rt.Topic+":")
			for _, rp := range rt.Partitions {
				got = append(got, fmt.Sprintf("%d code=%d offset=%d", rp.Partition, rp.ErrorCode, rp.Offset))
			}
		}
		eq(t, "answers", strings.Join(got, " "), want)
	}
	f(0, "a: 0 code=42 offset=-1 1 code=0 offset=3", topic("a", 0, 0, 1))
	f(0, "a: 0 code=42 offset=-1 1 code=0 offset=3 b: 0 code=0 offset=0", topic("a", 0), topic("b", 0), topic("a", 1, 0))
	f(0, "", topic("a"))
	f(9, "a: 1 code=-1 offset=-1", topic("a", 1))
	special := topic("a", 1)
	special.Partitions[0].Timestamp = -100 // no version has it
	f(0, "a: 1 code=35 offset=-1", special)
	f(9, "a: 1 code=-1 offset=-1", special)
}

// TestDeleteRecordsOfRepeated: of a partition that a request names twice the later offset counts.
func TestDeleteRecordsOfRepeated(t *testing.T) {
	n := newDataNode(t)
	n.mustProduce("a", 0, plainBatch(t, 3))
	f := func(want string, offsets ...int64) {
		t.Helper()
		req := kmsg.NewPtrDeleteRecordsRequest()
		rt := kmsg.NewDeleteRecordsRequestTopic()
		rt.Topic = "a"
		for _, o := range offsets {
			rp := kmsg.NewDeleteRecordsRequestTopicPartition()
			rp.Offset = o
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
		var got []string
		for _, rt := range answerOf[*kmsg.DeleteRecordsResponse](t, n.send(req, 2), req).Topics {
			for _, rp := range rt.Partitions {
				got = append(got, fmt.Sprintf("%s/%d code=%d low=%d", rt.Topic, rp.Partition, rp.ErrorCode, rp.LowWatermark))
			}
		}
		eq(t, "answers", strings.Join(got, ", "), want)
	}
	f("a/0 code=1 low=-1", 2, 9)
	f("a/0 code=0 low=1", 9, 1)
	f("")
}

// TestMoveOfRepeated: of a replica that a request names twice the later directory counts.
func TestMoveOfRepeated(t *testing.T) {
	n := newDataNode(t)
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	for _, dir := range []string{"/nowhere", "/data"} {
		rd := kmsg.NewAlterReplicaLogDirsRequestDir()
		rd.Dir = dir
		rt := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
		rt.Topic, rt.Partitions = "a", []int32{0, 0}
		rd.Topics = append(rd.Topics, rt)
		req.Dirs = append(req.Dirs, rd)
	}
	r := answerOf[*kmsg.AlterReplicaLogDirsResponse](t, n.send(req, 2), req)
	eq(t, "topics", len(r.Topics), 1)
	eq(t, "partitions", len(r.Topics[0].Partitions), 1)
	eq(t, "code", r.Topics[0].Partitions[0].ErrorCode, 0)
}

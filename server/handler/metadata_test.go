package handler

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// imageOf applies records to the empty image.
func imageOf(t testing.TB, recs ...record.Message) *metadata.Image {
	t.Helper()
	img, _, err := metadata.Empty().Apply(recs, int64(len(recs)), 1)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// brokerRecord registers a broker with a listener PLAINTEXT, or the one given.
func brokerRecord(id int32, fenced bool, listeners ...string) record.Message {
	r := &record.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: 1, Fenced: fenced, LogDirs: [][16]byte{{byte(id)}}}
	if len(listeners) == 0 {
		listeners = []string{"PLAINTEXT"}
	}
	for _, name := range listeners {
		r.EndPoints = append(r.EndPoints, record.BrokerEndpoint{Name: name, Host: fmt.Sprintf("host%d", id), Port: 9092})
	}
	return r
}

// topicRecords makes a topic whose partitions have the given replicas, all in sync, led by the first.
func topicRecords(name string, id byte, partitions ...[]int32) []record.Message {
	recs := []record.Message{&record.TopicRecord{Name: name, TopicID: [16]byte{id}}}
	for i, replicas := range partitions {
		p := &record.PartitionRecord{PartitionID: int32(i), TopicID: [16]byte{id}, Replicas: replicas, ISR: replicas, Leader: replicas[0], LeaderEpoch: 3}
		for _, r := range replicas {
			p.Directories = append(p.Directories, [16]byte{byte(r)})
		}
		recs = append(recs, p)
	}
	return recs
}

// fakeController makes topics by name only, and only when told to go on.
type fakeController struct {
	Controller
	asked *kmsg.CreateTopicsRequest
	done  func(*kmsg.CreateTopicsResponse)
}

func (f *fakeController) CreateTopics(req *kmsg.CreateTopicsRequest, done func(*kmsg.CreateTopicsResponse)) {
	f.asked, f.done = req, done
}

func imageHandler(t testing.TB, img *metadata.Image, overrides ...string) (*Handler, *fakeController) {
	t.Helper()
	static, _, err := config.Load(config.Sources{Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	resolver := config.Broker(static, nil, nil)
	f := &fakeController{}
	return New(Handler{NodeID: 1, ClusterID: "cluster", Images: func() *metadata.Image { return img }, Controller: f,
		Config: func() *config.Resolver { return resolver }}), f
}

// wire is a response as a client reads it: what its version lacks is gone.
func wire(t testing.TB, resp kmsg.Response) kmsg.Response {
	t.Helper()
	out := reflect.New(reflect.TypeOf(resp).Elem()).Interface().(kmsg.Response)
	out.SetVersion(resp.GetVersion())
	if err := out.ReadFrom(resp.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	return out
}

// brief is what of a value is not zero, null or of no interest.
func brief(v any) string { return briefValue(reflect.ValueOf(v)) }

func briefValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return briefValue(v.Elem())
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			zero := f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 || f.Kind() == reflect.Int32 && f.Int() == -2147483648
			if name == "Version" || name == "UnknownTags" || zero {
				continue
			}
			text := briefValue(f)
			if name == "ErrorCode" {
				text = kerr.TypedErrorForCode(int16(f.Int())).Message
			}
			parts = append(parts, name+"="+text)
		}
		return "{" + strings.Join(parts, " ") + "}"
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, briefValue(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Array:
		return fmt.Sprint(v.Index(0))
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	r.Version = version
	r.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &n
		r.Topics = append(r.Topics, rt)
	}
	return r
}

func TestMetadataTopics(t *testing.T) {
	recs := []record.Message{brokerRecord(1, false)}
	recs = append(recs, topicRecords("b", 2, []int32{1}, []int32{1})...)
	recs = append(recs, topicRecords("a", 1, []int32{1})...)
	recs = append(recs, topicRecords("__consumer_offsets", 3, []int32{1})...)
	h, _ := imageHandler(t, imageOf(t, recs...))
	f := func(name string, req *kmsg.MetadataRequest, want string) {
		t.Helper()
		resp := serve(t, h, req).(*kmsg.MetadataResponse)
		if got := brief(resp.Topics); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	const a = `{Topic="a" TopicID=1 Partitions=[{Leader=1 LeaderEpoch=3 Replicas=[1] ISR=[1]}]}`
	const b = `{Topic="b" TopicID=2 Partitions=[{Leader=1 LeaderEpoch=3 Replicas=[1] ISR=[1]} {Partition=1 Leader=1 LeaderEpoch=3 Replicas=[1] ISR=[1]}]}`
	const offsets = `{Topic="__consumer_offsets" TopicID=3 IsInternal=true Partitions=[{Leader=1 LeaderEpoch=3 Replicas=[1] ISR=[1]}]}`
	f("named", metadataRequest(13, "b", "a"), "["+b+" "+a+"]")
	f("twice", metadataRequest(13, "a", "b", "a"), "["+a+" "+b+"]")
	f("none", metadataRequest(13), "[]")
	f("none in v1", metadataRequest(1), "[]")
	f("empty means all in v0", metadataRequest(0), "["+offsets+" "+a+" "+b+"]")
	all := metadataRequest(13)
	all.Topics = nil
	f("all", all, "["+offsets+" "+a+" "+b+"]")

	req := metadataRequest(12, "a", "b")
	req.AllowAutoTopicCreation = false
	req.Topics[0].TopicID, req.Topics[0].Topic = [16]byte{2}, nil
	f("ids leave names out", req, "["+b+"]")
	req.Topics[1].TopicID = [16]byte{9}
	f("an id that is not there", req, "["+b+` {ErrorCode=UNKNOWN_TOPIC_ID TopicID=9}]`)
	f("invalid and unknown", metadataRequest(9, "x y", "", "..", strings.Repeat("x", 250), "a"),
		"["+a+` {ErrorCode=INVALID_TOPIC_EXCEPTION Topic="x y"} {ErrorCode=INVALID_TOPIC_EXCEPTION Topic=""} {ErrorCode=INVALID_TOPIC_EXCEPTION Topic=".."} {ErrorCode=INVALID_TOPIC_EXCEPTION Topic="`+strings.Repeat("x", 250)+`"}]`)
	f("internal and not there", metadataRequest(9, "__transaction_state"), `[{ErrorCode=UNKNOWN_TOPIC_OR_PARTITION Topic="__transaction_state" IsInternal=true}]`)
}

// TestMetadataSpoiled: an id or no name before v12, and neither in v12, spoil the whole answer.
func TestMetadataSpoiled(t *testing.T) {
	h, _ := imageHandler(t, imageOf(t, brokerRecord(1, false)))
	f := func(version int16, id [16]byte, nameless bool, want string) {
		t.Helper()
		req := metadataRequest(version, "a", "b")
		req.Topics[0].TopicID = id
		if nameless {
			req.Topics[0].Topic = nil
		}
		if got := brief(wire(t, serve(t, h, req))); got != want {
			t.Errorf("v%d: got %s, want %s", version, got, want)
		}
	}
	f(10, [16]byte{7}, false, `{ControllerID=-1 Topics=[{ErrorCode=INVALID_REQUEST Topic="a" TopicID=7} {ErrorCode=INVALID_REQUEST Topic="b"}]}`)
	f(11, [16]byte{}, true, `{ControllerID=-1 Topics=[{ErrorCode=INVALID_REQUEST Topic=""} {ErrorCode=INVALID_REQUEST Topic="b"}]}`)
	f(12, [16]byte{}, true, `{ControllerID=-1 Topics=[{ErrorCode=UNKNOWN_SERVER_ERROR Topic=""} {ErrorCode=UNKNOWN_SERVER_ERROR Topic="b"}]}`)
	f(13, [16]byte{}, true, `{ControllerID=-1 Topics=[{ErrorCode=UNKNOWN_SERVER_ERROR Topic=""} {ErrorCode=UNKNOWN_SERVER_ERROR Topic="b"}] ErrorCode=UNKNOWN_SERVER_ERROR}`)
}

func TestMetadataBrokersAndPartitions(t *testing.T) {
	recs := []record.Message{brokerRecord(1, false), brokerRecord(2, true), brokerRecord(3, false, "OTHER")}
	recs = append(recs, topicRecords("t", 1, []int32{1, 2}, []int32{2, 1}, []int32{3, 1}, []int32{4, 1})...)
	lost := record.NewPartitionChangeRecord()
	lost.TopicID, lost.PartitionID, lost.Directories = [16]byte{1}, 0, [][16]byte{{99}, {2}}
	h, _ := imageHandler(t, imageOf(t, append(recs, lost)...))
	f := func(version int16, want string) {
		t.Helper()
		req := metadataRequest(version, "t")
		req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, true
		if got := brief(wire(t, serve(t, h, req))); got != want {
			t.Errorf("v%d:\ngot  %s\nwant %s", version, got, want)
		}
	}
	// A leader that lacks the listener is LISTENER_NOT_FOUND from v6 on; a fenced leader is told, it may come back.
	f(10, `{Brokers=[{NodeID=1 Host="host1" Port=9092}] ClusterID="cluster" ControllerID=3 Topics=[{Topic="t" TopicID=1 Partitions=[`+
		`{Leader=1 LeaderEpoch=3 Replicas=[1 2] ISR=[1 2] OfflineReplicas=[1 2]} {Partition=1 Leader=2 LeaderEpoch=3 Replicas=[2 1] ISR=[2 1] OfflineReplicas=[2]} `+
		`{ErrorCode=LISTENER_NOT_FOUND Partition=2 Leader=-1 LeaderEpoch=3 Replicas=[3 1] ISR=[3 1] OfflineReplicas=[3]} `+
		`{ErrorCode=LEADER_NOT_AVAILABLE Partition=3 Leader=-1 LeaderEpoch=3 Replicas=[4 1] ISR=[4 1] OfflineReplicas=[4]}] AuthorizedOperations=3576}] AuthorizedOperations=8096}`)
	// v0 hides the replicas that cannot be reached, and says that it does. (kmsg sets LeaderEpoch to -1 where the version lacks it.)
	f(0, `{Brokers=[{NodeID=1 Host="host1" Port=9092}] ControllerID=-1 Topics=[{Topic="t" Partitions=[`+
		`{ErrorCode=REPLICA_NOT_AVAILABLE Leader=1 LeaderEpoch=-1 Replicas=[1] ISR=[1]} {ErrorCode=REPLICA_NOT_AVAILABLE Partition=1 Leader=2 LeaderEpoch=-1 Replicas=[1] ISR=[1]} `+
		`{ErrorCode=LEADER_NOT_AVAILABLE Partition=2 Leader=-1 LeaderEpoch=-1 Replicas=[1] ISR=[1]} {ErrorCode=LEADER_NOT_AVAILABLE Partition=3 Leader=-1 LeaderEpoch=-1 Replicas=[1] ISR=[1]}]}]}`)
}

// A name that is not there has operations (kafka-python decodes them), an unknown id has none.
func TestMetadataOperationsOfTheUnknown(t *testing.T) {
	h, _ := imageHandler(t, imageOf(t, brokerRecord(1, false)))
	f := func(id [16]byte, want string) {
		t.Helper()
		req := metadataRequest(12, "none", "bad name")
		req.IncludeTopicAuthorizedOperations = true
		if id != [16]byte{} {
			req.Topics = req.Topics[:1]
			req.Topics[0].Topic, req.Topics[0].TopicID = nil, id
		}
		resp := wire(t, serve(t, h, req)).(*kmsg.MetadataResponse)
		if got := brief(resp.Topics); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f([16]byte{}, `[{ErrorCode=UNKNOWN_TOPIC_OR_PARTITION Topic="none" AuthorizedOperations=3576} {ErrorCode=INVALID_TOPIC_EXCEPTION Topic="bad name" AuthorizedOperations=3576}]`)
	f([16]byte{9}, `[{ErrorCode=UNKNOWN_TOPIC_ID TopicID=9}]`)
}

func TestMetadataCreatesTopics(t *testing.T) {
	img := imageOf(t, append(topicRecords("there", 1, []int32{1}), brokerRecord(1, false))...)
	f := func(name string, req *kmsg.MetadataRequest, override string, want string) {
		t.Helper()
		h, ctl := imageHandler(t, img, override)
		c := callOf(req)
		h.Serve(c)
		var asked string
		if ctl.asked != nil {
			if c.answered != 0 || !c.parked {
				t.Errorf("%s: answered before the topics were there", name)
			}
			asked = brief(ctl.asked.Topics)
			ctl.done(nil)
		}
		if asked != want {
			t.Errorf("%s:\nasked for %s\nwant      %s", name, asked, want)
		}
		if c.answered != 1 {
			t.Fatalf("%s: answered %d times", name, c.answered)
		}
		for _, rt := range c.resp.(*kmsg.MetadataResponse).Topics {
			if rt.Topic != nil && *rt.Topic == "new" && rt.ErrorCode != kerr.UnknownTopicOrPartition.Code {
				t.Errorf("%s: new topic has code %d", name, rt.ErrorCode)
			}
		}
	}
	allowed := func(version int16, names ...string) *kmsg.MetadataRequest {
		r := metadataRequest(version, names...)
		r.AllowAutoTopicCreation = true
		return r
	}
	const on, off = "auto.create.topics.enable=true", "auto.create.topics.enable=false"
	const made = `[{Topic="new" NumPartitions=-1 ReplicationFactor=-1}]`
	f("asked for", allowed(9, "new", "there", "bad name", "new"), on, made)
	f("not asked for", metadataRequest(9, "new"), on, "")
	f("always before v4", metadataRequest(3, "new"), on, made)
	f("forbidden", allowed(9, "new"), off, "")
	f("nothing to make", allowed(9, "there", "bad name"), on, "")
	f("internal", allowed(9, "__transaction_state"), "transaction.state.log.replication.factor=2",
		`[{Topic="__transaction_state" NumPartitions=50 ReplicationFactor=2 Configs=[{Name="compression.type" Value="uncompressed"} {Name="cleanup.policy" Value="compact"} {Name="min.insync.replicas" Value="1"} {Name="segment.bytes" Value="104857600"} {Name="unclean.leader.election.enable" Value="false"}]}]`)
	byID := allowed(12, "new")
	byID.Topics[0].TopicID, byID.Topics[0].Topic = [16]byte{7}, nil
	f("an id makes nothing", byID, on, "")
}

func BenchmarkMetadataAll(b *testing.B) {
	recs := []record.Message{brokerRecord(1, false)}
	for i := range 1000 {
		id := [16]byte{1: byte(i), 2: byte(i >> 8), 3: 1}
		recs = append(recs, &record.TopicRecord{Name: fmt.Sprintf("topic-%d", i), TopicID: id})
		for p := range 10 {
			recs = append(recs, &record.PartitionRecord{PartitionID: int32(p), TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, Directories: [][16]byte{{1}}})
		}
	}
	h, _ := imageHandler(b, imageOf(b, recs...))
	req := metadataRequest(12)
	req.Topics = nil
	b.ReportAllocs()
	for b.Loop() {
		h.Serve(callOf(req))
	}
}

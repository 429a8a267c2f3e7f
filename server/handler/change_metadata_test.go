package handler

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/controller"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/protocol"
)

// waitingCall is a call that the controller's goroutine answers.
type waitingCall struct {
	*testCall
	done chan kmsg.Response
}

func (c *waitingCall) Reply(resp kmsg.Response) { c.done <- resp }

// changeHandler has a controller in memory behind it.
func changeHandler(t *testing.T) *Handler {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=/data"}})
	if err != nil {
		t.Fatal(err)
	}
	bits := uint64(0)
	c, err := controller.Start(controller.Options{NodeID: 1, Log: controller.NewMemLog(), Clock: clock.System(), Logger: zerolog.Nop(), Static: cfg,
		Broker:    controller.Registration{LogDirs: [][16]byte{{1}}},
		Random:    func() uint64 { bits += 0x9e3779b97f4a7c15; return bits },
		ScramKeys: func(int8, []byte) ([]byte, []byte) { return []byte("stored"), []byte("server") }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(Handler{NodeID: 1, Controller: c, Images: c.Image, Log: zerolog.Nop()})
}

// ask serves a request and waits for its response as a client decodes it.
func ask[Resp kmsg.Response](t *testing.T, h *Handler, req kmsg.Request) Resp {
	t.Helper()
	c := &waitingCall{testCall: callOf(req), done: make(chan kmsg.Response, 1)}
	h.Serve(c)
	if c.closed != "" {
		t.Fatalf("key %d version %d: closed: %s", req.Key(), req.GetVersion(), c.closed)
	}
	if !c.parked {
		t.Errorf("key %d: the handler keeps the request's strings and did not park it", req.Key())
	}
	back := req.ResponseKind()
	if err := back.ReadFrom((<-c.done).AppendTo(nil)); err != nil {
		t.Fatalf("key %d version %d: %v", req.Key(), req.GetVersion(), err)
	}
	return back.(Resp)
}

// eachVersion runs f for every version that is served.
func eachVersion(t *testing.T, key int16, f func(version int16)) {
	t.Helper()
	api, ok := protocol.Lookup(key)
	if !ok {
		t.Fatalf("no API %d", key)
	}
	for v := api.Min; v <= api.Max; v++ {
		f(v)
	}
}

func wantCode(t *testing.T, what string, version, got int16, want *kerr.Error) {
	t.Helper()
	code := int16(0)
	if want != nil {
		code = want.Code
	}
	if got != code {
		t.Errorf("%s version %d is answered %v, want %v", what, version, kerr.ErrorForCode(got), want)
	}
}

func TestTopicsLiveAndDie(t *testing.T) {
	h := changeHandler(t)
	create := func(version int16) int16 {
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
		req.Topics = append(req.Topics, topic)
		req.Version = version
		return ask[*kmsg.CreateTopicsResponse](t, h, req).Topics[0].ErrorCode
	}
	eachVersion(t, 19, func(v int16) {
		wantCode(t, "CreateTopics", v, create(v), nil)
		wantCode(t, "CreateTopics again", v, create(v), kerr.TopicAlreadyExists)
		more := kmsg.NewPtrCreatePartitionsRequest()
		mt := kmsg.NewCreatePartitionsRequestTopic()
		mt.Topic, mt.Count = "t", 3
		more.Topics = append(more.Topics, mt)
		wantCode(t, "CreatePartitions", 0, ask[*kmsg.CreatePartitionsResponse](t, h, more).Topics[0].ErrorCode, nil)
		if got := len(h.Images().Topic("t").Partitions); got != 3 {
			t.Errorf("topic has %d partitions, want 3", got)
		}
		del := kmsg.NewPtrDeleteTopicsRequest()
		del.Version, del.TopicNames = 1, []string{"t"}
		wantCode(t, "DeleteTopics", 1, ask[*kmsg.DeleteTopicsResponse](t, h, del).Topics[0].ErrorCode, nil)
	})
	eachVersion(t, 20, func(v int16) {
		wantCode(t, "CreateTopics", 7, create(7), nil)
		del := kmsg.NewPtrDeleteTopicsRequest()
		del.Version, del.TopicNames = v, []string{"t"}
		dt := kmsg.NewDeleteTopicsRequestTopic()
		dt.TopicID = h.Images().Topic("t").ID
		del.Topics = append(del.Topics, dt)
		wantCode(t, "DeleteTopics", v, ask[*kmsg.DeleteTopicsResponse](t, h, del).Topics[0].ErrorCode, nil)
	})
	eachVersion(t, 37, func(v int16) {
		more := kmsg.NewPtrCreatePartitionsRequest()
		mt := kmsg.NewCreatePartitionsRequestTopic()
		mt.Topic, mt.Count = "t", 3
		more.Version, more.Topics = v, append(more.Topics, mt)
		wantCode(t, "CreatePartitions", v, ask[*kmsg.CreatePartitionsResponse](t, h, more).Topics[0].ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

func TestConfigsChange(t *testing.T) {
	h := changeHandler(t)
	value := "60000"
	eachVersion(t, 44, func(v int16) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeClientMetrics, "m"
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = "interval.ms", &value
		r.Configs = append(r.Configs, c)
		req.Version, req.Resources = v, append(req.Resources, r)
		wantCode(t, "IncrementalAlterConfigs", v, ask[*kmsg.IncrementalAlterConfigsResponse](t, h, req).Resources[0].ErrorCode, nil)
	})
	if got := h.Images().Config(16, "m")["interval.ms"]; got != value {
		t.Errorf("interval.ms is %q, want %s", got, value)
	}
	eachVersion(t, 33, func(v int16) {
		req := kmsg.NewPtrAlterConfigsRequest()
		r := kmsg.NewAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, "nowhere"
		req.Version, req.Resources = v, append(req.Resources, r)
		wantCode(t, "AlterConfigs", v, ask[*kmsg.AlterConfigsResponse](t, h, req).Resources[0].ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

func TestUsersChange(t *testing.T) {
	h := changeHandler(t)
	user, host := "u", "no such host !"
	eachVersion(t, 49, func(v int16) {
		f := func(kind string, name *string, key string, want *kerr.Error) {
			t.Helper()
			req := kmsg.NewPtrAlterClientQuotasRequest()
			e := kmsg.NewAlterClientQuotasRequestEntry()
			p := kmsg.NewAlterClientQuotasRequestEntryEntity()
			p.Type, p.Name = kind, name
			op := kmsg.NewAlterClientQuotasRequestEntryOp()
			op.Key, op.Value = key, 1000
			e.Entity, e.Ops = append(e.Entity, p), append(e.Ops, op)
			req.Version, req.Entries = v, append(req.Entries, e)
			wantCode(t, "AlterClientQuotas", v, ask[*kmsg.AlterClientQuotasResponse](t, h, req).Entries[0].ErrorCode, want)
		}
		f("user", &user, "producer_byte_rate", nil)
		f("ip", &host, "connection_creation_rate", kerr.InvalidRequest)
	})
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	u.Name, u.Mechanism, u.Iterations, u.Salt, u.SaltedPassword = user, 1, 4096, []byte("salt"), []byte("password")
	req.Upsertions = append(req.Upsertions, u)
	wantCode(t, "AlterUserScramCredentials", 0, ask[*kmsg.AlterUserSCRAMCredentialsResponse](t, h, req).Results[0].ErrorCode, nil)
	if c := h.Images().Scram(user, 1); c == nil || string(c.Salt) != "salt" || string(c.StoredKey) != "stored" {
		t.Errorf("the credential is %+v", c)
	}
}

func TestClusterChanges(t *testing.T) {
	h := changeHandler(t)
	eachVersion(t, 57, func(v int16) {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		f.Feature, f.MaxVersionLevel, f.UpgradeType = "group.version", 1, 1
		req.Version, req.FeatureUpdates = v, append(req.FeatureUpdates, f)
		wantCode(t, "UpdateFeatures", v, ask[*kmsg.UpdateFeaturesResponse](t, h, req).ErrorCode, nil)
	})
	eachVersion(t, 43, func(v int16) {
		req := kmsg.NewPtrElectLeadersRequest()
		et := kmsg.NewElectLeadersRequestTopic()
		et.Topic, et.Partitions = "nowhere", []int32{0}
		req.Version, req.Topics = v, append(req.Topics, et)
		wantCode(t, "ElectLeaders", v, ask[*kmsg.ElectLeadersResponse](t, h, req).Topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicOrPartition)
	})
	eachVersion(t, 45, func(v int16) {
		req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		at := kmsg.NewAlterPartitionAssignmentsRequestTopic()
		ap := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		at.Topic, at.Partitions = "nowhere", append(at.Partitions, ap)
		req.Version, req.Topics = v, append(req.Topics, at)
		wantCode(t, "AlterPartitionReassignments", v, ask[*kmsg.AlterPartitionAssignmentsResponse](t, h, req).Topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicOrPartition)
	})
	eachVersion(t, 46, func(v int16) {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.Version = v
		if got := ask[*kmsg.ListPartitionReassignmentsResponse](t, h, req); got.ErrorCode != 0 || len(got.Topics) != 0 {
			t.Errorf("ListPartitionReassignments gives %+v, want nothing", got)
		}
	})
	eachVersion(t, 55, func(v int16) {
		req := kmsg.NewPtrDescribeQuorumRequest()
		qt := kmsg.NewDescribeQuorumRequestTopic()
		qt.Topic, qt.Partitions = "__cluster_metadata", append(qt.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
		req.Version, req.Topics = v, append(req.Topics, qt)
		got := ask[*kmsg.DescribeQuorumResponse](t, h, req).Topics[0].Partitions[0]
		if got.LeaderID != 1 || got.HighWatermark <= 0 || len(got.CurrentVoters) != 1 {
			t.Errorf("DescribeQuorum version %d gives %+v", v, got)
		}
	})
	gone := kmsg.NewPtrUnregisterBrokerRequest()
	gone.BrokerID = 7
	c := &waitingCall{testCall: callOf(gone), done: make(chan kmsg.Response, 1)}
	h.unregisterBroker(c)
	wantCode(t, "UnregisterBroker", 0, (<-c.done).(*kmsg.UnregisterBrokerResponse).ErrorCode, kerr.BrokerIDNotRegistered)
}

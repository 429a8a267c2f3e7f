package handler

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// consumerGroupsHandler is groupsHandler in a cluster whose group.version lets the consumer protocol in.
func consumerGroupsHandler(t *testing.T) (*Handler, *heldGroups) {
	t.Helper()
	h, g := groupsHandler(t)
	img := imageOf(t, &record.FeatureLevelRecord{Name: groupVersionFeature, FeatureLevel: 1})
	h.Images = func() *metadata.Image { return img }
	return h, g
}

func joinConsumer(group, member string, version int16) *kmsg.ConsumerGroupHeartbeatRequest {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.RebalanceTimeoutMillis = version, group, member, 60_000
	r.SubscribedTopicNames, r.Topics = []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return r
}

func TestConsumerGroupHeartbeat(t *testing.T) {
	h, g := consumerGroupsHandler(t)
	beat := func(req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
		t.Helper()
		return serve(t, h, req).(*kmsg.ConsumerGroupHeartbeatResponse)
	}
	r := beat(joinConsumer("g", "", 0))
	if r.ErrorCode != 0 || r.MemberID == nil || len(*r.MemberID) != 22 || r.MemberEpoch < 1 || r.HeartbeatIntervalMillis != 5000 {
		t.Fatalf("a member of version 0 joins: %+v", r)
	}
	if r = beat(joinConsumer("g", "", 1)); r.ErrorCode != kerr.InvalidRequest.Code {
		t.Errorf("version 1 without a member id: %+v", r)
	}
	// What is wrong with the request is said first.
	g.err = coordinator.ErrNotCoordinator
	if r = beat(joinConsumer("", "m", 1)); r.ErrorCode != kerr.InvalidRequest.Code || *r.ErrorMessage != "GroupId can't be empty." {
		t.Errorf("without a group: %+v", r)
	}
	f := func(err error, want *kerr.Error) {
		t.Helper()
		g.err = err
		for v := int16(0); v <= 1; v++ {
			if r := beat(joinConsumer("g", "m", v)); r.ErrorCode != want.Code || r.MemberID != nil {
				t.Errorf("%v: got %+v", err, r)
			}
		}
	}
	f(coordinator.ErrNotCoordinator, kerr.NotCoordinator)
	f(coordinator.ErrLoading, kerr.CoordinatorLoadInProgress)
	f(coordinator.ErrNotAvailable, kerr.CoordinatorNotAvailable)
	g.err, g.fail = nil, kerr.NotEnoughReplicas
	if r = beat(joinConsumer("h", "m", 1)); r.ErrorCode != kerr.CoordinatorNotAvailable.Code {
		t.Errorf("a refused write: %+v", r)
	}
}

func TestConsumerGroupDescribe(t *testing.T) {
	h, g := consumerGroupsHandler(t)
	serve(t, h, joinConsumer("g", "m", 1))
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups, req.IncludeAuthorizedOperations = []string{"", "g", "none"}, true
	for v := int16(0); v <= 1; v++ {
		req.Version = v
		r := serve(t, h, req).(*kmsg.ConsumerGroupDescribeResponse)
		if len(r.Groups) != 3 || r.Groups[0].ErrorCode != kerr.InvalidGroupID.Code || r.Groups[2].ErrorCode != kerr.GroupIDNotFound.Code {
			t.Fatalf("version %d: %+v", v, r.Groups)
		}
		d := r.Groups[1]
		if d.ErrorCode != 0 || d.State != "Stable" || len(d.Members) != 1 || d.Members[0].MemberID != "m" || d.AuthorizedOperations != groupOperations {
			t.Errorf("version %d: %+v", v, d)
		}
	}
	g.err = coordinator.ErrLoading
	r := serve(t, h, req).(*kmsg.ConsumerGroupDescribeResponse)
	if r.Groups[0].ErrorCode != kerr.InvalidGroupID.Code || r.Groups[1].ErrorCode != kerr.CoordinatorLoadInProgress.Code {
		t.Errorf("while loading: %+v", r.Groups)
	}
}

// Without the feature, as before a cluster of an older Kafka is upgraded, the consumer protocol is refused.
func TestConsumerProtocolDisabled(t *testing.T) {
	h, _ := groupsHandler(t)
	if r := serve(t, h, joinConsumer("g", "m", 1)).(*kmsg.ConsumerGroupHeartbeatResponse); r.ErrorCode != kerr.UnsupportedVersion.Code {
		t.Errorf("got %+v", r)
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Version, req.Groups = 1, []string{"g", ""}
	for _, d := range serve(t, h, req).(*kmsg.ConsumerGroupDescribeResponse).Groups {
		if d.ErrorCode != kerr.UnsupportedVersion.Code {
			t.Errorf("got %+v", d)
		}
	}
}

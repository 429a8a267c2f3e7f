package handler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/coordinator"
	"github.com/kaja-mq/kaja/coordinator/group"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/protocol"
)

// heldGroups is a group coordinator with one shard for all, whose answers can be held back as a follower would.
type heldGroups struct {
	shard *group.Shard
	err   error // instead of running a step
	fail  error // of the write
	hold  bool
	held  []coordinator.Reply
}

func (g *heldGroups) Partitions() []int32 { return []int32{0, 7} }

func (g *heldGroups) Submit(p int32, step func(*group.Shard, coordinator.Now) coordinator.Effects) error {
	if g.err != nil {
		return g.err
	}
	e := step(g.shard, coordinator.Now{Wall: time.Unix(1e9, 0), Mono: time.Unix(0, 0)})
	for _, r := range e.Replies {
		switch {
		case g.fail != nil && len(e.Records) > 0:
			r.To.Fail(g.fail)
		case g.hold:
			g.held = append(g.held, r)
		default:
			r.To.Complete(r.Response)
		}
	}
	if g.fail == nil {
		for _, r := range e.Records {
			g.shard.Apply(r)
		}
	}
	return nil
}

// imageTopics are the topics of an image as the machines see them.
type imageTopics struct{ img *metadata.Image }

func (v imageTopics) TopicID(name string) (id [16]byte, ok bool) {
	if t := v.img.Topic(name); t != nil {
		return t.ID, true
	}
	return id, false
}
func (v imageTopics) TopicName(id [16]byte) (string, bool) {
	if t := v.img.TopicByID(id); t != nil {
		return t.Name, true
	}
	return "", false
}
func (v imageTopics) Partitions([16]byte) int32      { return 0 }
func (v imageTopics) Racks([16]byte, int32) []string { return nil }
func (v imageTopics) Names() []string                { return nil }
func (v imageTopics) Version() int64                 { return 0 }

type defaultSettings struct{ r *config.Resolver }

func (s defaultSettings) Int(name string) int64 {
	if name == "group.initial.rebalance.delay.ms" {
		return 0
	}
	return s.r.Int(name)
}
func (s defaultSettings) Str(name string) string { return s.r.Str(name) }
func (s defaultSettings) GroupInt(g, name string) int64 {
	return config.GroupOf(s.r, nil).Int(name)
}

// groupsHandler serves topic t with 2 partitions and __consumer_offsets with 50.
func groupsHandler(t *testing.T) (*Handler, *heldGroups) {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=/data"}})
	if err != nil {
		t.Fatal(err)
	}
	r := config.Broker(cfg, nil, nil)
	recs := append(topicRecords("t", 1, []int32{1}, []int32{1}), brokerRecord(1, false))
	offsets := make([][]int32, 50)
	for i := range offsets {
		offsets[i] = []int32{1}
	}
	img := imageOf(t, append(recs, topicRecords(offsetsTopic, 2, offsets...)...)...)
	g := &heldGroups{shard: group.New(group.Deps{Topics: imageTopics{img}, Settings: defaultSettings{r}})}
	g.shard.Loaded(coordinator.Now{})
	h := New(Handler{NodeID: 1, Images: func() *metadata.Image { return img }, Groups: g, Config: func() *config.Resolver { return r },
		Clock: clock.System(), Log: zerolog.Nop()})
	return h, g
}

// groupRequests has a request of each API of groups.
func groupRequests() []kmsg.Request {
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType, join.SessionTimeoutMillis = "g", "consumer", 10_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	join.Protocols = append(join.Protocols, p)
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.ProtocolType, sync.Protocol = "g", kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group = "g"
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = "g"
	leave.Members = append(leave.Members, kmsg.NewLeaveGroupRequestMember())
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"g"}
	del := kmsg.NewPtrDeleteGroupsRequest()
	del.Groups = []string{"g"}
	delOffsets := kmsg.NewPtrOffsetDeleteRequest()
	delOffsets.Group = "g"
	dt := kmsg.NewOffsetDeleteRequestTopic()
	dt.Topic = "t"
	dt.Partitions = append(dt.Partitions, kmsg.NewOffsetDeleteRequestTopicPartition())
	delOffsets.Topics = append(delOffsets.Topics, dt)
	return []kmsg.Request{join, sync, beat, leave, describe, del, delOffsets, kmsg.NewPtrListGroupsRequest(), commitOf("g", "t", 0, 5), fetchOf("g", "t", 0)}
}

func commitOf(g, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.Generation = 8, g, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, [16]byte{1}
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = partition, offset, kmsg.StringPtr("m")
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

// fetchOf fills the fields of all versions.
func fetchOf(g, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group = 8, g
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	r.Topics = append(r.Topics, t)
	gr := kmsg.NewOffsetFetchRequestGroup()
	gr.Group, gr.MemberEpoch = g, -1
	gt := kmsg.NewOffsetFetchRequestGroupTopic()
	gt.Topic, gt.TopicID, gt.Partitions = topic, [16]byte{1}, partitions
	gr.Topics = append(gr.Topics, gt)
	r.Groups = append(r.Groups, gr)
	return r
}

// codeIn finds the error code of a response, wherever its version has it.
func codeIn(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	case *kmsg.HeartbeatResponse:
		return r.ErrorCode
	case *kmsg.LeaveGroupResponse:
		return r.ErrorCode
	case *kmsg.DescribeGroupsResponse:
		return r.Groups[0].ErrorCode
	case *kmsg.DeleteGroupsResponse:
		return r.Groups[0].ErrorCode
	case *kmsg.OffsetDeleteResponse:
		return r.ErrorCode
	case *kmsg.ListGroupsResponse:
		return r.ErrorCode
	case *kmsg.OffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.OffsetFetchResponse:
		switch {
		case r.Version >= 8:
			return r.Groups[0].ErrorCode
		case r.Version >= 2:
			return r.ErrorCode
		}
		return r.Topics[0].Partitions[0].ErrorCode
	}
	return -99
}

// Every API says in every version, in its own place, why the coordinator cannot answer.
func TestCoordinatorErrorsInAllVersions(t *testing.T) {
	h, g := groupsHandler(t)
	f := func(err error, want *kerr.Error) {
		t.Helper()
		g.err = err
		for _, req := range groupRequests() {
			a, ok := protocol.Lookup(req.Key())
			if !ok {
				t.Fatalf("no API %d", req.Key())
			}
			for v := a.Min; v <= a.Max; v++ {
				req.SetVersion(v)
				c := callOf(req)
				h.Serve(c)
				if c.answered != 1 || c.resp == nil {
					t.Fatalf("key %d version %d: answered %d times, closed %q", req.Key(), v, c.answered, c.closed)
				}
				back := req.ResponseKind()
				back.SetVersion(v)
				if err := back.ReadFrom(c.resp.AppendTo(nil)); err != nil {
					t.Fatalf("key %d version %d: %v", req.Key(), v, err)
				}
				w := want.Code
				switch {
				case req.Key() == 12 && want == kerr.CoordinatorLoadInProgress, // the next heartbeat tells
					req.Key() == 16 && want == kerr.NotCoordinator: // others list those groups
					w = 0
				}
				if got := codeIn(back); got != w {
					t.Errorf("key %d version %d: %v is answered with %d, want %d", req.Key(), v, err, got, w)
				}
			}
		}
	}
	f(coordinator.ErrNotCoordinator, kerr.NotCoordinator)
	f(coordinator.ErrLoading, kerr.CoordinatorLoadInProgress)
	f(coordinator.ErrNotAvailable, kerr.CoordinatorNotAvailable)
}

func TestCoordinatorErrorOfTheLog(t *testing.T) {
	f := func(err error, want *kerr.Error) {
		t.Helper()
		if got := coordinatorError(fmt.Errorf("append: %w", err)); got != want {
			t.Errorf("%v becomes %v, want %v", err, got, want)
		}
	}
	f(kerr.NotEnoughReplicas, kerr.CoordinatorNotAvailable)
	f(kerr.NotEnoughReplicasAfterAppend, kerr.CoordinatorNotAvailable)
	f(kerr.RequestTimedOut, kerr.CoordinatorNotAvailable)
	f(kerr.NotLeaderForPartition, kerr.NotCoordinator)
	f(kerr.KafkaStorageError, kerr.NotCoordinator)
	f(kerr.MessageTooLarge, kerr.UnknownServerError)
	f(kerr.InvalidProducerEpoch, kerr.InvalidProducerEpoch)
	f(errors.New("disk on fire"), kerr.UnknownServerError)
}

// A commit whose records are not written is not acknowledged; a call that has to wait is parked and answered later.
func TestCommitWaitsForItsRecords(t *testing.T) {
	h, g := groupsHandler(t)
	g.fail = kerr.NotEnoughReplicas
	if got := codeIn(serve(t, h, commitOf("g", "t", 0, 5))); got != kerr.CoordinatorNotAvailable.Code {
		t.Errorf("commit that was not written: %d", got)
	}
	g.fail, g.hold = nil, true
	c := callOf(commitOf("g", "t", 0, 6))
	h.Serve(c)
	if c.answered != 0 || !c.parked {
		t.Fatalf("commit that is not replicated yet: answered %d times, parked %t", c.answered, c.parked)
	}
	g.held[0].To.Complete(g.held[0].Response)
	if c.answered != 1 || codeIn(c.resp) != 0 {
		t.Fatalf("replicated commit: answered %d times, %+v", c.answered, c.resp)
	}
}

// Unknown topics and partitions are refused by themselves, by name and by id.
func TestCommitOfUnknownPartitions(t *testing.T) {
	h, _ := groupsHandler(t)
	f := func(version int16, edit func(*kmsg.OffsetCommitRequestTopic), want int16) {
		t.Helper()
		req := commitOf("g", "t", 0, 5)
		req.Version = version
		bad := req.Topics[0]
		edit(&bad)
		req.Topics = append(req.Topics, bad)
		resp := serve(t, h, req).(*kmsg.OffsetCommitResponse)
		codes := map[string]int16{}
		for _, rt := range resp.Topics {
			for _, p := range rt.Partitions {
				codes[fmt.Sprintf("%d/%d", rt.TopicID[0], p.Partition)] = p.ErrorCode
			}
		}
		if codes["1/0"] != 0 || len(codes) != 2 {
			t.Errorf("version %d: codes %v, want 1/0 committed and one refused", version, codes)
		}
		for k, got := range codes {
			if k != "1/0" && got != want {
				t.Errorf("version %d: %s is refused with %d, want %d", version, k, got, want)
			}
		}
	}
	other := func(p int32) []kmsg.OffsetCommitRequestTopicPartition {
		x := kmsg.NewOffsetCommitRequestTopicPartition()
		x.Partition = p
		return []kmsg.OffsetCommitRequestTopicPartition{x}
	}
	f(8, func(b *kmsg.OffsetCommitRequestTopic) { b.Topic, b.Partitions = "nowhere", other(3) }, kerr.UnknownTopicOrPartition.Code)
	f(8, func(b *kmsg.OffsetCommitRequestTopic) { b.Partitions = other(9) }, kerr.UnknownTopicOrPartition.Code)
	f(10, func(b *kmsg.OffsetCommitRequestTopic) { b.TopicID, b.Partitions = [16]byte{9}, other(3) }, kerr.UnknownTopicID.Code)
	f(10, func(b *kmsg.OffsetCommitRequestTopic) { b.Partitions = other(9) }, kerr.UnknownTopicOrPartition.Code)
}

// A topic that a commit names twice is answered twice, but if something of the commit was refused: Kafka's builder then joins by name.
func TestCommitOfRepeatedTopic(t *testing.T) {
	h, _ := groupsHandler(t)
	version := int16(8)
	f := func(want string, partitions ...int32) {
		t.Helper()
		req := commitOf("g", "t", 0, 5)
		req.Version = version
		one := req.Topics[0]
		if version >= 10 {
			one.Topic = ""
		}
		req.Topics = nil
		for _, p := range partitions {
			rp := one.Partitions[0]
			rp.Partition = p
			rt := one
			rt.Partitions = []kmsg.OffsetCommitRequestTopicPartition{rp}
			req.Topics = append(req.Topics, rt)
		}
		got := ""
		for _, rt := range serve(t, h, req).(*kmsg.OffsetCommitResponse).Topics {
			got += rt.Topic + ":"
			for _, p := range rt.Partitions {
				got += fmt.Sprintf("%d=%d ", p.Partition, p.ErrorCode)
			}
		}
		if got != want {
			t.Errorf("partitions %v: got %q, want %q", partitions, got, want)
		}
	}
	f("t:0=0 t:0=0 ", 0, 0)
	f("t:9=3 0=0 0=0 ", 0, 9, 0)
	f("t:9=3 8=3 ", 9, 8)
	version = 10 // told by id: there is no name
	f("t:0=0 t:0=0 ", 0, 0)
	f(":9=3 8=3 0=0 ", 0, 9, 8)
}

// What OffsetDelete refuses of a topic comes first, and stands together with what was done.
func TestOffsetDeleteOfRepeatedTopic(t *testing.T) {
	h, _ := groupsHandler(t)
	serve(t, h, commitOf("g", "t", 0, 5))
	f := func(want string, topics ...string) {
		t.Helper()
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = "g"
		for _, name := range topics {
			rt := kmsg.NewOffsetDeleteRequestTopic()
			rt.Topic = name
			for _, p := range []int32{0, 9}[:1+len(topics)%2] {
				rp := kmsg.NewOffsetDeleteRequestTopicPartition()
				rp.Partition = p
				rt.Partitions = append(rt.Partitions, rp)
			}
			req.Topics = append(req.Topics, rt)
		}
		got := ""
		for _, rt := range serve(t, h, req).(*kmsg.OffsetDeleteResponse).Topics {
			got += rt.Topic + ":"
			for _, p := range rt.Partitions {
				got += fmt.Sprintf("%d=%d ", p.Partition, p.ErrorCode)
			}
		}
		if got != want {
			t.Errorf("topics %v: got %q, want %q", topics, got, want)
		}
	}
	f("t:0=0 t:0=0 ", "t", "t")
	f("t:9=3 9=3 0=0 0=0 none:0=3 9=3 ", "t", "none", "t")
}

// A group that DeleteGroups names twice is deleted and answered once.
func TestDeleteGroupsRepeated(t *testing.T) {
	h, _ := groupsHandler(t)
	serve(t, h, commitOf("g", "t", 0, 5))
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{"g", "none", "g", "none"}
	resp := serve(t, h, req).(*kmsg.DeleteGroupsResponse)
	if len(resp.Groups) != 2 || resp.Groups[0].ErrorCode != 0 || resp.Groups[1].ErrorCode != kerr.GroupIDNotFound.Code {
		t.Errorf("got %+v", resp.Groups)
	}
}

// What was committed comes back in every version that can tell it.
func TestFetchInAllVersions(t *testing.T) {
	h, _ := groupsHandler(t)
	serve(t, h, commitOf("g", "t", 0, 5))
	for v := int16(1); v <= 10; v++ {
		req := fetchOf("g", "t", 0, 1)
		req.Version = v
		resp := serve(t, h, req).(*kmsg.OffsetFetchResponse)
		var got []int64
		if v >= 8 {
			for _, p := range resp.Groups[0].Topics[0].Partitions {
				got = append(got, p.Offset)
			}
		} else {
			for _, p := range resp.Topics[0].Partitions {
				got = append(got, p.Offset)
			}
		}
		if fmt.Sprint(got) != "[5 -1]" {
			t.Errorf("version %d: offsets %v, want [5 -1]", v, got)
		}
	}
	all := fetchOf("g", "t", 0)
	all.Version, all.Groups[0].Topics = 10, nil
	resp := serve(t, h, all).(*kmsg.OffsetFetchResponse)
	if ts := resp.Groups[0].Topics; len(ts) != 1 || ts[0].TopicID != [16]byte{1} {
		t.Errorf("all offsets by id: %+v", ts)
	}
}

// A group without an id is nobody's, but offsets may be kept under it.
func TestEmptyGroupID(t *testing.T) {
	h, _ := groupsHandler(t)
	f := func(req kmsg.Request, want int16) {
		t.Helper()
		if got := codeIn(serve(t, h, req)); got != want {
			t.Errorf("key %d: %d, want %d", req.Key(), got, want)
		}
	}
	reqs := groupRequests()
	join, sync, beat, leave, del := reqs[0].(*kmsg.JoinGroupRequest), reqs[1].(*kmsg.SyncGroupRequest), reqs[2].(*kmsg.HeartbeatRequest),
		reqs[3].(*kmsg.LeaveGroupRequest), reqs[6].(*kmsg.OffsetDeleteRequest)
	join.Group, sync.Group, beat.Group, leave.Group, del.Group = "", "", "", "", ""
	for _, r := range []kmsg.Request{join, sync, beat, leave, del} {
		f(r, kerr.InvalidGroupID.Code)
	}
	f(commitOf("", "t", 0, 1), 0)
	f(fetchOf("", "t", 0), 0)
}

// An internal topic is made before the coordinator is told; if it can't be, the client has to come back.
func TestFindCoordinator(t *testing.T) {
	h, _ := groupsHandler(t)
	find := func(version int16, kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.Version, r.CoordinatorType, r.CoordinatorKeys, r.CoordinatorKey = version, kind, keys, keys[0]
		return r
	}
	r := serve(t, h, find(6, 0, "a", "b")).(*kmsg.FindCoordinatorResponse)
	if len(r.Coordinators) != 2 || r.Coordinators[1].Key != "b" || r.Coordinators[1].NodeID != 1 || r.Coordinators[1].Host != "host1" || r.Coordinators[1].Port != 9092 {
		t.Errorf("two groups: %+v", r)
	}
	if r := serve(t, h, find(0, 0, "a")).(*kmsg.FindCoordinatorResponse); r.NodeID != 1 || r.ErrorCode != 0 {
		t.Errorf("version 0: %+v", r)
	}
	code := func(req *kmsg.FindCoordinatorRequest) int16 {
		return serve(t, h, req).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode
	}
	f := func(version int16, kind int8, key string, want *kerr.Error) {
		t.Helper()
		if got := code(find(version, kind, key)); got != want.Code {
			t.Errorf("version %d kind %d key %q: %d, want %v", version, kind, key, got, want)
		}
	}
	f(6, 9, "x", kerr.InvalidRequest)
	f(6, 2, "nonsense", kerr.InvalidRequest)
	f(6, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:x", kerr.InvalidRequest)
	f(6, 2, ":AAAAAAAAAAAAAAAAAAAAAQ:0", kerr.InvalidRequest)
	f(6, 2, "g:short:0", kerr.InvalidRequest)
	f(5, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", kerr.InvalidRequest)

	ctl := &fakeController{}
	h.Controller = ctl
	c := callOf(find(6, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0"))
	h.Serve(c)
	if ctl.asked == nil || ctl.asked.Topics[0].Topic != shareStateTopic || c.answered != 0 || !c.parked {
		t.Fatalf("missing topic: asked for %+v, answered %d times", ctl.asked, c.answered)
	}
	failed := kmsg.NewPtrCreateTopicsResponse()
	ft := kmsg.NewCreateTopicsResponseTopic()
	ft.Topic, ft.ErrorCode = shareStateTopic, kerr.InvalidReplicationFactor.Code
	failed.Topics = append(failed.Topics, ft)
	ctl.done(failed)
	if got := c.resp.(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode; got != kerr.CoordinatorNotAvailable.Code {
		t.Errorf("topic that can't be made: %d", got)
	}
}

// Members meet over all versions of the protocol: join, sync, heartbeat, describe, list, leave.
func TestGroupLifeInAllVersions(t *testing.T) {
	h, _ := groupsHandler(t)
	for v := int16(0); v <= 9; v++ {
		id := fmt.Sprint("g", v)
		join := groupRequests()[0].(*kmsg.JoinGroupRequest)
		join.Version, join.Group, join.RebalanceTimeoutMillis = v, id, 30_000
		j := serve(t, h, join).(*kmsg.JoinGroupResponse)
		if v >= 4 {
			if j.ErrorCode != kerr.MemberIDRequired.Code {
				t.Fatalf("join v%d: %d", v, j.ErrorCode)
			}
			join.MemberID = j.MemberID
			j = serve(t, h, join).(*kmsg.JoinGroupResponse)
		}
		if j.ErrorCode != 0 || j.LeaderID != j.MemberID || len(j.Members) != 1 {
			t.Fatalf("join v%d: %+v", v, j)
		}
		sync := groupRequests()[1].(*kmsg.SyncGroupRequest)
		sync.Version, sync.Group, sync.MemberID, sync.Generation = min(v, 5), id, j.MemberID, j.Generation
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = j.MemberID, []byte("all")
		sync.GroupAssignment = append(sync.GroupAssignment, a)
		if s := serve(t, h, sync).(*kmsg.SyncGroupResponse); s.ErrorCode != 0 || string(s.MemberAssignment) != "all" {
			t.Fatalf("sync v%d: %+v", sync.Version, s)
		}
		beat := groupRequests()[2].(*kmsg.HeartbeatRequest)
		beat.Version, beat.Group, beat.MemberID, beat.Generation = min(v, 4), id, j.MemberID, j.Generation
		if code := codeIn(serve(t, h, beat)); code != 0 {
			t.Fatalf("heartbeat v%d: %d", beat.Version, code)
		}
		describe := groupRequests()[4].(*kmsg.DescribeGroupsRequest)
		describe.Version, describe.Groups, describe.IncludeAuthorizedOperations = min(v, 6), []string{id}, true
		if d := serve(t, h, describe).(*kmsg.DescribeGroupsResponse).Groups[0]; d.State != "Stable" || len(d.Members) != 1 || v >= 3 && d.AuthorizedOperations != groupOperations {
			t.Fatalf("describe v%d: %+v", describe.Version, d)
		}
		leave := groupRequests()[3].(*kmsg.LeaveGroupRequest)
		leave.Version, leave.Group, leave.MemberID, leave.Members[0].MemberID = min(v, 5), id, j.MemberID, j.MemberID
		if code := codeIn(serve(t, h, leave)); code != 0 {
			t.Fatalf("leave v%d: %d", leave.Version, code)
		}
	}
	list := kmsg.NewPtrListGroupsRequest()
	list.Version, list.StatesFilter = 5, []string{"empty"}
	if l := serve(t, h, list).(*kmsg.ListGroupsResponse); len(l.Groups) != 20 { // the fake has two partitions with the same shard
		t.Errorf("%d groups are listed, want 10 twice", len(l.Groups))
	}
}

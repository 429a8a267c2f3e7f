package handler

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata/record"
)

func TestDescribeCluster(t *testing.T) {
	h, _ := imageHandler(t, imageOf(t, brokerRecord(1, false), brokerRecord(2, true), brokerRecord(3, false, "OTHER")))
	f := func(version int16, endpointType int8, fenced, operations bool, want string) {
		t.Helper()
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.EndpointType, req.IncludeFencedBrokers, req.IncludeClusterAuthorizedOperations = version, endpointType, fenced, operations
		if got := brief(wire(t, serve(t, h, req))); got != want {
			t.Errorf("v%d type %d:\ngot  %s\nwant %s", version, endpointType, got, want)
		}
	}
	const one = `{NodeID=1 Host="host1" Port=9092}`
	f(0, 0, true, false, `{EndpointType=1 ClusterID="cluster" ControllerID=3 Brokers=[`+one+`]}`)
	f(1, 1, true, true, `{EndpointType=1 ClusterID="cluster" ControllerID=3 Brokers=[`+one+`] ClusterAuthorizedOperations=8096}`)
	f(2, 1, false, false, `{EndpointType=1 ClusterID="cluster" ControllerID=3 Brokers=[`+one+`]}`)
	f(2, 1, true, false, `{EndpointType=1 ClusterID="cluster" ControllerID=3 Brokers=[`+one+` {NodeID=2 Host="host2" Port=9092 IsFenced=true}]}`)
	f(1, 2, false, true, `{ErrorCode=MISMATCHED_ENDPOINT_TYPE ErrorMessage="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER" EndpointType=1 ControllerID=-1}`)
	f(2, 7, true, false, `{ErrorCode=UNSUPPORTED_ENDPOINT_TYPE ErrorMessage="Unsupported endpoint type 7" EndpointType=1 ControllerID=-1}`)
}

func TestDescribeClusterWithoutBrokers(t *testing.T) {
	h, _ := imageHandler(t, imageOf(t, brokerRecord(1, true)))
	if resp := serve(t, h, kmsg.NewPtrDescribeClusterRequest()).(*kmsg.DescribeClusterResponse); resp.ControllerID != -1 {
		t.Errorf("controller %d where no broker is alive", resp.ControllerID)
	}
}

func describeTopicsRequest(limit int32, cursor string, partition int32, names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, n := range names {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = n
		req.Topics = append(req.Topics, rt)
	}
	if cursor != "" {
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic, c.Partition = cursor, partition
		req.Cursor = &c
	}
	return req
}

// shape is the topics of a response with their partitions' ids, and the cursor.
func shape(resp *kmsg.DescribeTopicPartitionsResponse) string {
	out := ""
	for _, rt := range resp.Topics {
		out += *rt.Topic + "["
		for _, rp := range rt.Partitions {
			out += string(rune('0' + rp.Partition))
		}
		out += "]"
		if rt.ErrorCode != 0 {
			out += "!"
		}
	}
	if c := resp.NextCursor; c != nil {
		out += " next " + c.Topic + string(rune('0'+c.Partition))
	}
	return out
}

func TestDescribeTopicPartitionsPages(t *testing.T) {
	recs := []record.Message{brokerRecord(1, false)}
	for i, name := range []string{"c", "a", "b"} {
		recs = append(recs, topicRecords(name, byte(i+1), []int32{1}, []int32{1}, []int32{1})...)
	}
	h, _ := imageHandler(t, imageOf(t, recs...), "max.request.partition.size.limit=7")
	f := func(req *kmsg.DescribeTopicPartitionsRequest, want string) {
		t.Helper()
		if got := shape(serve(t, h, req).(*kmsg.DescribeTopicPartitionsResponse)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(describeTopicsRequest(100, "", 0), "a[012]b[012]c[0] next c1")
	f(describeTopicsRequest(100, "c", 1), "c[12]")
	f(describeTopicsRequest(6, "", 0), "a[012]b[012] next c0")
	f(describeTopicsRequest(2, "", 0, "b", "a"), "a[01] next a2")
	f(describeTopicsRequest(2, "a", 2, "b", "a"), "a[2]b[0] next b1")
	f(describeTopicsRequest(0, "", 0, "a"), "a[0] next a1")
	f(describeTopicsRequest(-5, "", 0, "a"), "a[0] next a1")
	f(describeTopicsRequest(5, "", 0, "a", "a", "no", "b!", "aa"), "a[012]aa[]!b![]!no[]!")
	f(describeTopicsRequest(3, "", 0, "a", "aa"), "a[012] next aa0")
	f(describeTopicsRequest(5, "a", 7, "a", "b"), "a[]b[012]")
	f(describeTopicsRequest(5, "aa", 7), "b[012]c[01] next c2")
	f(describeTopicsRequest(5, "b", 0, "c", "a", "b"), "b[012]c[01] next c2")
	f(describeTopicsRequest(5, "x", 0, "c", "a", "c"), "c[]!a[]!c[]!")
	f(describeTopicsRequest(5, "a", -1, "a"), "a[]!")
	f(describeTopicsRequest(5, "z", 0), "")
}

func TestDescribeTopicPartitionsFields(t *testing.T) {
	recs := append(topicRecords("t", 1, []int32{1, 2}, []int32{4}), brokerRecord(1, false), brokerRecord(2, true))
	elr := record.NewPartitionChangeRecord()
	elr.TopicID, elr.PartitionID, elr.ISR, elr.EligibleLeaderReplicas, elr.LastKnownELR = [16]byte{1}, 0, []int32{1}, []int32{2}, []int32{5}
	h, _ := imageHandler(t, imageOf(t, append(recs, elr)...))
	resp := serve(t, h, describeTopicsRequest(10, "", 0, "t", "__consumer_offsets", "x/y")).(*kmsg.DescribeTopicPartitionsResponse)
	want := `{Topics=[{ErrorCode=UNKNOWN_TOPIC_OR_PARTITION Topic="__consumer_offsets" IsInternal=true AuthorizedOperations=3576} ` +
		`{Topic="t" TopicID=1 Partitions=[{LeaderID=1 LeaderEpoch=3 Replicas=[1 2] ISR=[1] EligibleLeaderReplicas=[2] LastKnownELR=[5] OfflineReplicas=[2]} ` +
		`{Partition=1 LeaderID=-1 LeaderEpoch=3 Replicas=[4] ISR=[4] OfflineReplicas=[4]}] AuthorizedOperations=3576} ` +
		`{ErrorCode=INVALID_TOPIC_EXCEPTION Topic="x/y" AuthorizedOperations=3576}]}`
	if got := brief(wire(t, resp)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p := wire(t, resp).(*kmsg.DescribeTopicPartitionsResponse).Topics[1].Partitions[1]; p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil {
		t.Error("the lists of eligible leaders are null")
	}
}

func quotaRecord(key string, value float64, parts ...string) record.Message {
	r := &record.ClientQuotaRecord{Key: key, Value: value}
	for i := 0; i < len(parts); i += 2 {
		e := record.EntityData{EntityType: parts[i]}
		if name := parts[i+1]; name != "*" {
			e.EntityName = &name
		}
		r.Entity = append(r.Entity, e)
	}
	return r
}

func TestDescribeClientQuotas(t *testing.T) {
	h, _ := imageHandler(t, imageOf(t,
		quotaRecord("producer_byte_rate", 1, "user", "u"), quotaRecord("consumer_byte_rate", 2, "user", "u"),
		quotaRecord("producer_byte_rate", 3, "user", "u", "client-id", "*"), quotaRecord("producer_byte_rate", 4, "user", "*"),
		quotaRecord("connection_creation_rate", 5, "ip", "10.0.0.1")))
	const (
		u     = `{Entity=[{Type="user" Name="u"}] Values=[{Key="consumer_byte_rate" Value=2} {Key="producer_byte_rate" Value=1}]}`
		uc    = `{Entity=[{Type="client-id"} {Type="user" Name="u"}] Values=[{Key="producer_byte_rate" Value=3}]}`
		anyU  = `{Entity=[{Type="user"}] Values=[{Key="producer_byte_rate" Value=4}]}`
		ip    = `{Entity=[{Type="ip" Name="10.0.0.1"}] Values=[{Key="connection_creation_rate" Value=5}]}`
		exact = 0
		def   = 1
		given = 2
	)
	f := func(strict bool, filter []any, want string) {
		t.Helper()
		for version := range int16(2) {
			req := kmsg.NewPtrDescribeClientQuotasRequest()
			req.Version, req.Strict = version, strict
			for i := 0; i < len(filter); i += 3 {
				c := kmsg.NewDescribeClientQuotasRequestComponent()
				c.EntityType, c.MatchType = filter[i].(string), kmsg.QuotasMatchType(filter[i+1].(int))
				if name, ok := filter[i+2].(string); ok {
					c.Match = &name
				}
				req.Components = append(req.Components, c)
			}
			resp := wire(t, serve(t, h, req)).(*kmsg.DescribeClientQuotasResponse)
			if (resp.ErrorCode != 0) != (resp.Entries == nil) || resp.ErrorMessage == nil {
				t.Errorf("%v: code %d, entries %v, message %v", filter, resp.ErrorCode, resp.Entries, resp.ErrorMessage)
			}
			got := brief(resp.Entries)
			if resp.ErrorCode != 0 {
				got = *resp.ErrorMessage
			}
			if got != want {
				t.Errorf("strict %t %v:\ngot  %s\nwant %s", strict, filter, got, want)
			}
		}
	}
	f(false, nil, "["+uc+" "+ip+" "+anyU+" "+u+"]")
	f(true, nil, "[]")
	f(false, []any{"user", exact, "u"}, "["+uc+" "+u+"]")
	f(true, []any{"user", exact, "u"}, "["+u+"]")
	f(true, []any{"user", given, nil}, "["+anyU+" "+u+"]")
	f(false, []any{"user", def, nil}, "["+anyU+"]")
	f(false, []any{"user", exact, "u", "client-id", def, nil}, "["+uc+"]")
	f(false, []any{"ip", given, nil}, "["+ip+"]")
	f(false, []any{"client-id", exact, "none"}, "[]")
	f(false, []any{"", exact, "u"}, "Invalid empty entity type.")
	f(false, []any{"user", exact, "u", "user", given, nil}, "Entity type user cannot appear more than once in the filter.")
	f(false, []any{"planet", exact, nil}, "Unsupported entity type planet")
	f(false, []any{"user", exact, nil}, "Request specified MATCH_TYPE_EXACT, but set match string to null.")
	f(false, []any{"user", def, "u"}, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
	f(false, []any{"user", given, "u"}, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
	f(false, []any{"user", 7, "u"}, "Unknown match type 7")
	f(false, []any{"ip", given, nil, "client-id", given, nil}, "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.")
}

func TestDescribeUserScramCredentials(t *testing.T) {
	h, _ := imageHandler(t, imageOf(t,
		&record.UserScramCredentialRecord{Name: "b", Mechanism: 2, Iterations: 8192, Salt: []byte("salt"), StoredKey: []byte("stored"), ServerKey: []byte("server")},
		&record.UserScramCredentialRecord{Name: "b", Mechanism: 1, Iterations: 4096}, &record.UserScramCredentialRecord{Name: "a", Mechanism: 1, Iterations: 5000}))
	const (
		a = `{User="a" ErrorMessage="" CredentialInfos=[{Mechanism=1 Iterations=5000}]}`
		b = `{User="b" ErrorMessage="" CredentialInfos=[{Mechanism=1 Iterations=4096} {Mechanism=2 Iterations=8192}]}`
	)
	f := func(want string, users ...string) {
		t.Helper()
		req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
		for _, name := range users {
			u := kmsg.NewDescribeUserSCRAMCredentialsRequestUser()
			u.Name = name
			req.Users = append(req.Users, u)
		}
		if got := brief(wire(t, serve(t, h, req))); got != `{ErrorMessage="" Results=[`+want+`]}` {
			t.Errorf("users %v: got %s, want %s", users, got, want)
		}
	}
	f(a + " " + b)
	f(b, "b")
	f(b+` {User="x" ErrorCode=RESOURCE_NOT_FOUND ErrorMessage="Attempt to describe a user credential that does not exist: x"}`, "x", "b")
	f(a+` {User="b" ErrorCode=DUPLICATE_RESOURCE ErrorMessage="Cannot describe SCRAM credentials for the same user twice in a single request: b"}`, "b", "a", "b")
}

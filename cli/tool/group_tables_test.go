package tool

import (
	"strings"
	"testing"
)

// The tables are those that Apache Kafka 4.4.0 printed of such groups.
func TestPrintOffsets(t *testing.T) {
	f := func(rows []offsetRow, verbose bool, want string) {
		t.Helper()
		var got strings.Builder
		printOffsets(&got, "tb.g1", rows, verbose)
		if got.String() != want {
			t.Errorf("got\n%s\nwant\n%s", got.String(), want)
		}
	}
	f([]offsetRow{
		{topicPartition: topicPartition{"tb.one", 0}, known: true, Offset: "1", End: "3"},
		{topicPartition: topicPartition{"topic-a-zf7qf3yn", 1}, known: true, End: "3", Consumer: "m", Host: "/127.0.0.1", Client: "c"},
		{Consumer: "idle"},
	}, false, `
GROUP           TOPIC            PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
tb.g1           tb.one           0          1               3               2               -               -               -
tb.g1           topic-a-zf7qf3yn 1          -               3               -               m               /127.0.0.1      c
tb.g1           -                -          -               -               -               idle            -               -
`)
	f([]offsetRow{{topicPartition: topicPartition{"tb.one", 0}, known: true, Offset: "3", End: "3", LeaderEpoch: "0"}}, true, `
GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
tb.g1           tb.one          0          0               3               3               0               -               -               -
`)
}

func TestPrintMembers(t *testing.T) {
	f := func(g groupDescription, verbose, fit bool, want string) {
		t.Helper()
		var got strings.Builder
		printMembers(&got, g, verbose, fit)
		if got.String() != want {
			t.Errorf("got\n%s\nwant\n%s", got.String(), want)
		}
	}
	f(groupDescription{ID: "g"}, true, false, "\n"+
		"GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n")
	member := groupMember{ID: "HqEK1MeCTna8EafL3AEiyg", InstanceID: "inst1", ClientID: "console-consumer", Host: "/127.0.0.1", Epoch: "2",
		Assigned: []topicPartition{{"tb.one", 2}, {"tb.one", 0}, {"a", 1}}, Target: []topicPartition{{"tb.one", 0}}}
	g := groupDescription{ID: "tb.live2", TargetEpoch: "2", Members: []groupMember{member}}
	f(g, true, true, "\n"+
		"GROUP           CONSUMER-ID            GROUP-INSTANCE-ID HOST            CLIENT-ID        #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n"+
		"tb.live2        HqEK1MeCTna8EafL3AEiyg inst1             /127.0.0.1      console-consumer 3               2               a:1;tb.one:0,2       2               tb.one:0            \n")
	g.Members[0].InstanceID, g.Members[0].Upgraded = "", "true"
	g.Members = append(g.Members, groupMember{ID: "m", ClientID: "c", Host: "h", Epoch: "1", Upgraded: "false"})
	f(g, true, true, "\n"+
		"GROUP           CONSUMER-ID            HOST            CLIENT-ID        #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT    UPGRADED\n"+
		"tb.live2        HqEK1MeCTna8EafL3AEiyg /127.0.0.1      console-consumer 3               2               a:1;tb.one:0,2       2               tb.one:0             true\n"+
		"tb.live2        m                      h               c                0               1               -                    2               -                    false\n")
}

func TestPrintState(t *testing.T) {
	f := func(g groupDescription, verbose bool, want string) {
		t.Helper()
		var got strings.Builder
		printState(&got, g, verbose)
		if got.String() != want {
			t.Errorf("got\n%s\nwant\n%s", got.String(), want)
		}
	}
	g := groupDescription{ID: "tb.g1", State: "Empty", Coordinator: coordinator{1, "127.0.0.1", 29092}}
	f(g, false, `
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
tb.g1           127.0.0.1:29092  (1)      -                    Empty                0
`)
	g.Assignor, g.Epoch, g.TargetEpoch = "uniform", "3", "3"
	f(g, true, `
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS
tb.g1           127.0.0.1:29092  (1)      uniform              Empty                3               3                         0
`)
}

func TestPrintPlansAndDeletions(t *testing.T) {
	var got strings.Builder
	printPlans(&got, nil)
	printPlans(&got, []groupPlan{{"tb.g1", []groupOffset{{topicPartition: topicPartition{"tb.one", 2}, Offset: 7}}}, {"tb.g2", nil}})
	printDeletions(&got, map[topicPartition]error{{"b", -1}: exceptionOf(3, nil), {"a", 0}: nil})
	want := `

GROUP           TOPIC           PARTITION  NEW-OFFSET
tb.g1           tb.one          2          7

TOPIC           PARTITION  STATUS         
a               0          Successful     
b               -          Error: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestPrintListing(t *testing.T) {
	var got strings.Builder
	groups := []groupListing{{"a", "", "Classic", "Empty"}, {"a-group-of-more-characters", "consumer", "Consumer", "Stable"}}
	printListing(&got, groups, true, true)
	printListing(&got, nil, false, true)
	printGroups(&got, groups, groupsFilter{typ: "Consumer"})
	want := "GROUP                                TYPE                 STATE               \n" +
		"a                                    Classic              Empty               \n" +
		"a-group-of-more-characters           Consumer             Stable              \n" +
		"GROUP                     STATE               \n" +
		"GROUP                      TYPE                       PROTOCOL                  \n" +
		"a-group-of-more-characters Consumer                   consumer                   \n"
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestGroupsFilter(t *testing.T) {
	f := func(filter groupsFilter, g groupListing, want bool) {
		t.Helper()
		if got := filter.shows(g); got != want {
			t.Errorf("%+v of %+v: got %v, want %v", filter, g, got, want)
		}
	}
	simple, modern := groupListing{Type: "Classic"}, groupListing{Type: "Consumer", Protocol: "consumer"}
	connect, share := groupListing{Type: "Classic", Protocol: "connect"}, groupListing{Type: "Share", Protocol: "share"}
	f(groupsFilter{}, connect, true)
	f(groupsFilter{typ: "Classic"}, simple, true)
	f(groupsFilter{typ: "Classic", protocol: "connect"}, simple, false)
	f(groupsFilter{protocol: "connect"}, connect, true)
	f(groupsFilter{consumer: true}, simple, true)
	f(groupsFilter{consumer: true}, modern, true)
	f(groupsFilter{consumer: true}, connect, false)
	f(groupsFilter{share: true}, share, true)
	f(groupsFilter{streams: true}, share, false)
}

func TestParseGroupFilter(t *testing.T) {
	f := func(input, want string) {
		t.Helper()
		names, err := parseGroupFilter(input, "types", consumerGroupTypes)
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", input, got, want)
		}
	}
	f("", "")
	f("classic, CONSUMER", "Classic Consumer")
	f("share", "Invalid types list 'share'. Valid types are: Consumer, Classic")
}
